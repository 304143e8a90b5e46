"""Turn Parquet's own statistics into the column metrics Iceberg keeps of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    DataFileStatistics,
    StatisticsCollector,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StructType

_DEFAULT_MODE = "write.metadata.metrics.default"
_COLUMN_MODE = "write.metadata.metrics.column."


class Metrics:
    """Knows which metrics a table wants of which column."""

    def __init__(self, schema: Schema, properties: Mapping[str, str]) -> None:
        self._plan = metrics_plan(schema, properties)
        self._columns = parquet_path_to_id_mapping(schema)

    def of(self, metadata: pq.FileMetaData) -> DataFileStatistics:
        found = data_file_statistics_from_parquet_metadata(metadata, self._plan, self._columns)
        for path in _unbounded(metadata):
            found.column_aggregates.pop(self._columns[path], None)
        return found


def _unbounded(metadata: pq.FileMetaData) -> set[str]:
    """Return columns with values in a row group that has no bounds of them.

    Parquet leaves out bounds of very long values; those of the other row groups are not the
    file's, and a reader that trusts them skips rows.
    """
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    columns = (group.column(place) for group in groups for place in range(group.num_columns))
    return {
        column.path_in_schema
        for column in columns
        if not (column.is_stats_set and column.statistics.has_min_max)
        and (not column.is_stats_set or column.statistics.null_count != column.num_values)
    }


def metrics_plan(schema: Schema, properties: Mapping[str, str]) -> dict[int, StatisticsCollector]:
    """Plan metrics for every column, bounds of fields inside structs included.

    PyIceberg keeps only counts of nested columns; Iceberg's Java writers also keep the bounds of
    struct fields, and engines skip files by them. So those are planned as if they were on top.
    """
    plan = compute_statistics_plan(schema, dict(properties))
    for path, field in _struct_leaves(schema):
        alone = Schema(NestedField(field.field_id, "field", field.field_type, required=False))
        modes = {name: mode for name, mode in properties.items() if name == _DEFAULT_MODE}
        if _COLUMN_MODE + path in properties:
            modes[_COLUMN_MODE + "field"] = properties[_COLUMN_MODE + path]
        wanted = compute_statistics_plan(alone, modes)[field.field_id]
        plan[field.field_id] = replace(wanted, column_name=path)
    return plan


def _struct_leaves(
    struct: Schema | StructType, inside: str = ""
) -> Iterator[tuple[str, NestedField]]:
    """Yield the leaves below structs, with their path; lists and maps have no bounds."""
    for field in struct.fields:
        path = f"{inside}{field.name}"
        if isinstance(field.field_type, StructType):
            yield from _struct_leaves(field.field_type, f"{path}.")
        elif inside and field.field_type.is_primitive:
            yield path, field
