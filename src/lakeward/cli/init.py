"""`lakeward init`: topics and tables for MinIO's logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lakeward.cli.output import Output, json_option
from lakeward.settings import Settings, load_settings

if TYPE_CHECKING:
    from lakeward.connect.minio import MinioLog


@click.command(epilog="Example: lakeward start && lakeward init && lakeward produce")
@json_option
def init(out: Output) -> None:
    """Create the topics and tables of the MinIO logs, and their connector files.

    What exists already stays as it is.
    """
    settings = load_settings()
    tables = create_tables(settings)
    topics = create_topics(settings)
    files = write_connectors(settings)
    rows = [("topic", name, "created" if new else "exists") for name, new in topics.items()]
    rows += [("table", name, "created" if new else "exists") for name, new in tables.items()]
    rows += [("connector", str(path), "written") for path in files]
    out.table(("what", "name", "state"), rows)
    out.say(f"Run them with: lakeward worker {settings.home / 'connectors'}/*.json")


def create_topics(settings: Settings) -> dict[str, bool]:
    """Create the topics; says which are new."""
    from lakeward.connect.minio import CONTROL_TOPIC, TOPIC_PARTITIONS, minio_logs
    from lakeward.kafka.client import open_admin
    from lakeward.kafka.topics import create_topics as create

    wanted = {log.topic: TOPIC_PARTITIONS for log in minio_logs(settings)} | {CONTROL_TOPIC: 1}
    created = create(open_admin(settings.bootstrap_servers), wanted)
    return {name: name in created for name in wanted}


def create_tables(settings: Settings) -> dict[str, bool]:
    """Create warehouse, namespace and tables; says which tables are new."""
    from lakeward.catalogs.open import open_catalog
    from lakeward.catalogs.tables import create_table
    from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
    from lakeward.connect.minio import minio_logs

    create_warehouse(settings.catalog_file, settings.warehouse)
    catalog = open_catalog(
        embedded_catalog(settings.warehouse_name, settings.catalog_file, settings.warehouse)
    )
    return {
        str(log.table): create_table(catalog, log.table, log.shape.with_metadata_columns())[1]
        for log in minio_logs(settings)
    }


def write_connectors(settings: Settings, interval_ms: int = 10_000) -> list[Path]:
    """Write one connector file per log."""
    from lakeward.connect.minio import minio_logs

    folder = settings.home / "connectors"
    folder.mkdir(parents=True, exist_ok=True)
    return [_write_connector(folder, log, settings, interval_ms) for log in minio_logs(settings)]


def _write_connector(folder: Path, log: MinioLog, settings: Settings, interval_ms: int) -> Path:
    from lakeward.connect.minio import connector_config

    config = connector_config(log, settings, interval_ms)
    path = folder / f"{log.connector}.json"
    path.write_text(json.dumps({"name": log.connector, "config": config}, indent=2) + "\n")
    return path
