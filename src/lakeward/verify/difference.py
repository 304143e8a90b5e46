"""Find and show the first difference between an expected row and the one found."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

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

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Difference(NamedTuple):
    """Where two rows differ, in plain form."""

    path: str
    kind: IcebergType
    expected: Any
    found: Any


def first_difference(schema: Schema, expected: dict[str, Any], found: dict[str, Any]) -> str:
    """Say which column differs, what it should hold and what it holds."""
    path, kind, wanted, there = _walk(Difference("", schema.as_struct(), expected, found))
    return f"column {path}: expected {_show(kind, wanted)}, found {_show(kind, there)}"


def _walk(here: Difference) -> Difference:
    """Follow a difference inwards, as far as it can be followed."""
    if here.expected is None or here.found is None:
        return here
    for inside in _parts(here):
        if inside.expected != inside.found:
            return _walk(inside)
    return here


def _parts(here: Difference) -> Iterable[Difference]:
    path, kind, expected, found = here
    match kind:
        case StructType():
            for field in kind.fields:
                column, name = str(field.field_id), f"{path}.{field.name}".lstrip(".")
                yield Difference(name, field.field_type, expected.get(column), found.get(column))
        case ListType() if len(expected) == len(found):
            for index, (left, right) in enumerate(zip(expected, found, strict=True)):
                yield Difference(f"{path}[{index}]", kind.element_type, left, right)
        case MapType():
            yield from _entries(here, kind)


def _entries(here: Difference, kind: MapType) -> Iterable[Difference]:
    expected, found = here.expected.entries, dict(_pairs(here.found))
    for key in sorted({*expected, *found}, key=str):
        yield Difference(
            f"{here.path}[{key!r}]", kind.value_type, expected.get(key), found.get(key)
        )


def _pairs(entries: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(entries, Entries):
        return entries.entries.items()
    return zip(entries["k"], entries["v"], strict=True)


def _show(kind: IcebergType, value: Any) -> str:
    text = _text(kind, value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


def _text(kind: IcebergType, value: Any) -> str:
    match kind:
        case _ if value is None:
            return "null"
        case StructType():
            given = ((field, value.get(str(field.field_id))) for field in kind.fields)
            parts = [f"{f.name}: {_text(f.field_type, v)}" for f, v in given if v is not None]
            return f"{{{', '.join(parts)}}}"
        case ListType():
            return f"[{', '.join(_text(kind.element_type, item) for item in value)}]"
        case MapType():
            entries = (f"{key!r}: {_text(kind.value_type, v)}" for key, v in _pairs(value))
            return f"{{{', '.join(entries)}}}"
        case TimestampType() | TimestamptzType() | DateType():
            return _moment(kind, value)
    return repr(value) if isinstance(value, str) else str(value)


def _moment(kind: IcebergType, value: int) -> str:
    try:
        if isinstance(kind, DateType):
            return str((EPOCH + timedelta(days=value)).date())
        return (EPOCH + timedelta(microseconds=value)).isoformat()
    except OverflowError:
        return str(value)
