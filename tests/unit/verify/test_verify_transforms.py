"""Partition transforms against the values the Iceberg specification publishes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from lakeward.errors import TableUnsuitable
from lakeward.verify.murmur import murmur3
from lakeward.verify.partitioning import misplacement, partition_fields, plain_values
from lakeward.verify.transforms import transform

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH
    return (moment.days * 86_400 + moment.seconds) * 1_000_000 + moment.microseconds


def days(text: str) -> int:
    return (date.fromisoformat(text) - EPOCH.date()).days


LARGE = 1 << 31
"""So many buckets that the bucket is the hash without its sign."""


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (IntegerType(), 34, 2017239379),
        (LongType(), 34, 2017239379),
        (DecimalType(9, 2), "14.20", -500754589),
        (DateType(), days("2017-11-16"), -653330422),
        (TimeType(), 81_068_000_000, -662762989),
        (TimestampType(), micros("2017-11-16T22:31:08"), -2047944441),
        (TimestampType(), micros("2017-11-16T22:31:08.000001"), -1207196810),
        (TimestamptzType(), micros("2017-11-16T22:31:08"), -2047944441),
        (StringType(), "iceberg", 1210000089),
        (UUIDType(), UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").hex, 1488055340),
        (BinaryType(), "00010203", -188683207),
    ],
)
def test_buckets_follow_the_published_hashes(kind: IcebergType, value: Any, expected: int) -> None:
    assert transform(f"bucket[{LARGE}]", kind)(value) == expected & 0x7FFF_FFFF
    assert transform("bucket[16]", kind)(value) == (expected & 0x7FFF_FFFF) % 16


@given(st.binary(max_size=40))
def test_the_hash_is_murmur3(data: bytes) -> None:
    assert murmur3(data) == mmh3.hash(data, signed=False)


@pytest.mark.parametrize(
    ("name", "kind", "value", "expected"),
    [
        ("identity", StringType(), "a", "a"),
        ("void", StringType(), "a", None),
        ("year", DateType(), days("2017-11-16"), 47),
        ("month", DateType(), days("2017-11-16"), 574),
        ("day", DateType(), days("2017-11-16"), 17486),
        ("year", TimestampType(), micros("2017-11-16T22:31:08"), 47),
        ("month", TimestampType(), micros("2017-11-16T22:31:08"), 574),
        ("day", TimestamptzType(), micros("2017-11-16T22:31:08"), 17486),
        ("hour", TimestamptzType(), micros("2017-11-16T22:31:08"), 419686),
        ("year", DateType(), -1, -1),
        ("month", DateType(), -1, -1),
        ("year", TimestampType(), -1, -1),
        ("month", TimestampType(), -1, -1),
        ("day", TimestampType(), -1, -1),
        ("hour", TimestampType(), -1, -1),
        ("month", DateType(), 146_097, 4800),
        ("year", DateType(), 20 * 146_097, 8000),
        ("truncate[10]", IntegerType(), 1, 0),
        ("truncate[10]", IntegerType(), -1, -10),
        ("truncate[10]", LongType(), 1, 0),
        ("truncate[10]", LongType(), -1, -10),
        ("truncate[50]", DecimalType(9, 2), "10.65", "10.50"),
        ("truncate[10]", DecimalType(9, 2), "12.34", "12.30"),
        ("truncate[10]", DecimalType(9, 2), "-12.34", "-12.40"),
        ("truncate[10]", DecimalType(9, 2), "0.05", "0.00"),
        ("truncate[10]", DecimalType(9, 2), "-0.05", "-0.10"),
        ("truncate[10]", DecimalType(9, 0), "-5", "-10"),
        ("truncate[3]", StringType(), "iceberg", "ice"),
        ("truncate[2]", StringType(), "😀é!", "😀é"),
        ("truncate[5]", StringType(), "ice", "ice"),
        ("truncate[3]", BinaryType(), "0102030405", "010203"),
    ],
)
def test_transforms_give_the_published_values(
    name: str, kind: IcebergType, value: Any, expected: Any
) -> None:
    assert transform(name, kind)(value) == expected


@pytest.mark.parametrize("name", ["identity", "year", "day", "hour", "bucket[4]", "truncate[4]"])
def test_null_stays_null(name: str) -> None:
    assert transform(name, TimestampType())(None) is None


def test_an_unknown_transform_is_refused() -> None:
    with pytest.raises(TableUnsuitable):
        transform("zorder", StringType())


@pytest.mark.parametrize("text", ["0.00", "1.27", "1.28", "-1.28", "-1.29", "327.67", "327.68"])
def test_decimals_hash_their_shortest_bytes(text: str) -> None:
    unscaled = int(Decimal(text) * 100)
    for length in range(1, 5):
        if -(1 << (8 * length - 1)) <= unscaled < 1 << (8 * length - 1):
            expected = murmur3(unscaled.to_bytes(length, "big", signed=True)) & 0x7FFF_FFFF
            break
    assert transform(f"bucket[{LARGE}]", DecimalType(9, 2))(text) == expected


SCHEMA = Schema(
    NestedField(1, "time", TimestamptzType()),
    NestedField(2, "call", StructType(NestedField(3, "host", StringType()))),
)
SPEC = PartitionSpec(
    PartitionField(1, 1000, DayTransform(), "time_day"),
    PartitionField(3, 1001, IdentityTransform(), "call_host"),
    PartitionField(77, 1002, BucketTransform(4), "of_a_dropped_column"),
)


def test_a_row_belongs_where_its_columns_say() -> None:
    fields = partition_fields(SPEC, SCHEMA)
    row = {"1": 86_400_000_000, "2": {"3": "h"}}
    assert misplacement(fields, row, (1, "h", 3)) is None
    assert "time_day" in (misplacement(fields, row, (2, "h", 3)) or "")
    assert "call_host" in (misplacement(fields, row, (1, "g", 3)) or "")
    assert misplacement(fields, row | {"2": None}, (1, None, 3)) is None


def test_partition_values_of_a_manifest_are_read_in_plain_form() -> None:
    values = Record(Decimal("-1.50"), UUID(int=5), b"\xff\x00", 3, "x", None)
    assert plain_values(values) == ("-1.50", f"{5:032X}", "FF00", 3, "x", None)
