"""What a record must look like in its table, worked out from its bytes and the table's schema.

Plain form of a row: a dict from column id (as text) to value; structs are dicts too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from lakeward.errors import TableUnsuitable
from lakeward.model.fields import METADATA_NAMES
from lakeward.verify import moments, scalars
from lakeward.verify.equality import Entries
from lakeward.verify.scalars import Convert
from lakeward.verify.strict_json import Unfit, parse

Row = dict[str, Any]

_SIMPLE: dict[type[IcebergType], Convert] = {
    BooleanType: scalars.boolean,
    IntegerType: scalars.whole(32),
    LongType: scalars.whole(64),
    FloatType: scalars.floating(single=True),
    DoubleType: scalars.floating(single=False),
    StringType: scalars.text,
    UUIDType: scalars.uuid,
    BinaryType: scalars.binary(),
    DateType: moments.date,
    TimeType: moments.time,
    TimestampType: moments.timestamp(zoned=False),
    TimestamptzType: moments.timestamp(zoned=True),
}


@dataclass(frozen=True, slots=True)
class Expectation:
    """Turns a record's value into the row it must be, or raises `Unfit`."""

    convert: Callable[[Any], Row]
    max_record_bytes: int

    def row(self, value: bytes) -> Row:
        if len(value) > self.max_record_bytes:
            raise Unfit(f"larger than {self.max_record_bytes} bytes")
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError as wrong:
            raise Unfit(f"not UTF-8: {wrong.reason} at byte {wrong.start}") from wrong
        return self.convert(parse(text))


def expect(written: Schema, current: Schema, max_record_bytes: int) -> Expectation:
    """Expect rows decided by schema `written`, as a reader with schema `current` sees them."""
    convert = _struct(written.as_struct(), current.as_struct(), METADATA_NAMES)
    return Expectation(convert, max_record_bytes)


def _struct(
    written: StructType, current: StructType, ours: frozenset[str] = frozenset()
) -> Convert:
    seen = {field.field_id: field for field in current.fields}
    nothing: Row = {str(field.field_id): None for field in current.fields}
    # A column dropped since is still checked for fit: that is how the record was judged.
    fields = {
        field.name: (str(field.field_id), _value(field, seen.get(field.field_id, field)))
        for field in written.fields
        if field.name not in ours
    }
    required = [field.name for field in written.fields if field.required and field.name in fields]
    dropped = [str(field.field_id) for field in written.fields if field.field_id not in seen]

    def convert(value: Any) -> Row:
        if type(value) is not dict:
            raise Unfit("not an object")
        row, name = nothing.copy(), ""
        try:
            for name, item in value.items():
                known = fields.get(name)
                if known is not None and item is not None:
                    row[known[0]] = known[1](item)
        except Unfit as unfit:
            raise unfit.inside(name) from None
        for name in required:
            if value.get(name) is None:
                raise Unfit("required, but missing or null", name)
        for column in dropped:
            row.pop(column, None)
        return row

    return convert


def _value(written: NestedField, current: NestedField) -> Convert:
    kind, seen = written.field_type, current.field_type
    match kind:
        case StructType():
            return _struct(kind, seen if isinstance(seen, StructType) else kind)
        case ListType():
            return _list(kind, seen if isinstance(seen, ListType) else kind)
        case MapType():
            return _map(kind, seen if isinstance(seen, MapType) else kind)
        case DecimalType():
            return scalars.decimal(kind.precision, kind.scale)
        case FixedType():
            return scalars.binary(len(kind))
        case _ if type(kind) in _SIMPLE:
            return _SIMPLE[type(kind)]
    raise TableUnsuitable(
        f"Column {written.name!r} has type {kind}, which cannot be verified",
        next_step="Leave this job out: lakeward verify OTHER_JOB.",
    )


def _list(written: ListType, current: ListType) -> Convert:
    element = _value(written.element_field, current.element_field)

    def convert(value: Any) -> list[Any]:
        if type(value) is not list:
            raise Unfit("not an array")
        return [
            _inside(f"[{index}]", element, item, written.element_required)
            for index, item in enumerate(value)
        ]

    return convert


def _map(written: MapType, current: MapType) -> Convert:
    convert_key = _value(written.key_field, current.key_field)
    convert_value = _value(written.value_field, current.value_field)

    def convert(value: Any) -> Entries:
        if type(value) is not dict:
            raise Unfit("not an object")
        entries = {
            _inside(key, convert_key, key, True): _inside(
                key, convert_value, item, written.value_required
            )
            for key, item in value.items()
        }
        if len(entries) != len(value):
            raise Unfit("two keys become the same")
        return Entries(entries)

    return convert


def _inside(name: str, convert: Convert, item: Any, required: bool) -> Any:
    if item is None:
        if required:
            raise Unfit("required, but null", name)
        return None
    try:
        return convert(item)
    except Unfit as unfit:
        raise unfit.inside(name) from None
