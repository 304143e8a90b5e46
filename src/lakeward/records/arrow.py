"""Our fields as Arrow types. A column id travels as Parquet's field id."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakeward.model.fields import Decimal, Field, Fixed, Kind, List, Map, Struct, Type

_SIMPLE = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.UUID: pa.binary(16),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time64("us"),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
}


def arrow_schema(fields: Struct) -> pa.Schema:
    """Return the Arrow schema of a table with these columns."""
    return pa.schema([arrow_field(field) for field in fields.fields])


def arrow_field(field: Field) -> pa.Field:
    """Return one column: its type, whether it may be null, and its id if it has one."""
    metadata = {"PARQUET:field_id": str(field.id)} if field.id is not None else None
    return pa.field(field.name, arrow_type(field.type), not field.required, metadata)


def arrow_type(kind: Type) -> pa.DataType:
    """Return the Arrow type that holds values of ours."""
    match kind:
        case Kind():
            return _SIMPLE[kind]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Fixed(length):
            return pa.binary(length)
        case Struct(fields):
            return pa.struct([arrow_field(field) for field in fields])
        case List(element):
            return pa.list_(arrow_field(element))
        case Map(key, value):
            return pa.map_(arrow_field(key), arrow_field(value))


def validity(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Return which elements are not null."""
    flags: npt.NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return flags
