"""Read a table back: every stored row in plain form, in order of topic, partition and offset."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.table import Table

from lakeward.errors import DestinationError
from lakeward.verify.deletes import deleted_positions, keep_rows
from lakeward.verify.files import Report, StoredFile
from lakeward.verify.plain_sql import column_sql, loose_schema, row_sql

BATCH_BYTES = 32 * 1024 * 1024
BATCH_ROWS = 16_384
MEMORY_LIMIT = "1GB"
"""What sorting may hold; the rest goes to a temporary folder."""

Key = tuple[str, int, int]
"""Topic, partition, offset: the order of everything here. Nulls come first as ("", -1, -1)."""


class StoredRow(NamedTuple):
    """A row, where Kafka is said to have it, and which file it was in."""

    key: Key
    file: int
    values: dict[str, Any]


class Reading(NamedTuple):
    """What to read, which columns are the key, and whom to tell."""

    table: Table
    files: list[StoredFile]
    key: tuple[str, str, str]
    report: Report
    progress: Callable[[int], None]
    """Takes the number of rows just read."""


def stored_rows(reading: Reading) -> Iterator[StoredRow]:
    """Yield all rows of the files, sorted by key. Memory stays bounded: sorting spills to disk."""
    where = ".".join(reading.table.name())
    try:
        with ExitStack() as resources:
            folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="lakeward-"))
            session = resources.enter_context(duckdb.connect())
            session.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
            # Batches come from a Python generator: a second thread gains nothing, and one that
            # still waits for the interpreter when a query fails takes the process down with it.
            session.execute("SET threads = 1")
            session.execute(f"SET temp_directory = '{folder}'")
            yield from _sorted(session, reading)
    except duckdb.Error as failure:
        reason = str(failure).splitlines()[0]
        raise DestinationError(f"The table cannot be read back: {reason}", where=where) from failure


def _sorted(session: Any, reading: Reading) -> Iterator[StoredRow]:
    selects = []
    for number, (schema, files) in enumerate(_by_schema(reading)):
        loose = loose_schema(schema).append(pa.field("file", pa.int32()))
        batches = _batches(reading, files, loose)
        session.register(f"files{number}", pa.RecordBatchReader.from_batches(loose, batches))
        selects.append(f"SELECT {_select_list(reading, schema)} FROM files{number}")
    if not selects:
        return
    order = ", ".join(f"{column} NULLS FIRST" for column in ("topic", "part", "pos"))
    found = session.execute(f"{' UNION ALL '.join(selects)} ORDER BY {order}")
    for batch in found.to_arrow_reader(2048):
        for topic, part, pos, file, text in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            key = (topic or "", -1 if part is None else part, -1 if pos is None else pos)
            yield StoredRow(key, file, json.loads(text))


def _select_list(reading: Reading, file_schema: Any) -> str:
    schema = reading.table.schema()
    topic, partition, offset = (
        column_sql(schema.find_field(name).field_id, file_schema) for name in reading.key
    )
    return (
        f"CAST({topic} AS VARCHAR) AS topic, CAST({partition} AS INTEGER) AS part, "
        f"CAST({offset} AS BIGINT) AS pos, file, "
        f"to_json({row_sql(schema.fields, file_schema)}) AS plain"
    )


def _by_schema(reading: Reading) -> list[tuple[Any, list[tuple[int, StoredFile]]]]:
    """Group files by what they physically hold: columns may have come and gone between them."""
    groups: dict[str, tuple[Any, list[tuple[int, StoredFile]]]] = {}
    for index, file in enumerate(reading.files):
        try:
            with _open(reading.table.io, file.path) as content:
                schema = content.schema_arrow
        except (OSError, pa.ArrowException) as failure:
            reading.report(f"data file unreadable: {file.path}: {failure}")
            continue
        shape = schema.to_string(show_field_metadata=True, show_schema_metadata=False)
        groups.setdefault(shape, (schema, []))[1].append((index, file))
    return list(groups.values())


def _open(io: FileIO, path: str) -> Any:
    return pq.ParquetFile(io.new_input(path).open())


def _batches(reading: Reading, files: list[tuple[int, StoredFile]], loose: Any) -> Iterator[Any]:
    deleted = deleted_positions(reading.table.io, [file for _index, file in files])
    names = loose.names[:-1]
    for index, file in files:
        read = 0
        try:
            with _open(reading.table.io, file.path) as content:
                for batch in content.iter_batches(_batch_rows(content.metadata)):
                    kept = keep_rows(batch, read, deleted.get(file.path))
                    read += batch.num_rows
                    reading.progress(batch.num_rows)
                    number = pa.repeat(pa.scalar(index, pa.int32()), kept.num_rows)
                    yield kept.rename_columns(names).append_column("file", number).cast(loose)
        except (OSError, pa.ArrowException) as failure:
            reading.report(f"data file unreadable: {file.path}: {failure}")
        else:
            if read != file.records:
                reading.report(
                    f"data file holds {read} rows, its manifest says {file.records}: {file.path}"
                )


def _batch_rows(metadata: Any) -> int:
    size = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    return max(1, min(BATCH_ROWS, int(BATCH_BYTES * metadata.num_rows // max(1, size))))
