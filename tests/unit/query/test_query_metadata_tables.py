"""Metadata tables have Trino's columns and tell what was committed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakeward.query.on_duckdb import DuckDbEngine

COLUMNS = {
    "snapshots": "committed_at snapshot_id parent_id operation manifest_list summary",
    "history": "made_current_at snapshot_id parent_id is_current_ancestor",
    "files": "content file_path record_count file_format file_size_in_bytes column_sizes "
    "value_counts null_value_counts nan_value_counts lower_bounds upper_bounds key_metadata "
    "split_offsets equality_ids sort_order_id spec_id partition",
    "partitions": "partition record_count file_count total_size",
    "manifests": "path length partition_spec_id added_snapshot_id added_data_files_count "
    "added_rows_count existing_data_files_count existing_rows_count deleted_data_files_count "
    "deleted_rows_count partition_summaries",
    "refs": "name type snapshot_id max_reference_age_in_ms min_snapshots_to_keep "
    "max_snapshot_age_in_ms",
    "properties": "key value",
}


def rows(engine: DuckDbEngine, sql: str) -> list[dict[str, Any]]:
    answer = engine.run(sql)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_metadata_table_has_trinos_columns(engine: DuckDbEngine, kind: str) -> None:
    answer = engine.run(f'SELECT * FROM kafkawarehouse.streaming."apilogs${kind}"')
    assert answer.columns == tuple(COLUMNS[kind].split())
    assert answer.rows


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_table_without_commits_has_metadata_tables_too(engine: DuckDbEngine, kind: str) -> None:
    found = rows(engine, f'FROM "errorlogs__dead_letters${kind}"')
    assert bool(found) == (kind == "properties")


def test_snapshots_carry_the_summary_of_each_commit(engine: DuckDbEngine) -> None:
    first, second = rows(engine, 'FROM "apilogs$snapshots"')
    assert second["parent_id"] == first["snapshot_id"]
    assert (second["operation"], first["parent_id"]) == ("append", None)
    assert second["summary"]["lakeward.batch"] == "2"
    assert "operation" not in second["summary"]
    assert datetime.now(UTC) - second["committed_at"] < timedelta(hours=1)


def test_history_tells_which_snapshots_led_to_the_current_one(engine: DuckDbEngine) -> None:
    history = rows(engine, 'FROM "apilogs$history"')
    assert [entry["is_current_ancestor"] for entry in history] == [True, True]


def test_files_tell_partition_and_bounds_in_words(engine: DuckDbEngine) -> None:
    found = rows(engine, 'FROM "apilogs$files" ORDER BY lower_bounds[2]')
    assert sum(file["record_count"] for file in found) == 6
    assert found[0]["partition"] == {
        "time_day": datetime(2026, 11, 1, tzinfo=UTC).date(),
        "bucket": "bucket-0",
    }
    assert found[0]["lower_bounds"][2].startswith("2026-11-01T12:00:00")
    assert found[0]["lower_bounds"][7] == "bucket-0"


def test_partitions_add_up_their_files(engine: DuckDbEngine) -> None:
    found = rows(engine, 'FROM "apilogs$partitions" ORDER BY partition.bucket')
    assert [(each["record_count"], each["file_count"]) for each in found] == [(3, 2), (3, 2)]


def test_a_table_without_partitions_has_one_sum(engine: DuckDbEngine) -> None:
    (only,) = rows(engine, 'FROM other."types$partitions"')
    assert (only["record_count"], only["file_count"]) == (2, 1)
    assert "partition" not in only


def test_files_of_dropped_and_changed_columns_are_listed(engine: DuckDbEngine) -> None:
    found = rows(engine, 'SELECT lower_bounds[1] AS low FROM other."evolved$files" ORDER BY ALL')
    assert [file["low"] for file in found] == ["1", str(2**40)]


def test_manifests_tell_the_range_of_each_partition_field(engine: DuckDbEngine) -> None:
    found = rows(engine, 'FROM "apilogs$manifests"')
    day, bucket = found[0]["partition_summaries"]
    assert (day["lower_bound"], day["contains_null"]) == ("2026-11-01", False)
    assert (bucket["lower_bound"], bucket["upper_bound"]) == ("bucket-0", "bucket-1")


def test_metadata_joins_with_data(engine: DuckDbEngine) -> None:
    sql = 'SELECT (SELECT sum(record_count) FROM "apilogs$files") - count(*) AS d FROM apilogs'
    assert rows(engine, sql) == [{"d": 0}]
