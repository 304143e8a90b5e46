"""Every decision of the protocol, made by the product's own functions on rebuilt ledgers.

A variant in `variants.py` replaces one method; everything else stays what the product does.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

from lakeward.model import ledger as ledgers
from lakeward.model import protocol
from lakeward.model.history import Ancestry, SnapshotLink, ancestry
from lakeward.model.ledger import Ledger, TopicLedger
from lakeward.model.offsets import Batch, Position, Slice, TopicPartition
from lakeward.model.plan import cut, plan_batch
from lakeward.model.spec import Limits
from model.world import Note, Read, Records, Request, Snapshot, Table, World

TOPIC, TOPIC_ID = "t", "id"
Ranges = tuple[tuple[int, int, int], ...]
"""(partition, start, end) each."""
Decision = protocol.Landed | protocol.Rebase | protocol.Discarded


class Planned(NamedTuple):
    """A batch whose files are written: what it covers, what pins it, and where its records go."""

    commit: int
    number: int
    ranges: Ranges
    revision: int
    schema: int
    rows: Records
    letters: Records


def is_letter(record: int, revision: int, schema: int) -> bool:
    """Judge a record. The verdict depends on the configuration and on the schema, as in life."""
    return (record + revision + schema) % 2 == 1 or record >= 10


def records_in(ranges: Ranges) -> Records:
    return tuple(10 * part + offset for part, start, end in ranges for offset in range(start, end))


class Rules:
    """What Lakeward does."""

    claims_letters = True
    checks_ancestry_while_running = True
    claims_again_after_giving_up = True
    starts_over_after_a_claim = True

    def lands(self, request: Request, table: Table) -> bool:
        """Compare and swap."""
        return request.schema == table.schema and not self.doomed(request, table)

    def doomed(self, request: Request, table: Table) -> bool:
        """Can it never land again? A schema may come back, a sequence number is given once."""
        return request.base != table.head or request.last != table.last

    def moves_ref(self, records: Records) -> bool:
        """Every write of a ledger is a snapshot, also without records."""
        return True

    def read(self, table: Table) -> Read:
        """Load a table: the ledger is a property, whatever became of its snapshot."""
        return Read(table.head, table.last, table.schema, table.ledger)

    def ancestry(self, ledger: Note, head: int, snapshots: tuple[Snapshot, ...]) -> Ancestry:
        return _ancestry(ledger, head, snapshots)

    def next_epoch(self, letters: Note, anchor: Note) -> int:
        return ledgers.next_epoch([ledger_of(letters), ledger_of(anchor)])

    def claimed(self, ledger: Note, epoch: int, commit: int) -> Note:
        return _claimed(ledger, epoch, commit)

    def overtaken(self, epoch: int, anchor: int, letters: int) -> bool:
        """Ask with the epochs seen on both tables."""
        return _overtaken(epoch, anchor, letters)

    def half_done(self, anchor: Note, letters: Note) -> Note | None:
        return _half_done(anchor, letters)

    def may_finish(self, half_done: Note, revision: int) -> bool:
        """A batch half committed under another configuration is not ours to finish."""
        return half_done.revision == revision

    def pin(self, half_done: Note, revision: int) -> tuple[int, int]:
        """Judge the records of a half-done batch as they were judged the first time."""
        return half_done.revision, half_done.schema

    def position(self, anchor: Note, letters: Note) -> Note:
        """The anchor alone says where the job is."""
        return anchor

    def covering(self, ledger: Note, planned: Planned, epoch: int) -> Note:
        return _covering(ledger, planned, epoch)

    def after_commit(self, before: Read, now: Read, commit: int) -> Decision:
        return _after_commit(before, now, commit)

    def when_fenced(self, world: World, planned: Planned) -> World:
        """Files named in a request are nobody's to delete: it may have landed, or may yet."""
        return world


@cache
def ledger_of(note: Note) -> Ledger:
    """Rebuild the ledger a note stands for."""
    positions = {number: Position(offset) for number, offset in enumerate(note.positions)}
    topic = TopicLedger(TOPIC_ID, dict.fromkeys(positions, 0), positions)
    return Ledger(
        job="j", table_uuid="u", generation=0, epoch=note.epoch, batch=note.batch,
        commit_id=str(note.commit), revision=str(note.revision), as_of=0, cluster_id="k",
        snapshot_id=note.snapshot, sequence=note.sequence, schema_id=note.schema,
        topics={TOPIC: topic}, anchor_uuid="u", tables=None, written_at=0,
    )  # fmt: skip


def note_of(ledger: Ledger) -> Note:
    """Reduce a ledger to a note."""
    positions = ledger.topics[TOPIC].positions
    return Note(
        ledger.epoch, tuple(positions[number].offset for number in sorted(positions)),
        ledger.batch, int(ledger.commit_id), int(ledger.revision), ledger.schema_id,
        ledger.snapshot_id, ledger.sequence,
    )  # fmt: skip


@cache
def plans(position: Note, log: tuple[int, ...]) -> tuple[Ranges, ...]:
    """Return every batch there may be, however much of the log has arrived by now."""
    positions = ledger_of(position).positions()
    parts = [TopicPartition(TOPIC, number) for number in range(len(log))]
    waiting = [range(at, end + 1) for at, end in zip(position.positions, log, strict=True)]
    ends = (dict(zip(parts, arrived, strict=True)) for arrived in product(*waiting))
    batches = (plan_batch(positions, arrived, Limits(), 1) for arrived in ends)
    return tuple(_ranges(batch) for batch in batches if batch)


@cache
def ranges_to_finish(anchor: Note, half_done: Note) -> Ranges:
    """Return exactly what a half-done batch still owes the anchor."""
    ahead = ledgers.ranges_between(ledger_of(anchor), ledger_of(half_done))
    return _ranges(cut(ahead, Limits(), 1))


def _ranges(batch: Batch) -> Ranges:
    return tuple((part.partition, part.start, part.end) for part in batch.ranges)


@cache
def _ancestry(ledger: Note, head: int, snapshots: tuple[Snapshot, ...]) -> Ancestry:
    links = {one.id: SnapshotLink(one.parent or None, one.id) for one in snapshots}
    return ancestry(ledger_of(ledger), head, links)


@cache
def _claimed(ledger: Note, epoch: int, commit: int) -> Note:
    return note_of(protocol.claimed(ledger_of(ledger), epoch, str(commit), 0))


@cache
def _overtaken(epoch: int, *seen: int) -> bool:
    both = [ledger_of(Note(one, (0,), 0, 0, 0, 0, 0, 0)) for one in seen]
    return protocol.overtaken(epoch, both) is not None


@cache
def _half_done(anchor: Note, letters: Note) -> Note | None:
    found = ledgers.half_done(ledger_of(anchor), [ledger_of(letters)])
    return None if found is None else note_of(found)


@cache
def _covering(ledger: Note, planned: Planned, epoch: int) -> Note:
    batch = cut([Slice(TOPIC, *part) for part in planned.ranges], Limits(), 1)
    ends = {part.where: Position(part.end) for part in batch.ranges}
    pin = protocol.Pin(str(planned.revision), 0, planned.schema, {TOPIC: TOPIC_ID})
    stamp = protocol.Stamp(epoch, planned.number, str(planned.commit), 0)
    return note_of(protocol.covering(ledger_of(ledger), batch, ends, pin, stamp))


@cache
def _after_commit(before: Read, now: Read, commit: int) -> Decision:
    then, read = (protocol.Seen(ledger_of(one.ledger), one.schema, 0) for one in (before, now))
    return protocol.after_commit(then, read, str(commit))


REMEMBERED = (_ancestry, _claimed, _overtaken, _half_done, _covering, _after_commit)
"""Decisions are asked for again and again, and always answered alike."""


def forget_decisions() -> None:
    """Ask the product's functions anew."""
    for decision in REMEMBERED:
        decision.cache_clear()
