"""What an operator's decision is made on: Kafka as it is now, and what the tables really hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lakeward.errors import JobStopped, TableMissing, TopicMissing
from lakeward.kafka.offsets import KafkaOffsets, TopicState
from lakeward.model.decisions import Standing, job_command, letters_ahead, with_adopted_of
from lakeward.model.ledger import Ledger
from lakeward.model.offsets import Slice, TopicPartition
from lakeward.model.spec import JobSpec
from lakeward.sinks.iceberg.decide import Tables
from lakeward.sinks.iceberg.origins import (
    LETTER_KEY,
    ROW_KEY,
    abandoned,
    has_columns,
    held_offsets,
)
from lakeward.sinks.iceberg.state import Fault, TableState

STRAYED = (Fault.ROLLED_BACK, Fault.AMBIGUOUS)
FOREIGN = (Fault.UNREADABLE, Fault.OTHER_TABLE)


@dataclass(frozen=True, slots=True)
class Source:
    """Kafka now: the topics of a job that exist, and where their partitions begin and end."""

    cluster_id: str
    topics: Mapping[str, TopicState]
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        return sorted(
            TopicPartition(name, partition)
            for name in topics
            if name in self.topics
            for partition in self.topics[name].partitions
        )


def look_at_kafka(kafka: KafkaOffsets, names: Iterable[str]) -> Source:
    """Ask Kafka about topics; those that do not exist are left out."""
    topics: dict[str, TopicState] = {}
    for name in sorted(set(names)):
        try:
            topics |= kafka.topics([name])
        except TopicMissing:
            continue
    partitions = [TopicPartition(name, p) for name in topics for p in topics[name].partitions]
    starts, ends = kafka.starts(partitions), kafka.ends(partitions)
    return Source(kafka.cluster_id(), topics, starts, ends)


def found_anchor(tables: Tables, spec: JobSpec) -> TableState:
    """Return the data table; without one there is nothing to decide about."""
    if tables.anchor is None:
        raise TableMissing(
            f"The table {spec.table} does not exist",
            where=f"job {spec.name}",
            next_step="Create it with: lakeward init.",
        )
    return tables.anchor


def foreign_letters(tables: Tables) -> bool:
    """Whether the dead-letter table was written, but not for this data table."""
    letters, anchor = tables.letters, tables.anchor
    if letters is None or anchor is None:
        return False
    if letters.fault in FOREIGN:
        return True
    if letters.ledger is None:
        return not letters.empty
    return letters.ledger.anchor_uuid != str(anchor.table.metadata.table_uuid)


def refuse_foreign(tables: Tables, spec: JobSpec) -> Ledger:
    """Return the anchor's ledger; stop where only `adopt` can help."""
    anchor = found_anchor(tables, spec)
    if anchor.fault in FOREIGN:
        anchor.checked()
    ledger = anchor.known()
    if foreign_letters(tables):
        assert tables.letters is not None
        raise JobStopped(
            f"The table {tables.letters.name} does not hold the dead letters of {spec.table}",
            where=f"job {spec.name}",
            next_step="Rename or drop it, or add to it as it is:"
            f" `{job_command('adopt', spec.name, '--from', 'table')}`",
        )
    letters = tables.letters.ledger if tables.letters else None
    return with_adopted_of(ledger, letters) if letters else ledger


def refuse_unsound(tables: Tables, spec: JobSpec) -> Ledger:
    """Return the anchor's ledger; stop if it does not agree with the tables."""
    ledger = refuse_foreign(tables, spec)
    for state in (tables.anchor, tables.letters):
        if state is not None:
            state.checked()
    return ledger


@dataclass(frozen=True, slots=True)
class Held:
    """What the tables hold, and whether that is known or taken from the ledger on trust."""

    standing: Standing
    sure: bool


def what_is_held(tables: Tables, spec: JobSpec) -> Held:
    """Find out what the tables hold of what the ledger says, if their histories do not tell."""
    ledger = refuse_foreign(tables, spec)
    assert tables.anchor is not None
    letters = tables.letters
    rows_gone: tuple[Slice, ...] | None = ()
    if tables.anchor.fault in STRAYED:
        rows_gone = abandoned(tables.anchor)
        if rows_gone is None:
            rows_gone = _not_in_rows(tables.anchor, ledger)
    gone: tuple[Slice, ...] = ()
    if letters is not None and letters.fault in STRAYED:
        gone = _letters_gone(letters)
    ahead = letters_ahead(ledger, letters.ledger) if letters and letters.ledger else ()
    return Held(Standing(ledger, rows_gone or (), gone, ahead), sure=rows_gone is not None)


def _not_in_rows(anchor: TableState, ledger: Ledger) -> tuple[Slice, ...] | None:
    """Return what lies past the newest row of each partition; None if rows do not tell."""
    standing = Standing(ledger)
    again = any(standing.readings(where, 0).overlapping() for where in ledger.positions())
    if again or not has_columns(anchor.table, ROW_KEY):
        return None
    held = held_offsets(anchor.table, ROW_KEY)
    gone = []
    for where, position in ledger.positions().items():
        start = ledger.topics[where.topic].starts[where.partition]
        end = max(start, held[where].end if where in held else start)
        if end < position.offset:
            gone.append(Slice(*where, end, position.offset))
    return tuple(gone)


def _letters_gone(letters: TableState) -> tuple[Slice, ...]:
    """Return the dead letters a roll-back took.

    They are too sparse to be missed where the history was only cut; `lakeward verify` would tell.
    """
    found = abandoned(letters)
    if found is not None or letters.fault is Fault.AMBIGUOUS:
        return found or ()
    held = held_offsets(letters.table, LETTER_KEY)
    gone = []
    for where, position in letters.known().positions().items():
        start = letters.known().topics[where.topic].starts[where.partition]
        end = max(start, held[where].end if where in held else start)
        if end < position.offset:
            gone.append(Slice(*where, end, position.offset))
    return tuple(gone)
