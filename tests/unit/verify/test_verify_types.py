"""The verifier reads docs/types.md its own way and must come to the same rows."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from lakeward.verify.expectation import expect
from lakeward.verify.plain_sql import loose_schema, row_sql
from lakeward.verify.strict_json import Unfit

TABLE = Path(__file__).parents[3] / "docs" / "types.md"
ROW = re.compile(r"^\| (.+?) \| `(.+)` \| (.+) \|$")
X, Y = NestedField(10, "x", LongType()), NestedField(11, "y", StringType())
NESTED: dict[str, IcebergType] = {
    "list<string>": ListType(9, StringType(), element_required=False),
    "list<long>": ListType(9, LongType(), element_required=False),
    "list<struct<x: long>>": ListType(9, StructType(X), element_required=False),
    "map<string, string>": MapType(8, StringType(), 9, StringType(), value_required=False),
    "map<string, long>": MapType(8, StringType(), 9, LongType(), value_required=False),
    "map<long, string>": MapType(8, LongType(), 9, StringType(), value_required=False),
    "struct<x: long, y: string>": StructType(X, Y),
    "decimal(9,2)": DecimalType(9, 2),
    "decimal(38,9)": DecimalType(38, 9),
    "fixed(4)": FixedType(4),
}
NAMES = {
    "UUID": UUID, "date": date, "datetime": datetime, "time": time, "UTC": UTC,
    "nan": math.nan, "inf": math.inf, "true": True, "false": False,
}  # fmt: skip


def cases() -> list[tuple[str, str, str]]:
    matches = [ROW.match(line) for line in TABLE.read_text().splitlines()]
    return [(html.unescape(found[1]), found[2], found[3]) for found in matches if found]


def schema_of(kind: str) -> Schema:
    column = NestedField(1, "c", NESTED[kind]) if kind in NESTED else None
    if column is None:
        column = NestedField.model_validate({"id": 1, "name": "c", "type": kind, "required": False})
    return Schema(column)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with duckdb.connect() as opened:
        yield opened


def read_back(session: Any, schema: Schema, value: Any) -> dict[str, Any]:
    """Store a value as any writer would and read it back as the verifier does."""
    stored = pa.Table.from_pylist([{"c": value}], schema=schema.as_arrow())
    loose = loose_schema(stored.schema)
    session.register("given", stored.rename_columns(loose.names).cast(loose))
    sql = f"SELECT to_json({row_sql(schema.fields, stored.schema)}) FROM given"
    (text,) = session.execute(sql).fetchone()
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize(("kind", "value", "becomes"), cases())
def test_every_row_of_the_types_page_is_expected_as_written(
    session: Any, kind: str, value: str, becomes: str
) -> None:
    schema = schema_of(kind)
    expectation = expect(schema, schema, 1_000_000)
    record = f'{{"c": {value}}}'.encode()
    if becomes.startswith("dead letter"):
        with pytest.raises(Unfit):
            expectation.row(record)
    else:
        stored = Decimal(becomes) if "decimal" in kind else eval(becomes, {}, NAMES)
        assert expectation.row(record) == read_back(session, schema, stored)


def test_the_types_page_is_read_at_all() -> None:
    assert len(cases()) > 100
