"""From Kafka Connect's dialect to a JobSpec: the only place that knows both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse

from lakeward.catalogs.warehouse import embedded_catalog
from lakeward.connect.properties import Configuration
from lakeward.errors import UsageError
from lakeward.model.spec import CatalogSpec, JobSpec, Limits, SourceSpec, TableName
from lakeward.schemas.dead_letter import SUFFIX

_SQLITE = "jdbc:sqlite:"


def read_connector(path: Path) -> dict[str, str]:
    """Read a connector from a JSON file: a flat configuration, or name and config as POSTed."""
    try:
        content = json.loads(path.read_text())
    except OSError as failure:
        raise UsageError(
            f"The connector file cannot be read: {failure.strerror}", where=str(path)
        ) from failure
    except ValueError as broken:
        raise UsageError(f"The connector file is not JSON: {broken}", where=str(path)) from broken
    if isinstance(content, dict) and isinstance(content.get("config"), dict):
        content = {**content["config"], "name": content.get("name", content["config"].get("name"))}
    if not isinstance(content, dict) or not all(_is_plain(value) for value in content.values()):
        raise UsageError(
            "A connector is an object of keys and plain values",
            where=str(path),
            next_step='Write {"name": ..., "config": {...}} or the configuration alone.',
        )
    return {key: _text(value) for key, value in content.items()}


def translate(given: Mapping[str, str], bootstrap_servers: str, where: str) -> JobSpec:
    """Turn a connector's configuration into a job's specification."""
    config = Configuration(given, where)
    tables = config.list("iceberg.tables")
    if len(tables) != 1:
        raise config.wrong("iceberg.tables", f"names {len(tables)} tables; one is supported")
    try:
        table = TableName.parse(tables[0])
    except ValueError as wrong:
        raise config.wrong("iceberg.tables", f"is wrong: {wrong}") from wrong
    if table.name.endswith(SUFFIX):
        raise config.wrong("iceberg.tables", f"is {table}, which holds a job's dead letters")
    topics = config.list("topics")
    if not topics:
        raise config.wrong("topics", "names no topic")
    return JobSpec(
        config.text("name"),
        SourceSpec(
            bootstrap_servers,
            topics,
            config.text("consumer.override.auto.offset.reset"),
        ),
        _catalog(config),
        table,
        config.whole("max.record.bytes"),
        config.boolean("lakeward.metadata-columns"),
        Limits(
            commit_interval=config.whole("iceberg.control.commit.interval-ms") / 1000,
            commit_timeout=config.whole("iceberg.control.commit.timeout-ms") / 1000,
            batch_records=config.whole("lakeward.batch.records"),
            buffer_bytes=config.whole("lakeward.task.buffer.bytes"),
        ),
    )


def _catalog(config: Configuration) -> CatalogSpec:
    keys = config.under("iceberg.catalog.")
    uri, warehouse = keys.get("uri", ""), keys.get("warehouse", "")
    if not uri.startswith(_SQLITE) or not warehouse:
        raise config.wrong(
            "iceberg.catalog.uri",
            f"is {uri!r}",
            "Use jdbc:sqlite:FILE with iceberg.catalog.warehouse; other catalogs are to come.",
        )
    file = Path(uri.removeprefix(_SQLITE).partition("?")[0])
    parsed = urlparse(warehouse)
    folder = Path(unquote(parsed.path) if parsed.scheme == "file" else warehouse)
    if not file.is_absolute() or not folder.is_absolute():
        raise config.wrong("iceberg.catalog.*", "must name absolute paths")
    return embedded_catalog(config.text("iceberg.catalog"), file, folder)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
