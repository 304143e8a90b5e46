"""What a record must look like, and what counts as equal to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from lakeward.verify.difference import first_difference
from lakeward.verify.expectation import expect
from lakeward.verify.strict_json import Unfit

CALL = StructType(
    NestedField(5, "code", IntegerType(), required=True),
    NestedField(6, "rx", LongType(), required=False),
)
TEXTS = MapType(30, StringType(), 31, StringType(), value_required=False)


def optional(number: int, name: str, kind: IcebergType) -> NestedField:
    return NestedField(number, name, kind, required=False)


def required(number: int, name: str, kind: IcebergType) -> NestedField:
    return NestedField(number, name, kind, required=True)


SCHEMA = Schema(
    required(1, "time", TimestamptzType()),
    optional(2, "note", StringType()),
    optional(3, "tags", TEXTS),
    optional(4, "call", CALL),
    optional(7, "path", ListType(8, StringType(), element_required=False)),
    optional(9, "_offset", LongType()),
)  # fmt: skip
EMPTY = {"1": 0, "2": None, "3": None, "4": None, "7": None, "9": None}


def row(schema: Schema = SCHEMA, /, **fields: Any) -> dict[str, Any]:
    value = json.dumps({"time": 0, **fields}).encode()
    return expect(schema, schema, 10_000).row(value)


def test_a_missing_field_is_null_and_an_unknown_one_is_ignored() -> None:
    assert row(surprise=[1, 2]) == EMPTY


def test_columns_of_ours_are_never_taken_from_the_record() -> None:
    assert row(_offset=7)["9"] is None


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (b"[1]", ""),
        (b"null", ""),
        (b"{}", "time"),
        (b'{"time": null}', "time"),
        (b'{"time": 0, "call": {}}', "call.code"),
        (b'{"time": 0, "call": {"code": 1.5}}', "call.code"),
        (b'{"time": 0, "call": "x"}', "call"),
        (b'{"time": 0, "path": "x"}', "path"),
        (b'{"time": 0, "tags": []}', "tags"),
        (b'{"time": 0, "note": "\xff"}', ""),
    ],
)
def test_a_record_that_does_not_fit_names_its_field(value: bytes, path: str) -> None:
    with pytest.raises(Unfit) as unfit:
        expect(SCHEMA, SCHEMA, 10_000).row(value)
    assert unfit.value.path == path


def test_a_record_over_the_limit_does_not_fit() -> None:
    value = b'{"time": 0}'
    assert expect(SCHEMA, SCHEMA, len(value)).row(value) == EMPTY
    with pytest.raises(Unfit):
        expect(SCHEMA, SCHEMA, len(value) - 1).row(value)


def test_a_null_element_needs_an_optional_element() -> None:
    strict = Schema(optional(1, "path", ListType(2, StringType(), element_required=True)))
    assert row(path=["a", None])["7"] == ["a", None]
    with pytest.raises(Unfit):
        row(strict, path=["a", None])


def test_keys_that_become_the_same_do_not_fit() -> None:
    numbers = Schema(optional(1, "m", MapType(2, LongType(), 3, StringType(), False)))
    with pytest.raises(Unfit):
        row(numbers, m={"1": "a", "+1": "b"})


def test_the_order_of_a_map_is_irrelevant_but_a_key_twice_is_not() -> None:
    expected = row(tags={"a": "1", "b": "2"})["3"]
    assert expected == {"k": ["b", "a"], "v": ["2", "1"]}
    assert expected != {"k": ["a", "b", "b"], "v": ["1", "2", "2"]}
    assert expected != {"k": ["a"], "v": ["1"]}
    assert expected != {"k": ["a", "b"], "v": ["1", None]}
    assert expected is not None


@pytest.mark.parametrize("found", ["1.10", "1.1", "110e-2", "1.1E0"])
def test_a_number_in_a_string_column_is_equal_by_value(found: str) -> None:
    value = b'{"time": 0, "note": 1.10}'
    assert expect(SCHEMA, SCHEMA, 100).row(value)["2"] == found


@pytest.mark.parametrize("found", ["1.11", "1.1 ", "+1.1", "", "x", None, "01.1"])
def test_another_text_is_not_that_number(found: str | None) -> None:
    value = b'{"time": 0, "note": 1.10}'
    assert expect(SCHEMA, SCHEMA, 100).row(value)["2"] != found


def test_an_object_in_a_string_column_is_equal_as_json() -> None:
    expected = row(note={"a": [1.5, None], "b": "x"})["2"]
    assert expected == '{"b": "x", "a": [1.50, null]}'
    assert expected != '{"b": "x", "a": [1.5]}'
    assert expected != "{'b': 'x'}"
    assert expected != None  # noqa: E711


def test_a_string_is_equal_to_nothing_but_itself() -> None:
    assert row(note='{"a": 1}')["2"] == '{"a": 1}'
    assert row(note='{"a": 1}')["2"] != '{"a":1}'


def test_an_empty_object_is_not_null() -> None:
    assert row(tags={})["3"] == {"k": [], "v": []}
    assert row(tags={})["3"] is not None


def test_rows_written_under_an_older_schema_are_read_with_the_newer() -> None:
    older = Schema(
        required(1, "time", TimestamptzType()),
        optional(2, "note", StringType()),
        optional(50, "dropped", DoubleType()),
    )
    newer = Schema(
        required(1, "time", TimestamptzType()),
        optional(2, "renamed", StringType()),
        optional(51, "added", StringType()),
    )
    value = b'{"time": 0, "note": "a", "renamed": "b", "added": "c", "dropped": 1.5}'
    assert expect(older, newer, 1000).row(value) == {"1": 0, "2": "a", "51": None}
    with pytest.raises(Unfit):
        expect(older, newer, 1000).row(b'{"time": 0, "dropped": "x"}')


FIVE = "1970-01-01T00:00:00.000005+00:00"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"2": "b"}, "column note: expected 'a', found 'b'"),
        ({"2": None}, "column note: expected 'a', found null"),
        ({"1": 5}, "column time: expected 1970-01-01T00:00:00+00:00, found " + FIVE),
        ({"3": {"k": ["x"], "v": ["z"]}}, "column tags['x']: expected 'y', found 'z'"),
        ({"3": {"k": [], "v": []}}, "column tags['x']: expected 'y', found null"),
        (
            {"3": {"k": ["x", "x"], "v": ["y", "y"]}},
            "column tags: expected {'x': 'y'}, found {'x': 'y', 'x': 'y'}",
        ),
        ({"4": None}, "column call: expected {code: 200}, found null"),
        ({"4": {"5": 201, "6": None}}, "column call.code: expected 200, found 201"),
        ({"7": ["p", "r"]}, "column path[1]: expected 'q', found 'r'"),
        ({"7": ["p"]}, "column path: expected ['p', 'q'], found ['p']"),
    ],
)
def test_a_difference_names_column_expected_and_found(change: dict[str, Any], told: str) -> None:
    expected = row(note="a", tags={"x": "y"}, call={"code": 200}, path=["p", "q"])
    found = {
        "1": 0, "2": "a", "3": {"k": ["x"], "v": ["y"]}, "4": {"5": 200, "6": None},
        "7": ["p", "q"], "9": None,
    }  # fmt: skip
    assert expected == found
    assert expected != found | change
    assert first_difference(SCHEMA, expected, found | change) == told


def test_long_values_are_cut_in_a_finding() -> None:
    expected = row(note="a" * 5000)
    assert len(first_difference(SCHEMA, expected, EMPTY)) < 250
