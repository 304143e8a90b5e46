"""Plan a batch: which offsets to read next, and how to cut them into tasks. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from lakeward.model.offsets import Batch, Positions, Slice, TopicPartition
from lakeward.model.spec import Limits

TASKS_PER_CORE = 2
"""Equal slices on fewer cores leave one idle at the end; finer cuts even that out."""


UNSEEN_RECORD_BYTES = 16_384
"""What a record counts for until some have been seen: large, so that a first batch is small."""


def plan_batch(
    positions: Positions,
    ends: Mapping[TopicPartition, int],
    limits: Limits,
    cores: int,
    record_bytes: float = 0.0,
) -> Batch | None:
    """Take what waits in Kafka, up to the limits; None if nothing waits.

    `record_bytes` is the average size seen so far; with it the byte limit becomes a record limit.
    """
    waiting = {
        where: ends[where] - position.offset
        for where, position in positions.items()
        if ends.get(where, position.offset) > position.offset
    }
    if not waiting:
        return None
    size = record_bytes or UNSEEN_RECORD_BYTES
    allowed = max(1, min(limits.batch_records, int(limits.batch_bytes / size)))
    ranges = [
        Slice(
            where.topic,
            where.partition,
            positions[where].offset,
            positions[where].offset + count,
            positions[where].leader_epoch,
        )
        for where, count in sorted(share_out(waiting, allowed).items())
    ]
    return cut(ranges, limits, cores)


def share_out(waiting: Mapping[TopicPartition, int], allowed: int) -> dict[TopicPartition, int]:
    """Share `allowed` records among partitions: small backlogs whole, the rest evenly."""
    shares: dict[TopicPartition, int] = {}
    smallest_first = sorted(waiting.items(), key=lambda item: (item[1], item[0]))
    for index, (where, count) in enumerate(smallest_first):
        fair = -(-allowed // (len(smallest_first) - index))
        shares[where] = min(count, fair)
        allowed -= shares[where]
    return {where: share for where, share in shares.items() if share > 0}


def cut(ranges: Sequence[Slice], limits: Limits, cores: int) -> Batch:
    """Cut ranges into tasks: one for a small batch, else enough that every core has work."""
    ranges = tuple(part for part in ranges if len(part) > 0)
    total = sum(len(part) for part in ranges)
    if total <= limits.small_batch_records:
        return Batch(ranges, (ranges,) if ranges else ())
    size = min(limits.slice_records, -(-total // (cores * TASKS_PER_CORE)))
    size = max(size, limits.small_batch_records)
    tasks = _grouped([piece for part in ranges for piece in _pieces(part, size)], size)
    # The largest first: what is left at the end is small.
    return Batch(ranges, tuple(sorted(tasks, key=lambda task: -sum(map(len, task)))))


def _grouped(pieces: Sequence[Slice], size: int) -> list[tuple[Slice, ...]]:
    """Put pieces of different partitions together while they fit: a task costs, and so do files."""
    tasks: list[list[Slice]] = []
    for piece in pieces:
        fits = tasks and sum(map(len, tasks[-1])) + len(piece) <= size
        if fits and tasks[-1][-1].where != piece.where:
            tasks[-1].append(piece)
        else:
            tasks.append([piece])
    return [tuple(task) for task in tasks]


def _pieces(part: Slice, size: int) -> list[Slice]:
    count = -(-len(part) // size)
    edges = [part.start + len(part) * index // count for index in range(count + 1)]
    return [
        Slice(part.topic, part.partition, start, end, part.leader_epoch if not index else -1)
        for index, (start, end) in enumerate(itertools.pairwise(edges))
    ]
