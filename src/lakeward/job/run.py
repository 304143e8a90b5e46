"""Run a batch's tasks: on Spark, or right here. The task function is the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from lakeward.errors import LakewardError
from lakeward.job.task import Work, run_task
from lakeward.model.offsets import Batch, Slice
from lakeward.model.outcome import TaskResult

if TYPE_CHECKING:
    from pyspark import SparkContext


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
        tasks = self._context.parallelize(batch.tasks, len(batch.tasks))
        return _unwrap(tasks.map(lambda slices: attempt(work, slices)).collect())

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)


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
