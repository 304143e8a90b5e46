"""SQL that brings a file's rows into plain form: columns by id, every value comparable as JSON."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

FIELD_ID = b"PARQUET:field_id"
LETTER_PARTS = ("key", "value", "timestamp", "reason", "message")


def loose_type(kind: Any) -> Any:
    """Return an Arrow type DuckDB takes whatever it holds; maps become lists of entries.

    DuckDB refuses a map with a key twice, which is the very thing a verifier must be able to see.
    """
    if pa.types.is_map(kind):
        entry = [("key", loose_type(kind.key_type)), ("value", loose_type(kind.item_type))]
        return pa.list_(pa.struct(entry))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, loose_type(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(loose_type(kind.value_type))
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def loose_schema(schema: Any) -> Any:
    """Return the schema `loose_type` gives, with columns named by position.

    Names that differ only in case are one name to DuckDB.
    """
    return pa.schema([(f"c{index}", loose_type(field.type)) for index, field in enumerate(schema)])


def row_sql(columns: tuple[NestedField, ...], file_schema: Any) -> str:
    """Return the expression of a whole row as a struct keyed by column id."""
    return _fields(columns, {_id(field): (f"c{n}", field) for n, field in enumerate(file_schema)})


def letter_sql(columns: tuple[NestedField, ...], file_schema: Any) -> str:
    """Return the expression of a dead letter, its bytes by their digest: they may be very many."""
    named = {field.name: column_sql(field.field_id, file_schema) for field in columns}
    column = {name: named.get(name, "NULL") for name in LETTER_PARTS}
    values = {
        "key": f"sha256(CAST({column['key']} AS BLOB))",
        "value": f"sha256(CAST({column['value']} AS BLOB))",
        "timestamp": f"epoch_us(CAST({column['timestamp']} AS TIMESTAMPTZ))",
        "reason": column["reason"],
        "message": column["message"],
    }
    parts = [f'"{name}" := {value}' for name, value in values.items()]
    return f"struct_pack({', '.join(parts)})"


def column_sql(field_id: int, file_schema: Any) -> str:
    """Return the expression of one column, NULL if the file lacks it."""
    for index, field in enumerate(file_schema):
        if _id(field) == field_id:
            return f"c{index}"
    return "NULL"


def _fields(wanted: tuple[NestedField, ...], present: dict[int, tuple[str, Any]]) -> str:
    parts = []
    for field in wanted:
        value = "NULL"
        if field.field_id in present:
            reference, stored = present[field.field_id]
            value = _value(field.field_type, reference, stored.type, 0)
        parts.append(f'"{field.field_id}" := {value}')
    return f"struct_pack({', '.join(parts)})"


def _value(kind: IcebergType, reference: str, stored: Any, depth: int) -> str:
    match kind:
        case StructType():
            inside = {_id(field): (f"{reference}.{_quoted(field.name)}", field) for field in stored}
            return _unless_null(reference, _fields(kind.fields, inside))
        case ListType():
            item = f"e{depth}"
            value = _value(kind.element_type, item, stored.value_type, depth + 1)
            return f"list_transform({reference}, lambda {item}: {value})"
        case MapType():
            return _unless_null(reference, _entries(kind, reference, stored, depth))
        case TimestampType() | TimestamptzType() | TimeType():
            return f"epoch_us({reference})"
        case DateType():
            return f"{reference} - DATE '1970-01-01'"
        case DecimalType():
            return f"CAST({reference} AS VARCHAR)"
        case UUIDType() | BinaryType() | FixedType():
            return f"hex({reference})"
    return reference


def _entries(kind: MapType, reference: str, stored: Any, depth: int) -> str:
    item = f"e{depth}"
    key = _value(kind.key_type, f"{item}.key", stored.key_type, depth + 1)
    value = _value(kind.value_type, f"{item}.value", stored.item_type, depth + 1)
    return (
        f"struct_pack(k := list_transform({reference}, lambda {item}: {key}), "
        f"v := list_transform({reference}, lambda {item}: {value}))"
    )


def _unless_null(reference: str, value: str) -> str:
    return f"CASE WHEN {reference} IS NOT NULL THEN {value} END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _id(field: Any) -> int:
    return int((field.metadata or {}).get(FIELD_ID, -1))
