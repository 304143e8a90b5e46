"""The arithmetic of the benchmarks: rates, cost per record, medians, quantiles, bars. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from lab.meter import Cpu


@dataclass(frozen=True, slots=True)
class Moment:
    """What a run had done at one moment."""

    at: float
    records: int
    cpu: Cpu
    broker: float
    """CPU seconds of the broker."""


@dataclass(frozen=True, slots=True)
class Span:
    """What a run did between two moments."""

    records: int
    seconds: float
    rate: float
    cpu_us: float
    """CPU microseconds per record: everything the engine ran, the broker apart."""
    jvm_us: float
    python_us: float
    other_us: float
    broker_us: float


def span(first: Moment, last: Moment) -> Span | None:
    """Return what happened between two moments; None if no record did."""
    records, seconds = last.records - first.records, last.at - first.at
    if records <= 0 or seconds <= 0:
        return None
    cpu = last.cpu - first.cpu
    each = [cpu.total, cpu.jvm, cpu.python, cpu.other, last.broker - first.broker]
    return Span(records, seconds, records / seconds, *(spent / records * 1e6 for spent in each))


def middle(spans: Sequence[Span]) -> Span:
    """Return the medians of several rounds, figure by figure."""
    rows = [asdict(each) for each in spans]
    return Span(**{name: median(row[name] for row in rows) for name in rows[0]})


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Divide; None where there is nothing to divide or to divide by."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


@dataclass(frozen=True, slots=True)
class Bar:
    """One figure to reach, and what was reached."""

    what: str
    limit: float
    reached: float | None
    unit: str = ""
    at_least: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the bar holds; None if it was not measured."""
        if self.reached is None:
            return None
        return self.reached >= self.limit if self.at_least else self.reached <= self.limit

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"holds": self.holds}


def lines_of(bars: Iterable[Bar]) -> Iterable[str]:
    """Yield a line for each bar, as a terminal shows it."""
    for bar in bars:
        verdict = {True: "holds", False: "MISSED", None: "not measured"}[bar.holds]
        reached = "-" if bar.reached is None else f"{bar.reached:,.2f}{bar.unit}"
        sense = "at least" if bar.at_least else "at most"
        limit = f"{sense} {bar.limit:g}{bar.unit}"
        yield f"  {bar.what:58}{reached:>12}  {limit:18} {verdict}"
