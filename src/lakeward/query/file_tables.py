"""A table's files as rows, under Trino's names: `t$files`, `t$manifests`, `t$partitions`."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, ManifestFile
from pyiceberg.partitioning import PartitionField
from pyiceberg.schema import index_by_id
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IcebergType, PrimitiveType, UUIDType

Row = dict[str, Any]

_COUNTS = pa.map_(pa.int32(), pa.int64())
_BOUNDS = pa.map_(pa.int32(), pa.string())
_RANGE = pa.struct(
    [
        ("contains_null", pa.bool_()),
        ("contains_nan", pa.bool_()),
        ("lower_bound", pa.string()),
        ("upper_bound", pa.string()),
    ]
)
_FILE = {
    "content": pa.int32(),
    "file_path": pa.string(),
    "record_count": pa.int64(),
    "file_format": pa.string(),
    "file_size_in_bytes": pa.int64(),
    "column_sizes": _COUNTS,
    "value_counts": _COUNTS,
    "null_value_counts": _COUNTS,
    "nan_value_counts": _COUNTS,
    "lower_bounds": _BOUNDS,
    "upper_bounds": _BOUNDS,
    "key_metadata": pa.binary(),
    "split_offsets": pa.list_(pa.int64()),
    "equality_ids": pa.list_(pa.int32()),
    "sort_order_id": pa.int32(),
    "spec_id": pa.int32(),
}
_MANIFEST = {
    "path": pa.string(),
    "length": pa.int64(),
    "partition_spec_id": pa.int32(),
    "added_snapshot_id": pa.int64(),
    "added_data_files_count": pa.int32(),
    "added_rows_count": pa.int64(),
    "existing_data_files_count": pa.int32(),
    "existing_rows_count": pa.int64(),
    "deleted_data_files_count": pa.int32(),
    "deleted_rows_count": pa.int64(),
    "partition_summaries": pa.list_(_RANGE),
}


def live_files(table: Table) -> Iterator[DataFile]:
    """Yield the files of the current snapshot, delete files too."""
    for manifest in _manifests_of(table):
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            yield entry.data_file


def files(table: Table) -> tuple[dict[str, pa.DataType], list[Row]]:
    """Return one row for each file of the current snapshot."""
    types = _field_types(table)
    partition = _partition_type(table, types)
    schema = _FILE | ({"partition": partition} if partition.num_fields else {})
    return schema, [_file_row(table, file, types) for file in live_files(table)]


def partitions(table: Table) -> tuple[dict[str, pa.DataType], list[Row]]:
    """Return one row for each partition that has data."""
    partition = _partition_type(table, _field_types(table))
    schema = {
        **({"partition": partition} if partition.num_fields else {}),
        "record_count": pa.int64(),
        "file_count": pa.int64(),
        "total_size": pa.int64(),
    }
    sums: dict[tuple[object, ...], Row] = {}
    for file in live_files(table):
        if file.content != DataFileContent.DATA:
            continue
        where = _partition_of(table, file)
        row = sums.setdefault(
            (file.spec_id, *where.values()),
            {"partition": where, "record_count": 0, "file_count": 0, "total_size": 0},
        )
        row["record_count"] += file.record_count
        row["file_count"] += 1
        row["total_size"] += file.file_size_in_bytes
    return schema, list(sums.values())


def manifests(table: Table) -> tuple[dict[str, pa.DataType], list[Row]]:
    """Return one row for each manifest of the current snapshot."""
    types = _field_types(table)
    return _MANIFEST, [
        {
            "path": each.manifest_path,
            "length": each.manifest_length,
            "partition_spec_id": each.partition_spec_id,
            "added_snapshot_id": each.added_snapshot_id,
            "added_data_files_count": each.added_files_count,
            "added_rows_count": each.added_rows_count,
            "existing_data_files_count": each.existing_files_count,
            "existing_rows_count": each.existing_rows_count,
            "deleted_data_files_count": each.deleted_files_count,
            "deleted_rows_count": each.deleted_rows_count,
            "partition_summaries": _ranges(table, each, types),
        }
        for each in _manifests_of(table)
    ]


def _manifests_of(table: Table) -> list[ManifestFile]:
    snapshot = table.metadata.current_snapshot()
    return [] if snapshot is None else list(snapshot.manifests(table.io))


def _file_row(table: Table, file: DataFile, types: Mapping[int, IcebergType]) -> Row:
    def bounds(raw: dict[int, bytes] | None) -> list[tuple[int, str | None]]:
        return [(key, _text(types.get(key), value)) for key, value in (raw or {}).items()]

    same = {name: getattr(file, name) for name in _FILE if name != "content"}
    for name in ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts"):
        same[name] = list((same[name] or {}).items())
    return same | {
        "content": file.content.value,
        "file_format": file.file_format.value,
        "lower_bounds": bounds(file.lower_bounds),
        "upper_bounds": bounds(file.upper_bounds),
        "partition": _partition_of(table, file),
    }


def _ranges(table: Table, manifest: ManifestFile, types: Mapping[int, IcebergType]) -> list[Row]:
    fields = table.specs()[manifest.partition_spec_id].fields
    return [
        {
            "contains_null": found.contains_null,
            "contains_nan": found.contains_nan,
            "lower_bound": _partition_text(field, types, found.lower_bound),
            "upper_bound": _partition_text(field, types, found.upper_bound),
        }
        for field, found in zip(fields, manifest.partitions or [], strict=False)
    ]


def _partition_text(
    field: PartitionField, types: Mapping[int, IcebergType], raw: bytes | None
) -> str | None:
    if raw is None:
        return None
    source = types[field.source_id]
    value = from_bytes(_result(field, types), raw)
    return field.transform.to_human_string(source, value)


def _result(field: PartitionField, types: Mapping[int, IcebergType]) -> PrimitiveType:
    result = field.transform.result_type(types[field.source_id])
    assert isinstance(result, PrimitiveType)
    return result


def _partition_type(table: Table, types: Mapping[int, IcebergType]) -> pa.StructType:
    """Return the partition fields of all specs: a file keeps the one it was written under."""
    found = {
        field.name: _arrow_type(_result(field, types))
        for spec in table.specs().values()
        for field in spec.fields
    }
    return pa.struct(list(found.items()))


def _arrow_type(kind: PrimitiveType) -> pa.DataType:
    # DuckDB has no column for Arrow's UUID extension type.
    return pa.string() if isinstance(kind, UUIDType) else schema_to_pyarrow(kind)


def _partition_of(table: Table, file: DataFile) -> Row:
    fields = table.specs()[file.spec_id].fields
    return {field.name: _partition_value(file.partition[at]) for at, field in enumerate(fields)}


def _partition_value(value: object) -> object:
    return str(value) if isinstance(value, UUID) else value


def _field_types(table: Table) -> dict[int, IcebergType]:
    """Return the type of every field the table ever had: files may be older than its schema."""
    return {
        key: field.field_type
        for schema in table.metadata.schemas
        for key, field in index_by_id(schema).items()
    }


def _text(kind: IcebergType | None, raw: bytes) -> str | None:
    if not isinstance(kind, PrimitiveType):
        return raw.hex()
    try:
        value: Any = from_bytes(kind, raw)
        return IdentityTransform().to_human_string(kind, value)
    except (ValueError, struct.error, OverflowError):
        return raw.hex()
