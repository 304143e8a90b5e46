"""A coordinator, one access to the catalog at a time, in the order of `sink.py` and `cycle.py`.

Each function below is one load or one commit, with the thinking that follows it; between any two,
anything may happen: the other coordinator, a late request, a stranger, a crash.

    start    find_anchor, find_letters      IcebergSink._find_or_found
             claim_letters, claim_anchor    IcebergSink._claim
    cycle    read_anchor, read_letters      IcebergSink.read, then Job._plan, _finish, _work;
             claim_letters, claim_anchor    before that, if a batch was given up
             commit_letters, commit_anchor  IcebergSink.commit, the first half of _settle
             check_anchor, check_letters    IcebergSink.read inside _settle, then after_commit
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lakeward.model.history import Ancestry
from lakeward.model.protocol import Discarded, Rebase
from model.rules import Planned, Ranges, Rules, is_letter, plans, ranges_to_finish, records_in
from model.world import (
    ANCHOR,
    LETTERS,
    TABLE_NAMES,
    Note,
    Read,
    Records,
    Request,
    World,
    fresh_commit,
    land,
)

Steps = Iterator[tuple[str, World]]


class Coordinator(NamedTuple):
    """One process: where it is, and what it remembers. Empty tuples stand for nothing."""

    at: str = "off"
    revision: int = 0
    epoch: int = 0
    anchor: Read | tuple[()] = ()
    letters: Read | tuple[()] = ()
    """Both tables as the batch was planned on them (JobState)."""
    planned: Planned | tuple[()] = ()
    settling: int = LETTERS
    """The table whose commit is being settled."""
    current: Read | tuple[()] = ()
    """That table as it was read again."""
    anchor_epoch: int = 0
    unsettled: bool = False
    """A batch was given up whose commit may still be on its way."""
    stopped: str = ""

    def commits(self) -> set[int]:
        """Return the commit ids it remembers."""
        reads = (read for read in (self.anchor, self.letters, self.current) if read)
        named = {read.ledger.commit for read in reads}
        return named | {self.planned.commit} if self.planned else named


class Process:
    """The moves of one coordinator in one world."""

    def __init__(self, world: World, index: int, rules: Rules, log: tuple[int, ...]) -> None:
        self.world = world
        self.index = index
        self.me: Coordinator = world.coordinators[index]
        self.rules = rules
        self.log = log

    def steps(self) -> Steps:
        """Yield whatever this coordinator may do next."""
        luck = self.world.luck
        if self.me.stopped:
            return
        yield from getattr(self, self.me.at)()
        if self.me.at != "off" and luck.crashes:
            less = self.world._replace(luck=luck._replace(crashes=luck.crashes - 1))
            yield "is killed", self._become(Coordinator(), less)

    def off(self) -> Steps:
        begun = Coordinator(revision=self.world.revision)
        yield from Process(self._become(begun), self.index, self.rules, self.log).find_anchor()

    def find_anchor(self) -> Steps:
        read = self._load(ANCHOR)
        if read is None:
            yield self._stop("rolled back")
        else:
            me = Coordinator("find_letters", self.me.revision, anchor=read)
            yield "starts: reads the anchor", self._become(me)

    def find_letters(self) -> Steps:
        read = self._load(LETTERS)
        if read is None:
            yield self._stop("rolled back")
            return
        epoch = self.rules.next_epoch(read.ledger, self.me.anchor.ledger)
        at = "claim_letters" if self.rules.claims_letters else "claim_anchor"
        yield "reads the letters", self._become(self.me._replace(at=at, epoch=epoch, letters=read))

    def claim_letters(self) -> Steps:
        yield from self._claim(LETTERS, self.me.letters, self.me._replace(at="claim_anchor"))

    def claim_anchor(self) -> Steps:
        yield from self._claim(ANCHOR, self.me.anchor, self._anew("read_anchor"))

    def _claim(self, which: int, read: Read, granted: Coordinator) -> Steps:
        """Only a clear yes is a claim; after anything else it starts over from a read.

        A claim made again keeps its epoch: it dooms what is on its way and takes nothing back
        from a successor.
        """
        ledger = self.rules.claimed(read.ledger, self.me.epoch, fresh_commit(self.world))
        over = Coordinator("find_anchor", self.me.revision)
        if self.me.unsettled:
            over = self._given_up()
        if not self.rules.starts_over_after_a_claim:
            over = Coordinator(stopped="fenced")
        what = f"claims {TABLE_NAMES[which]} with epoch {self.me.epoch}"
        yield from self._send(what, which, read, ledger, (), granted, over)

    def read_anchor(self) -> Steps:
        read = self._load(ANCHOR)
        if read is None:
            yield self._stop("rolled back")
        else:
            me = self.me._replace(at="read_letters", anchor=read)
            yield "reads the anchor", self._become(me)

    def read_letters(self) -> Steps:
        read = self._load(LETTERS)
        if read is None:
            yield self._stop("rolled back")
        elif self._overtaken(self.me.anchor.ledger.epoch, read.ledger.epoch):
            yield self._stop("fenced")
        elif self.me.unsettled:
            again = self.me._replace(at="claim_letters", letters=read)
            yield "reads the letters, will claim again", self._become(again)
        else:
            yield from self._plan(self.me.anchor, read)

    def _plan(self, anchor: Read, letters: Read) -> Steps:
        half_done = self.rules.half_done(anchor.ledger, letters.ledger)
        if half_done is not None:
            yield from self._finish(anchor, letters, half_done)
            return
        position = self.rules.position(anchor.ledger, letters.ledger)
        batches = plans(position, self.log)
        for ranges in batches:
            yield self._write(anchor, letters, ranges, (self.me.revision, anchor.schema))
        if not batches:
            yield "reads the letters; nothing waits", self._become(self._anew("idle"))

    def _finish(self, anchor: Read, letters: Read, half_done: Note) -> Steps:
        if not self.rules.may_finish(half_done, self.me.revision):
            yield self._stop("a half-done batch of another revision")
            return
        ranges = ranges_to_finish(anchor.ledger, half_done)
        yield self._write(anchor, letters, ranges, self.rules.pin(half_done, self.me.revision))

    def _write(
        self, anchor: Read, letters: Read, ranges: Ranges, pin: tuple[int, int]
    ) -> tuple[str, World]:
        """Run the tasks: rows, and those dead letters that are not in their table yet."""
        records = records_in(ranges)
        rejected = tuple(one for one in records if is_letter(one, *pin))
        behind = letters.ledger.positions
        planned = Planned(
            fresh_commit(self.world), anchor.ledger.batch + 1, ranges, *pin,
            tuple(one for one in records if one not in rejected),
            tuple(one for one in rejected if one % 10 >= behind[one // 10]),
        )  # fmt: skip
        at = "commit_letters" if planned.letters else "commit_anchor"
        me = self._anew(at)._replace(anchor=anchor, letters=letters, planned=planned)
        said = f"reads the letters; writes rows {planned.rows}, letters {planned.letters}"
        return said, self._become(me if planned.letters else me._replace(letters=()))

    def commit_letters(self) -> Steps:
        yield from self._commit(LETTERS, self.me.letters, self.me.planned.letters)

    def commit_anchor(self) -> Steps:
        yield from self._commit(ANCHOR, self.me.anchor, self.me.planned.rows)

    def _commit(self, which: int, before: Read, records: Records) -> Steps:
        """Whatever the answer is, the table is asked next."""
        current = self.me.current or before
        ledger = self.rules.covering(current.ledger, self.me.planned, self.me.epoch)
        sent = self.me._replace(at="check_anchor", settling=which, current=())
        what = f"commits {records} to {TABLE_NAMES[which]}"
        yield from self._send(what, which, current, ledger, records, sent, sent)

    def check_anchor(self) -> Steps:
        read = self._load(ANCHOR)
        if read is None:
            yield self._stop("rolled back")
        else:
            me = self.me._replace(at="check_letters", anchor_epoch=read.ledger.epoch)
            kept = me._replace(current=read) if me.settling == ANCHOR else me
            yield "reads the anchor again", self._become(kept)
        luck = self.world.luck
        if luck.outages:
            less = self.world._replace(luck=luck._replace(outages=luck.outages - 1))
            yield "cannot read, gives the batch up, waits", self._become(self._given_up(), less)

    def check_letters(self) -> Steps:
        read = self._load(LETTERS)
        if read is None:
            yield self._stop("rolled back")
        elif self._overtaken(self.me.anchor_epoch, read.ledger.epoch):
            yield self._stop("fenced")
        else:
            yield from self._settle(read)

    def _settle(self, letters: Read) -> Steps:
        """Decide from what the table says; once all is in, the next batch is planned on it."""
        settling_letters = self.me.settling == LETTERS
        before = self.me.letters if settling_letters else self.me.anchor
        now = letters if settling_letters else self.me.current
        decision = self.rules.after_commit(before, now, self.me.planned.commit)
        said = f"reads the letters again: {type(decision).__name__.lower()}"
        me = self.me._replace(anchor_epoch=0, current=())
        if isinstance(decision, Rebase):
            again = "commit_letters" if settling_letters else "commit_anchor"
            yield said, self._become(me._replace(at=again, current=now))
        elif isinstance(decision, Discarded):
            yield said, self._become(self._given_up())
        elif settling_letters:
            yield said, self._become(me._replace(at="commit_anchor", letters=(), settling=ANCHOR))
        else:
            yield from self._plan(now, letters)

    def idle(self) -> Steps:
        """Nothing waits: the position it remembers stays good until it commits again."""
        return iter(())

    def _anew(self, at: str) -> Coordinator:
        return Coordinator(at, self.me.revision, self.me.epoch)

    def _given_up(self) -> Coordinator:
        unsettled = self.rules.claims_again_after_giving_up
        return self._anew("read_anchor")._replace(unsettled=unsettled)

    def _become(self, me: Coordinator, world: World | None = None) -> World:
        world = world or self.world
        coordinators = list(world.coordinators)
        coordinators[self.index] = me
        return world._replace(coordinators=tuple(coordinators))

    def _load(self, which: int) -> Read | None:
        """Load a table and check its ancestry; None if it is not the table we knew."""
        table = self.world.tables[which]
        read = self.rules.read(table)
        starting = self.me.at in {"off", "find_anchor", "find_letters"}
        if starting or self.rules.checks_ancestry_while_running:
            found = self.rules.ancestry(read.ledger, table.head, table.snapshots)
            return read if found is Ancestry.PROVEN else None
        return read

    def _overtaken(self, anchor: int, letters: int) -> bool:
        return self.rules.overtaken(self.me.epoch, anchor, letters)

    def _stop(self, reason: str) -> tuple[str, World]:
        world = self._become(Coordinator("off", stopped=reason))
        if reason == "fenced" and self.me.planned:
            world = self.rules.when_fenced(world, self.me.planned)
        return f"stops: {reason}", world

    def _send(
        self,
        what: str,
        which: int,
        read: Read,
        ledger: Note,
        records: Records,
        applied: Coordinator,
        otherwise: Coordinator,
    ) -> Steps:
        """Send a commit: it is answered at once, or it is on its way and may land any time."""
        request = Request(
            which, read.head, read.last, read.schema, records, ledger,
            self.rules.moves_ref(records),
        )  # fmt: skip
        table, luck = self.world.tables[which], self.world.luck
        if self.rules.lands(request, table):
            yield f"{what}: done", self._become(applied, land(self.world, request))
        else:
            yield f"{what}: refused", self._become(otherwise)
        if luck.lost_answers and not self.rules.doomed(request, table):
            flight = tuple(sorted((*self.world.flight, request)))
            less = luck._replace(lost_answers=luck.lost_answers - 1)
            flying = self.world._replace(flight=flight, luck=less)
            yield f"{what}: no answer", self._become(otherwise, flying)
