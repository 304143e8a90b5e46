"""Keep one job going: cycle after cycle, through outages, until it is told to stop or must."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable

from lakeward.errors import LakewardError, TopicMissing
from lakeward.job.checks import with_way_out
from lakeward.job.cycle import Committed, Job
from lakeward.job.progress import Progress
from lakeward.model.retry import BackOff

log = logging.getLogger(__name__)

LONGEST_WAIT = 86_400.0

SIGHTINGS_ALLOWED = 5
"""Times in a row a topic may seem to be missing before that is believed."""

SURPRISES_ALLOWED = 8
"""Errors in a row that we cannot name before the job gives up."""


class Coordinator:
    """Runs a job's cycles; holds its progress and how often in a row it has failed."""

    def __init__(self, job: Job, stop: threading.Event, report: Callable[[Progress], None]) -> None:
        self._job = job
        self._stop = stop
        self._report = report
        self._back_off = BackOff()
        self._failures = 0
        self._claimed = False
        self.progress = Progress(job.spec.name)

    def run(self) -> None:
        """Cycle until stopped; every end of a cycle is reported."""
        self._note(self.progress)
        while not self._stop.is_set() and self.progress.state != "FAILED":
            started = time.monotonic()
            try:
                pause = self._once(started)
            except LakewardError as failure:
                pause = self._explained(with_way_out(failure, self._job.spec.name))
            except Exception as surprise:  # noqa: BLE001 - a job must not die without a word
                pause = self._surprised(surprise)
            self._stop.wait(min(pause, LONGEST_WAIT))
        self._note(self.progress.stopped())

    def _once(self, started: float) -> float:
        if not self._claimed:
            self._job.start()
            self._claimed = True
            log.info("job %s: claimed with epoch %d", self._job.spec.name, self._job.sink.epoch)
        committed = self._job.cycle()
        self._failures = 0
        if committed is None:
            self._note(self.progress.running(self._job.lag()))
        else:
            self._note(self.progress.committed(committed))
            self._log(committed, time.monotonic() - started)
        if committed is not None and committed.more:
            return 0.0
        if committed is None and self.progress.lag > 0:
            # The table went another way; the batch has to be planned again.
            return 0.1
        return max(0.0, self._job.spec.limits.commit_interval - (time.monotonic() - started))

    def _explained(self, failure: LakewardError) -> float:
        self._job.forget()
        if self._stop.is_set():
            return 0.0
        if not failure.retryable and not self._may_be_passing(failure):
            log.error("job %s: stopped: %s", self._job.spec.name, failure)
            self._note(self.progress.failed(failure))
            return 0.0
        log.warning("job %s: waiting: %s", self._job.spec.name, failure)
        self._note(self.progress.waiting(failure))
        return self._wait()

    def _may_be_passing(self, failure: LakewardError) -> bool:
        """A topic that was there may be missing from metadata for a moment."""
        known = self._claimed and isinstance(failure, TopicMissing)
        return known and self._failures < SIGHTINGS_ALLOWED

    def _surprised(self, surprise: Exception) -> float:
        self._job.forget()
        if self._stop.is_set():
            return 0.0
        log.error("job %s: unexpected error", self._job.spec.name, exc_info=surprise)
        if self._failures >= SURPRISES_ALLOWED:
            self._note(self.progress.failed(surprise))
            return 0.0
        return self._wait()

    def _wait(self) -> float:
        self._failures += 1
        return self._back_off.seconds(self._failures - 1, random.random())  # noqa: S311

    def _note(self, progress: Progress) -> None:
        self.progress = progress
        try:
            self._report(progress)
        except OSError as failure:
            # A full disk may be the very thing the job waits for.
            log.warning("job %s: progress not written: %s", progress.name, failure)

    def _log(self, done: Committed, seconds: float) -> None:
        log.info(
            "job %s: batch %d committed: %d rows, %d dead letters, %.2f s, lag %d",
            self._job.spec.name, done.ledger.batch, done.result.rows, done.result.letters,
            seconds, done.lag,
        )  # fmt: skip
