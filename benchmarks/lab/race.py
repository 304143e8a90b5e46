"""Let engines drain the same topic one after the other, round by round, and compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.engines import Started, Task
from lab.figures import Span, middle, ratio
from lab.ground import Ground, say
from lab.measure import Course, follow
from lab.table import Content, content_of

Starter = Callable[[Task], Started]


@dataclass(frozen=True, slots=True)
class Run:
    """One engine's drain in one round."""

    engine: str
    round: int
    course: Course
    content: Content

    def as_json(self) -> dict[str, Any]:
        course, content = self.course, self.content
        return {
            "engine": self.engine,
            "round": self.round,
            "whole": asdict(course.whole),
            "steady": asdict(course.steady) if course.steady else None,
            "peak_rss_mb": course.peak_rss // 1_000_000,
            "commits": course.commits,
            "files": content.files,
            "rows": content.rows,
        }


@dataclass(frozen=True, slots=True)
class Race:
    """What is raced over."""

    topic: str
    records: int
    batch: int
    rounds: int


def run_race(ground: Ground, race: Race, engines: Mapping[str, Starter]) -> list[Run]:
    """Run every engine once per round, alternating, each into a fresh table."""
    runs = []
    for number in range(1, race.rounds + 1):
        for engine, start in engines.items():
            say(f"round {number} of {race.rounds}: {engine}")
            runs.append(run_one(ground, race, engine, start, number))
            say(f"  {one_line(runs[-1])}")
    return runs


def run_one(ground: Ground, race: Race, engine: str, start: Starter, number: int) -> Run:
    """Drain the topic into a table of its own, then count what is in it."""
    name = f"{engine}-{number}"
    site = ground.site(name, race.topic)
    started = start(Task(site, race.topic, race.records, race.batch, name))
    try:
        course = follow(
            started.child, started.done, race.records, ground.broker_meter, by_time=started.by_time
        )
    finally:
        started.child.stop()
    content = site.content() if started.committed else loose_files(site.settings.warehouse)
    if content.rows != race.records or content.distinct not in (None, race.records):
        raise SystemExit(
            f"{engine} wrote {content.rows:,} rows, {content.distinct} of them different, "
            f"where there are {race.records:,} records: its figures count for nothing."
        )
    site.clear()
    return Run(engine, number, course, content)


def loose_files(warehouse: Path) -> Content:
    """Read data files that no table knows of."""
    return content_of([str(path) for path in warehouse.rglob("data/**/*.parquet")])


def one_line(run: Run) -> str:
    steady = run.course.steady
    later = f", after the first commit {rate_and_cost(steady)}" if steady else ""
    return (
        f"{rate_and_cost(run.course.whole)}{later}, "
        f"peak {run.course.peak_rss / 1e9:.2f} GB, {run.content.files} files"
    )


def rate_and_cost(part: Span) -> str:
    return f"{part.rate:,.0f} records/s at {part.cpu_us:.1f} µs"


def summarise(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Return the medians of each engine over the rounds."""
    summary = {}
    for engine in dict.fromkeys(run.engine for run in runs):
        own = [run for run in runs if run.engine == engine]
        steady = [run.course.steady for run in own if run.course.steady]
        summary[engine] = {
            "whole": asdict(middle([run.course.whole for run in own])),
            "steady": asdict(middle(steady)) if steady else None,
            "peak_rss_mb": max(run.course.peak_rss for run in own) // 1_000_000,
            "files": own[-1].content.files,
        }
    return summary


def ratios(summary: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Compare Lakeward with each other engine: cost and rate, whole and after the first commit."""
    ours = summary["lakeward"]
    return {
        engine: {
            part: {
                "cpu": ratio(figure(ours, part, "cpu_us"), figure(theirs, part, "cpu_us")),
                "rate": ratio(figure(ours, part, "rate"), figure(theirs, part, "rate")),
            }
            for part in ("whole", "steady")
        }
        for engine, theirs in summary.items()
        if engine != "lakeward"
    }


def figure(engine: Mapping[str, Any], part: str, name: str) -> float | None:
    return engine[part][name] if engine.get(part) else None


def table_lines(summary: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the summary as a table for a terminal."""
    heads = ("records/s", "CPU µs", "JVM", "Python", "other", "broker", "peak MB", "files")
    lines = [f"{'':32}" + "".join(f"{head:>11}" for head in heads)]
    for part, label in (("whole", "whole run"), ("steady", "after first commit")):
        for engine, facts in summary.items():
            if not facts[part]:
                continue
            names = ("cpu_us", "jvm_us", "python_us", "other_us", "broker_us")
            cells = [f"{facts[part]['rate']:>11,.0f}"]
            cells += [f"{facts[part][name]:>11.1f}" for name in names]
            cells += [f"{facts['peak_rss_mb']:>11,}", f"{facts['files']:>11,}"]
            lines.append(f"{engine:13}{label:19}" + "".join(cells))
    return lines
