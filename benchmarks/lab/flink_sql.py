"""The drain as Flink SQL: the table's columns over Kafka, inserted into the Iceberg table."""

from __future__ import annotations

from lab.engines import Task
from lakeward.catalogs.warehouse import location_of
from lakeward.model.fields import Kind, Map, Struct, Type
from lakeward.schemas.minio_api import API_LOG

TYPES = {
    Kind.STRING: "STRING",
    Kind.INT: "INT",
    Kind.LONG: "BIGINT",
    Kind.BOOLEAN: "BOOLEAN",
    # Read by FlinkJob's own function.
    Kind.TIMESTAMPTZ: "STRING",
}
ORIGIN = {
    "_topic": "STRING METADATA FROM 'topic' VIRTUAL",
    "_kafka_partition": "INT METADATA FROM 'partition' VIRTUAL",
    "_offset": "BIGINT METADATA FROM 'offset' VIRTUAL",
    "_timestamp": "TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL",
}


def statements(task: Task, uri: str) -> list[str]:
    """Return what Flink is told, in order."""
    settings = task.site.settings
    columns = [f"`{field.name}` {type_of(field.type)}" for field in API_LOG.fields.fields]
    columns += [f"`{name}` {kind}" for name, kind in ORIGIN.items()]
    chosen = [
        f"ISO_TIME(`{field.name}`)" if field.type is Kind.TIMESTAMPTZ else f"`{field.name}`"
        for field in API_LOG.fields.fields
    ]
    chosen += [f"`{name}`" for name in ORIGIN if name != "_timestamp"]
    chosen.append("CAST(`_timestamp` AS TIMESTAMP_LTZ(6))")
    source = {
        "connector": "kafka",
        "topic": task.topic,
        "properties.bootstrap.servers": settings.bootstrap_servers,
        "properties.group.id": task.name,
        "scan.startup.mode": "earliest-offset",
        "format": "json",
    }
    catalog = {
        "type": "iceberg",
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": uri,
        "jdbc.schema-version": "V1",
        "warehouse": location_of(settings.warehouse),
    }
    target = ".".join(f"`{part}`" for part in (settings.warehouse_name, *task.site.table))
    hint = "/*+ OPTIONS('distribution-mode'='none') */"
    return [
        f"CREATE TABLE source ({', '.join(columns)}) WITH ({options(source)})",
        f"CREATE CATALOG `{settings.warehouse_name}` WITH ({options(catalog)})",
        f"INSERT INTO {target} {hint} SELECT {', '.join(chosen)} FROM source",
    ]


def type_of(kind: Type) -> str:
    """Name a type as Flink does."""
    match kind:
        case Kind():
            return TYPES[kind]
        case Map(key, value):
            return f"MAP<{type_of(key.type)}, {type_of(value.type)}>"
        case Struct(fields):
            inner = (f"`{field.name}` {type_of(field.type)}" for field in fields)
            return f"ROW<{', '.join(inner)}>"
    raise SystemExit(f"no Flink type is known for {kind}")


def options(given: dict[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
