"""Protocols that look right and are not: each differs from ours in one decision.

The search has to find what each of them does to a user. Some decisions guard a place that another
one guards too; their variant stands on a `control` without that other one, which is still safe.
"""

from __future__ import annotations

from typing import NamedTuple

from lakeward.model.history import Ancestry
from lakeward.model.protocol import Discarded, Landed, Rebase
from model.rules import Decision, Planned, Rules
from model.search import Scope
from model.world import Luck, Note, Read, Records, Request, Snapshot, Table, World


class BlindAppend(Rules):
    """Appends to whatever the table is by then."""

    def lands(self, request: Request, table: Table) -> bool:
        return True

    def doomed(self, request: Request, table: Table) -> bool:
        return False


class LedgerInTheSummary(Rules):
    """Keeps the ledger only in its snapshot; where none is found, the job must be new."""

    def read(self, table: Table) -> Read:
        found = any(one.id == table.ledger.snapshot for one in table.snapshots)
        new = Note(0, (0,) * len(table.ledger.positions), 0, table.ledger.commit, 0, 0, 0, 0)
        return Read(table.head, table.last, table.schema, table.ledger if found else new)

    def ancestry(self, ledger: Note, head: int, snapshots: tuple[Snapshot, ...]) -> Ancestry:
        if ledger.snapshot == 0:
            return Ancestry.PROVEN
        return super().ancestry(ledger, head, snapshots)


class MinimumOfAllTables(Rules):
    """Believes the table that is furthest behind."""

    def position(self, anchor: Note, letters: Note) -> Note:
        lowest = tuple(map(min, anchor.positions, letters.positions))
        return anchor._replace(positions=lowest)


class ClaimOnTheAnchorOnly(Rules):
    """Leaves the dead letters to the predecessor."""

    claims_letters = False


class NoPin(Rules):
    """Finishes a half-done batch under the configuration of today."""

    def may_finish(self, half_done: Note, revision: int) -> bool:
        return True

    def pin(self, half_done: Note, revision: int) -> tuple[int, int]:
        return revision, half_done.schema


class AncestryOnlyAtStart(Rules):
    """Looks at the table's history once."""

    checks_ancestry_while_running = False


class LedgerByPropertyAlone(Rules):
    """Makes no snapshot when there are no records to add."""

    def moves_ref(self, records: Records) -> bool:
        return bool(records)


class DeletesFilesWhenFenced(Rules):
    """Cleans up behind itself, sure that its commit was refused."""

    def when_fenced(self, world: World, planned: Planned) -> World:
        gone = set(planned.rows + planned.letters)

        def emptied(table: Table) -> Table:
            if table.ledger.commit != planned.commit:
                return table
            kept = tuple(
                one._replace(records=tuple(sorted(set(one.records) - gone)))
                for one in table.snapshots
            )
            return table._replace(snapshots=kept)

        letters, anchor = map(emptied, world.tables)
        flight = tuple(
            one._replace(records=()) if one.ledger.commit == planned.commit else one
            for one in world.flight
        )
        return world._replace(tables=(letters, anchor), flight=flight)


class NoAnswerIsAYes(Rules):
    """Takes an unchanged ledger for a commit that will surely land."""

    def after_commit(self, before: Read, now: Read, commit: int) -> Decision:
        decision = super().after_commit(before, now, commit)
        return Landed() if isinstance(decision, Rebase) else decision


class SameEpochAgain(Rules):
    """Claims with the highest epoch seen, not with the next one."""

    def next_epoch(self, letters: Note, anchor: Note) -> int:
        return super().next_epoch(letters, anchor) - 1


class HalfDoneIsForgotten(Rules):
    """Plans a new batch although one is half committed; harmless while nothing is re-judged."""

    def half_done(self, anchor: Note, letters: Note) -> Note | None:
        return None


class PositionIsTheEnd(HalfDoneIsForgotten):
    """Sets a position to the batch's end, also where that is a step back."""

    def covering(self, ledger: Note, planned: Planned, epoch: int) -> Note:
        ends = {part: end for part, _, end in planned.ranges}
        positions = tuple(ends.get(part, old) for part, old in enumerate(ledger.positions))
        return super().covering(ledger, planned, epoch)._replace(positions=positions)


class PlansAgainWithoutClaim(Rules):
    """Gives a batch up with its commit still on the way, and plans another at once."""

    claims_again_after_giving_up = False


class RebasesOntoAnything(PlansAgainWithoutClaim):
    """Sends its files again although the ledger has moved."""

    def after_commit(self, before: Read, now: Read, commit: int) -> Decision:
        decision = super().after_commit(before, now, commit)
        return Rebase() if isinstance(decision, Discarded) else decision


class ClaimsOnce(Rules):
    """Stops if its claim is not granted at the first attempt: it must have been fenced."""

    starts_over_after_a_claim = False


class Case(NamedTuple):
    """A variant, the smallest world that shows it, what must be found, and what is safe there."""

    variant: type[Rules]
    scope: Scope
    wrong: str
    control: type[Rules] = Rules


TWICE, NOWHERE = "is there twice", "below the position and nowhere"

CASES = (
    Case(BlindAppend, Scope((1,), Luck(lost_answers=1), 1), TWICE),
    Case(LedgerInTheSummary, Scope((1,), Luck(appends=1, expiries=1), 1), TWICE),
    Case(MinimumOfAllTables, Scope((2,), Luck(), 1), TWICE),
    Case(ClaimOnTheAnchorOnly, Scope((2,), Luck(new_revisions=1)), TWICE),
    Case(NoPin, Scope((2,), Luck(crashes=1, new_revisions=1), 1), TWICE),
    Case(AncestryOnlyAtStart, Scope((2,), Luck(rollbacks=1), 1), NOWHERE),
    Case(LedgerByPropertyAlone, Scope((2,), Luck(new_revisions=1)), TWICE),
    Case(DeletesFilesWhenFenced, Scope((1,), Luck()), NOWHERE),
    Case(NoAnswerIsAYes, Scope((2,), Luck(lost_answers=1), 1), NOWHERE),
    Case(SameEpochAgain, Scope((2,), Luck(new_revisions=1)), TWICE),
    Case(HalfDoneIsForgotten, Scope((2,), Luck(crashes=1, new_revisions=1), 1), NOWHERE),
    Case(PositionIsTheEnd, Scope((2, 1), Luck(crashes=2), 1), TWICE, HalfDoneIsForgotten),
    Case(
        PlansAgainWithoutClaim,
        Scope((2,), Luck(lost_answers=1, outages=1, schema_changes=1), 1),
        TWICE,
    ),
    Case(PlansAgainWithoutClaim, Scope((2,), Luck(lost_answers=1, schema_changes=2), 1), TWICE),
    Case(
        RebasesOntoAnything,
        Scope((2,), Luck(lost_answers=1, outages=1), 1),
        TWICE,
        PlansAgainWithoutClaim,
    ),
    Case(ClaimsOnce, Scope((1,), Luck(lost_answers=1), 1), "nothing is ever finished"),
)
