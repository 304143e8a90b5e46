"""A table's metadata as rows, under Trino's names: `t$snapshots`, `t$history`, `t$files`, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from lakeward.errors import TableMissing
from lakeward.model.spec import TableName
from lakeward.query.directory import Directory
from lakeward.query.table_metadata import TableMetadata, read_metadata

Rows = tuple[dict[str, pa.DataType], list[dict[str, Any]]]
"""Columns with their types, and rows."""

_INSTANT = pa.timestamp("ms", tz="UTC")
_TEXTS = pa.map_(pa.string(), pa.string())
FILE_TABLES = ("files", "partitions", "manifests")


def metadata_table(directory: Directory, name: TableName, kind: str) -> pa.Table:
    """Return one of a table's metadata tables."""
    if kind in FILE_TABLES:
        # Only these read manifests, and only they pay for importing PyIceberg.
        from lakeward.query import file_tables

        columns, rows = getattr(file_tables, kind)(directory.load(name))
    elif kind in KINDS:
        columns, rows = KINDS[kind](read_metadata(name, directory.tables[name]))
    else:
        known = ", ".join(f"${each}" for each in (*KINDS, *FILE_TABLES))
        raise TableMissing(
            f"There is no metadata table ${kind}", where=str(name), next_step=f"There is: {known}."
        )
    return pa.Table.from_pylist(rows, pa.schema(list(columns.items())))


def _snapshots(metadata: TableMetadata) -> Rows:
    columns = {
        "committed_at": _INSTANT,
        "snapshot_id": pa.int64(),
        "parent_id": pa.int64(),
        "operation": pa.string(),
        "manifest_list": pa.string(),
        "summary": _TEXTS,
    }
    rows = []
    for each in metadata.snapshots:
        summary = dict(each.get("summary") or {})
        rows.append(
            {
                "committed_at": each["timestamp-ms"],
                "snapshot_id": each["snapshot-id"],
                "parent_id": each.get("parent-snapshot-id"),
                "operation": summary.pop("operation", None),
                "manifest_list": each.get("manifest-list"),
                "summary": [(key, str(value)) for key, value in summary.items()],
            }
        )
    return columns, rows


def _history(metadata: TableMetadata) -> Rows:
    columns = {
        "made_current_at": _INSTANT,
        "snapshot_id": pa.int64(),
        "parent_id": pa.int64(),
        "is_current_ancestor": pa.bool_(),
    }
    parents = {each["snapshot-id"]: each.get("parent-snapshot-id") for each in metadata.snapshots}
    line = metadata.ancestors()
    return columns, [
        {
            "made_current_at": entry["timestamp-ms"],
            "snapshot_id": entry["snapshot-id"],
            "parent_id": parents.get(entry["snapshot-id"]),
            "is_current_ancestor": entry["snapshot-id"] in line,
        }
        for entry in metadata.document.get("snapshot-log") or []
    ]


def _refs(metadata: TableMetadata) -> Rows:
    columns = {
        "name": pa.string(),
        "type": pa.string(),
        "snapshot_id": pa.int64(),
        "max_reference_age_in_ms": pa.int64(),
        "min_snapshots_to_keep": pa.int32(),
        "max_snapshot_age_in_ms": pa.int64(),
    }
    return columns, [
        {
            "name": name,
            "type": ref.get("type", "branch").upper(),
            "snapshot_id": ref["snapshot-id"],
            "max_reference_age_in_ms": ref.get("max-ref-age-ms"),
            "min_snapshots_to_keep": ref.get("min-snapshots-to-keep"),
            "max_snapshot_age_in_ms": ref.get("max-snapshot-age-ms"),
        }
        for name, ref in sorted(metadata.refs.items())
    ]


def _properties(metadata: TableMetadata) -> Rows:
    rows = [{"key": key, "value": value} for key, value in sorted(metadata.properties.items())]
    return {"key": pa.string(), "value": pa.string()}, rows


KINDS: dict[str, Callable[[TableMetadata], Rows]] = {
    "snapshots": _snapshots,
    "history": _history,
    "refs": _refs,
    "properties": _properties,
}
