"""The ledger: a job's committed position, kept in the table it describes. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lakeward.model.offsets import Position, Positions, Slice, TopicPartition

PREFIX = "lakeward.ledger."
VERSION = 1


BOTH, ROWS, LETTERS, ADOPTED = "both", "rows", "letters", "adopted"
"""Which tables still hold what was read of a span; `adopted` is what others have written."""


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets `[start, end)` of a partition that were read before an operator moved the job.

    What a job has read is its spans and what lies between `starts` and `positions` now. An offset
    in none of them is an approved gap; in two of them, it was read again by decision.
    """

    partition: int
    start: int
    end: int
    topic_id: str
    generation: int
    """The decision that closed the span."""
    holds: str = BOTH

    def __len__(self) -> int:
        return max(0, self.end - self.start)


@dataclass(frozen=True, slots=True)
class TopicLedger:
    """How far one topic is committed. The id tells a topic from one re-created under its name."""

    id: str
    starts: Mapping[int, int]
    positions: Mapping[int, Position]
    former: tuple[Span, ...] = ()
    """What was read before operators moved the job, in the order of reading."""
    closed: bool = False
    """Whether an operator has said that the topic is gone for good."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What an operator decided about a job, for those who come after."""

    generation: int
    command: str
    """What was typed after `lakeward job`."""
    at: int
    by: str
    reason: str
    detail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ledger:
    """What one table says about one job. Written by the same commit as the rows it covers."""

    job: str
    table_uuid: str
    generation: int
    """Grows when an operator re-positions the job."""
    epoch: int
    """The fencing number of the coordinator that wrote this."""
    batch: int
    commit_id: str
    revision: str
    as_of: int
    """The clock (epoch ms) every verdict of the batch was made with."""
    cluster_id: str
    snapshot_id: int
    sequence: int
    schema_id: int
    """The data table's schema every verdict of the batch was made with."""
    topics: Mapping[str, TopicLedger]
    anchor_uuid: str
    """The data table this ledger belongs to, on whatever table it is written."""
    tables: tuple[str, ...] | None
    """Only on the anchor: the other tables this job writes."""
    written_at: int
    ref: str = "main"
    decisions: tuple[Decision, ...] = ()
    """What operators decided, the latest last; the oldest are forgotten."""
    adopted: Mapping[str, int] | None = None
    """If the job took over written tables: how many `rows` and `letters` are in none of the spans,
    and `since` which generation the job's own snapshots count."""
    condemned: tuple[tuple[str, int, int], ...] = ()
    """Topic, partition and offset of the batch's records that kill the process decoding them."""

    def positions(self) -> dict[TopicPartition, Position]:
        return {
            TopicPartition(name, partition): position
            for name, topic in self.topics.items()
            for partition, position in topic.positions.items()
        }

    def with_topics(self, ids: Mapping[str, str]) -> Ledger:
        """Add topics not known yet, by their ids."""
        new = {
            name: TopicLedger(id_, {}, {}) for name, id_ in ids.items() if name not in self.topics
        }
        return replace(self, topics={**self.topics, **new}) if new else self

    def with_partitions(self, found: Mapping[TopicPartition, int]) -> Ledger:
        """Add partitions not known yet, each starting at the given offset."""
        topics = dict(self.topics)
        for (name, partition), start in found.items():
            topic = topics[name]
            if partition not in topic.positions:
                topics[name] = replace(
                    topic,
                    starts={**topic.starts, partition: start},
                    positions={**topic.positions, partition: Position(start)},
                )
        return replace(self, topics=topics)

    def advanced(self, ends: Positions) -> Ledger:
        """Move positions forward, never back: a smaller re-run must not rewind a table."""
        topics = dict(self.topics)
        for (name, partition), end in ends.items():
            topic = topics[name]
            if end.offset > topic.positions[partition].offset:
                topics[name] = replace(topic, positions={**topic.positions, partition: end})
        return replace(self, topics=topics)


def property_name(job: str) -> str:
    """Return the table property that holds a job's ledger."""
    return PREFIX + job


def to_json(ledger: Ledger) -> str:
    """Write a ledger as compact JSON; what operators add is left out until there is some."""
    special = ("topics", "decisions", "adopted", "condemned")
    fields = {name: getattr(ledger, name) for name in ledger.__slots__ if name not in special}
    if ledger.decisions:
        fields["decisions"] = [asdict(decision) for decision in ledger.decisions]
    if ledger.adopted is not None:
        fields["adopted"] = dict(ledger.adopted)
    if ledger.condemned:
        fields["condemned"] = ledger.condemned
    topics = {name: _topic_fields(topic) for name, topic in ledger.topics.items()}
    return json.dumps({"version": VERSION, **fields, "topics": topics}, separators=(",", ":"))


def _topic_fields(topic: TopicLedger) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": topic.id,
        "starts": {str(partition): start for partition, start in topic.starts.items()},
        "positions": {
            str(partition): [position.offset, position.leader_epoch]
            for partition, position in topic.positions.items()
        },
    }
    if topic.former:
        fields["former"] = [list(asdict(span).values()) for span in topic.former]
    if topic.closed:
        fields["closed"] = True
    return fields


def from_json(text: str) -> Ledger:
    """Read a ledger; ValueError if it is not one of ours."""
    try:
        raw = json.loads(text)
        if raw.pop("version") != VERSION:
            raise ValueError("written by another version of Lakeward")
        topics = {name: _topic(topic) for name, topic in raw.pop("topics").items()}
        tables = raw.pop("tables")
        decisions = tuple(_decision(each) for each in raw.pop("decisions", ()))
        return Ledger(
            topics=topics,
            tables=None if tables is None else tuple(tables),
            decisions=decisions,
            condemned=tuple((str(t), int(p), int(o)) for t, p, o in raw.pop("condemned", ())),
            **raw,
        )
    except (KeyError, TypeError, AttributeError) as broken:
        raise ValueError(f"not a ledger: {broken!r}") from broken


def _topic(raw: Any) -> TopicLedger:
    return TopicLedger(
        raw["id"],
        {int(partition): start for partition, start in raw["starts"].items()},
        {int(partition): Position(*position) for partition, position in raw["positions"].items()},
        tuple(Span(*span) for span in raw.get("former", ())),
        raw.get("closed", False),
    )


def _decision(raw: Any) -> Decision:
    return Decision(**{**raw, "detail": tuple(raw["detail"])})


def ranges_between(before: Ledger, after: Ledger) -> tuple[Slice, ...]:
    """Return the offsets `after` covers and `before` does not, one range per partition.

    A partition `before` does not know yet begins where `after` says it began.
    """
    behind = before.positions()
    ranges = []
    for where, ahead in sorted(after.positions().items()):
        known = behind.get(where)
        start = known.offset if known else after.topics[where.topic].starts[where.partition]
        if ahead.offset > start:
            ranges.append(Slice(where.topic, where.partition, start, ahead.offset))
    return tuple(ranges)


def half_done(anchor: Ledger, others: Sequence[Ledger]) -> Ledger | None:
    """Return the ledger of a table that is ahead of the anchor: a batch to finish first."""
    ahead = [
        other
        for other in others
        if other.generation == anchor.generation and ranges_between(anchor, other)
    ]
    return max(ahead, key=lambda ledger: ledger.batch, default=None)


def next_epoch(ledgers: Sequence[Ledger]) -> int:
    """Return an epoch higher than every one seen on any of the job's tables."""
    return 1 + max((ledger.epoch for ledger in ledgers), default=0)
