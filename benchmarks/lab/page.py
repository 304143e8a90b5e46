"""Turn results into docs/benchmarks.md and its charts. Pure: results in, texts by file name out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lab.charts import Row, bar_chart, line_chart
from lab.page_text import ABOUT, HEAD, NAMES, markdown_table, verdict

Results = Mapping[str, Mapping[str, Any]]
"""Benchmark -> what it wrote with --json."""


def build_page(results: Results) -> dict[str, str]:
    """Return the page and its charts: `benchmarks.md`, `benchmarks/*.svg`."""
    charts: dict[str, str] = {}
    sections = [HEAD, machine_section(results), bars_section(results)]
    for name, section in SECTIONS.items():
        if name in results:
            sections += [ABOUT[name], *section(results[name], charts)]
    return {"benchmarks.md": "\n\n".join(sections) + "\n"} | {
        f"benchmarks/{name}.svg": chart for name, chart in charts.items()
    }


def machine_section(results: Results) -> str:
    machine = next(iter(results.values()))["machine"]
    rows = [(name, value) for name, value in machine.items()]
    return "## The machine\n\n" + markdown_table(("", ""), rows)


def bars_section(results: Results) -> str:
    rows = [
        (NAMES[name], bar["what"], *verdict(bar))
        for name, result in results.items()
        for bar in result["bars"]
    ]
    heads = ("Benchmark", "Figure", "Bar", "Reached", "")
    return "## Bars and what was reached\n\n" + markdown_table(heads, rows)


def race_section(result: Mapping[str, Any], charts: dict[str, str]) -> Iterable[str]:
    name, summary = result["benchmark"], result["summary"]
    parts = [(engine, facts["steady"]) for engine, facts in summary.items() if facts["steady"]]
    kinds = {"JVM": "jvm_us", "Python": "python_us", "other": "other_us"}
    costs = [Row(e, {kind: part[key] for kind, key in kinds.items()}) for e, part in parts]
    rates = [Row(engine, {"records/s": part["rate"]}) for engine, part in parts]
    charts[f"{name}-cpu"] = bar_chart(
        "CPU per record after the first commit (less is better)",
        "microseconds of CPU per record, broker apart",
        costs,
    )
    charts[f"{name}-rate"] = bar_chart(
        "Records per second after the first commit (more is better)", "records per second", rates
    )
    yield picture(f"{name}-cpu", "CPU per record")
    yield picture(f"{name}-rate", "Records per second")
    yield markdown_table(
        ("", "records/s", "CPU µs", "JVM", "Python", "other", "broker", "peak RSS MB", "files"),
        list(race_rows(summary)),
    )
    yield markdown_table(
        ("Lakeward compared with", "part", "CPU per record", "records/s"),
        [
            (engine, LABELS[part], factor(ratios[part]["cpu"]), factor(ratios[part]["rate"]))
            for engine, ratios in result["ratios"].items()
            for part in LABELS
        ],
    )


LABELS = {"whole": "whole run", "steady": "after first commit"}


def race_rows(summary: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    keys = ("cpu_us", "jvm_us", "python_us", "other_us", "broker_us")
    for part, label in LABELS.items():
        for engine, facts in summary.items():
            if facts[part]:
                cells = [f"{facts[part][key]:.1f}" for key in keys]
                memory = f"{facts['peak_rss_mb']:,}"
                rate = f"{facts[part]['rate']:,.0f}"
                yield (f"{engine}, {label}", rate, *cells, memory, f"{facts['files']:,}")


def freshness_section(result: Mapping[str, Any], charts: dict[str, str]) -> Iterable[str]:
    limits = {bar["what"]: bar["limit"] for bar in result["bars"]}
    for share in ("p50", "p99"):
        rows = [
            Row(each["setting"], {share: each[share]}, limits.get(f"{each['setting']}: {share}"))
            for each in result["results"]
        ]
        title = f"Produce to visible, {share} (less is better)"
        charts[f"freshness-{share}"] = bar_chart(title, "seconds", rows)
        yield picture(f"freshness-{share}", title)
    heads = ("jobs", "interval s", "p50 s", "p99 s", "worst s", "p50 s after 10 s")
    yield markdown_table(
        (*heads, "p99 s after 10 s", "snapshots", "busy %", "idle %"),
        [
            (
                each["jobs"], f"{each['interval']:g}", f"{each['p50']:.2f}", f"{each['p99']:.2f}",
                f"{each['worst']:.2f}", seconds(each["p50_warm"]), seconds(each["p99_warm"]),
                each["snapshots"], f"{each['busy_percent']:.0f}",
                "" if each["idle_percent"] is None else f"{each['idle_percent']:.1f}",
            )
            for each in result["results"]
        ],
    )  # fmt: skip


def growth_section(result: Mapping[str, Any], charts: dict[str, str]) -> Iterable[str]:
    axes = {axis: result[axis] for axis in ("tables", "partitions", "snapshots") if result[axis]}
    grown = {
        axis: [(point[axis], point["cpu_us"] / points[0]["cpu_us"]) for point in points]
        for axis, points in axes.items()
    }
    charts["growth-cpu"] = line_chart(
        "CPU per record, as a multiple of the smallest size",
        ("number of tables, partitions or snapshots (logarithmic)", "times the smallest"),
        grown,
    )
    yield picture("growth-cpu", "CPU per record over size")
    if "snapshots" in axes:
        commits = [(point["snapshots"], point["commit_ms"]) for point in axes["snapshots"]]
        charts["growth-commit"] = line_chart(
            "Commit time over the length of the table's history",
            ("snapshots (logarithmic)", "milliseconds per commit"),
            {"commit": commits},
        )
        yield picture("growth-commit", "Commit time over snapshots")
    for points in axes.values():
        heads = [name.replace("_", " ") for name in points[0]]
        yield markdown_table(heads, [[plain(value) for value in p.values()] for p in points])


def memory_section(result: Mapping[str, Any], charts: dict[str, str]) -> Iterable[str]:
    rows = [
        Row(
            f"batch {each['largest_batch']:,}" + (", capped" if each["cap_gb"] else ""),
            {"JVM": each["jvm_mb"], "Python": each["python_mb"]},
            2500,
        )
        for each in result["results"]
    ]
    charts["memory"] = bar_chart("Peak memory of a worker (less is better)", "RSS, MB", rows)
    yield picture("memory", "Peak memory of a worker")
    yield markdown_table(
        ("largest batch", "cap per process GB", "peak RSS MB", "JVM MB", "Python MB", "records/s"),
        [
            (
                f"{each['largest_batch']:,}", each["cap_gb"] or "none", f"{each['peak_mb']:,}",
                f"{each['jvm_mb']:,}", f"{each['python_mb']:,}", f"{each['rate']:,.0f}",
            )
            for each in result["results"]
        ],
    )  # fmt: skip


def picture(name: str, text: str) -> str:
    return f"![{text}](benchmarks/{name}.svg)"


def factor(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} times"


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def plain(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


Section = Callable[[Mapping[str, Any], dict[str, str]], Iterable[str]]
SECTIONS: dict[str, Section] = {
    "drain": race_section,
    "peers": race_section,
    "freshness": freshness_section,
    "growth": growth_section,
    "memory": memory_section,
}
