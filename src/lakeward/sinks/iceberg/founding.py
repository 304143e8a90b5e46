"""A job's first start on a table: is the table fit, is it really the first, where to begin."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table

from lakeward.catalogs.tables import from_iceberg
from lakeward.clock import now_millis
from lakeward.errors import JobStopped, TableUnsuitable
from lakeward.model.decisions import job_command
from lakeward.model.fields import METADATA_COLUMNS
from lakeward.model.ledger import Ledger, TopicLedger, property_name
from lakeward.model.offsets import Position, TopicPartition
from lakeward.model.spec import JobSpec
from lakeward.records.arrow import arrow_schema
from lakeward.sinks.iceberg.origins import ROW_KEY, has_columns
from lakeward.sinks.iceberg.parquet import parquet_options
from lakeward.sinks.iceberg.state import TableState


@dataclass(frozen=True, slots=True)
class Origin:
    """What Kafka says when a job starts for the first time."""

    cluster_id: str
    topic_ids: Mapping[str, str]
    starts: Mapping[TopicPartition, int]
    """Where each partition is to be read from."""
    group_positions: Mapping[TopicPartition, int]
    """What the job's consumer group has committed; anything here means it ran before."""


def first_ledger(
    anchor: TableState, spec: JobSpec, origin: Origin, tables: tuple[str, ...]
) -> Ledger:
    """Return the ledger a new job begins with, given proof that it is new."""
    if not anchor.empty:
        raise JobStopped(
            f"The table {anchor.name} has been written but has no ledger of job {spec.name}",
            where=f"property {property_name(spec.name)}",
            next_step="Name an empty table in the connector, restore the property, or take the"
            f" table over as it is: `{_adoption(anchor, spec, origin)}`",
        )
    if origin.group_positions:
        raise JobStopped(
            f"Job {spec.name} has run before, yet the table {anchor.name} is empty",
            where=f"consumer group {spec.group}",
            next_step="Bring the old table back, or read everything again that Kafka has:"
            f" `{job_command('adopt', spec.name, '--from', 'earliest')}`",
        )
    now = now_millis()
    return Ledger(
        job=spec.name,
        table_uuid=str(anchor.table.metadata.table_uuid),
        generation=0,
        epoch=0,
        batch=0,
        commit_id=str(uuid.uuid4()),
        revision=spec.revision,
        as_of=now,
        cluster_id=origin.cluster_id,
        snapshot_id=-1,
        sequence=-1,
        schema_id=anchor.table.metadata.current_schema_id,
        topics={name: _topic(name, origin) for name in spec.source.topics},
        anchor_uuid=str(anchor.table.metadata.table_uuid),
        tables=tables,
        written_at=now,
    )


def _adoption(anchor: TableState, spec: JobSpec, origin: Origin) -> str:
    """Return the way to take over a written table that can work with this one."""
    if has_columns(anchor.table, ROW_KEY):
        start = "table"
    else:
        start = "group" if origin.group_positions else "earliest"
    return job_command("adopt", spec.name, "--from", start)


def _topic(name: str, origin: Origin) -> TopicLedger:
    starts = {
        where.partition: offset for where, offset in origin.starts.items() if where.topic == name
    }
    positions = {partition: Position(offset) for partition, offset in starts.items()}
    return TopicLedger(origin.topic_ids[name], starts, positions)


def check_suitable(table: Table, spec: JobSpec) -> None:
    """Refuse a table we cannot write, before anything is written."""
    where = f"table {spec.table}"
    if table.metadata.format_version != 2:
        raise TableUnsuitable(
            f"The table has format version {table.metadata.format_version}; Lakeward writes 2",
            where=where,
            next_step="Create it with format-version 2.",
        )
    options = parquet_options(table.metadata.properties, str(spec.table))
    probe = arrow_schema(from_iceberg(table.schema())).empty_table()
    try:
        if options.writer["compression_level"] is not None:
            pa.Codec(options.writer["compression"], options.writer["compression_level"])
        with pq.ParquetWriter(pa.BufferOutputStream(), probe.schema, **options.writer) as writer:
            writer.write_table(probe)
    except (pa.ArrowException, ValueError, OSError) as refused:
        raise TableUnsuitable(
            f"Parquet refuses the table's write.parquet properties: {refused}", where=where
        ) from refused
    fields = from_iceberg(table.schema())
    if not spec.metadata_columns:
        return
    for column in METADATA_COLUMNS:
        found = fields.field(column.name)
        if found is not None and (found.type != column.type or found.required):
            raise TableUnsuitable(
                f"The column {column.name} is {found.type}, not an optional {column.type}",
                where=where,
                next_step="Rename it, or set lakeward.metadata-columns to false.",
            )
