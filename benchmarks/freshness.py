"""How fresh a table is: time from handing a record to Kafka to seeing it in a new table scan.

Sends R records/s to each job's topic while another process looks at the catalog every 20 ms. A
record is visible when that reader has loaded the snapshot that covers its offset. One job, then
three in one worker, each with a topic and a table of its own and R records/s of its own; at
several commit intervals. Before traffic begins, the idle worker's CPU is taken.
Example: python benchmarks/freshness.py --seconds 20 --intervals 1 --jobs 1
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.child import Child
from lab.figures import Bar, lines_of, quantile
from lab.ground import Ground, Site, open_ground, say
from lab.latency import covered, latencies
from lab.machine import describe
from lab.output import write_json

HERE = Path(__file__).parent
SETTLING = 5.0
"""Seconds a worker that has just started gets before it counts as idle."""
WARM = 10.0
"""Seconds after which the first batches, which start Spark's Python processes, are over."""


@dataclass(frozen=True)
class Setting:
    """One measurement: how many jobs share the worker, and how often each commits."""

    jobs: int
    interval: float
    rate: int
    seconds: float
    idle: float


@dataclass(frozen=True)
class Freshness:
    """What one measurement found; times in seconds."""

    jobs: int
    interval: float
    records: int
    snapshots: int
    p50: float
    p99: float
    worst: float
    p50_warm: float | None
    p99_warm: float | None
    """Without the first seconds; None if there was nothing after them."""
    busy_percent: float
    idle_percent: float | None
    """Of one core, the whole worker."""


def main() -> None:
    options = parse()
    results = []
    with open_ground() as ground:
        for jobs in options.jobs:
            for interval in options.intervals:
                idle = options.idle if jobs == 1 else 0.0
                setting = Setting(jobs, interval, options.rate, options.seconds, idle)
                results.append(run(ground, setting))
                say(f"  {one_line(results[-1])}")
    bars = [bar for result in results for bar in bars_of(result)]
    print("\n".join(one_line(result) for result in results))
    print("\n".join(lines_of(bars)))
    report = {
        "benchmark": "freshness",
        "machine": describe(),
        "options": {"rate": options.rate, "seconds": options.seconds},
        "results": [
            {"setting": setting_of(result.jobs, result.interval), **asdict(result)}
            for result in results
        ],
        "bars": [bar.as_json() for bar in bars],
    }
    write_json(options.json, report)


def run(ground: Ground, setting: Setting) -> Freshness:
    """Start a worker, let it idle, send, and wait until everything is visible."""
    say(setting_of(setting.jobs, setting.interval))
    label = f"fresh-{setting.jobs}-{setting.interval:g}".replace(".", "-")
    names = [f"{label}-{number}".replace("-", "_") for number in range(setting.jobs)]
    site = ground.site(label, names[0])
    changes = {"iceberg.control.commit.interval-ms": round(setting.interval * 1000)}
    for name in names:
        site.add(name)
    worker = site.worker(*(site.route(name, changes) for name in names))
    children = [worker]
    try:
        site.await_running(worker, names)
        idle = idle_percent(worker, setting.idle)
        watcher, sightings = start_watcher(site, names)
        children.append(watcher)
        before, begun = worker.meter.sample().total, time.monotonic()
        sender, handed = start_sender(site, names, setting)
        children.append(sender)
        records = round(setting.rate * setting.seconds) * setting.jobs
        await_visible(children, sightings, records, setting)
        busy = 100 * (worker.meter.sample().total - before) / (time.monotonic() - begun)
        return freshness(setting, json.loads(handed.read_text()), read(sightings), busy, idle)
    finally:
        for child in reversed(children):
            child.stop()
        site.clear()


def freshness(
    setting: Setting, handed: Any, seen: list[Any], busy: float, idle: float | None
) -> Freshness:
    found = latencies(handed, seen)
    begun = min(moment for moment, _latency in found)
    every = [latency for _moment, latency in found]
    warm = [latency for moment, latency in found if moment - begun > WARM]
    return Freshness(
        setting.jobs, setting.interval, len(found), len(seen),
        quantile(every, 0.5), quantile(every, 0.99), max(every),
        quantile(warm, 0.5) if warm else None, quantile(warm, 0.99) if warm else None, busy, idle,
    )  # fmt: skip


def idle_percent(worker: Child, seconds: float) -> float | None:
    """Return the CPU of a worker without traffic, in percent of one core."""
    if seconds <= 0:
        return None
    time.sleep(SETTLING)
    before, begun = worker.meter.sample().total, time.monotonic()
    while time.monotonic() - begun < seconds:
        time.sleep(1)
        worker.check()
    return 100 * (worker.meter.sample().total - before) / (time.monotonic() - begun)


def start_watcher(site: Site, names: list[str]) -> tuple[Child, Path]:
    output = site.home / "sightings.jsonl"
    output.touch()
    given = {
        "catalog": str(site.settings.catalog_file),
        "namespace": site.settings.namespace,
        "tables": names,
        "output": str(output),
    }
    return start_program(site, "lab.watcher", given), output


def start_sender(site: Site, names: list[str], setting: Setting) -> tuple[Child, Path]:
    output = site.home / "handed.json"
    given = {
        "bootstrap_servers": site.settings.bootstrap_servers,
        "topics": names,
        "rate": setting.rate,
        "seconds": setting.seconds,
        "output": str(output),
    }
    return start_program(site, "lab.sender", given), output


def start_program(site: Site, module: str, given: dict[str, Any]) -> Child:
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", module, json.dumps(given)]
    return Child(
        command, site.environment | {"PYTHONPATH": path}, site.settings.logs / f"{module}.log"
    )


def await_visible(children: list[Child], sightings: Path, records: int, setting: Setting) -> None:
    """Wait until ranges cover every record that is to be sent; memory is sampled meanwhile."""
    worker, watcher, sender = children
    deadline = time.monotonic() + setting.seconds + 3 * setting.interval + 60
    while (seen := covered(read(sightings))) < records:
        for child in (worker, watcher):
            child.check()
        worker.meter.sample()
        if time.monotonic() > deadline:
            worker.give_up(f"made {seen:,} of {records:,} records visible in time")
        time.sleep(0.25)
    sender.process.wait(30)


def read(sightings: Path) -> list[Any]:
    """Read complete lines; the last may be under way."""
    lines = sightings.read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines]


def setting_of(jobs: int, interval: float) -> str:
    """Name a measurement."""
    return f"{jobs} job{'s' if jobs > 1 else ''}, interval {interval:g} s"


def one_line(result: Freshness) -> str:
    warm = ""
    if result.p50_warm is not None:
        warm = f", after {WARM:.0f} s p50 {result.p50_warm:.2f} s, p99 {result.p99_warm:.2f} s"
    idle = "" if result.idle_percent is None else f", idle {result.idle_percent:.1f} % of a core"
    return (
        f"{setting_of(result.jobs, result.interval)}: p50 {result.p50:.2f} s, "
        f"p99 {result.p99:.2f} s, worst {result.worst:.2f} s{warm}; {result.snapshots} snapshots, "
        f"busy {result.busy_percent:.0f} %{idle}"
    )


def bars_of(result: Freshness) -> list[Bar]:
    """Return the figures to reach, as much above the commit interval as is allowed."""
    what = f"{setting_of(result.jobs, result.interval)}:"
    if result.jobs > 1:
        return [Bar(f"{what} p99", result.interval + 2.5, result.p99, " s")]
    return [
        Bar(f"{what} p50", result.interval + 0.5, result.p50, " s"),
        Bar(f"{what} p99", result.interval + 1.5, result.p99, " s"),
        Bar(f"{what} idle, of one core", 3, result.idle_percent, " %"),
    ]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long to send (60)")
    parser.add_argument("--rate", type=int, default=1000, help="records/s to each topic (1000)")
    parser.add_argument("--intervals", type=float, nargs="+", default=[0.25, 1, 10], metavar="S")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 3], metavar="J")
    parser.add_argument("--idle", type=float, default=30, help="seconds without traffic (30)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
