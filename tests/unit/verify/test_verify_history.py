"""What a job's snapshots say about the offsets they took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.errors import DestinationError
from lakeward.verify.history import History, read_history
from lakeward.verify.jobs import Ledger, TopicPosition, find_jobs, ledgers_of
from lakeward.verify.span import Span


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    create_warehouse(tmp_path / "catalog.db", tmp_path / "warehouse")
    opened = open_catalog(embedded_catalog("lake", tmp_path / "catalog.db", tmp_path / "warehouse"))
    opened.create_namespace("db")
    return opened


@pytest.fixture
def table(catalog: Catalog) -> Table:
    return catalog.create_table("db.t", Schema(NestedField(1, "id", LongType())))


def commit(table: Table, batch: int, ranges: dict[str, list[int]] | None, job: str = "j") -> None:
    """Commit an empty snapshot as a job does; without ranges it is a claim."""
    summary = {"lakeward.job": job, "lakeward.batch": str(batch)}
    if ranges is not None:
        summary["lakeward.ranges"] = json.dumps({"t": ranges})
    with table.transaction() as change:
        change.update_snapshot(snapshot_properties=summary).fast_append().commit()


def ledger(starts: dict[int, int], positions: dict[int, int]) -> Ledger:
    return Ledger("j", "", "", {"t": TopicPosition("id", starts, positions)}, ())


def history(table: Table, known: Ledger) -> tuple[History, list[str]]:
    told: list[str] = []
    return read_history(table, known, told.append), told


def test_ranges_that_follow_each_other_are_fine(table: Table) -> None:
    commit(table, 0, None)
    commit(table, 1, {"0": [0, 10], "1": [5, 7]})
    commit(table, 1, None)
    commit(table, 2, {"0": [10, 12]})
    commit(table, 7, {"0": [90, 99]}, job="another")
    _history, told = history(table, ledger({0: 0, 1: 5}, {0: 12, 1: 7}))
    assert not told


@pytest.mark.parametrize(("start", "what"), [(11, "a gap in t-0"), (9, "an overlap in t-0")])
def test_a_gap_and_an_overlap_are_told(table: Table, start: int, what: str) -> None:
    commit(table, 0, None)
    commit(table, 1, {"0": [0, 10]})
    commit(table, 2, {"0": [start, 20]})
    _history, told = history(table, ledger({0: 0}, {0: 20}))
    assert len(told) == 1
    assert told[0].startswith(what)


def test_a_first_range_must_begin_where_the_job_did(table: Table) -> None:
    commit(table, 0, None)
    commit(table, 1, {"0": [3, 10]})
    _history, told = history(table, ledger({0: 0}, {0: 10}))
    assert told[0].startswith("a gap in t-0")


def test_the_last_range_must_end_at_the_position(table: Table) -> None:
    commit(table, 0, None)
    commit(table, 1, {"0": [0, 10]})
    _history, told = history(table, ledger({0: 0}, {0: 15}))
    assert told == ["t-0: the ledger stands at 15, its snapshots end at 10"]


def test_a_position_no_snapshot_accounts_for_is_told(table: Table) -> None:
    commit(table, 0, None)
    _history, told = history(table, ledger({0: 0}, {0: 15}))
    assert told == ["t-0: the ledger stands at 15, its snapshots end at 0"]


def test_a_batch_too_large_to_list_its_ranges_leaves_no_doubt_behind(table: Table) -> None:
    commit(table, 0, None)
    commit(table, 1, {"0": [0, 10]})
    commit(table, 2, None)
    commit(table, 3, {"0": [50, 60]})
    _history, told = history(table, ledger({0: 0}, {0: 60}))
    assert not told


def test_a_range_of_a_partition_the_ledger_does_not_know_is_told(table: Table) -> None:
    commit(table, 0, None)
    commit(table, 1, {"9": [0, 10]})
    _history, told = history(table, ledger({}, {}))
    assert told == ["t-9: the ledger stands at -1, its snapshots end at 10"]


def test_expired_snapshots_are_not_missed(table: Table) -> None:
    commit(table, 0, None)
    commit(table, 1, {"0": [0, 10]})
    first = table.snapshots()[0].snapshot_id
    commit(table, 2, {"0": [10, 20]})
    table.maintenance.expire_snapshots().by_id(first).commit()
    table.maintenance.expire_snapshots().by_id(table.snapshots()[0].snapshot_id).commit()
    _history, told = history(table, ledger({0: 0}, {0: 20}))
    assert not told


def test_an_offset_is_judged_by_a_schema_its_job_has_seen(table: Table) -> None:
    commit(table, 1, {"0": [0, 10]})
    with table.update_schema() as change:
        change.add_column("more", LongType())
    commit(table, 2, {"0": [10, 20]})
    commit(table, 3, {"0": [20, 30]})
    found, _told = history(table, ledger({0: 0}, {0: 30}))
    assert found.schema_ids(("t", 0), 9) == (0,)
    assert found.schema_ids(("t", 0), 10) == (1, 0)
    assert found.schema_ids(("t", 0), 20) == (1,)
    assert found.schema_ids(("t", 0), 30) == ()
    assert found.schema_ids(("t", 1), 0) == ()


def test_a_batch_may_be_finished_under_the_schema_it_was_begun_with(table: Table) -> None:
    commit(table, 0, None)
    with table.update_schema() as change:
        change.add_column("more", LongType())
    commit(table, 0, None)
    commit(table, 1, {"0": [0, 10]})
    found, _told = history(table, ledger({0: 0}, {0: 10}))
    assert found.schema_ids(("t", 0), 0) == (1, 0)


def moved(former: list[tuple[int, int, str]], start: int, position: int, **more: Any) -> Ledger:
    """Return the ledger of a job that operators have moved."""
    spans = tuple(Span(0, *each) for each in former)
    topic = TopicPosition("id", {0: start}, {0: position}, spans)
    return Ledger("j", "", "", {"t": topic}, (), **more)


@pytest.mark.parametrize(
    ("former", "start", "ranges"),
    [
        ([(0, 10, "id")], 30, [[0, 10], [30, 40]]),
        ([(0, 10, "id")], 4, [[0, 10], [4, 40]]),
        ([(0, 10, "id"), (0, 5, "id")], 0, [[0, 10], [0, 5], [0, 40]]),
        ([(0, 6, "id"), (6, 10, "id/cut")], 6, [[0, 10], [6, 40]]),
        ([(0, 10, "old")], 0, [[0, 10], [0, 40]]),
        ([(0, 10, "id")], 40, [[0, 10]]),
    ],
    ids=["gap", "rewind", "rewound twice", "log cut", "topic created again", "nothing read since"],
)
def test_a_job_goes_on_where_an_operator_put_it(
    table: Table, former: list[tuple[int, int, str]], start: int, ranges: list[list[int]]
) -> None:
    commit(table, 0, None)
    for number, taken in enumerate(ranges, 1):
        commit(table, number, {"0": taken})
        commit(table, number, None)
    _history, told = history(table, moved(former, start, 40))
    assert not told


def test_a_job_that_went_on_elsewhere_than_decided_is_told(table: Table) -> None:
    commit(table, 0, None)
    commit(table, 1, {"0": [0, 10]})
    commit(table, 2, {"0": [31, 40]})
    _history, told = history(table, moved([(0, 10, "id")], 30, 40))
    assert len(told) == 1
    assert told[0].startswith("a gap in t-0")


def test_offsets_read_again_may_have_been_judged_by_either_schema(table: Table) -> None:
    commit(table, 1, {"0": [0, 10]})
    with table.update_schema() as change:
        change.add_column("more", LongType())
    commit(table, 1, None)
    commit(table, 2, {"0": [10, 12]})
    commit(table, 3, {"0": [5, 20]})
    found, _told = history(table, moved([(0, 12, "id")], 5, 20))
    assert found.schema_ids(("t", 0), 4) == (0,)
    assert found.schema_ids(("t", 0), 5) == (1, 0)
    assert found.schema_ids(("t", 0), 15) == (1,)
    assert found.schema_ids(("t", 0), 20) == ()


def test_a_topic_that_is_gone_tells_nothing_about_the_one_of_its_name(table: Table) -> None:
    commit(table, 1, {"0": [0, 10]})
    with table.update_schema() as change:
        change.add_column("more", LongType())
    commit(table, 2, {"0": [10, 12]})
    commit(table, 3, {"0": [0, 20]})
    found, told = history(table, moved([(0, 12, "old")], 0, 20))
    assert not told
    assert found.schema_ids(("t", 0), 0) == (1,)


def test_what_was_there_before_a_table_was_adopted_is_not_followed(table: Table) -> None:
    commit(table, 1, {"0": [0, 10]})
    commit(table, 2, {"0": [77, 80]})
    summary = {"lakeward.job": "j", "lakeward.batch": "0", "lakeward.generation": "1"}
    with table.transaction() as change:
        change.update_snapshot(snapshot_properties=summary).fast_append().commit()
    commit(table, 1, {"0": [20, 30]})
    assert history(table, moved([], 20, 30, adopted={"rows": 0, "since": 1}))[1] == []
    assert len(history(table, moved([], 20, 30))[1]) > 0


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2}', '{"version": 1, "job": "j"}', '{"version": 1'],
)  # fmt: skip
def test_a_broken_ledger_is_one_clear_line(table: Table, text: str) -> None:
    with table.transaction() as change:
        change.set_properties({"lakeward.ledger.j": text})
    with pytest.raises(DestinationError, match="ledger cannot be read"):
        ledgers_of(table)


def ledger_property(**changes: Any) -> str:
    content = {
        "version": 1, "job": "j", "table_uuid": "u", "cluster_id": "c", "tables": [],
        "topics": {"t": {"id": "i", "starts": {"0": 1}, "positions": {"0": [7, 3]}}},
    }  # fmt: skip
    return json.dumps(content | changes)


def test_a_ledger_says_where_the_job_stands(table: Table) -> None:
    with table.transaction() as change:
        change.set_properties({"lakeward.ledger.j": ledger_property(), "other": "x"})
    (found,) = ledgers_of(table)
    assert found.position("t", 0) == 7
    assert found.topics["t"].starts == {0: 1}
    assert found.position("t", 1) == found.position("u", 0) == -1


def test_a_ledger_tells_what_operators_decided(table: Table) -> None:
    topic = {
        "id": "i", "starts": {"0": 30}, "positions": {"0": [40, 3]}, "closed": True,
        "former": [[0, 1, 7, "i", 1, "both"], [1, 5, 9, "old", 1, "letters"]],
    }  # fmt: skip
    text = ledger_property(topics={"t": topic}, generation=1, adopted={"rows": 5})
    with table.transaction() as change:
        change.set_properties({"lakeward.ledger.j": text})
    (found,) = ledgers_of(table)
    assert (found.generation, found.adopted) == (1, {"rows": 5})
    known = found.topics["t"]
    assert known.closed
    assert known.spans(0) == [Span(0, 1, 7, "i"), Span(0, 30, 40, "i")]
    assert known.spans(1) == [Span(1, 5, 9, "old", "letters")]


def test_no_job_is_one_clear_line(catalog: Catalog, table: Table) -> None:
    with pytest.raises(DestinationError, match="No job has written"):
        find_jobs(catalog)


def test_an_unknown_job_is_answered_with_those_there_are(catalog: Catalog, table: Table) -> None:
    with table.transaction() as change:
        change.set_properties({"lakeward.ledger.j": ledger_property()})
    with pytest.raises(DestinationError, match=r"No job named other .*There are: j\."):
        find_jobs(catalog, ["other"])


def test_a_table_that_does_not_say_where_rows_come_from_is_refused(
    catalog: Catalog, table: Table
) -> None:
    with table.transaction() as change:
        change.set_properties({"lakeward.ledger.j": ledger_property()})
    with pytest.raises(DestinationError, match="cannot be told apart"):
        find_jobs(catalog)
