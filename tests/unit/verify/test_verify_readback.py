"""Tables read back from real files: what is there, in order, and what is wrong with the files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, MapType, NestedField, StringType

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.errors import TableUnsuitable
from lakeward.verify.deletes import keep_rows
from lakeward.verify.files import StoredFile, stored_files
from lakeward.verify.plain_sql import row_sql
from lakeward.verify.readback import Reading, StoredRow, stored_rows

KEY = ("_topic", "_kafka_partition", "_offset")
SCHEMA = Schema(
    NestedField(1, "Name", StringType(), required=False),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "tags", MapType(6, StringType(), 7, StringType(), False), required=False),
    NestedField(4, "_topic", StringType(), required=False),
    NestedField(5, "_kafka_partition", IntegerType(), required=False),
    NestedField(8, "_offset", LongType(), required=False),
)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    create_warehouse(tmp_path / "catalog.db", tmp_path / "warehouse")
    opened = open_catalog(embedded_catalog("lake", tmp_path / "catalog.db", tmp_path / "warehouse"))
    opened.create_namespace("db")
    return opened


@pytest.fixture
def table(catalog: Catalog) -> Table:
    return catalog.create_table("db.t", SCHEMA, properties={"format-version": "2"})


def row(offset: int | None, name: str = "x", partition: int = 0) -> dict[str, Any]:
    return {"name": name, "_topic": "t", "_kafka_partition": partition, "_offset": offset}


def append(table: Table, *rows: dict[str, Any]) -> None:
    table.append(pa.Table.from_pylist(list(rows), schema=table.schema().as_arrow()))


def append_file(table: Table, path: str, records: int, **more: Any) -> None:
    """Add a reference to a file, as a commit by hand would."""
    file = DataFile.from_args(
        content=more.get("content", DataFileContent.DATA),
        file_path=path,
        file_format=more.get("file_format", FileFormat.PARQUET),
        partition=Record(),
        record_count=records,
        file_size_in_bytes=1,
        column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={},
        lower_bounds={}, upper_bounds={},
    )  # fmt: skip
    file.spec_id = 0
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as added:
        added.append_data_file(file)


def read(table: Table) -> tuple[list[StoredRow], list[str]]:
    told: list[str] = []
    plain = partial(row_sql, table.schema().fields)
    files = stored_files(table, told.append)
    return list(
        stored_rows(Reading(table, files, KEY, plain, told.append, lambda _rows: None))
    ), told


def local(path: str) -> Path:
    return Path(path.removeprefix("file://"))


def test_rows_come_in_the_order_of_kafka_whatever_file_they_are_in(table: Table) -> None:
    append(table, row(5), row(1), row(2, partition=1))
    append(table, row(3), row(0))
    rows, told = read(table)
    assert [found.key[1:] for found in rows] == [(0, 0), (0, 1), (0, 3), (0, 5), (1, 2)]
    assert not told


def test_rows_without_an_origin_come_first(table: Table) -> None:
    append(table, row(1), {"name": "stranger"}, row(None))
    rows, _told = read(table)
    assert [found.key for found in rows] == [("", -1, -1), ("t", 0, -1), ("t", 0, 1)]


def test_columns_that_differ_only_in_case_are_kept_apart(table: Table) -> None:
    append(table, row(0) | {"Name": "upper", "name": "lower"})
    (only,), _told = read(table)
    assert (only.values["1"], only.values["2"]) == ("upper", "lower")


def test_a_map_with_a_key_twice_can_be_read(table: Table) -> None:
    append(table, row(0) | {"tags": [("a", "1"), ("a", "2")]})
    (only,), _told = read(table)
    assert only.values["3"] == {"k": ["a", "a"], "v": ["1", "2"]}


def test_files_older_than_a_column_are_read_with_null(table: Table) -> None:
    append(table, row(0))
    with table.update_schema() as change:
        change.add_column("added", StringType())
        change.rename_column("name", "renamed")
    rows, told = read(table)
    assert rows[0].values["2"] == "x"
    assert rows[0].values["9"] is None
    assert not told


def test_a_missing_file_is_told_and_the_others_are_read(table: Table) -> None:
    append(table, row(0))
    append(table, row(1))
    lost = stored_files(table, print)[0]
    local(lost.path).unlink()
    rows, told = read(table)
    assert len(rows) == 1
    assert told == [f"data file missing: {lost.path}"]


def test_a_broken_file_is_told_and_the_others_are_read(table: Table) -> None:
    append(table, row(0))
    append(table, row(1))
    local(stored_files(table, print)[0].path).write_bytes(b"not parquet")
    rows, told = read(table)
    assert len(rows) == 1
    assert told[0].startswith("data file unreadable")


def test_a_file_referenced_twice_is_told_and_read_twice(table: Table) -> None:
    append(table, row(0))
    append_file(table, stored_files(table, print)[0].path, 1)
    rows, told = read(table)
    assert len(rows) == 2
    assert told[0].startswith("data file referenced 2 times")


def test_a_wrong_count_in_the_manifest_is_told(table: Table) -> None:
    append(table, row(0))
    path = stored_files(table, print)[0].path.replace(".parquet", "-2.parquet")
    pq.write_table(pa.Table.from_pylist([row(1)], schema=SCHEMA.as_arrow()), local(path))
    append_file(table, path, 5)
    rows, told = read(table)
    assert len(rows) == 2
    assert told == [f"data file holds 1 rows, its manifest says 5: {path}"]


def test_a_missing_manifest_is_told(table: Table) -> None:
    append(table, row(0))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    local(snapshot.manifests(table.io)[0].manifest_path).unlink()
    rows, told = read(table)
    assert not rows
    assert told[0].startswith("manifest missing")


def test_files_other_than_parquet_are_refused(table: Table) -> None:
    append_file(table, f"{table.location()}/data/x.orc", 1, file_format=FileFormat.ORC)
    with pytest.raises(TableUnsuitable):
        stored_files(table, print)


def test_an_empty_table_has_no_rows(table: Table) -> None:
    assert read(table) == ([], [])


def test_deleted_rows_are_not_read(table: Table) -> None:
    append(table, row(0), row(1), row(2))
    (file,) = stored_files(table, print)
    deletes = f"{table.location()}/data/deletes.parquet"
    pq.write_table(pa.table({"file_path": [file.path, "elsewhere"], "pos": [1, 0]}), local(deletes))
    told: list[str] = []
    with_deletes = StoredFile(file.path, 0, (), file.records, file.sequence, (deletes,))
    plain = partial(row_sql, table.schema().fields)
    rows = list(
        stored_rows(Reading(table, [with_deletes], KEY, plain, told.append, lambda _rows: None))
    )
    assert [found.key[2] for found in rows] == [0, 2]
    assert not told


def test_positions_are_counted_from_the_start_of_the_file() -> None:
    batch = pa.record_batch({"n": [10, 11, 12]})
    assert keep_rows(batch, 10, {11}).column("n").to_pylist() == [10, 12]
    assert keep_rows(batch, 0, None) is batch
