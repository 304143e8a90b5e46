"""Give numbers new names, so that worlds that differ only in numbers are one world.

Snapshots and epochs are only ever compared, and a new one is above all others: they keep their
order and lose their gaps. Commit ids are only compared for equality: they are numbered as met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from model.coordinator import Coordinator
from model.world import ANCHOR, LETTERS, Note, Read, Request, Snapshot, Table, World

Names = dict[int, int]
Tables = tuple[Table, Table]
Flight = tuple[Request, ...]
Coordinators = tuple[Coordinator, ...]


def renamed(world: World) -> World:
    """Return the same world under its canonical numbers."""
    return World(*_canonical(world.tables, world.flight, world.coordinators), *world[3:])


@lru_cache(maxsize=1 << 18)
def _canonical(
    tables: Tables, flight: Flight, coordinators: Coordinators
) -> tuple[Tables, Flight, Coordinators]:
    """Number again what can be mentioned; the rest of a world holds no numbers of this kind."""
    notes = [(which, table.ledger) for which, table in enumerate(tables)]
    notes += [(request.table, request.ledger) for request in flight]
    snapshots: tuple[set[int], set[int]] = ({0}, {0})
    epochs = {0}
    for which, table in enumerate(tables):
        snapshots[which].update((table.head, table.last))
        for one in table.snapshots:
            snapshots[which].update((one.id, one.parent))
    for request in flight:
        snapshots[request.table].update((request.base, request.last))
    for coordinator in coordinators:
        epochs.update((coordinator.epoch, coordinator.anchor_epoch))
        for which, read in _reads(coordinator):
            snapshots[which].update((read.head, read.last))
            notes.append((which, read.ledger))
    for which, note in notes:
        snapshots[which].add(note.snapshot)
        epochs.add(note.epoch)
    commits = [note.commit for _, note in notes]
    commits += [one.planned.commit for one in coordinators if one.planned]
    names = _Renaming((_ranks(snapshots[0]), _ranks(snapshots[1])), _ranks(epochs), _met(commits))
    return names.all(tables, flight, coordinators)


def _reads(coordinator: Coordinator) -> Iterator[tuple[int, Read]]:
    if coordinator.anchor:
        yield ANCHOR, coordinator.anchor
    if coordinator.letters:
        yield LETTERS, coordinator.letters
    if coordinator.current:
        yield coordinator.settling, coordinator.current


def _ranks(numbers: Iterable[int]) -> Names:
    return {number: rank for rank, number in enumerate(sorted(numbers))}


def _met(numbers: Iterable[int]) -> Names:
    return {number: index for index, number in enumerate(dict.fromkeys(numbers))}


class _Renaming(NamedTuple):
    """New names for the snapshots of each table, for epochs and for commits."""

    snapshots: tuple[Names, Names]
    epochs: Names
    commits: Names

    def all(
        self, tables: Tables, flight: Flight, coordinators: Coordinators
    ) -> tuple[Tables, Flight, Coordinators]:
        if all(old == new for names in (*self.snapshots, *self[1:]) for old, new in names.items()):
            return tables, flight, coordinators
        return (
            (self.table(LETTERS, tables[LETTERS]), self.table(ANCHOR, tables[ANCHOR])),
            tuple(sorted(self.request(one) for one in flight)),
            tuple(self.coordinator(one) for one in coordinators),
        )

    def note(self, which: int, old: Note) -> Note:
        snapshot = self.snapshots[which][old.snapshot]
        return old._replace(
            epoch=self.epochs[old.epoch],
            commit=self.commits[old.commit],
            snapshot=snapshot,
            sequence=snapshot,
        )

    def read(self, which: int, old: Read | tuple[()]) -> Read | tuple[()]:
        if not old:
            return old
        names = self.snapshots[which]
        return Read(names[old.head], names[old.last], old.schema, self.note(which, old.ledger))

    def table(self, which: int, old: Table) -> Table:
        names = self.snapshots[which]
        kept = tuple(Snapshot(names[a], names[b], records) for a, b, records in old.snapshots)
        ledger = self.note(which, old.ledger)
        return Table(names[old.head], names[old.last], old.schema, ledger, kept)

    def request(self, old: Request) -> Request:
        names = self.snapshots[old.table]
        ledger = self.note(old.table, old.ledger)
        return old._replace(base=names[old.base], last=names[old.last], ledger=ledger)

    def coordinator(self, old: Coordinator) -> Coordinator:
        planned = old.planned
        return old._replace(
            epoch=self.epochs[old.epoch],
            anchor_epoch=self.epochs[old.anchor_epoch],
            anchor=self.read(ANCHOR, old.anchor),
            letters=self.read(LETTERS, old.letters),
            current=self.read(old.settling, old.current),
            planned=planned._replace(commit=self.commits[planned.commit]) if planned else planned,
        )
