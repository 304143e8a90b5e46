"""Run a batch's tasks: on Spark, or right here. The task function is the same."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from lakeward.errors import LakewardError, TaskCrashed
from lakeward.job.take_apart import Task, run_apart
from lakeward.job.task import Work, rehearse, run_task
from lakeward.model.offsets import Batch, Slice
from lakeward.model.outcome import TaskResult

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

CRASH_SIGNS = (
    "Python worker exited unexpectedly",
    "ExecutorLostFailure",
    "Python worker failed to connect back",
)
"""What Spark says when the process of a task is gone, not when its code raised."""


class Runner(Protocol):
    """Ships slices to tasks and brings their results back."""

    @property
    def cores(self) -> int:
        """How many tasks run at a time."""
        ...

    def run(self, work: Work, batch: Batch) -> list[TaskResult]:
        """Run every task of a batch; raises the first error of ours that a task met."""
        ...

    def cancel(self) -> None:
        """Give up what is running; `run` then raises."""
        ...


def attempt(work: Work, slices: Sequence[Slice]) -> TaskResult | LakewardError:
    """Run a task; an error we can explain is an answer, so that Spark does not repeat it."""
    try:
        return run_task(work, slices)
    except LakewardError as failure:
        return failure


def _unwrap(answers: Sequence[TaskResult | LakewardError]) -> list[TaskResult]:
    for answer in answers:
        if isinstance(answer, LakewardError):
            raise answer
    return [answer for answer in answers if isinstance(answer, TaskResult)]


class SparkRunner:
    """Runs tasks as Spark jobs, in a scheduler pool of the job's own."""

    def __init__(self, context: SparkContext, name: str) -> None:
        self._context = context
        self._group = f"lakeward-{name}"
        self._name = name

    @property
    def cores(self) -> int:
        return int(self._context.defaultParallelism)

    def run(self, work: Work, batch: Batch) -> list[TaskResult]:
        self._context.setLocalProperty("spark.scheduler.pool", self._name)
        self._context.setJobGroup(self._group, f"batch of {len(batch)} records", True)
        try:
            return self._collect(work, batch.tasks)
        except TaskCrashed as crash:
            log.warning("job %s: %s; looking for a record that does it", self._name, crash.what)
            return list(run_apart(self._collect, work, batch.tasks))

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)

    def _collect(self, work: Work, tasks: Sequence[Task]) -> list[TaskResult]:
        shipped = self._context.parallelize(tasks, len(tasks))
        try:
            return _unwrap(shipped.map(lambda slices: attempt(work, slices)).collect())
        except LakewardError:
            raise
        except Exception as failure:
            if not any(sign in str(failure) for sign in CRASH_SIGNS):
                raise
            raise TaskCrashed(
                "A process that runs tasks died",
                where=f"{len(tasks)} tasks from {tasks[0][0]}",
                next_step="The job tries again; look for its end in the system's log.",
            ) from failure


def warm_up(context: SparkContext) -> None:
    """Start the processes that run tasks before there is one: the first takes seconds."""
    cores = int(context.defaultParallelism)
    with suppress(Exception):
        # What is wrong here will be wrong, and told, when the first batch runs.
        context.parallelize(range(cores), cores).foreach(rehearse)


class InlineRunner:
    """Runs tasks one after the other in this process: no JVM, for tests and tools."""

    def __init__(self, cores: int = 2) -> None:
        self._cores = cores

    @property
    def cores(self) -> int:
        return self._cores

    def run(self, work: Work, batch: Batch) -> list[TaskResult]:
        return _unwrap([attempt(work, slices) for slices in batch.tasks])

    def cancel(self) -> None:
        """Nothing to do: a task in this process ends by itself."""
