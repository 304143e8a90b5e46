"""The commit protocol's decisions: what a ledger becomes, and what a table read again tells. Pure.

The sink acts on what these functions say; the state-space model in `tests/model` explores them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakeward.model.ledger import Ledger
from lakeward.model.offsets import Batch, Positions, TopicPartition


@dataclass(frozen=True, slots=True)
class Pin:
    """What the verdicts of a batch depend on besides the bytes; a re-run must use the same."""

    revision: str
    as_of: int
    schema_id: int
    topic_ids: Mapping[str, str]
    """Ids of the topics the batch was read from."""
    condemned: frozenset[tuple[TopicPartition, int]] = frozenset()
    """Records dead-lettered because they kill their process: not every run may notice."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who commits, which batch, under which name, and when."""

    epoch: int
    batch: int
    commit_id: str
    at: int


@dataclass(frozen=True, slots=True)
class Seen:
    """One table at one moment, reduced to what decisions depend on."""

    ledger: Ledger
    schema_id: int
    spec_id: int


@dataclass(frozen=True, slots=True)
class Landed:
    """The table carries our commit."""


@dataclass(frozen=True, slots=True)
class Rebase:
    """The commit is not there and its files still fit: send them again on the new base."""


@dataclass(frozen=True, slots=True)
class Discarded:
    """The table went another way; the batch is planned again from what it says now."""

    reason: str


def claimed(ledger: Ledger, epoch: int, commit_id: str, at: int) -> Ledger:
    """Return the ledger a starting coordinator writes: a new epoch, everything else unchanged."""
    return replace(ledger, epoch=epoch, commit_id=commit_id, written_at=at)


def covering(
    ledger: Ledger,
    batch: Batch,
    ends: Positions,
    pin: Pin,
    stamp: Stamp,
) -> Ledger:
    """Return the ledger that goes with a batch's files: positions at its ends, or further."""
    starts = {part.where: part.start for part in batch.ranges}
    return replace(
        ledger.with_topics(pin.topic_ids).with_partitions(starts).advanced(ends),
        epoch=stamp.epoch,
        batch=stamp.batch,
        commit_id=stamp.commit_id,
        revision=pin.revision,
        as_of=pin.as_of,
        schema_id=pin.schema_id,
        condemned=tuple(sorted((*where, offset) for where, offset in pin.condemned)),
        written_at=stamp.at,
    )


def overtaken(epoch: int, ledgers: Sequence[Ledger]) -> Ledger | None:
    """Return a ledger written by a later coordinator, on whichever table; it fences us."""
    return next((ledger for ledger in ledgers if ledger.epoch > epoch), None)


def after_commit(before: Seen, now: Seen, commit_id: str) -> Landed | Rebase | Discarded:
    """Decide after a commit, whatever its answer was, from the table alone."""
    if now.ledger.commit_id == commit_id:
        return Landed()
    if now.ledger.commit_id != before.ledger.commit_id:
        return Discarded("the ledger moved")
    if now.schema_id != before.schema_id:
        return Discarded("the schema changed")
    if now.spec_id != before.spec_id:
        return Discarded("the partitioning changed")
    return Rebase()
