"""Tasks that kill their process are halved until the record stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lakeward.errors import JobStopped, TaskCrashed
from lakeward.job.take_apart import MOST_CONDEMNED, Task, halves, run_apart
from lakeward.job.task import Work
from lakeward.model.offsets import Position, Slice, TopicPartition
from lakeward.model.outcome import TaskResult, merge

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def work() -> Work:
    nothing = cast(Any, SimpleNamespace())
    return Work(nothing, nothing, nothing, {}, 1, False, 1)


class Cluster:
    """Runs tasks; some records kill the process unless they are condemned."""

    def __init__(self, *deadly: tuple[TopicPartition, int]) -> None:
        self.deadly = set(deadly)
        self.runs = 0

    def run(self, work: Work, tasks: Sequence[Task]) -> list[TaskResult]:
        self.runs += 1
        results = []
        for task in tasks:
            result = TaskResult()
            for part in task:
                for offset in range(part.start, part.end):
                    record = (part.where, offset)
                    if record in work.condemned:
                        result.condemned.add(record)
                        result.rejected["crashes-decoder"] += 1
                    elif record in self.deadly:
                        raise TaskCrashed("died")
                    else:
                        result.rows += 1
                result.ends[part.where] = Position(part.end)
            results.append(result)
        return results


def test_one_deadly_record_is_condemned_and_every_other_record_is_taken_once() -> None:
    cluster = Cluster((P1, 777))
    tasks = [[Slice("t", 0, 0, 1000)], [Slice("t", 1, 0, 1000), Slice("t", 0, 1000, 1100)]]

    result = merge(run_apart(cluster.run, work(), tasks))

    assert result.condemned == {(P1, 777)}
    assert (result.rows, result.letters) == (2099, 1)
    assert result.ends == {P0: Position(1100), P1: Position(1000)}


def test_finding_one_record_among_a_hundred_thousand_takes_few_runs() -> None:
    cluster = Cluster((P0, 65_432))
    list(run_apart(cluster.run, work(), [[Slice("t", 0, 0, 100_000)]]))
    assert cluster.runs < 40


def test_a_crash_that_does_not_repeat_condemns_nobody() -> None:
    cluster = Cluster((P0, 5))

    def once(work: Work, tasks: Sequence[Task]) -> list[TaskResult]:
        try:
            return cluster.run(work, tasks)
        finally:
            cluster.deadly.clear()

    result = merge(run_apart(once, work(), [[Slice("t", 0, 0, 10)]]))
    assert (result.rows, result.condemned) == (10, set())


def test_a_process_that_dies_without_decoding_is_no_fault_of_the_record() -> None:
    def dead(work: Work, tasks: Sequence[Task]) -> list[TaskResult]:
        raise TaskCrashed("died")

    with pytest.raises(TaskCrashed):
        list(run_apart(dead, work(), [[Slice("t", 0, 0, 4)]]))


def test_many_deadly_records_stop_the_job_instead_of_filling_the_dead_letters() -> None:
    cluster = Cluster(*((P0, offset) for offset in range(MOST_CONDEMNED + 1)))
    with pytest.raises(JobStopped, match="More than 20 records"):
        list(run_apart(cluster.run, work(), [[Slice("t", 0, 0, 100)]]))


def test_halves_cover_a_task_without_gap_or_overlap() -> None:
    task = [Slice("t", 0, 10, 13, 4), Slice("t", 1, 0, 1, 7), Slice("t", 2, 5, 9)]
    left, right = halves(task)
    assert left == [Slice("t", 0, 10, 13, 4), Slice("t", 1, 0, 1, 7)]
    assert right == [Slice("t", 2, 5, 9)]
    left, right = halves([Slice("t", 0, 10, 15, 4)])
    assert (left, right) == ([Slice("t", 0, 10, 12, 4)], [Slice("t", 0, 12, 15)])
