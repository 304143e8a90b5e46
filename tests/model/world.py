"""The world a coordinator lives in, small enough to be counted: a catalog with two tables, requests
on their way, strangers who commit too, and a bounded amount of bad luck.

Everything is a tuple of small values, so that equal worlds are equal and can be remembered. A
snapshot's id is its sequence number, given when the commit lands; nothing we decide depends on the
id of a snapshot that never landed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

LETTERS, ANCHOR = 0, 1
TABLE_NAMES = ("the letters", "the anchor")

Records = tuple[int, ...]
"""Records by number: ten times the partition plus the offset, in order."""


class Note(NamedTuple):
    """A ledger, reduced to what differs between two of them in this world."""

    epoch: int
    positions: tuple[int, ...]
    batch: int
    commit: int
    revision: int
    schema: int
    snapshot: int
    sequence: int


class Snapshot(NamedTuple):
    """One snapshot, and all the records a scan of it returns."""

    id: int
    parent: int
    records: Records


class Table(NamedTuple):
    """A table's metadata. `last` is the highest sequence number ever given."""

    head: int
    last: int
    schema: int
    ledger: Note
    snapshots: tuple[Snapshot, ...]

    def records(self) -> Records:
        return next(one.records for one in self.snapshots if one.id == self.head)


class Read(NamedTuple):
    """What loading a table told a coordinator."""

    head: int
    last: int
    schema: int
    ledger: Note


class Request(NamedTuple):
    """A commit on its way: what it requires (table, base, schema) and what it brings."""

    table: int
    base: int
    last: int
    schema: int
    records: Records
    ledger: Note
    moves_ref: bool = True


class Luck(NamedTuple):
    """How often each kind of trouble may still happen."""

    crashes: int = 0
    lost_answers: int = 0
    outages: int = 0
    """Times the catalog cannot be read after a commit was sent."""
    appends: int = 0
    """Commits of strangers: appends, compactions."""
    expiries: int = 0
    rollbacks: int = 0
    schema_changes: int = 0
    new_revisions: int = 0


class World(NamedTuple):
    """All there is. `coordinators` are those of `coordinator.py`."""

    tables: tuple[Table, Table]
    flight: tuple[Request, ...]
    coordinators: tuple[Any, ...]
    revision: int
    """The configuration a coordinator that starts now is given."""
    luck: Luck


def founded(log: tuple[int, ...], coordinators: tuple[Any, ...], luck: Luck) -> World:
    """Return the world after genesis: two empty tables, each with its first ledger."""
    ledger = Note(0, (0,) * len(log), 0, 0, 0, 0, 1, 1)
    table = Table(1, 1, 0, ledger, (Snapshot(1, 0, ()),))
    return World(
        (table._replace(ledger=ledger._replace(commit=1)), table), (), coordinators, 0, luck
    )


def fresh_commit(world: World) -> int:
    """Return a commit id nobody knows: the smallest, so that renamed worlds are equal worlds."""
    known = {table.ledger.commit for table in world.tables}
    known.update(request.ledger.commit for request in world.flight)
    for coordinator in world.coordinators:
        known.update(coordinator.commits())
    return next(number for number in range(100) if number not in known)


def with_table(world: World, which: int, table: Table) -> World:
    """Put a changed table back, without the history nobody can ever ask about."""
    table = table._replace(snapshots=_remembered(table, 1 + (world.luck.rollbacks > 0)))
    letters, anchor = world.tables
    return world._replace(tables=(table, anchor) if which == LETTERS else (letters, table))


def _remembered(table: Table, depth: int) -> tuple[Snapshot, ...]:
    """Keep what a walk from the head to our own snapshot sees, and one more to roll back to."""
    by_id = {one.id: one for one in table.snapshots}
    kept = []
    current, steps_below = table.head, 0
    while current in by_id and steps_below < depth:
        kept.append(by_id[current])
        steps_below += current <= table.ledger.snapshot
        current = by_id[current].parent
    return tuple(kept)


def land(world: World, request: Request) -> World:
    """Apply a request to its table."""
    table = world.tables[request.table]
    if not request.moves_ref:
        ledger = request.ledger._replace(snapshot=table.head, sequence=table.last)
        return with_table(world, request.table, table._replace(ledger=ledger))
    new = table.last + 1
    records = tuple(sorted(table.records() + request.records))
    ledger = request.ledger._replace(snapshot=new, sequence=new)
    snapshots = (Snapshot(new, table.head, records), *table.snapshots)
    return with_table(world, request.table, Table(new, new, table.schema, ledger, snapshots))


def strangers(world: World) -> Iterator[tuple[str, World]]:
    """Yield what others may do to the tables, and the operator to the configuration."""
    luck = world.luck
    for which, table in enumerate(world.tables):
        name = TABLE_NAMES[which]
        if luck.appends:
            new = Snapshot(table.last + 1, table.head, table.records())
            grown = table._replace(head=new.id, last=new.id, snapshots=(new, *table.snapshots))
            less = world._replace(luck=luck._replace(appends=luck.appends - 1))
            yield f"a stranger commits to {name}", with_table(less, which, grown)
        if luck.expiries and len(table.snapshots) > 1:
            head = tuple(one for one in table.snapshots if one.id == table.head)
            less = world._replace(luck=luck._replace(expiries=luck.expiries - 1))
            expired = with_table(less, which, table._replace(snapshots=head))
            yield f"old snapshots of {name} expire", expired
        parent = next(one.parent for one in table.snapshots if one.id == table.head)
        if luck.rollbacks and any(one.id == parent for one in table.snapshots):
            less = world._replace(luck=luck._replace(rollbacks=luck.rollbacks - 1))
            back = with_table(less, which, table._replace(head=parent))
            yield f"somebody rolls {name} back by one snapshot", back
    anchor = world.tables[ANCHOR]
    if luck.schema_changes:
        less = world._replace(luck=luck._replace(schema_changes=luck.schema_changes - 1))
        changed = with_table(less, ANCHOR, anchor._replace(schema=1 - anchor.schema))
        yield "somebody changes the anchor's schema", changed
    if luck.new_revisions:
        less = luck._replace(new_revisions=luck.new_revisions - 1)
        yield "the configuration changes", world._replace(revision=1 - world.revision, luck=less)
