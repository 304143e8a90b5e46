"""Find the record that kills its worker: halve what crashed until it stands alone.

Halves that survive keep their results, so nothing is read or written twice but the crash itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lakeward.errors import JobStopped, TaskCrashed
from lakeward.job.task import Work
from lakeward.model.offsets import Slice
from lakeward.model.outcome import TaskResult

MOST_CONDEMNED = 20
"""Records of one batch that may kill their worker before that counts as trouble of our own."""

Task = Sequence[Slice]
Run = Callable[[Work, Sequence[Task]], list[TaskResult]]


def run_apart(run: Run, work: Work, tasks: Sequence[Task]) -> Iterator[TaskResult]:
    """Run tasks that crashed together one by one; what crashes alone is halved."""
    condemned = 0
    waiting = list(reversed(tasks))
    while waiting:
        task = waiting.pop()
        try:
            yield from run(work, [task])
            continue
        except TaskCrashed as crash:
            records = sum(map(len, task))
            if records == 1:
                condemned += 1
                if condemned > MOST_CONDEMNED:
                    raise _too_many(task) from crash
        if records == 1:
            # If even this crashes, it is not the record: the error goes to the coordinator.
            yield from run(_condemning(work, task), [task])
        else:
            waiting += reversed(halves(task))


def halves(task: Task) -> tuple[Task, Task]:
    """Split a task of two records or more into two with about half of them each."""
    middle = sum(map(len, task)) // 2
    left: list[Slice] = []
    right: list[Slice] = []
    for part in task:
        cut = min(max(middle, 0), len(part))
        if cut:
            left.append(replace(part, end=part.start + cut))
        if cut < len(part):
            epoch = part.leader_epoch if not cut else -1
            right.append(replace(part, start=part.start + cut, leader_epoch=epoch))
        middle -= len(part)
    return left, right


def _condemning(work: Work, task: Task) -> Work:
    found = {(part.where, offset) for part in task for offset in range(part.start, part.end)}
    return replace(work, condemned=work.condemned | found)


def _too_many(task: Task) -> JobStopped:
    return JobStopped(
        f"More than {MOST_CONDEMNED} records of one batch kill the process that decodes them",
        where=str(task[0]),
        next_step="Look at the worker's log and its memory; restart the worker to try again.",
    )
