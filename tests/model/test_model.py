"""Does the commit protocol hold, whatever happens? Every world in reach is looked at.

`pytest tests/model -s` prints the number of worlds, and what each planted bug does to a user.
`LAKEWARD_MODEL=full` explores much larger worlds, for minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from lakeward.model import ledger as ledger_module
from lakeward.model import protocol
from lakeward.model.ledger import Ledger
from lakeward.model.protocol import Landed
from model.rules import Rules, forget_decisions
from model.search import Scope, Search, explore
from model.variants import CASES, Case
from model.world import Luck, World

EVERYDAY = {
    "a successor takes over": Scope((2,), Luck(crashes=1, lost_answers=1, new_revisions=1)),
    "strangers change the tables": Scope(
        (2,),
        Luck(lost_answers=1, appends=1, expiries=1, rollbacks=1, schema_changes=1),
        coordinators=1,
    ),
    "verdicts change": Scope(
        (2,),
        Luck(crashes=1, lost_answers=1, outages=1, schema_changes=2, new_revisions=1),
        coordinators=1,
    ),
    "two partitions": Scope((2, 1), Luck(lost_answers=1)),
}
FULL = {
    "everything at once, one coordinator": Scope((2,), Luck(1, 1, 1, 1, 1, 1, 1, 1), 1),
    "a takeover during an outage": Scope(
        (2,), Luck(crashes=1, lost_answers=1, outages=1, schema_changes=1)
    ),
    "two coordinators and strangers": Scope((2,), Luck(appends=1, expiries=1, rollbacks=1)),
    "two partitions and a crash": Scope((2, 1), Luck(crashes=1, lost_answers=1)),
    "three records": Scope((3,), Luck(crashes=1, lost_answers=1, new_revisions=1)),
    "two lost answers": Scope((2,), Luck(crashes=1, lost_answers=2, new_revisions=1)),
}
LONGEST_STORY = 25


class LiteralSearch(Search):
    """Takes every world for a different one, down to its numbers."""

    def same(self, world: World) -> World:
        return world


@pytest.fixture
def decided_anew() -> Iterator[None]:
    forget_decisions()
    yield
    forget_decisions()


@pytest.mark.parametrize("scope", EVERYDAY.values(), ids=EVERYDAY)
def test_no_record_is_lost_or_doubled_and_every_job_comes_to_an_end(scope: Scope) -> None:
    findings = explore(Rules(), scope)
    print(findings)
    assert findings.wrong == "", str(findings)
    assert findings.states > 30_000


@pytest.mark.skipif(os.environ.get("LAKEWARD_MODEL") != "full", reason="LAKEWARD_MODEL is not full")
@pytest.mark.parametrize("scope", FULL.values(), ids=FULL)
def test_the_same_holds_in_much_larger_worlds(scope: Scope) -> None:
    findings = explore(Rules(), scope)
    print(findings)
    assert findings.wrong == "", str(findings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.variant.__name__)
def test_a_planted_bug_is_found_with_a_short_story(case: Case) -> None:
    findings = explore(case.variant(), case.scope, harm_only=True)
    print(f"{case.variant.__name__}: {case.variant.__doc__}\n{findings}")
    assert case.wrong in findings.wrong
    assert len(findings.trace) <= LONGEST_STORY


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.variant.__name__)
def test_the_same_world_without_the_bug_is_safe(case: Case) -> None:
    assert explore(case.control(), case.scope).wrong == ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.variant.__name__)
def test_a_bug_differs_from_what_is_safe_in_one_decision(case: Case) -> None:
    assert case.variant.__mro__[1] is case.control


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.variant.__name__)
def test_forgetting_names_hides_no_bug_and_makes_none_up(case: Case) -> None:
    literal = LiteralSearch(case.variant(), case.scope, harm_only=True).run()
    shortest = explore(case.variant(), case.scope, harm_only=True)
    assert len(literal.trace) == len(shortest.trace)
    assert case.wrong in literal.wrong


def keeps_the_epoch(ledger: Ledger, _epoch: int, commit_id: str, _at: int) -> Ledger:
    return replace(ledger, commit_id=commit_id)


def highest_epoch(ledgers: Sequence[Ledger]) -> int:
    return max(ledger.epoch for ledger in ledgers)


WRONG_CODE = {
    "after_commit": (protocol, lambda *_: Landed(), Luck(lost_answers=1)),
    "claimed": (protocol, keeps_the_epoch, Luck(new_revisions=1)),
    "overtaken": (protocol, lambda *_: None, Luck()),
    "advanced": (Ledger, lambda self, *_: self, Luck()),
    "half_done": (ledger_module, lambda *_: None, Luck(crashes=1, new_revisions=1)),
    "next_epoch": (ledger_module, highest_epoch, Luck(new_revisions=1)),
}


@pytest.mark.parametrize("name", WRONG_CODE)
def test_breaking_a_function_of_the_product_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch, decided_anew: None
) -> None:
    owner, broken, luck = WRONG_CODE[name]
    monkeypatch.setattr(owner, name, broken)
    findings = explore(Rules(), Scope((2,), luck))
    print(f"{name}: {findings}")
    assert findings.wrong
    assert len(findings.trace) <= LONGEST_STORY
