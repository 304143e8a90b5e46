"""Partition values are those of the Iceberg specification, for every transform."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal as Exact
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import parse_transform

from lakeward.catalogs.tables import to_iceberg
from lakeward.model.fields import Decimal, Fixed, Kind, Struct, Type, optional
from lakeward.records.arrow import arrow_schema
from lakeward.sinks.iceberg.partition import LONGEST_NAME, folder, split

BUCKETS = 2**31 - 1
MOMENT = datetime(2017, 11, 16, 22, 31, 8)
DAY = (MOMENT.date() - date(1970, 1, 1)).days


def partitions(kind: Type, transform: str, values: list[Any]) -> list[tuple[Any, list[Any]]]:
    fields = Struct((optional("c", kind), optional("other", Kind.LONG)))
    schema = to_iceberg(fields)
    spec = PartitionSpec(PartitionField(1, 1000, parse_transform(transform), "p"))
    arrow = arrow_schema(fields)
    columns = [pa.array(values, arrow[0].type), pa.array(range(len(values)), pa.int64())]
    rows = pa.Table.from_arrays(columns, schema=arrow)
    return [(key[0], part.column("c").to_pylist()) for key, part in split(rows, spec, schema)]


def hashed(value: int) -> int:
    return (value & 0x7FFFFFFF) % BUCKETS


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Kind.INT, 34, 2017239379),
        (Kind.LONG, 34, 2017239379),
        (Decimal(9, 2), Exact("14.20"), -500754589),
        (Kind.DATE, date(2017, 11, 16), -653330422),
        (Kind.TIME, time(22, 31, 8), -662762989),
        (Kind.TIMESTAMP, MOMENT, -2047944441),
        (Kind.TIMESTAMPTZ, MOMENT.replace(tzinfo=UTC), -2047944441),
        (Kind.STRING, "iceberg", 1210000089),
        (Kind.UUID, UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, 1488055340),
        (Fixed(4), b"\x00\x01\x02\x03", -188683207),
        (Kind.BINARY, b"\x00\x01\x02\x03", -188683207),
    ],
    ids=str,
)
def test_bucket_hashes_as_the_specification_prints(kind: Type, value: Any, expected: int) -> None:
    assert partitions(kind, f"bucket[{BUCKETS}]", [value]) == [(hashed(expected), [value])]


@pytest.mark.parametrize(
    ("kind", "transform", "value", "expected"),
    [
        (Kind.INT, "truncate[10]", 1, 0),
        (Kind.INT, "truncate[10]", -1, -10),
        (Kind.LONG, "truncate[10]", 14, 10),
        (Decimal(9, 2), "truncate[50]", Exact("10.65"), Exact("10.50")),
        (Kind.STRING, "truncate[3]", "iceberg", "ice"),
        (Kind.STRING, "truncate[2]", "😀é日", "😀é"),
        (Kind.TIMESTAMPTZ, "year", MOMENT.replace(tzinfo=UTC), 47),
        (Kind.TIMESTAMPTZ, "month", MOMENT.replace(tzinfo=UTC), 47 * 12 + 10),
        (Kind.TIMESTAMPTZ, "day", MOMENT.replace(tzinfo=UTC), DAY),
        (Kind.TIMESTAMPTZ, "hour", MOMENT.replace(tzinfo=UTC), DAY * 24 + 22),
        (Kind.TIMESTAMP, "day", datetime(1969, 12, 31, 23), -1),
        (Kind.TIMESTAMP, "hour", datetime(1969, 12, 31, 23), -1),
        (Kind.TIMESTAMP, "month", datetime(1969, 12, 31, 23), -1),
        (Kind.TIMESTAMP, "year", datetime(1969, 12, 31, 23), -1),
        (Kind.DATE, "day", date(2017, 11, 16), DAY),
        (Kind.DATE, "month", date(2017, 11, 16), 47 * 12 + 10),
        (Kind.DATE, "identity", date(2017, 11, 16), DAY),
        (Kind.TIMESTAMPTZ, "identity", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1_000_000),
        (Kind.STRING, "identity", "logs", "logs"),
        (Kind.BOOLEAN, "identity", True, True),
        (Kind.LONG, "identity", 7, 7),
        (Kind.STRING, "void", "logs", None),
    ],
    ids=str,
)
def test_a_transform_gives_the_value_iceberg_stores(
    kind: Type, transform: str, value: Any, expected: Any
) -> None:
    assert partitions(kind, transform, [value]) == [(expected, [value])]


def test_rows_are_grouped_by_their_partition_and_none_is_lost() -> None:
    values = ["b", None, "a", "b", None, "c", "a"]
    found = partitions(Kind.STRING, "identity", values)
    assert dict(found) == {
        "a": ["a", "a"],
        "b": ["b", "b"],
        "c": ["c"],
        None: [None, None],
    }


def test_a_value_too_long_for_a_folder_name_gets_a_shorter_one() -> None:
    fields = Struct((optional("c", Kind.STRING),))
    schema = to_iceberg(fields)
    spec = PartitionSpec(PartitionField(1, 1000, parse_transform("identity"), "p"))
    arrow = arrow_schema(fields)
    names = set()
    for value in ("x" * 5000 + "1", "x" * 5000 + "2", "/../" * 90):
        rows = pa.Table.from_arrays([pa.array([value])], schema=arrow)
        key, _ = next(split(rows, spec, schema))
        assert key[0] == value
        names.add(folder(key, spec, schema))
    assert len(names) == 3
    assert all(len(name) <= LONGEST_NAME and "/" not in name for name in names)
