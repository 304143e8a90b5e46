"""Facts come from a table's metadata document, whatever wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from lakeward.model.spec import TableName
from lakeward.query.create_table import create_table_text
from lakeward.query.newest import order_of
from lakeward.query.table_facts import (
    columns_of,
    commits_of,
    facts_of,
    ledgers_of,
    partitioning,
    type_text,
)
from lakeward.query.table_metadata import TableMetadata

NAME = TableName(("s",), "t")
STRUCT = {"type": "struct", "fields": [{"id": 5, "name": "x", "required": True, "type": "long"}]}


def field(number: int, name: str, kind: Any, doc: str = "") -> dict[str, Any]:
    extra = {"doc": doc} if doc else {}
    return {"id": number, "name": name, "required": False, "type": kind, **extra}


def document(summary: dict[str, str] | None = None, **more: Any) -> TableMetadata:
    fields = [field(1, "id", "long"), field(2, "st", STRUCT, "nested")]
    snapshot = {"snapshot-id": 7, "timestamp-ms": 1_000, "sequence-number": 1}
    made = {
        "format-version": 2,
        "location": "file:///w/t",
        "schemas": [{"schema-id": 0, "fields": []}, {"schema-id": 3, "fields": fields}],
        "current-schema-id": 3,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "current-snapshot-id": 7,
        "snapshots": [{**snapshot, "summary": {"operation": "append", **(summary or {})}}],
    }
    return TableMetadata({**made, **more})


def test_size_comes_from_the_totals_of_the_last_commit() -> None:
    totals = {"total-records": "10", "total-data-files": "2", "total-files-size": "300"}
    facts = facts_of(NAME, document(totals))
    assert (facts.rows, facts.files, facts.bytes, facts.snapshots) == (10, 2, 300, 1)
    assert facts.columns == ("id", "st")
    assert facts.last_commit is not None


def test_rows_deleted_by_position_are_not_counted() -> None:
    assert (
        facts_of(NAME, document({"total-records": "10", "total-position-deletes": "4"})).rows == 6
    )


def test_rows_hidden_by_equality_deletes_are_unknown() -> None:
    summary = {"total-records": "10", "total-equality-deletes": "1"}
    assert facts_of(NAME, document(summary)).rows is None


def test_totals_the_writer_did_not_keep_are_unknown() -> None:
    facts = facts_of(NAME, document())
    assert (facts.rows, facts.files, facts.bytes) == (None, None, None)


@pytest.mark.parametrize("head", [None, -1])
def test_a_table_without_commits_is_empty(head: int | None) -> None:
    facts = facts_of(NAME, document(**{"current-snapshot-id": head, "snapshots": []}))
    assert (facts.rows, facts.files, facts.last_commit) == (0, 0, None)


def test_a_document_of_format_version_1_is_understood() -> None:
    old = TableMetadata(
        {
            "format-version": 1,
            "schema": {"type": "struct", "fields": [field(1, "id", "int")]},
            "partition-spec": [{"name": "id", "transform": "identity", "source-id": 1}],
            "current-snapshot-id": 9,
            "snapshots": [{"snapshot-id": 9, "timestamp-ms": 5}],
        }
    )
    assert facts_of(NAME, old).columns == ("id",)
    assert [str(by) for by in partitioning(old)] == ["id"]
    assert old.refs == {"main": {"snapshot-id": 9}}
    assert commits_of(old)[0].operation == ""


def test_nested_columns_follow_their_parent() -> None:
    listed = [(column.path, column.name, column.depth) for column in columns_of(document())]
    assert listed == [("id", "id", 0), ("st", "st", 0), ("st.x", "x", 1)]


def test_a_type_is_written_without_ids() -> None:
    kind = {"type": "map", "key": "string", "value": {"type": "list", "element": STRUCT}}
    assert type_text(kind) == "map<string, list<struct<x: long>>>"


def test_a_commit_names_job_batch_and_commit_id() -> None:
    ours = {"lakeward.job": "j", "lakeward.batch": "4", "lakeward.commit-id": "c"}
    commit = commits_of(document({**ours, "added-records": "5"}))[0]
    assert (commit.job, commit.batch, commit.commit_id, commit.added_rows) == ("j", 4, "c", 5)


def test_a_commit_of_the_old_sink_keeps_its_id() -> None:
    assert commits_of(document({"kafka.connect.commit-id": "old"}))[0].commit_id == "old"


def test_a_ledger_that_cannot_be_read_is_kept_as_text() -> None:
    assert ledgers_of(document(properties={"lakeward.ledger.j": "{}"})) == {"j": "{}"}


def test_ancestors_end_where_history_was_expired_or_goes_in_circles() -> None:
    snapshots = [
        {"snapshot-id": 7, "timestamp-ms": 2, "parent-snapshot-id": 6},
        {"snapshot-id": 6, "timestamp-ms": 1, "parent-snapshot-id": 7},
        {"snapshot-id": 5, "timestamp-ms": 0},
    ]
    assert document(snapshots=snapshots).ancestors() == {6, 7}


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        (
            {"time": "timestamptz", "_timestamp": "timestamptz", "_offset": "long"},
            ["_timestamp", "_offset"],
        ),
        ({"a": "int", "seen": "timestamp", "made": "timestamptz"}, ["seen"]),
        ({"_timestamp": "string", "day": "date"}, []),
    ],
)
def test_newest_means_by_kafkas_time_or_the_first_time(
    columns: dict[str, str], order: list[str]
) -> None:
    assert order_of(columns) == order


def test_create_table_writes_every_transform_as_spark_does() -> None:
    transforms = ["identity", "year", "month", "day", "hour", "bucket[4]", "truncate[2]", "void"]
    spec = [{"name": f"p{n}", "transform": t, "source-id": 1} for n, t in enumerate(transforms)]
    made = document(
        **{"partition-specs": [{"spec-id": 0, "fields": spec}]},
        properties={"owner": "me", "comment": "it's", "a": "b"},
    )
    text = create_table_text("w.s.t", made)
    assert (
        "PARTITIONED BY (`id`, years(`id`), months(`id`), days(`id`), hours(`id`), "
        "bucket(4, `id`), truncate(2, `id`))"
    ) in text
    assert "`st` STRUCT<`x`: BIGINT NOT NULL> COMMENT 'nested'" in text
    assert "COMMENT 'it\\'s'" in text
    assert "owner" not in text
