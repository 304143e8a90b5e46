"""Charts as SVG text: stacked bars and lines, readable on light and dark pages. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH = 760
LEFT, RIGHT, TOP = 190, 92, 74
ROW, BAR = 34, 20
PLOT = WIDTH - LEFT - RIGHT

STYLE = """
  .page { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 } .axis { stroke: #818b98; stroke-width: 1 }
  .mark { stroke: #cf222e; stroke-width: 2 } .limit { fill: #cf222e }
  .c0 { fill: #0969da } .c1 { fill: #bc6c00 } .c2 { fill: #6e7781 } .c3 { fill: #1a7f5a }
  .l0 { stroke: #0969da } .l1 { stroke: #bc6c00 } .l2 { stroke: #6e7781 } .l3 { stroke: #1a7f5a }
  .line { fill: none; stroke-width: 2 }
  text { font: 13px system-ui, sans-serif } .title { font-size: 16px; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .ink { fill: #e6edf3 } .soft { fill: #9198a1 }
    .grid { stroke: #2f3742 } .axis { stroke: #656c76 }
    .mark { stroke: #ff7b72 } .limit { fill: #ff7b72 }
    .c0 { fill: #4c9bff } .c1 { fill: #e3a03a } .c2 { fill: #8b949e } .c3 { fill: #3fb98a }
    .l0 { stroke: #4c9bff } .l1 { stroke: #e3a03a } .l2 { stroke: #8b949e } .l3 { stroke: #3fb98a }
  }
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One bar: its label, its parts by series, and a limit it is to be compared with."""

    label: str
    parts: Mapping[str, float]
    limit: float | None = None

    @property
    def total(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from zero, with round steps."""

    step: float
    end: float

    @property
    def ticks(self) -> list[float]:
        return [self.step * number for number in range(round(self.end / self.step) + 1)]


def axis_up_to(largest: float, wanted: int = 5) -> Axis:
    """Choose steps of 1, 2 or 5 times a power of ten."""
    if largest <= 0:
        return Axis(1.0, 1.0)
    rough = largest / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return Axis(step, step * math.ceil(largest / step - 1e-9))


def number(value: float) -> str:
    """Write a figure with no more digits than it deserves."""
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.3g}"
    return f"{value:.2g}"


def bar_chart(title: str, unit: str, rows: Sequence[Row]) -> str:
    """Draw horizontal bars, stacked by series, each with its total and its limit."""
    names = list(dict.fromkeys(name for row in rows for name in row.parts))
    axis = axis_up_to(max(max(row.total, row.limit or 0) for row in rows))
    bottom = TOP + ROW * len(rows)
    scale = PLOT / axis.end
    body = [_legend(names, any(row.limit is not None for row in rows))]
    for tick in axis.ticks:
        x = LEFT + tick * scale
        body.append(_line("grid", x, TOP - 6, x, bottom))
        body.append(_text("soft", x, bottom + 18, number(tick) if tick else "0", "middle"))
    body.append(_text("soft", LEFT + PLOT / 2, bottom + 40, unit, "middle"))
    for index, row in enumerate(rows):
        body += _bar(row, names, TOP + ROW * index, scale)
    return _page(title, bottom + 54, body)


def _bar(row: Row, names: Sequence[str], y: float, scale: float) -> list[str]:
    parts = [_text("ink", LEFT - 10, y + 15, row.label, "end")]
    x = float(LEFT)
    for name, value in row.parts.items():
        width = value * scale
        place = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}"'
        hint = f"<title>{escape(name)}: {number(value)}</title>"
        parts.append(f'<rect class="c{names.index(name) % 4}" {place}>{hint}</rect>')
        x += width
    end = x
    if row.limit is not None:
        mark = LEFT + row.limit * scale
        parts.append(_line("mark", mark, y - 4, mark, y + BAR + 4))
        end = max(x, mark) if mark > x - 4 and mark < x + 50 else x
    parts.append(_text("ink", end + 6, y + 15, number(row.total), "start"))
    return parts


def line_chart(
    title: str, labels: tuple[str, str], series: Mapping[str, Sequence[tuple[float, float]]]
) -> str:
    """Draw lines over a logarithmic x axis and a y axis from zero; `labels` name the axes."""
    height, left = 260, 80
    plot = WIDTH - left - 40
    points = [point for line in series.values() for point in line]
    low, high = (math.log10(f(x for x, _y in points)) for f in (min, max))
    axis = axis_up_to(max(y for _x, y in points))
    bottom = TOP + height

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across = (math.log10(point[0]) - low) / (high - low or 1)
        return left + across * plot, bottom - point[1] / axis.end * height

    body = [_legend(list(series), False, left)]
    for tick in axis.ticks:
        y = place((10**low, tick))[1]
        body.append(_line("grid", left, y, left + plot, y))
        body.append(_text("soft", left - 8, y + 4, number(tick) if tick else "0", "end"))
    for x in sorted({x for x, _y in points}):
        at = place((x, 0))[0]
        body.append(_line("axis", at, bottom, at, bottom + 5))
        body.append(_text("soft", at, bottom + 20, f"{x:,.0f}", "middle"))
    body.append(_text("soft", left + plot / 2, bottom + 42, labels[0], "middle"))
    turned = f'transform="rotate(-90 18 {TOP + height / 2})"'
    body.append(_text("soft", 18, TOP + height / 2, labels[1], "middle", turned))
    for index, line in enumerate(series.values()):
        body += _curve([place(point) for point in sorted(line)], index % 4)
    return _page(title, bottom + 56, body)


def _curve(places: Sequence[tuple[float, float]], colour: int) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [f'<circle class="c{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in places]
    return [f'<polyline class="line l{colour}" points="{path}"/>', *dots]


def _legend(names: Sequence[str], limits: bool, left: int = LEFT) -> str:
    if len(names) < 2 and not limits:
        return ""
    parts, x = [], float(left)
    for index, name in enumerate(names):
        parts.append(f'<rect class="c{index % 4}" x="{x:.0f}" y="42" width="12" height="12"/>')
        parts.append(_text("ink", x + 18, 53, name, "start"))
        x += 34 + 7.2 * len(name)
    if limits:
        parts.append(_line("mark", x + 4, 40, x + 4, 56))
        parts.append(_text("ink", x + 14, 53, "bar to reach", "start"))
    return "\n".join(parts)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(kind: str, x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} {more}>{escape(text)}</text>'


def _page(title: str, height: float, body: Sequence[str]) -> str:
    size = f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">'
    )
    name = f'<text class="ink title" x="16" y="26">{escape(title)}</text>'
    page = f'<rect class="page" width="{WIDTH}" height="{height:.0f}"/>'
    return "\n".join((head, f"<style>{STYLE}</style>", page, name, *body, "</svg>")) + "\n"
