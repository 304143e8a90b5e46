"""What a commit and a record cost when the table has a long history. In process, no Spark."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from lab.aging import age_table
from lab.ground import TABLE, Ground, Site, say
from lakeward.connect.translate import read_connector, translate
from lakeward.job.cycle import Job
from lakeward.job.run import InlineRunner
from lakeward.job.worker import build_job

JOB = "snapshots"


@dataclass(frozen=True, slots=True)
class SnapshotsPoint:
    """One length of history; medians over some batches."""

    snapshots: int
    metadata_kb: int
    commit_ms: float
    cycle_overhead_ms: float
    """The whole cycle without reading, decoding and writing: plan, commit, reading back."""
    cpu_us: float
    """CPU per record, everything included."""


class Stopwatch:
    """Times a job's parts from outside; holds the seconds of each call."""

    def __init__(self, job: Job) -> None:
        self.commits: list[float] = []
        self.runs: list[float] = []
        job.sink.commit = self._timed(job.sink.commit, self.commits)  # type: ignore[method-assign]
        job.runner.run = self._timed(job.runner.run, self.runs)  # type: ignore[method-assign]

    @staticmethod
    def _timed(real: Any, seconds: list[float]) -> Any:
        def call(*arguments: Any) -> Any:
            begun = time.perf_counter()
            answer = real(*arguments)
            seconds.append(time.perf_counter() - begun)
            return answer

        return call


def measure_snapshots(
    ground: Ground, lengths: list[int], each: int, batches: int
) -> list[SnapshotsPoint]:
    """Commit batches of `each` records to a table whose history is made longer and longer."""
    topic = "many_snapshots"
    ground.load(topic, each * (1 + (batches + 1) * len(lengths)))
    site = ground.site(topic, topic)
    changes = {"iceberg.control.commit.interval-ms": 1000, "lakeward.batch.records": each}
    given = read_connector(site.connector(JOB, changes))
    spec = translate(given, site.settings.bootstrap_servers, JOB)

    def job() -> Job:
        started = build_job(spec, InlineRunner(), threading.Event())
        started.start()
        return started

    first = job()
    assert first.cycle() is not None
    points = []
    for length in lengths:
        points.append(measure_length(site, job, length, each, batches))
        say(f"  {points[-1]}")
    site.clear()
    return points


def measure_length(site: Site, start: Any, length: int, each: int, batches: int) -> SnapshotsPoint:
    """Age the table, start the job anew, take a warm-up batch and then those that count."""
    say(f"a history of {length:,} snapshots")
    namespace = site.settings.namespace
    snapshots, size = age_table(site.settings.catalog_file, namespace, TABLE, length, JOB)
    job = start()
    assert job.cycle() is not None
    watch = Stopwatch(job)
    cycles, cpu = [], []
    for _batch in range(batches):
        begun, spent = time.perf_counter(), time.process_time()
        done = job.cycle()
        cycles.append(time.perf_counter() - begun)
        cpu.append((time.process_time() - spent) / each * 1e6)
        assert done is not None
        assert len(done.batch) == each
    overhead = [whole - run for whole, run in zip(cycles, watch.runs, strict=True)]
    return SnapshotsPoint(
        snapshots,
        size // 1000,
        1000 * median(watch.commits),
        1000 * median(overhead),
        median(cpu),
    )
