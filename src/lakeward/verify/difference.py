"""Find and show the first difference between an expected row and the one found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    IcebergType,
    ListType,
    MapType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from lakeward.verify.equality import Entries

SHOWN = 120
"""How many characters of a value a finding shows."""


def first_difference(schema: Schema, expected: dict[str, Any], found: dict[str, Any]) -> str:
    """Say which column differs, what it should hold and what it holds."""
    path, kind, left, right = _walk("", schema.as_struct(), expected, found)
    return f"column {path}: expected {_show(kind, left)}, found {_show(kind, right)}"


def _walk(
    path: str, kind: IcebergType, expected: Any, found: Any
) -> tuple[str, IcebergType, Any, Any]:
    here = (path, kind, expected, found)
    if expected is None or found is None:
        return here
    match kind:
        case StructType():
            for field in kind.fields:
                left, right = expected.get(str(field.field_id)), found.get(str(field.field_id))
                if left != right:
                    inside = f"{path}.{field.name}" if path else field.name
                    return _walk(inside, field.field_type, left, right)
        case ListType() if len(expected) == len(found):
            for index, (left, right) in enumerate(zip(expected, found, strict=True)):
                if left != right:
                    return _walk(f"{path}[{index}]", kind.element_type, left, right)
        case MapType() if isinstance(expected, Entries):
            return _walk_map(path, kind, expected, found)
    return here


def _walk_map(
    path: str, kind: MapType, expected: Entries, found: Any
) -> tuple[str, IcebergType, Any, Any]:
    entries = dict(zip(found["k"], found["v"], strict=True))
    if len(entries) != len(found["k"]):
        return path, kind, expected, f"keys {found['k']}"
    for key in sorted({*expected.entries, *entries}, key=str):
        left, right = expected.entries.get(key), entries.get(key)
        if left != right or (key in entries) != (key in expected.entries):
            return _walk(f"{path}[{key!r}]", kind.value_type, left, right)
    return path, kind, expected, entries


def _show(kind: IcebergType, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, int) and isinstance(kind, TimestampType | TimestamptzType | DateType):
        return _show_moment(kind, value)
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


def _show_moment(kind: IcebergType, value: int) -> str:
    try:
        if isinstance(kind, DateType):
            return str((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=value)).date())
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)).isoformat()
    except OverflowError:
        return str(value)
