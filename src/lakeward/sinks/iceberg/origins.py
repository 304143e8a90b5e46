"""What a table itself tells about the offsets it holds: in its snapshots, and in its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakeward.model.offsets import Slice, TopicPartition
from lakeward.sinks.iceberg.state import TableState
from lakeward.sinks.iceberg.storage import storage_errors

ROW_KEY = ("_topic", "_kafka_partition", "_offset")
LETTER_KEY = ("topic", "partition", "offset")
Key = tuple[str, str, str]
DECISION = "lakeward.decision"
POSITIONS = "lakeward.positions"
"""Where a decision put the job; with the ranges of batches, snapshots tell the whole way."""


class Held(NamedTuple):
    """The offsets of one partition found in a table: `[first, end)`, perhaps with gaps."""

    first: int
    end: int
    rows: int


def has_columns(table: Table, key: Key) -> bool:
    """Whether the table says of each row where it came from."""
    return {field.name for field in table.schema().fields}.issuperset(key)


def held_offsets(table: Table, key: Key) -> dict[TopicPartition, Held]:
    """Scan a table's origin columns: which offsets are there, per partition."""
    found: dict[TopicPartition, Held] = {}
    with storage_errors(str(table.name())):
        for batch in table.scan(selected_fields=key).to_arrow_batch_reader():
            # The scan brings columns in the order of the schema.
            rows = pa.table({name: batch.column(name) for name in key}).drop_null()
            told = [(key[2], "min"), (key[2], "max"), (key[2], "count")]
            for row in rows.group_by(list(key[:2])).aggregate(told).to_pylist():
                where = TopicPartition(row[key[0]], row[key[1]])
                first, last, count = (row[f"{key[2]}_{what}"] for _, what in told)
                known = found.get(where, Held(first, last + 1, 0))
                found[where] = Held(
                    min(known.first, first), max(known.end, last + 1), known.rows + count
                )
    return found


def count_rows(table: Table) -> int:
    """Return how many rows readers see."""
    with storage_errors(str(table.name())):
        return int(table.scan().count())


def abandoned(state: TableState) -> tuple[Slice, ...] | None:
    """Return the ranges a roll-back took from a table, the newest first; None if nobody knows.

    They are in the snapshots between the one the ledger was written with and the first that the
    head descends from, too.
    """
    ledger = state.known()
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in state.table.metadata.snapshots}
    kept = {snapshot.snapshot_id for snapshot in _line(state.head, snapshots)}
    gone: list[Slice] = []
    last: int | None = ledger.snapshot_id
    for snapshot in _line(ledger.snapshot_id, snapshots):
        if snapshot.snapshot_id in kept:
            return tuple(gone)
        ranges = _ranges(snapshot, ledger.job)
        if ranges is None and DECISION not in _summary(snapshot, ledger.job):
            return None
        gone += ranges or []
        last = snapshot.parent_snapshot_id
    return tuple(gone) if last is None else None


def told_positions(state: TableState) -> dict[TopicPartition, int]:
    """Return the positions a table's retained snapshots tell, as far back as they are sure."""
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in state.table.metadata.snapshots}
    found: dict[TopicPartition, int] = {}
    for snapshot in _line(state.head, snapshots):
        moved = _summary(snapshot, state.job).get(POSITIONS)
        ranges = _ranges(snapshot, state.job)
        if moved is not None:
            ranges = [
                Slice(topic, int(partition), offset, offset)
                for topic, partitions in json.loads(moved).items()
                for partition, offset in partitions.items()
            ]
        if ranges is None:
            break
        found = {part.where: part.end for part in ranges} | found
        if moved is not None:
            break
    return found


def _line(head: int | None, snapshots: dict[int, Snapshot]) -> Iterator[Snapshot]:
    while head is not None and head in snapshots:
        yield snapshots[head]
        head = snapshots[head].parent_snapshot_id


def _summary(snapshot: Snapshot, job: str) -> Mapping[str, str]:
    """Return what a snapshot of the job says about itself; nothing if it is another's."""
    summary = snapshot.summary.additional_properties if snapshot.summary else {}
    return summary if summary.get("lakeward.job") == job else {}


def _ranges(snapshot: Snapshot, job: str) -> list[Slice] | None:
    """Return what a snapshot took; None if it took something and does not say what."""
    summary = _summary(snapshot, job)
    text = summary.get("lakeward.ranges")
    if text is None:
        # Claims take nothing; a batch of very many partitions does not list them.
        silent = "lakeward.records" in summary or DECISION in summary
        return None if silent else []
    return [
        Slice(topic, int(partition), start, end)
        for topic, partitions in json.loads(text).items()
        for partition, (start, end) in partitions.items()
    ]
