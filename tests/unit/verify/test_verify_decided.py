"""A decision allows no more copies of a record than it had readings."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.verify.history import History
from lakeward.verify.jobs import Job, Ledger
from lakeward.verify.judge import Rules, make_rules
from lakeward.verify.judge_decided import Judged, judge_decided
from lakeward.verify.readback import StoredRow
from lakeward.verify.report import Category
from lakeward.verify.span import NEVER, Cover
from lakeward.verify.topics import Record

PLACE = ("t", 0)
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "_topic", StringType()),
    NestedField(3, "_kafka_partition", IntegerType()),
    NestedField(4, "_offset", LongType()),
)
GOOD = Record(5, None, None, b'{"id": 1}')
BAD = Record(5, None, None, b"junk")
TOMBSTONE = Record(5, None, b"k", None)
RIGHT = StoredRow(("t", 0, 5), 0, {"1": 1, "2": "t", "3": 0, "4": 5})
WRONG = StoredRow(("t", 0, 5), 0, {"1": 2, "2": "t", "3": 0, "4": 5})
LETTER = StoredRow(("t", 0, 5), 0, {})
TWICE = Cover(rows=2, letters=2)


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    create_warehouse(tmp_path / "catalog.db", tmp_path / "warehouse")
    catalog = open_catalog(embedded_catalog("l", tmp_path / "catalog.db", tmp_path / "warehouse"))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    job = Job("j", table, Ledger("j", "", "", {}, ()), None, None, None, frozenset())
    return make_rules(job, History(), [], 1 << 20)


def category(found: Judged) -> Category | None:
    return found.verdict[0] if found.verdict else None


@pytest.mark.parametrize(
    ("rows", "cover", "expected"),
    [
        ([RIGHT], TWICE, None),
        ([RIGHT, RIGHT], TWICE, None),
        ([RIGHT, RIGHT, RIGHT], TWICE, Category.DUPLICATED),
        ([RIGHT, WRONG], TWICE, Category.ALTERED),
        ([], TWICE, Category.LOST),
        ([RIGHT], NEVER, Category.PHANTOM),
        ([], NEVER, None),
        ([RIGHT, WRONG], Cover(rows=1, letters=1, gone=1), None),
        ([WRONG], Cover(rows=1, letters=1, gone=1), Category.LOST),
        ([WRONG, WRONG], Cover(rows=1, letters=1, gone=1), Category.ALTERED),
        ([], Cover(gone=1), None),
        ([], Cover(rows=1), Category.LOST),
        ([], Cover(letters=1), None),
        ([RIGHT], Cover(letters=1), Category.DUPLICATED),
        ([RIGHT, WRONG, WRONG], Cover(rows=1, letters=1, adopted=True), None),
        ([WRONG], Cover(rows=1, letters=1, adopted=True), Category.LOST),
        ([WRONG], Cover(adopted=True), None),
    ],
)
def test_rows_of_a_record_that_fits(
    rules: Rules, rows: list[StoredRow], cover: Cover, expected: Category | None
) -> None:
    assert category(judge_decided(rules, PLACE, GOOD, (rows, []), cover)) is expected


def test_rows_and_dead_letters_together_may_not_be_more_than_readings(rules: Rules) -> None:
    found = judge_decided(rules, PLACE, GOOD, ([RIGHT, RIGHT], [LETTER]), TWICE)
    assert category(found) is Category.DUPLICATED


@pytest.mark.parametrize(
    ("cover", "expected"),
    [(Cover(letters=1), Category.LOST), (Cover(rows=1), None), (TWICE, Category.LOST)],
)
def test_a_record_that_does_not_fit_must_be_where_dead_letters_are_held(
    rules: Rules, cover: Cover, expected: Category | None
) -> None:
    assert category(judge_decided(rules, PLACE, BAD, ([], []), cover)) is expected


def test_a_tombstone_is_stored_only_if_it_was_something_else_before(rules: Rules) -> None:
    assert category(judge_decided(rules, PLACE, TOMBSTONE, ([], []), TWICE)) is None
    found = judge_decided(rules, PLACE, TOMBSTONE, ([RIGHT], []), TWICE)
    assert category(found) is Category.MISJUDGED
    gone = judge_decided(rules, PLACE, TOMBSTONE, ([RIGHT], []), Cover(gone=1))
    assert (gone.verdict, gone.unverifiable) == (None, 1)


def test_what_a_decision_accounts_for_is_counted(rules: Rules) -> None:
    again = judge_decided(rules, PLACE, GOOD, ([RIGHT, RIGHT], []), TWICE)
    assert (again.read_again, again.adopted) == (1, 0)
    cover = Cover(rows=1, letters=1, adopted=True)
    assert judge_decided(rules, PLACE, GOOD, ([RIGHT, WRONG], []), cover).adopted == 1
