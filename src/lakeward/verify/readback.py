"""Read a table back: every stored row in plain form, in order of topic, partition and offset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table

from lakeward.errors import DestinationError
from lakeward.verify.deletes import deleted_positions, keep_rows
from lakeward.verify.files import StoredFile
from lakeward.verify.plain_sql import column_sql, loose_schema
from lakeward.verify.report import Tell
from lakeward.verify.sorting import Key, RowSorter

BATCH_BYTES = 32 * 1024 * 1024
BATCH_ROWS = 16_384


class StoredRow(NamedTuple):
    """A row, where Kafka is said to have it, and which file it was in."""

    key: Key
    file: int
    values: dict[str, Any]


class Reading(NamedTuple):
    """What to read, how, and whom to tell."""

    table: Table
    files: list[StoredFile]
    key: tuple[str, str, str]
    """The columns that say topic, partition and offset."""
    plain: Callable[[Any], str]
    """Returns the SQL of a row in plain form, given the schema of a file."""
    tell: Tell
    progress: Callable[[int], None]
    """Takes the number of rows just read."""


def stored_rows(reading: Reading) -> Iterator[StoredRow]:
    """Yield all rows of the files, sorted by key. Memory stays bounded whatever their number."""
    try:
        with ExitStack() as resources:
            rows = RowSorter(resources)
            deleted = deleted_positions(reading.table.io, reading.files)
            for index, file in enumerate(reading.files):
                _gather(rows, reading, index, deleted.get(file.path))
            for key, number, text in rows.sorted():
                yield StoredRow(key, number, json.loads(text))
    except RuntimeError as failure:
        # What DuckDB makes of Ctrl-C while a query runs.
        if isinstance(failure.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from failure
        raise
    except duckdb.Error as failure:
        where, reason = ".".join(reading.table.name()), str(failure).splitlines()[0]
        raise DestinationError(f"The table cannot be read back: {reason}", where=where) from failure


def _gather(rows: RowSorter, reading: Reading, index: int, deleted: set[int] | None) -> None:
    """Add the rows of one file, in plain form."""
    file, read = reading.files[index], 0
    try:
        with pq.ParquetFile(reading.table.io.new_input(file.path).open()) as content:
            loose = loose_schema(content.schema_arrow)
            select = _select(reading, content.schema_arrow)
            for batch in content.iter_batches(_batch_rows(content.metadata)):
                kept = keep_rows(batch, read, deleted)
                rows.add(kept.rename_columns(loose.names).cast(loose), select, index)
                read += batch.num_rows
                reading.progress(batch.num_rows)
    except (OSError, pa.ArrowException) as failure:
        reading.tell(f"data file unreadable: {file.path}: {failure}")
        return
    if read != file.records:
        reading.tell(f"data file holds {read} rows, its manifest says {file.records}: {file.path}")


def _select(reading: Reading, file_schema: Any) -> str:
    schema = reading.table.schema()
    topic, partition, offset = (
        column_sql(schema.find_field(name).field_id, file_schema) for name in reading.key
    )
    return (
        f"CAST({topic} AS TEXT), CAST({partition} AS INT), CAST({offset} AS BIGINT), "
        f"CAST(to_json({reading.plain(file_schema)}) AS TEXT)"
    )


def _batch_rows(metadata: Any) -> int:
    size = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    return max(1, min(BATCH_ROWS, int(BATCH_BYTES * metadata.num_rows // max(1, size))))
