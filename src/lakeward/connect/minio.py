"""The three connectors that bring MinIO's logs into tables."""

from __future__ import annotations

from dataclasses import dataclass

from lakeward.catalogs.warehouse import location_of
from lakeward.model.spec import TableName
from lakeward.schemas.minio_api import API_LOG
from lakeward.schemas.minio_audit import AUDIT_LOG
from lakeward.schemas.minio_error import ERROR_LOG
from lakeward.schemas.shape import TableShape
from lakeward.settings import Settings

CONTROL_TOPIC = "control-iceberg"
TOPIC_PARTITIONS = 3


@dataclass(frozen=True, slots=True)
class MinioLog:
    """One of MinIO's logs: where it comes from and where it goes."""

    topic: str
    table: TableName
    shape: TableShape

    @property
    def connector(self) -> str:
        return f"iceberg-sink-{self.table.name}"


def minio_logs(settings: Settings) -> tuple[MinioLog, MinioLog, MinioLog]:
    """Return the three logs under the names the settings give them."""

    def table(name: str) -> TableName:
        return TableName((settings.namespace,), name)

    return (
        MinioLog(settings.api_topic, table("apilogs"), API_LOG),
        MinioLog(settings.error_topic, table("errorlogs"), ERROR_LOG),
        MinioLog(settings.audit_topic, table("auditlogs"), AUDIT_LOG),
    )


def connector_config(
    log: MinioLog, settings: Settings, interval_ms: int = 10_000
) -> dict[str, str]:
    """Return the configuration of a log's connector, on the embedded catalog."""
    return {
        "name": log.connector,
        "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": log.topic,
        "iceberg.tables": str(log.table),
        "iceberg.tables.auto-create-enabled": "false",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.catalog": settings.warehouse_name,
        "iceberg.catalog.type": "jdbc",
        "iceberg.catalog.uri": f"jdbc:sqlite:{settings.catalog_file}",
        "iceberg.catalog.warehouse": location_of(settings.warehouse),
        "iceberg.control.topic": CONTROL_TOPIC,
        "iceberg.control.commit.interval-ms": str(interval_ms),
        "iceberg.control.commit.timeout-ms": "60000",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
