"""Files are what the table asks for: partitioned, sized, measured, readable by Iceberg."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import StringType

from lakeward.catalogs.tables import create_table, from_iceberg
from lakeward.errors import DestinationUnavailable, TableUnsuitable
from lakeward.model.fields import STRING_MAP, Kind, Struct, list_of, optional, required
from lakeward.model.spec import TableName
from lakeward.records.arrow import arrow_schema
from lakeward.schemas.shape import PartitionBy, TableShape
from lakeward.sinks.iceberg.files import FileSet, FileTarget

SHAPE = TableShape(
    Struct(
        (
            required("time", Kind.TIMESTAMPTZ),
            optional("bucket", Kind.STRING),
            optional("call", Struct((optional("rx", Kind.LONG), optional("host", Kind.STRING)))),
            optional("tags", STRING_MAP),
            optional("words", list_of(Kind.STRING)),
        )
    ),
    (PartitionBy("time", "day"), PartitionBy("bucket")),
)


def make(catalog: Catalog, **properties: str) -> Table:
    names = {name.replace("__", "-").replace("_", "."): value for name, value in properties.items()}
    return create_table(catalog, TableName.parse("db.events"), SHAPE, names)[0]


def target(table: Table) -> FileTarget:
    described = FileTarget(
        "db.events", table.location(), table.schema(), table.spec(), table.properties,
        table.io.properties,
    )  # fmt: skip
    shipped: FileTarget = pickle.loads(pickle.dumps(described))
    return shipped


def rows(table: Table, count: int, buckets: int = 3, **constant: Any) -> pa.Table:
    made = [
        {
            "time": datetime(2025, 1, 15 + index % 2, tzinfo=UTC),
            "bucket": None if index % 7 == 0 else f"b{index % buckets}",
            "call": None
            if index % 5 == 0
            else {"rx": index, "host": f"host-{index:06d}-{'x' * 20}"},
            "tags": [("k", str(index))],
            "words": ["a", None],
            **constant,
        }
        for index in range(count)
    ]
    return pa.Table.from_pylist(made, schema=arrow_schema(from_iceberg(table.schema())))


def write(table: Table, data: pa.Table, buffer_bytes: int = 1 << 28) -> list[DataFile]:
    files = FileSet(target(table), buffer_bytes)
    files.add(data)
    return files.finish()


def append(table: Table, files: list[DataFile]) -> None:
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as update:
        for file in files:
            update.append_data_file(file)


def path_of(file: DataFile) -> Path:
    return Path(urlparse(file.file_path).path)


def test_what_is_written_reads_back_through_iceberg(catalog: Catalog) -> None:
    table = make(catalog)
    data = rows(table, 500)
    append(table, write(table, data))
    back = table.scan().to_arrow()
    key = [("time", "ascending"), ("tags", "ascending")]
    assert sorted(map(repr, back.to_pylist())) == sorted(map(repr, data.to_pylist())), key
    one = table.scan(row_filter="bucket == 'b1' and time < '2025-01-16T00:00:00+00:00'").to_arrow()
    assert one.num_rows == sum(
        row["bucket"] == "b1" and row["time"].day == 15 for row in data.to_pylist()
    )


def test_each_partition_has_a_file_of_its_own(catalog: Catalog) -> None:
    table = make(catalog)
    files = write(table, rows(table, 100, buckets=3))
    keys = {(file.partition[0], file.partition[1]) for file in files}
    assert len(files) == len(keys) == 8
    assert sum(file.record_count for file in files) == 100


def test_metrics_hold_counts_and_bounds_also_of_fields_inside_structs(catalog: Catalog) -> None:
    table = make(catalog)
    files = write(table, rows(table, 20, buckets=1, bucket="b"))
    schema = table.schema()
    rx, bucket = schema.find_field("call.rx"), schema.find_field("bucket")
    lows = [from_bytes(rx.field_type, file.lower_bounds[rx.field_id]) for file in files]
    highs = [from_bytes(rx.field_type, file.upper_bounds[rx.field_id]) for file in files]
    assert (min(lows), max(highs)) == (1, 19)
    assert all(file.lower_bounds[bucket.field_id] == b"b" for file in files)
    assert sum(file.null_value_counts[rx.field_id] for file in files) == 4
    assert all(file.file_size_in_bytes == path_of(file).stat().st_size for file in files)
    assert all(file.split_offsets for file in files)


def test_metrics_follow_the_tables_wish(catalog: Catalog) -> None:
    table = make(catalog)
    with table.transaction() as transaction:
        transaction.set_properties({"write.metadata.metrics.column.call.rx": "counts"})
    files = write(table, rows(table, 20))
    rx = table.schema().find_field("call.rx").field_id
    assert all(rx not in file.lower_bounds and rx in file.value_counts for file in files)


def test_columns_carry_their_field_ids(catalog: Catalog) -> None:
    table = make(catalog)
    schema = pq.read_schema(path_of(write(table, rows(table, 3))[0]))
    ids = {field.name: int(field.metadata[b"PARQUET:field_id"]) for field in schema}
    assert ids == {field.name: field.field_id for field in table.schema().fields}


def test_a_file_stops_growing_at_its_target_size(catalog: Catalog) -> None:
    table = make(catalog)
    with table.transaction() as transaction:
        transaction.set_properties({"write.target-file-size-bytes": "20000"})
    files = write(
        table, rows(table, 20_000, buckets=1, bucket="b", time=datetime(2025, 1, 1, tzinfo=UTC))
    )
    assert len(files) > 5
    assert sum(file.record_count for file in files) == 20_000
    assert max(file.file_size_in_bytes for file in files) < 60_000


def test_rows_beyond_the_buffer_go_into_the_same_files(catalog: Catalog) -> None:
    table = make(catalog)
    files = FileSet(target(table), 1000)
    for _ in range(5):
        files.add(rows(table, 40, buckets=1, bucket="b", time=datetime(2025, 1, 1, tzinfo=UTC)))
    done = files.finish()
    assert [file.record_count for file in done] == [200]


def test_many_partitions_are_written_with_few_files_open(catalog: Catalog) -> None:
    table = make(catalog)
    files = FileSet(target(table), 1)
    for _ in range(2):
        files.add(rows(table, 400, buckets=200))
    done = files.finish()
    assert sum(file.record_count for file in done) == 800
    append(table, done)
    assert table.scan().count() == 800


@pytest.mark.parametrize(
    ("codec", "shown"),
    [("zstd", "ZSTD"), ("snappy", "SNAPPY"), ("gzip", "GZIP"), ("uncompressed", "UNCOMPRESSED")],
)
def test_the_codec_is_the_tables(catalog: Catalog, codec: str, shown: str) -> None:
    table = make(catalog)
    with table.transaction() as transaction:
        transaction.set_properties({"write.parquet.compression-codec": codec})
    metadata = pq.read_metadata(path_of(write(table, rows(table, 50))[0]))
    assert metadata.row_group(0).column(0).compression == shown


def test_row_groups_are_as_large_as_the_table_says(catalog: Catalog) -> None:
    table = make(catalog)
    with table.transaction() as transaction:
        transaction.set_properties({"write.parquet.row-group-limit": "100"})
    only = rows(table, 950, buckets=1, bucket="b", time=datetime(2025, 1, 1, tzinfo=UTC))
    assert pq.read_metadata(path_of(write(table, only)[0])).num_row_groups == 10


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.format.default", "orc"),
        ("write.parquet.compression-codec", "rar"),
        ("write.target-file-size-bytes", "big"),
    ],
)
def test_a_wish_we_cannot_fulfil_is_refused_by_name(
    catalog: Catalog, name: str, value: str
) -> None:
    table = make(catalog)
    with table.transaction() as transaction:
        transaction.set_properties({name: value})
    with pytest.raises(TableUnsuitable, match=name):
        write(table, rows(table, 3))


def test_a_warehouse_that_cannot_be_written_is_worth_a_retry(catalog: Catalog) -> None:
    table = make(catalog)
    data = Path(urlparse(table.location()).path) / "data"
    data.write_text("a file where the folder should be")
    with pytest.raises(DestinationUnavailable, match=r"db\.events"):
        write(table, rows(table, 3))


def test_bounds_that_parquet_left_out_are_not_made_up_from_other_row_groups(
    catalog: Catalog,
) -> None:
    table = make(catalog)
    files = FileSet(target(table), 1)
    day = datetime(2025, 1, 1, tzinfo=UTC)
    for host in ("z" * 5000, "a"):
        files.add(rows(table, 1, bucket="b", time=day, call={"rx": 1, "host": host}))
    done = files.finish()
    assert [file.record_count for file in done] == [2]
    append(table, done)
    assert table.scan(row_filter="call.host >= 'n'").to_arrow().num_rows == 1


def test_rows_older_than_the_partitioning_go_to_the_null_partition(catalog: Catalog) -> None:
    table = make(catalog)
    old = table.schema()
    with table.update_schema() as update:
        update.add_column("region", StringType())
    with table.update_spec() as update_spec:
        update_spec.add_field("region", IdentityTransform(), "region")
    described = FileTarget(
        "db.events", table.location(), old, table.spec(), table.properties, table.io.properties
    )
    files = FileSet(described, 1 << 20)
    schema = arrow_schema(from_iceberg(old))
    files.add(rows(make(catalog), 4).select([field.name for field in schema]).cast(schema))
    done = files.finish()
    assert {file.partition[2] for file in done} == {None}
    append(table, done)
    assert table.scan(row_filter="region is null").to_arrow().num_rows == 4
