"""One Spark application that runs several jobs: a coordinator thread each."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from lakeward.catalogs.open import open_catalog
from lakeward.job.coordinator import Coordinator
from lakeward.job.cycle import Job
from lakeward.job.progress import Progress, write_progress
from lakeward.job.run import Runner, SparkRunner, warm_up
from lakeward.kafka.offsets import KafkaOffsets
from lakeward.model.spec import JobSpec
from lakeward.session import start_session
from lakeward.sinks.iceberg.sink import IcebergSink

log = logging.getLogger(__name__)

PATIENCE = 2.5
"""Seconds a coordinator gets to end its cycle; an unfinished one is simply not committed."""


def build_job(spec: JobSpec, runner: Runner, stop: threading.Event) -> Job:
    """Put a job together from its specification."""
    sink = IcebergSink(spec, open_catalog(spec.catalog), stop.wait)
    return Job(spec, KafkaOffsets(spec.source, spec.group), sink, runner)


def run_worker(
    specs: Sequence[JobSpec],
    master: str,
    java_home: Path,
    progress: Path,
    stop: threading.Event,
) -> list[Progress]:
    """Run jobs until `stop` is set or all have ended; return how each of them ended."""
    log.info("starting Spark, master %s", master)
    session = start_session("lakeward-worker", master, java_home, stop)
    if session is None:
        return [Progress(spec.name).stopped() for spec in specs]
    runners = [SparkRunner(session.sparkContext, spec.name) for spec in specs]
    coordinators = [
        Coordinator(build_job(spec, runner, stop), stop, lambda p: write_progress(progress, p))
        for spec, runner in zip(specs, runners, strict=True)
    ]
    warming = threading.Thread(target=warm_up, args=(session.sparkContext,), daemon=True)
    warming.start()
    threads = [
        threading.Thread(target=coordinator.run, name=coordinator.progress.name, daemon=True)
        for coordinator in coordinators
    ]
    for thread in threads:
        thread.start()
    while not stop.wait(0.2) and any(thread.is_alive() for thread in threads):
        pass
    stop.set()
    for runner in runners:
        runner.cancel()
    deadline = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    session.stop()
    return [coordinator.progress for coordinator in coordinators]
