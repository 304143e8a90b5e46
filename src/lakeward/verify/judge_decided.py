"""Judge records of offsets that were read twice, partly lost or skipped by an operator's decision.

Where no decision was made a record must be there exactly once (`judge.py`). A decision weakens
that no further than it says: every copy must still be right, unless Kafka no longer holds what it
was read from, and there may be no more copies than readings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lakeward.verify.judge import Rules, Verdict, judge_letter, judge_row
from lakeward.verify.readback import StoredRow
from lakeward.verify.report import Category
from lakeward.verify.span import Cover, Place
from lakeward.verify.strict_json import Unfit
from lakeward.verify.topics import Record

Copies = tuple[list[StoredRow], list[StoredRow]]
"""Rows and dead letters of one offset."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is wrong, if anything, and what a decision accounts for."""

    verdict: Verdict = None
    read_again: int = 0
    unverifiable: int = 0
    adopted: int = 0


def judge_decided(
    rules: Rules, place: Place, record: Record, copies: Copies, cover: Cover
) -> Judged:
    """Decide on one record, given every copy of it and how often it was read."""
    rows, letters = copies
    excess = _excess(rows, letters, cover)
    if excess is not None and not cover.adopted:
        return Judged(excess)
    wrong = _wrong(rules, place, record, copies)
    right = len(rows) + len(letters) - len(wrong)
    if cover.adopted:
        missing = _missing(rules, place, record, cover) if not right else None
        own = int(bool(right and cover.claimed))
        return Judged(missing, adopted=right + len(wrong) - own)
    if len(wrong) > cover.gone:
        return Judged(wrong[0])
    if not right:
        return Judged(_missing(rules, place, record, cover), unverifiable=len(wrong))
    return Judged(read_again=int(right > 1), unverifiable=len(wrong))


def _excess(rows: list[StoredRow], letters: list[StoredRow], cover: Cover) -> Verdict:
    copies = len(rows) + len(letters)
    if copies and cover.skipped:
        return Category.PHANTOM, "stored though an operator had it skipped"
    if (
        copies > cover.most
        or len(rows) > cover.rows + cover.gone
        or len(letters) > cover.letters + cover.gone + cover.pending
    ):
        found = f"{len(rows)} rows and {len(letters)} dead letters"
        return Category.DUPLICATED, f"{found}, though read {cover.most} times"
    return None


def _wrong(
    rules: Rules, place: Place, record: Record, copies: Copies
) -> list[tuple[Category, str]]:
    if record.value is None:
        return [(Category.MISJUDGED, "a tombstone was stored") for kind in copies for _ in kind]
    rows, letters = copies
    found = [judge_row(rules, place, record, row) for row in rows]
    found += [judge_letter(rules, place, record, letter) for letter in letters]
    return [verdict for verdict in found if verdict is not None]


def _missing(rules: Rules, place: Place, record: Record, cover: Cover) -> Verdict:
    """Decide on a record without a right copy: it is lost unless a roll-back may have taken it."""
    value = record.value
    if value is None:
        return None
    expectations = rules.expectations_at(place, record.offset)
    fits = [_fits(expectation.row, value) for expectation in expectations]
    if (cover.rows and cover.letters) or (cover.rows and all(fits)):
        return Category.LOST, f"neither in {rules.job.table_name} nor in its dead letters"
    if cover.letters and not any(fits):
        return Category.LOST, "not in the dead letters, and it does not fit the table"
    return None


def _fits(row: Callable[[bytes], object], value: bytes) -> bool:
    try:
        row(value)
    except Unfit:
        return False
    return True
