"""A coordinator for a process of its own, so that signals are real.

The same parts as in a worker, with tasks run in this process instead of on Spark.
"""

from __future__ import annotations

import pickle
import signal
import threading
from pathlib import Path

# Loaded on first use otherwise: a second in every process that is forked.
import pyiceberg.catalog.rest
import pyiceberg.catalog.sql
import pyiceberg.io.pyarrow  # noqa: F401

from lakeward import failpoints
from lakeward.job.coordinator import Coordinator
from lakeward.job.progress import write_progress
from lakeward.job.run import InlineRunner
from lakeward.job.worker import build_job
from lakeward.logs import set_up_logging
from lakeward.model.spec import JobSpec


def coordinate(folder: Path, failpoint: str) -> int:
    """Run the job pickled in the folder until it is told to stop (0) or must (1)."""
    failpoints.arm(failpoint)
    set_up_logging()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    spec: JobSpec = pickle.loads((folder / "spec").read_bytes())
    job = build_job(spec, InlineRunner(), stop)
    coordinator = Coordinator(job, stop, lambda now: write_progress(folder / "progress", now))
    coordinator.run()
    return 1 if coordinator.progress.state == "FAILED" else 0
