"""The demo's pipeline: a broker, a worker with three connectors, and a producer."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeward.cli.init import create_tables, create_topics, write_connectors
from lakeward.cli.output import Output
from lakeward.cli.stack import fetch_jars, read_jobs
from lakeward.errors import ServiceFailed
from lakeward.settings import Settings

if TYPE_CHECKING:
    from lakeward.produce.manifest import Manifest
    from lakeward.stack.kafka import KafkaBroker
    from lakeward.stack.service import Service

GRACE = 4.0
STALLED = 180.0
"""Seconds without any commit before the demo gives up waiting."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one demo moved, and how fast."""

    records: int
    rows: int
    dead_letters: int
    files: int
    seconds: float
    """From the first record sent to the last one committed."""
    first_commit: float
    """From the start of the demo to its first committed rows."""
    freshness: float | None


class Pipeline:
    """Starts, feeds and stops the demo's processes; holds what it started."""

    def __init__(self, settings: Settings, out: Output, *, keep: bool) -> None:
        self.settings = settings
        self._out = out
        self._keep = keep
        self._began = time.monotonic()
        self._broker: KafkaBroker | None = None
        self._worker: Service | None = None

    def start(self, interval_ms: int) -> None:
        """Start the broker, create topics and tables, start the worker."""
        from lakeward.stack.kafka import start_kafka
        from lakeward.stack.service import find_service, spawn

        settings, out = self.settings, self._out
        running = find_service("worker", settings)
        if running is not None:
            raise ServiceFailed(
                "A worker of this home runs already",
                where=f"pid {running.record.pid}",
                next_step="Stop it with: lakeward stop.",
            )
        fetch_jars(["kafka"], settings, out)
        create_tables(settings)
        with out.progress("Starting Kafka"):
            self._broker = start_kafka(settings, tied=not self._keep)
        self.settings = settings = replace(
            settings, bootstrap_servers=self._broker.bootstrap_servers
        )
        create_topics(settings)
        for stale in settings.progress.glob("*.json"):
            stale.unlink()
        connectors = [str(path) for path in write_connectors(settings, interval_ms)]
        brokers = ["--bootstrap-servers", settings.bootstrap_servers]
        command = [sys.executable, "-m", "lakeward", "worker", *brokers, *connectors]
        # In the same folder, so that a home given as a relative path means the same to both.
        self._worker = spawn("worker", command, settings, folder=Path.cwd(), tied=not self._keep)
        out.say(f"Kafka at {settings.bootstrap_servers}; worker starts Spark, pid "
                f"{self._worker.record.pid}, log {self._worker.record.log}")  # fmt: skip

    def send(self, records: int, faults: float, seed: int | None) -> Run:
        """Send records while the worker commits them; return when all are committed."""
        from lakeward.produce.recipe import Recipe
        from lakeward.produce.send import send_records

        settings = self.settings
        share, rest = divmod(records, len(settings.topics))
        counts = {name: share + (index < rest) for index, name in enumerate(settings.topics)}
        recipe = Recipe(seed=seed, fault_share=faults)
        stop = threading.Event()
        began = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(send_records, settings, counts, recipe, stop=stop.is_set)
            try:
                jobs = self._wait(sending, records)
            finally:
                stop.set()
        return self._run(sending.result(), jobs, time.monotonic() - began)

    def stop(self) -> None:
        """Stop what was started, both at once: neither has to wait for the other."""
        stops = [self._worker.stop] if self._worker else []
        if self._broker and not self._broker.already_running:
            stops.append(self._broker.stop)
        threads = [threading.Thread(target=stop, args=(GRACE,)) for stop in stops]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _wait(self, sending: Future[Manifest], records: int) -> list[dict[str, Any]]:
        done, moved, told = -1, time.monotonic(), time.monotonic()
        with self._out.progress("Committed", total=records) as show:
            while True:
                jobs = self._jobs()
                committed = sum(_handled(job) for job in jobs)
                show(min(committed, records))
                if committed > done:
                    done, moved = committed, time.monotonic()
                if time.monotonic() - told > 3 and not sys.stderr.isatty():
                    self._out.say(f"  {min(committed, records):,} of {records:,} committed")
                    told = time.monotonic()
                if sending.done() and _all_committed(sending.result(), jobs):
                    return jobs
                if time.monotonic() - moved > STALLED:
                    raise self._failed(f"has committed nothing for {STALLED:.0f} s")
                time.sleep(0.1)

    def _jobs(self) -> list[dict[str, Any]]:
        jobs = read_jobs(self.settings)
        for job in jobs:
            if job.get("state") == "FAILED":
                raise self._failed(f"stopped job {job['name']}: {job.get('reason')}")
        assert self._worker is not None
        if not self._worker.alive:
            raise self._failed(f"ended with code {self._worker.exit_code}")
        return jobs

    def _failed(self, what: str) -> ServiceFailed:
        from lakeward.stack.service import last_lines

        assert self._worker is not None
        log = self._worker.record.log
        words = "".join(f"\n  {line}" for line in last_lines(Path(log)))
        return ServiceFailed(
            f"The worker {what}", where=f"log: {log}", next_step=f"Its last words:{words}"
        )

    def _run(self, manifest: Manifest, jobs: list[dict[str, Any]], seconds: float) -> Run:
        from lakeward.cli.tables import read_facts

        first = min(job["first_commit_at"] for job in jobs if job.get("first_commit_at"))
        since = time.monotonic() - (time.time() - first / 1000)
        fresh = [
            job["freshness_seconds"] for job in jobs if job.get("freshness_seconds") is not None
        ]
        facts = read_facts(self.settings, self._out)
        return Run(
            manifest.records,
            sum(job["committed_records"] for job in jobs),
            sum(job["dead_letters"] for job in jobs),
            sum(fact.files or 0 for fact in facts),
            seconds,
            since - self._began,
            max(fresh, default=None),
        )


def _handled(job: dict[str, Any]) -> int:
    names = ("committed_records", "dead_letters", "tombstones")
    return sum(int(job.get(name) or 0) for name in names)


def _all_committed(manifest: Manifest, jobs: list[dict[str, Any]]) -> bool:
    positions: dict[tuple[str, int], int] = {}
    for job in jobs:
        for topic, partitions in (job.get("positions") or {}).items():
            positions |= {(topic, int(number)): at for number, at in partitions.items()}
    return all(
        positions.get((sent.topic, sent.partition), -1) >= sent.end_offset
        for sent in manifest.ranges
    )
