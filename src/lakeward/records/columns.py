"""Rebuild DuckDB's columns of text as typed Arrow columns, and account for every value in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakeward.model.fields import Decimal, Field, Fixed, Kind, List, Map, Struct, Type
from lakeward.records.arrow import arrow_field, arrow_type, validity
from lakeward.records.cast import NUMBERS, cast_text
from lakeward.records.loose_text import Loose, read_loose
from lakeward.records.scan_json import Counts, Flags, Weight

_NOT_FROM_A_STRING = r"^([\[{0-9-]|(?i:nan|inf|true$|false$))"
_MOST_CELLS = 64_000_000


@dataclass(slots=True)
class Column:
    """A typed column, the packed count of keyed values it holds per row, and its suspect rows."""

    array: pa.Array
    counts: Counts
    suspects: Flags


def duckdb_type(kind: Type, loose: Loose, path: str) -> str:
    """Return the type DuckDB reads a value as.

    Numbers and booleans come as JSON text: there `5` and `"5"` still differ, which makes the
    counts a proof. Everything else without parts comes as plain text, unless it is loose.
    """
    match kind:
        case Struct(fields):
            inside = (
                f"{quoted(f.name)} {duckdb_type(f.type, loose, f'{path}.{f.name}')}" for f in fields
            )
            return f"STRUCT({', '.join(inside)})"
        case List(element):
            return f"{duckdb_type(element.type, loose, f'{path}.element')}[]"
        case Map(_, value):
            return f"MAP(VARCHAR, {duckdb_type(value.type, loose, f'{path}.value')})"
    plain = _leaf_weight(kind) is Weight.STRING and path not in loose
    return "VARCHAR" if plain else "JSON"


def quoted(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands in a record."""

    path: str
    loose: Loose
    keyed: bool = True
    """Whether it stands after a key in the text; elements of a list do not."""

    def inside(self, name: str, *, keyed: bool = True) -> Place:
        return Place(f"{self.path}.{name}", self.loose, keyed)


def rebuild(raw: pa.Array, field: Field, place: Place) -> Column:
    """Turn what DuckDB made of a field into the field's type."""
    match field.type:
        case Struct():
            column = _struct(raw, field.type, place)
        case List():
            column = _list(raw, field.type, place)
        case Map():
            column = _map(raw, field.type, place)
        case Kind.STRING if place.path in place.loose:
            column = _loose(raw, place)
        case _:
            column = _leaf(raw, field.type, place)
    if field.required:
        column.suspects |= ~validity(column.array)
    return column


def _leaf_weight(kind: Type) -> Weight:
    if kind in NUMBERS or isinstance(kind, Decimal):
        return Weight.NUMBER
    return Weight.BOOLEAN if kind is Kind.BOOLEAN else Weight.STRING


def _loose(raw: pa.Array, place: Place) -> Column:
    array, inside, own, suspects = read_loose(raw)
    if not place.keyed:
        # Only what is inside an element is keyed, not the element itself.
        return Column(array, inside, suspects | ~validity(raw))
    return Column(array, inside + own, suspects)


def _leaf(raw: pa.Array, kind: Type, place: Place) -> Column:
    array, doubt = cast_text(raw, kind)
    valid = validity(raw)
    suspects = np.zeros(len(raw), np.bool_) if doubt is None else doubt
    if not place.keyed:
        # Elements are not counted, so nothing but their look tells where they came from.
        suspects = suspects | ~valid
        if kind is Kind.STRING:
            odd = pc.match_substring_regex(raw, _NOT_FROM_A_STRING)
            suspects |= odd.fill_null(False).to_numpy(zero_copy_only=False)
        elif kind is Kind.BINARY or isinstance(kind, Fixed):
            suspects = np.ones(len(raw), np.bool_)
    return Column(array, valid * np.int64(_leaf_weight(kind) if place.keyed else 0), suspects)


def _struct(raw: pa.StructArray, kind: Struct, place: Place) -> Column:
    valid = validity(raw)
    children = [
        rebuild(child, field, place.inside(field.name))
        for child, field in zip(raw.flatten(), kind.fields, strict=True)
    ]
    inside = sum((child.counts for child in children), np.zeros(len(raw), np.int64))
    suspects = np.logical_or.reduce([child.suspects for child in children]) & valid
    # A string in place of an object decodes to an object without members.
    suspects |= (valid if place.keyed else True) & (inside == 0)
    array = pa.StructArray.from_arrays(
        [child.array for child in children],
        fields=[arrow_field(field) for field in kind.fields],
        mask=None if valid.all() else pa.array(~valid),
    )
    own = valid * np.int64(Weight.OBJECT if place.keyed else 0)
    return Column(array, inside + own, suspects)


def _list(raw: pa.ListArray, kind: List, place: Place) -> Column:
    valid = validity(raw)
    offsets = raw.offsets.to_numpy()
    values = rebuild(raw.values, kind.element, place.inside("element", keyed=False))
    array = pa.ListArray.from_arrays(
        _nullable_offsets(offsets, valid), values.array, type=arrow_type(kind)
    )
    own = valid * np.int64(Weight.ARRAY if place.keyed else 0)
    suspects = _any_per_row(values.suspects, offsets) | (~valid & (not place.keyed))
    return Column(array, _per_row(values.counts, offsets) + own, suspects)


def _map(raw: pa.MapArray, kind: Map, place: Place) -> Column:
    valid = validity(raw)
    offsets = raw.offsets.to_numpy()
    values = rebuild(raw.items, kind.value, place.inside("value"))
    suspects = _any_per_row(values.suspects, offsets) | (~valid & (not place.keyed))
    suspects |= _rows_with_a_key_twice(raw.keys, offsets)
    keys = raw.keys
    if kind.key.type is not Kind.STRING:
        suspects |= np.diff(offsets) > 0
        keys = pa.array(np.zeros(len(keys), np.int8)).cast(arrow_type(kind.key.type))
    array = pa.MapArray.from_arrays(
        _nullable_offsets(offsets, valid), keys, values.array, type=arrow_type(kind)
    )
    own = valid * np.int64(Weight.OBJECT if place.keyed else 0)
    return Column(array, _per_row(values.counts, offsets) + own, suspects)


def _rows_with_a_key_twice(keys: pa.Array, offsets: npt.NDArray[np.int32]) -> Flags:
    rows = len(offsets) - 1
    repeated = np.zeros(rows, np.bool_)
    if not len(keys):
        return repeated
    encoded = keys.dictionary_encode()
    width = len(encoded.dictionary)
    row = np.repeat(np.arange(rows), np.diff(offsets))
    cells = row * width + encoded.indices.to_numpy()[: len(row)]
    if rows * width > _MOST_CELLS:
        unique, counts = np.unique(cells, return_counts=True)
        repeated[unique[counts > 1] // width] = True
        return repeated
    seen = np.zeros(rows * width, np.bool_)
    seen[cells] = True
    if np.count_nonzero(seen) < len(cells):
        distinct = np.count_nonzero(seen.reshape(rows, width), axis=1)
        repeated = distinct < np.diff(offsets)
    return repeated


def _nullable_offsets(offsets: npt.NDArray[np.int32], valid: Flags) -> pa.Array:
    if valid.all():
        return pa.array(offsets, pa.int32())
    return pa.array(offsets, pa.int32(), mask=np.append(~valid, False))


def _per_row(counts: Counts, offsets: npt.NDArray[np.int32]) -> Counts:
    running = np.concatenate(([0], np.cumsum(counts)))
    per_row: Counts = running[offsets[1:]] - running[offsets[:-1]]
    return per_row


def _any_per_row(flags: Flags, offsets: npt.NDArray[np.int32]) -> Flags:
    if not flags.any():
        return np.zeros(len(offsets) - 1, np.bool_)
    return _per_row(flags.astype(np.int64), offsets) > 0
