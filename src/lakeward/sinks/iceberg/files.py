"""Write rows as Iceberg data files: partitioned, sized, with full column metrics."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import load_file_io
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from lakeward.sinks.iceberg.dictionaries import dictionary_columns
from lakeward.sinks.iceberg.metrics import Metrics
from lakeward.sinks.iceberg.parquet import ParquetOptions, parquet_options
from lakeward.sinks.iceberg.partition import folder, split
from lakeward.sinks.iceberg.storage import storage_errors

OPEN_FILES = 64
"""Files kept open at once; beyond, the one idle longest is finished, so memory stays bounded."""

PIECE_ROWS = 500
"""Pieces with fewer rows on average are joined before they are written."""


@dataclass(frozen=True)
class FileTarget:
    """Everything a task must know to write files of a table. Travels to executors."""

    table: str
    location: str
    schema: Schema
    spec: PartitionSpec
    properties: Mapping[str, str]
    storage: Mapping[str, str]

    @cached_property
    def options(self) -> ParquetOptions:
        return parquet_options(self.properties, self.table)

    @cached_property
    def data_path(self) -> str:
        return (self.properties.get("write.data.path") or f"{self.location}/data").rstrip("/")


class FileSet:
    """Collects rows and writes them as data files; holds the rows not yet written."""

    def __init__(self, target: FileTarget, buffer_bytes: int) -> None:
        self._target = target
        self._storage = load_file_io(dict(target.storage), target.location)
        self._limit = buffer_bytes
        self._parts: dict[tuple[Any, ...], _Part] = {}
        self._bytes = 0
        self._open: OrderedDict[tuple[Any, ...], _OpenFile] = OrderedDict()
        self._done: list[DataFile] = []
        self._dictionaries: list[str] | bool | None = None
        self._metrics = Metrics(target.schema, target.properties)

    def add(self, rows: pa.Table) -> None:
        """Take rows; writes when the buffer is full."""
        if not rows.num_rows:
            return
        # Sorted as they come: one large sort at the end would hold the whole buffer twice.
        for values, piece in split(rows, self._target.spec, self._target.schema):
            self._parts.setdefault(_key(values), _Part(values)).pieces.append(piece)
        self._bytes += rows.nbytes
        if self._bytes >= self._limit:
            self._write()

    def finish(self) -> list[DataFile]:
        """Write what is left and return every file."""
        self._write()
        for file in self._open.values():
            self._close(file)
        self._open.clear()
        return self._done

    def _write(self) -> None:
        parts, self._parts, self._bytes = self._parts, {}, 0
        with storage_errors(self._target.table):
            for part in parts.values():
                self._append(part.values, part.rows())

    def _append(self, values: Record, rows: pa.Table) -> None:
        options = self._target.options
        # Steps of the target size, uncompressed: a file never grows far past its target.
        step = _rows_of(rows, options.target_file_bytes)
        group = min(_rows_of(rows, options.row_group_bytes), options.row_group_rows)
        for start in range(0, rows.num_rows, step):
            file = self._file(values, rows)
            file.writer.write_table(rows.slice(start, step), row_group_size=group)
            if file.sink.tell() >= options.target_file_bytes:
                self._close(self._open.pop(_key(values)))

    def _file(self, values: Record, rows: pa.Table) -> _OpenFile:
        key = _key(values)
        if key not in self._open:
            if len(self._open) >= OPEN_FILES:
                self._close(self._open.popitem(last=False)[1])
            self._open[key] = self._start(values, rows)
        self._open.move_to_end(key)
        return self._open[key]

    def _start(self, values: Record, rows: pa.Table) -> _OpenFile:
        target = self._target
        place = folder(values, target.spec, target.schema)
        name = f"{uuid.uuid4()}.parquet"
        path = "/".join(part for part in (target.data_path, place, name) if part)
        sink = self._storage.new_output(path).create(overwrite=False)
        if self._dictionaries is None:
            self._dictionaries = dictionary_columns(rows)
        writer = pq.ParquetWriter(
            sink, rows.schema, use_dictionary=self._dictionaries, **target.options.writer
        )
        return _OpenFile(path, values, sink, writer)

    def _close(self, file: _OpenFile) -> None:
        with storage_errors(file.path):
            file.writer.close()
            size = file.sink.tell()
            file.sink.close()
        statistics = self._metrics.of(file.writer.writer.metadata)
        self._done.append(
            DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=file.path,
                file_format=FileFormat.PARQUET,
                partition=file.values,
                file_size_in_bytes=size,
                sort_order_id=None,
                spec_id=self._target.spec.spec_id,
                equality_ids=None,
                key_metadata=None,
                **statistics.to_serialized_dict(),
            )
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one partition, in the pieces they came in."""

    values: Record
    pieces: list[pa.Table] = field(default_factory=list)

    def rows(self) -> pa.Table:
        whole = pa.concat_tables(self.pieces)
        # The writer pays for every piece of every column.
        scattered = whole.num_rows < PIECE_ROWS * len(self.pieces)
        return whole.combine_chunks() if scattered else whole


@dataclass(frozen=True, slots=True)
class _OpenFile:
    path: str
    values: Record
    sink: Any
    writer: pq.ParquetWriter


def _rows_of(rows: pa.Table, size: int) -> int:
    return max(1, int(size / max(1.0, rows.nbytes / rows.num_rows)))


def _key(values: Record) -> tuple[Any, ...]:
    return tuple(values[index] for index in range(len(values)))
