"""Is the snapshot a ledger was written with still part of its table's history? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from lakeward.model.ledger import Ledger


class Ancestry(Enum):
    """What the walk from a table's head to its past tells."""

    PROVEN = "proven"
    ROLLED_BACK = "rolled back"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class SnapshotLink:
    """One snapshot: its parent and its place in the table's order."""

    parent: int | None
    sequence: int


def ancestry(ledger: Ledger, head: int | None, snapshots: Mapping[int, SnapshotLink]) -> Ancestry:
    """Walk from the head: does it descend from the snapshot the ledger was written with?

    Expiry removes old snapshots, so the walk may end at a parent that is only a name; that proves
    descent if the name is ours. Reaching another snapshot of equal or lower sequence first means
    that the table was rolled back past us.
    """
    current = head
    while current is not None:
        if current == ledger.snapshot_id:
            return Ancestry.PROVEN
        link = snapshots.get(current)
        if link is None:
            return Ancestry.AMBIGUOUS
        if link.sequence <= ledger.sequence:
            return Ancestry.ROLLED_BACK
        current = link.parent
    return Ancestry.AMBIGUOUS
