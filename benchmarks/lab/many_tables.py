"""What a record costs when one worker serves many tables, each with the same load."""

from __future__ import annotations

import time
from dataclasses import dataclass

from lab.child import Child
from lab.feed import Feed
from lab.ground import Ground, Site, say

INTERVAL_MS = 5000
IDLE = 10.0
PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class TablesPoint:
    """One number of tables."""

    tables: int
    records: int
    cpu_us: float
    """CPU per record beyond what the idle worker spends in the same time."""
    idle_percent: float
    """Of one core, all jobs without traffic."""
    seconds: float
    peak_rss_mb: int


def measure_tables(ground: Ground, tables: int, each: int, bursts: int) -> TablesPoint:
    """Start one worker with a job per table, then send bursts of `each` records to every topic."""
    say(f"{tables} tables, {bursts} bursts of {each:,} records each")
    site = ground.site(f"tables-{tables}", f"many_{tables}_0")
    names = [f"many_{tables}_{number}" for number in range(tables)]
    for name in names:
        site.add(name)
    feed = Feed(site.settings.bootstrap_servers)
    changes = {"iceberg.control.commit.interval-ms": INTERVAL_MS}
    worker = site.worker(*(site.route(name, changes) for name in names))
    try:
        site.await_running(worker, names, PATIENCE)
        warm = max(each // 10, 100)
        send_and_wait(site, worker, feed, names, (warm, warm))
        idle = spent_over(worker, IDLE)
        begun, before = time.monotonic(), worker.meter.sample().total
        for number in range(1, bursts + 1):
            send_and_wait(site, worker, feed, names, (each, warm + number * each))
        seconds, spent = time.monotonic() - begun, worker.meter.sample().total - before
        records = tables * each * bursts
        cost = (spent - idle * seconds) / records * 1e6
        peak = worker.meter.peak_rss // 1_000_000
        return TablesPoint(tables, records, cost, 100 * idle, seconds, peak)
    finally:
        worker.stop()
        site.clear()


def send_and_wait(
    site: Site, worker: Child, feed: Feed, names: list[str], counts: tuple[int, int]
) -> None:
    """Send so many records to each topic; wait until that many are committed of each in all."""
    more, total = counts
    for name in names:
        # Topic after topic and settled at once, so that a job rarely finds half a burst.
        feed.send(name, more)
        feed.settle()
    deadline = time.monotonic() + PATIENCE
    left = list(names)
    while left:
        left = [name for name in left if site.progress(name).get("committed_records", 0) < total]
        worker.check()
        worker.meter.sample()
        if time.monotonic() > deadline:
            worker.give_up(f"left {len(left)} of {len(names)} tables behind")
        time.sleep(0.2)


def spent_over(worker: Child, seconds: float) -> float:
    """Return the CPU seconds a worker spends per second without traffic."""
    before, begun = worker.meter.sample().total, time.monotonic()
    time.sleep(seconds)
    return (worker.meter.sample().total - before) / (time.monotonic() - begun)
