"""Every row of docs/types.md holds, on the fast path and on the exact path."""

from __future__ import annotations

import html
import math
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal as Exact
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from lakeward.model.fields import Decimal, Fixed, Kind, Struct, Type, list_of, map_of, optional
from lakeward.records.chunk import Chunk
from lakeward.records.dead_letters import Unfit
from lakeward.records.decode_json import JsonDecoder
from lakeward.records.parse_json import decode_record

TABLE = Path(__file__).parents[3] / "docs" / "types.md"
ROW = re.compile(r"^\| (.+?) \| `(.+)` \| (.+) \|$")
PARTS = {
    "list<string>": list_of(Kind.STRING),
    "list<long>": list_of(Kind.LONG),
    "list<struct<x: long>>": list_of(Struct((optional("x", Kind.LONG),))),
    "map<string, string>": map_of(Kind.STRING, Kind.STRING),
    "map<string, long>": map_of(Kind.STRING, Kind.LONG),
    "map<long, string>": map_of(Kind.LONG, Kind.STRING),
    "struct<x: long, y: string>": Struct((optional("x", Kind.LONG), optional("y", Kind.STRING))),
    "decimal(9,2)": Decimal(9, 2),
    "decimal(38,9)": Decimal(38, 9),
    "fixed(4)": Fixed(4),
}
NAMES = {"UUID": UUID, "date": date, "datetime": datetime, "time": time, "UTC": UTC}


def rows() -> list[tuple[str, str, str]]:
    matches = [ROW.match(line) for line in TABLE.read_text().splitlines()]
    return [(html.unescape(m[1]), m[2], m[3]) for m in matches if m]


def kind_of(text: str) -> Type:
    return PARTS.get(text) or Kind(text)


def expected(kind: str, becomes: str) -> Any:
    if kind.startswith("decimal"):
        return Exact(becomes)
    values = {**NAMES, "nan": math.nan, "inf": math.inf, "true": True, "false": False}
    return eval(becomes, {}, values)


@cache
def decoder_of(fields: Struct) -> JsonDecoder:
    return JsonDecoder(fields, 1 << 20, metadata_columns=False)


def outcome_exactly(text: str, fields: Struct) -> tuple[Any, str]:
    try:
        return decode_record(text, fields)[0]["c"], ""
    except Unfit as unfit:
        return None, str(unfit.reason)


def outcome_in_a_chunk(text: str, fields: Struct) -> tuple[Any, str]:
    """Decode the record between two harmless ones, as it would come from Kafka."""
    values = [b"{}", text.encode(), b"{}"]
    chunk = Chunk(
        "t",
        np.zeros(3, np.int32),
        np.arange(3),
        np.zeros(3, np.int64),
        values,
        lambda _index: None,
    )
    decoded = decoder_of(fields).decode(chunk)
    if decoded.letters:
        assert [letter.offset for letter in decoded.letters] == [1]
        return None, str(decoded.letters[0].reason)
    assert decoded.rows.num_rows == 3
    found = [value for value in decoded.rows.column("c").to_pylist() if value is not None]
    return (found[0] if found else None), ""


def test_the_table_has_many_rows() -> None:
    assert len(rows()) > 120


@pytest.mark.parametrize(("kind", "value", "becomes"), rows())
@pytest.mark.parametrize("path", [outcome_exactly, outcome_in_a_chunk])
def test_a_value_becomes_what_the_table_says(
    path: Any, kind: str, value: str, becomes: str
) -> None:
    fields = Struct((optional("c", kind_of(kind)),))
    found, reason = path(f'{{"c":{value}}}', fields)
    if becomes.startswith("dead letter"):
        assert f"dead letter `{reason}`" == becomes
        return
    wanted = expected(kind, becomes)
    assert reason == ""
    if isinstance(wanted, float) and math.isnan(wanted):
        assert math.isnan(found)
    else:
        assert found == wanted
        assert str(found) == str(wanted) or not isinstance(wanted, float)
