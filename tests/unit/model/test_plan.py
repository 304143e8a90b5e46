"""A batch takes what waits, within its limits, and gives every core work."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lakeward.model.offsets import Position, TopicPartition
from lakeward.model.plan import plan_batch, share_out
from lakeward.model.spec import Limits

LIMITS = Limits(batch_records=1000, slice_records=200, small_batch_records=50)


def at(*offsets: int) -> dict[TopicPartition, Position]:
    return {TopicPartition("t", i): Position(offset) for i, offset in enumerate(offsets)}


def ends(*offsets: int) -> dict[TopicPartition, int]:
    return {TopicPartition("t", i): offset for i, offset in enumerate(offsets)}


def test_nothing_waits_nothing_is_planned() -> None:
    assert plan_batch(at(5, 7), ends(5, 7), LIMITS, 2) is None


def test_an_end_before_the_position_is_not_planned() -> None:
    assert plan_batch(at(5), ends(3), LIMITS, 2) is None


def test_a_small_batch_is_one_task_over_all_partitions() -> None:
    batch = plan_batch(at(0, 10), ends(20, 30), LIMITS, 2)
    assert batch is not None
    assert [str(part) for part in batch.ranges] == ["t-0[0,20)", "t-1[10,30)"]
    assert batch.tasks == (batch.ranges,)


def test_a_large_batch_is_cut_so_that_every_core_has_work() -> None:
    batch = plan_batch(at(0, 0, 0), ends(300, 300, 300), LIMITS, 2)
    assert batch is not None
    assert len(batch.tasks) >= 4
    assert all(len(piece) <= LIMITS.slice_records for task in batch.tasks for piece in task)


def test_many_partitions_with_little_each_share_tasks() -> None:
    batch = plan_batch(at(*[0] * 80), ends(*[10] * 80), LIMITS, 2)
    assert batch is not None
    assert len(batch.tasks) == 4
    assert sorted(piece for task in batch.tasks for piece in task) == list(batch.ranges)
    assert all(len({piece.where for piece in task}) == len(task) for task in batch.tasks)


def test_the_record_limit_is_shared_and_small_backlogs_are_taken_whole() -> None:
    batch = plan_batch(at(0, 0, 0), ends(10, 5000, 5000), LIMITS, 2)
    assert batch is not None
    assert [len(part) for part in batch.ranges] == [10, 495, 495]


def test_the_byte_limit_counts_by_the_size_seen_so_far() -> None:
    limits = replace(LIMITS, batch_bytes=10_000)
    batch = plan_batch(at(0), ends(5000), limits, 2, record_bytes=100.0)
    assert batch is not None
    assert len(batch) == 100


def test_a_single_record_larger_than_the_byte_limit_is_still_read() -> None:
    limits = replace(LIMITS, batch_bytes=10)
    batch = plan_batch(at(0), ends(5), limits, 2, record_bytes=1000.0)
    assert batch is not None
    assert len(batch) == 1


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 5000)), min_size=1, max_size=12),
    st.integers(1, 8),
)
def test_tasks_cover_the_ranges_exactly_once(parts: list[tuple[int, int]], cores: int) -> None:
    positions = at(*(start for start, _ in parts))
    batch = plan_batch(positions, ends(*(start + size for start, size in parts)), LIMITS, cores)
    if batch is None:
        assert all(size == 0 for _, size in parts)
        return
    covered = sorted(
        (piece.partition, offset)
        for task in batch.tasks
        for piece in task
        for offset in range(piece.start, piece.end)
    )
    wanted = sorted(
        (part.partition, offset) for part in batch.ranges for offset in range(part.start, part.end)
    )
    assert covered == wanted
    assert len(batch) <= LIMITS.batch_records


@given(st.dictionaries(st.integers(0, 20), st.integers(1, 100)), st.integers(1, 500))
def test_shares_never_exceed_what_waits_or_what_is_allowed(
    waiting: dict[int, int], allowed: int
) -> None:
    named = {TopicPartition("t", partition): count for partition, count in waiting.items()}
    shares = share_out(named, allowed)
    assert all(0 < share <= named[where] for where, share in shares.items())
    assert sum(shares.values()) == min(allowed, sum(waiting.values()))
