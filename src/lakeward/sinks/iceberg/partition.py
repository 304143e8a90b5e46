"""Split rows by a table's partition spec: one sort, then slices."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import StructType

LONGEST_NAME = 200
"""File systems refuse a folder name over 255 bytes; a record's value must not stop a batch."""


def split(rows: pa.Table, spec: PartitionSpec, schema: Schema) -> Iterator[tuple[Record, pa.Table]]:
    """Yield the rows of each partition with the partition's values, as Iceberg stores them."""
    if not spec.fields:
        yield Record(), rows
        return
    keys = [partition_values(rows, field, schema) for field in spec.fields]
    encoded = [key.dictionary_encode(null_encoding="encode") for key in keys]
    codes = np.zeros(rows.num_rows, np.int64)
    for key in encoded:
        codes = codes * len(key.dictionary) + key.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order])) + 1
    starts = np.concatenate(([0], edges))
    ordered = rows if len(starts) == 1 else rows.take(pa.array(order))
    for start, end in zip(starts, np.append(edges, len(order)), strict=True):
        values = Record(*(_physical(key[int(order[start])]) for key in keys))
        yield values, ordered.slice(start, end - start)


def partition_values(rows: pa.Table, field: PartitionField, schema: Schema) -> pa.Array:
    """Apply a partition field's transform to its source column."""
    if not _path(schema, field.source_id):
        # Rows written under a schema older than the partitioning: the column reads as null.
        return pa.nulls(rows.num_rows, pa.int32())
    source = _column(rows, schema, field.source_id)
    transform = field.transform.pyarrow_transform(schema.find_type(field.source_id))
    values = transform(source)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def folder(values: Record, spec: PartitionSpec, schema: Schema) -> str:
    """Return the folder of a partition, such as `time_day=2025-01-15/bucket=logs`."""
    if not spec.fields:
        return ""
    parts = []
    for index, field in enumerate(spec.fields):
        text = "null"
        if _path(schema, field.source_id):
            source = schema.find_type(field.source_id)
            text = field.transform.to_human_string(source, values[index])
        parts.append(_shortened(f"{quote_plus(field.name)}={quote_plus(text)}"))
    return "/".join(parts)


def _column(rows: pa.Table, schema: Schema, field_id: int) -> pa.Array:
    path = _path(schema, field_id)
    column = rows.column(path[0]).combine_chunks()
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


def _path(schema: Schema, field_id: int) -> list[str]:
    """Return the names from the top down to a column inside structs."""
    for field in schema.fields:
        if field.field_id == field_id:
            return [field.name]
        if isinstance(field.field_type, StructType):
            inner = _path(Schema(*field.field_type.fields), field_id)
            if inner:
                return [field.name, *inner]
    return []


def _physical(value: pa.Scalar) -> Any:
    """Return a partition value as Iceberg writes it: dates as days, times as microseconds."""
    kind = value.type
    if pa.types.is_date32(kind):
        return value.cast(pa.int32()).as_py()
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return value.cast(pa.int64()).as_py()
    return value.as_py()


def _shortened(part: str) -> str:
    if len(part) <= LONGEST_NAME:
        return part
    digest = hashlib.sha256(part.encode()).hexdigest()[:16]
    return f"{part[: LONGEST_NAME - 17]}~{digest}"
