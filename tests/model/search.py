"""Walk through every world that can come to be, breadth first, and check each of them."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np

from lakeward.model.history import Ancestry
from model.coordinator import Coordinator, Process
from model.rules import Rules
from model.sameness import renamed
from model.world import ANCHOR, TABLE_NAMES, Luck, Table, World, founded, land, strangers

NAMED_STOPS = {"rolled back", "a half-done batch of another revision"}


@dataclass(frozen=True)
class Scope:
    """How large a world to explore: records per partition, coordinators, and bad luck."""

    log: tuple[int, ...]
    luck: Luck
    coordinators: int = 2


@dataclass
class Findings:
    """What a search found: how much it saw, and the first thing that is wrong, if any."""

    states: int
    transitions: int
    wrong: str = ""
    trace: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = f"{self.states:,} states, {self.transitions:,} transitions: "
        return head + "\n".join([self.wrong or "nothing wrong", *self.trace])


def successors(
    world: World, rules: Rules, log: tuple[int, ...]
) -> Iterator[tuple[int, str, World]]:
    """Yield (who, what, the world after it); who is -1 for anybody but a coordinator."""
    for index in range(len(world.coordinators)):
        for label, after in Process(world, index, rules, log).steps():
            yield index, label, after
    for request in dict.fromkeys(world.flight):
        if not rules.lands(request, world.tables[request.table]):
            continue
        left = list(world.flight)
        left.remove(request)
        label = f"the late request with {request.records} lands on {TABLE_NAMES[request.table]}"
        yield -1, label, land(world._replace(flight=tuple(left)), request)
    for label, after in strangers(world):
        yield -1, label, after


def living(world: World, rules: Rules) -> World:
    """Forget requests that can never land, and what numbers are called."""
    if world.flight:
        tables = world.tables
        flight = tuple(one for one in world.flight if not rules.doomed(one, tables[one.table]))
        world = world._replace(flight=flight)
    return renamed(world)


def unnamed(world: World) -> World:
    """Forget which coordinator is which: they are the same program."""
    return world._replace(coordinators=tuple(sorted(world.coordinators)))


@cache
def harm(letters: Table, anchor: Table, rules: Rules) -> str:
    """Say what a reader of the two tables finds wrong, or nothing.

    While a table does not descend from our last commit, what it lacks is somebody else's doing.
    """
    everything = anchor.records() + letters.records()
    twice = sorted({one for one in everything if everything.count(one) > 1})
    if twice:
        return f"record {twice[0]} is there twice"
    if descends(letters, rules) and descends(anchor, rules):
        for record in sorted(below(anchor)):
            if record not in everything:
                return f"record {record} is below the position and nowhere"
    return ""


@cache
def wrong_move(before: Table, after: Table, rules: Rules) -> str:
    """Say what is wrong with how a table changed, also if no reader can see it yet."""
    old, new = before.ledger, after.ledger
    if not set(after.records()) <= below(after):
        return "a table has records at or past its own position"
    if new.commit == old.commit:
        return ""
    if any(now < then for then, now in zip(old.positions, new.positions, strict=True)):
        return "a position went back"
    if new.epoch < old.epoch:
        return "a coordinator committed to a table it had lost"
    if rules.ancestry(old, before.head, before.snapshots) is Ancestry.ROLLED_BACK:
        return "a coordinator committed to a table that was rolled back"
    return ""


def descends(table: Table, rules: Rules) -> bool:
    """Ask whether a table still stands on the last commit of ours."""
    return rules.ancestry(table.ledger, table.head, table.snapshots) is Ancestry.PROVEN


def below(table: Table) -> set[int]:
    """Return the records below a table's position."""
    positions = enumerate(table.ledger.positions)
    return {10 * part + offset for part, position in positions for offset in range(position)}


def wrong(before: World, after: World, rules: Rules, harm_only: bool) -> str:
    """Check one step and the world it leads to."""
    if before.tables is after.tables:
        return ""
    found = harm(*after.tables, rules)
    if found or harm_only:
        return found
    moves = zip(before.tables, after.tables, strict=True)
    return next(filter(None, (wrong_move(*move, rules) for move in moves)), "")


def is_end(world: World, log: tuple[int, ...]) -> bool:
    """Everything is committed, or a coordinator has stopped and said why."""
    return world.tables[ANCHOR].ledger.positions == log or any(
        one.stopped in NAMED_STOPS for one in world.coordinators
    )


class Search:
    """Holds the worlds seen so far, how each was first reached, and the steps between them."""

    def __init__(self, rules: Rules, scope: Scope, harm_only: bool = False) -> None:
        self._rules = rules
        self._scope = scope
        self._harm_only = harm_only
        start = founded(scope.log, (Coordinator(),) * scope.coordinators, scope.luck)
        self._worlds = [start]
        self._numbers = {start: 0}
        self._parents = [-1]
        self._steps = 0
        self._sources, self._targets = array("l"), array("l")
        """Steps that need no bad luck; by these alone every job must come to an end."""

    def run(self) -> Findings:
        """Search breadth first until something is wrong or nothing is left."""
        for number, world in enumerate(self._worlds):
            for _, _, after in successors(world, self._rules, self._scope.log):
                self._steps += 1
                complaint = wrong(world, after, self._rules, self._harm_only)
                reached = self._number(after, number)
                if complaint:
                    return self._findings(complaint, [*self._path(number), reached])
                if after.luck is world.luck:
                    self._sources.append(number)
                    self._targets.append(reached)
        stuck = self._stuck()
        if stuck is not None:
            return self._findings("from here nothing is ever finished", self._path(stuck))
        return self._findings("", [])

    def same(self, world: World) -> World:
        """Return the one world that stands for all that differ only in names."""
        return unnamed(living(world, self._rules))

    def _number(self, world: World, parent: int) -> int:
        reached = self.same(world)
        number = self._numbers.setdefault(reached, len(self._worlds))
        if number == len(self._worlds):
            self._worlds.append(reached)
            self._parents.append(parent)
        return number

    def _stuck(self) -> int | None:
        """Return the first world from which no end can be reached."""
        ends = np.array([is_end(world, self._scope.log) for world in self._worlds])
        sources, targets = np.array(self._sources), np.array(self._targets)
        before = -1
        while before != (before := int(ends.sum())):
            ends[sources[ends[targets]]] = True
        return None if ends.all() else int(np.argmin(ends))

    def _path(self, number: int) -> list[int]:
        path = [number]
        while path[-1] > 0:
            path.append(self._parents[path[-1]])
        return path[::-1]

    def _findings(self, complaint: str, path: list[int]) -> Findings:
        return Findings(len(self._worlds), self._steps, complaint, list(self._told(path)))

    def _told(self, path: list[int]) -> Iterator[str]:
        """Tell a path as a story, in which coordinators have names again."""
        names = ["A", "B"]
        for count, (number, following) in enumerate(pairwise(path), 1):
            known = self._worlds[number]
            who, label, after = next(
                step
                for step in successors(known, self._rules, self._scope.log)
                if self.same(step[2]) == self._worlds[following]
            )
            yield f"{count:3}. {names[who] + ' ' if who >= 0 else ''}{label}"
            if self.same(after) != living(after, self._rules):
                names.reverse()


def explore(rules: Rules, scope: Scope, harm_only: bool = False) -> Findings:
    """Search a scope; with `harm_only` a wrong move counts only once a reader can see its harm."""
    gc.disable()  # Millions of tuples without a cycle: looking for some takes a third of the time.
    try:
        return Search(rules, scope, harm_only).run()
    finally:
        gc.enable()
        harm.cache_clear()
        wrong_move.cache_clear()
