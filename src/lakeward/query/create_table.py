"""The Spark SQL statement that would create a table again. Pure."""

from __future__ import annotations

import re

from lakeward.model.ledger import PREFIX
from lakeward.query.table_facts import PartitionedBy, partitioning
from lakeward.query.table_metadata import Document, TableMetadata

SPARK_TYPES = {
    "long": "BIGINT",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamptz": "TIMESTAMP",
    # Spark has no type for these; it reads them as what they are made of.
    "uuid": "STRING",
    "fixed": "BINARY",
}
RESERVED = frozenset({"comment", "external", "location", "owner", "provider"})
"""Properties that Spark refuses to be told."""
SPARK_TRANSFORMS = {"year": "years", "month": "months", "day": "days", "hour": "hours"}


def create_table_text(name: str, metadata: TableMetadata) -> str:
    """Write CREATE TABLE for Spark; a job's ledger is not part of a table's shape."""
    columns = ",\n".join(f"  {_column(field)}" for field in metadata.fields)
    parts = [f"CREATE TABLE {'.'.join(map(_identifier, name.split('.')))} (\n{columns}\n)"]
    parts.append("USING iceberg")
    if by := ", ".join(map(_transform, partitioning(metadata))):
        parts.append(f"PARTITIONED BY ({by})")
    if comment := metadata.properties.get("comment"):
        parts.append(f"COMMENT {_text(comment)}")
    options = sorted(_options(metadata).items())
    listed = ",\n".join(f"  {_text(key)} = {_text(text)}" for key, text in options)
    return "\n".join([*parts, f"TBLPROPERTIES (\n{listed}\n)"])


def _options(metadata: TableMetadata) -> dict[str, str]:
    kept = {
        key: text
        for key, text in metadata.properties.items()
        if key not in RESERVED and not key.startswith(PREFIX)
    }
    return {"format-version": str(metadata.document.get("format-version", 1)), **kept}


def _column(field: Document) -> str:
    need = " NOT NULL" if field["required"] else ""
    comment = f" COMMENT {_text(field['doc'])}" if field.get("doc") else ""
    return f"{_identifier(field['name'])} {_type(field['type'])}{need}{comment}"


def _type(kind: str | Document) -> str:
    if isinstance(kind, str):
        bare = re.split(r"[\[(]", kind)[0]
        return SPARK_TYPES.get(bare, kind.upper().replace(" ", ""))
    match kind["type"]:
        case "struct":
            inner = (
                f"{_identifier(field['name'])}: {_type(field['type'])}"
                f"{' NOT NULL' if field['required'] else ''}"
                for field in kind["fields"]
            )
            return f"STRUCT<{', '.join(inner)}>"
        case "list":
            return f"ARRAY<{_type(kind['element'])}>"
        case "map":
            return f"MAP<{_type(kind['key'])}, {_type(kind['value'])}>"
    return str(kind["type"]).upper()


def _transform(by: PartitionedBy) -> str:
    column = ".".join(map(_identifier, by.column.split(".")))
    if by.transform == "identity":
        return column
    if sized := re.fullmatch(r"(bucket|truncate)\[(\d+)\]", by.transform):
        return f"{sized[1]}({sized[2]}, {column})"
    return f"{SPARK_TRANSFORMS.get(by.transform, by.transform)}({column})"


def _identifier(name: str) -> str:
    # Always quoted: which words are reserved depends on the session's settings.
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
