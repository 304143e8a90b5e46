"""What an operator decides about a job that stopped, and what its ledger becomes. Pure.

The position only moves back, or over a gap, by such a decision. The ledger keeps what was read
before, so that for every offset it stays known how often it was read.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakeward.model.ledger import (
    ADOPTED,
    LETTERS,
    ROWS,
    Decision,
    Ledger,
    Span,
    TopicLedger,
    ranges_between,
)
from lakeward.model.offsets import Position, Slice, TopicPartition
from lakeward.model.spans import Readings

REMEMBERED = 50
"""Decisions a ledger keeps."""
DETAILED = 20
"""Lines of detail a decision keeps."""


def job_command(verb: str, job: str, *arguments: str) -> str:
    """Return what an operator types, quoted for a shell."""
    return shlex.join(["lakeward", "job", verb, job, *arguments])


@dataclass(frozen=True, slots=True)
class Standing:
    """A job's ledger, and where its tables do not hold what the ledger says."""

    ledger: Ledger
    """The anchor's."""
    rows_gone: tuple[Slice, ...] = ()
    """What a roll-back took from the data table, the newest first."""
    letters_gone: tuple[Slice, ...] = ()
    letters_ahead: tuple[tuple[str, Span], ...] = ()
    """By topic: dead letters of offsets whose rows were never committed."""

    def where(self) -> dict[TopicPartition, int]:
        """Return how far both tables hold everything: the position, or the oldest thing gone."""
        found = {where: position.offset for where, position in self.ledger.positions().items()}
        for gone in (self.rows_gone, self.letters_gone):
            oldest = {part.where: part.start for part in gone}
            for where in oldest.keys() & found.keys():
                found[where] = min(found[where], oldest[where])
        return found

    def readings(self, where: TopicPartition, generation: int) -> Readings:
        """Return what the tables hold of one partition."""
        topic = self.ledger.topics[where.topic]
        partition = where.partition
        start, end = topic.starts[partition], topic.positions[partition].offset
        whole = Readings(
            tuple(span for span in topic.former if span.partition == partition),
            Span(partition, start, end, topic.id, generation),
            tuple(
                replace(span, generation=generation)
                for name, span in self.letters_ahead
                if (name, span.partition) == where
            ),
        )
        return whole.without(ROWS, _of(self.rows_gone, where)).without(
            LETTERS, _of(self.letters_gone, where)
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an operator wants: new positions, and what has become of the topics."""

    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Partitions not named stay where the tables hold them."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """Topics that are others now, under the same name."""
    same_records: bool = False
    """Whether those topics hold the same records under the same offsets."""
    cuts: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Logs that were cut short, and where."""
    closed: frozenset[str] = frozenset()
    """Topics that are gone for good."""


@dataclass(frozen=True, slots=True)
class Move:
    """Where a partition goes on."""

    topic: str
    partition: int
    before: int | None
    after: int | None

    @property
    def skipped(self) -> int:
        return max(0, self._distance)

    @property
    def again(self) -> int:
        return max(0, -self._distance)

    @property
    def _distance(self) -> int:
        return 0 if self.before is None or self.after is None else self.after - self.before

    def __str__(self) -> str:
        before, after = ("none" if at is None else at for at in (self.before, self.after))
        return f"{self.topic}-{self.partition}: {before} -> {after}"


def decided(standing: Standing, verdict: Verdict, generation: int) -> Ledger:
    """Return the anchor's ledger after a decision; who decided and why is added by `signed`."""
    if verdict.same_records:
        standing = _renamed(standing, verdict.topic_ids)
        verdict = replace(verdict, topic_ids={}, same_records=False)
    ledger = standing.ledger
    topics = {
        name: _topic(name, topic, standing, verdict, generation)
        for name, topic in ledger.topics.items()
    }
    for name, id_ in verdict.topic_ids.items():
        topics.setdefault(name, TopicLedger(id_, {}, {}))
    moved = replace(ledger, topics=topics, generation=generation)
    return moved.with_partitions(verdict.positions)


def _topic(
    name: str, topic: TopicLedger, standing: Standing, verdict: Verdict, generation: int
) -> TopicLedger:
    renewed = verdict.topic_ids.get(name)
    starts, positions = dict(topic.starts), dict(topic.positions)
    former = [span for span in topic.former if span.partition not in positions]
    held = standing.where()
    for partition, position in topic.positions.items():
        where = TopicPartition(name, partition)
        reading = standing.readings(where, generation)
        if where in verdict.cuts:
            reading = reading.cut_at(verdict.cuts[where])
        to = verdict.positions.get(where, held[where])
        moved = reading.moved_to(to, renewed)
        former += moved.former
        if renewed is not None and where not in verdict.positions:
            # The topic has fewer partitions now.
            del starts[partition], positions[partition]
            continue
        starts[partition] = moved.current.start
        unmoved = renewed is None and to == position.offset
        positions[partition] = position if unmoved else Position(to)
    closed = name in verdict.closed or (topic.closed and renewed is None)
    return TopicLedger(renewed or topic.id, starts, positions, tuple(former), closed)


def _renamed(standing: Standing, ids: Mapping[str, str]) -> Standing:
    """Give topics another id everywhere: their offsets mean the same records as before."""
    topics = dict(standing.ledger.topics)
    for name in ids.keys() & topics.keys():
        topic = topics[name]
        former = tuple(_in_topic(span, topic.id, ids[name]) for span in topic.former)
        # Leader epochs of another cluster mean nothing here.
        positions = {partition: Position(at.offset) for partition, at in topic.positions.items()}
        topics[name] = TopicLedger(ids[name], topic.starts, positions, former)
    ahead = tuple(
        (name, replace(span, topic_id=ids.get(name, span.topic_id)))
        for name, span in standing.letters_ahead
    )
    ledger = replace(standing.ledger, topics=topics)
    return replace(standing, ledger=ledger, letters_ahead=ahead)


def _in_topic(span: Span, old: str, new: str) -> Span:
    return replace(span, topic_id=new) if span.topic_id == old else span


def signed(ledger: Ledger, decision: Decision) -> Ledger:
    """Add a decision to what the ledger remembers."""
    detail = decision.detail
    if len(detail) > DETAILED:
        more = f"and {len(detail) - DETAILED} more"
        decision = replace(decision, detail=(*detail[:DETAILED], more))
    return replace(ledger, decisions=(*ledger.decisions, decision)[-REMEMBERED:])


def moves(before: Ledger | None, after: Ledger) -> list[Move]:
    """Return where each partition was and is, those that stay included."""
    old = {where: at.offset for where, at in before.positions().items()} if before else {}
    new = {where: at.offset for where, at in after.positions().items()}
    return [Move(*where, old.get(where), new.get(where)) for where in sorted({*old, *new})]


def letters_ahead(anchor: Ledger, letters: Ledger) -> tuple[tuple[str, Span], ...]:
    """Return dead letters of offsets whose rows were never committed.

    After a decision that was cut short between the tables, the dead letters' ledger remembers them.
    """
    if letters.generation == anchor.generation:
        return tuple(
            (part.topic, Span(part.partition, part.start, part.end, id_, 0, LETTERS))
            for part in ranges_between(anchor, letters)
            for id_ in [letters.topics[part.topic].id]
        )
    known = {(name, _plain(span)) for name, topic in anchor.topics.items() for span in topic.former}
    return tuple(
        (name, span)
        for name, topic in letters.topics.items()
        for span in topic.former
        if span.holds == LETTERS
        and span.generation == letters.generation
        and (name, _plain(span)) not in known
    )


def with_adopted_of(anchor: Ledger, letters: Ledger) -> Ledger:
    """Take over what a decision cut short between the tables has noted as adopted."""
    if letters.generation <= anchor.generation or letters.adopted is None:
        return anchor
    topics = dict(anchor.topics)
    for name in topics.keys() & letters.topics.keys():
        mine = topics[name].former
        noted = (span for span in letters.topics[name].former if span.holds == ADOPTED)
        new = tuple(span for span in noted if span not in mine)
        topics[name] = replace(topics[name], former=(*mine, *new))
    return replace(anchor, topics=topics, adopted=letters.adopted)


def latest_decision(ledgers: Sequence[Ledger]) -> Decision | None:
    """Return the last thing decided according to any table."""
    told = [decision for ledger in ledgers for decision in ledger.decisions]
    return max(told, key=lambda decision: decision.generation, default=None)


def _plain(span: Span) -> Span:
    return replace(span, generation=0)


def _of(slices: Iterable[Slice], where: TopicPartition) -> list[Slice]:
    return [part for part in slices if part.where == where]
