"""Answers to Trino's SHOW forms and DESCRIBE, from the catalog alone."""

from __future__ import annotations

from collections.abc import Iterable

from lakeward.errors import QueryFailed
from lakeward.query.create_table import create_table_text
from lakeward.query.directory import Directory
from lakeward.query.engine import Answer
from lakeward.query.statement import (
    Name,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowSchemas,
    ShowTables,
    Statement,
)
from lakeward.query.table_facts import partitioning, type_text
from lakeward.query.table_metadata import TableMetadata, read_metadata


def answer_show(statement: Statement, directory: Directory, namespace: str) -> Answer:
    """Answer a SHOW statement with the columns Trino would give."""
    match statement:
        case ShowCatalogs(like):
            return _names("Catalog", filter(like.matches, [directory.catalog]))
        case ShowSchemas(catalog, like):
            _check_catalog(directory, catalog)
            return _names("Schema", filter(like.matches, directory.namespaces))
        case ShowTables(schema, like):
            found = _tables_in(directory, schema or (namespace,))
            return _names("Table", filter(like.matches, found))
        case ShowColumns(table):
            return _columns(_load(directory, table, namespace)[1])
        case ShowCreateTable(table):
            text = create_table_text(*_load(directory, table, namespace))
            return _answer(["Create Table"], [(text,)])
    raise AssertionError(statement)


def _check_catalog(directory: Directory, catalog: str | None) -> None:
    if catalog is not None and catalog.casefold() != directory.catalog.casefold():
        raise QueryFailed(
            f"There is no catalog {catalog!r}", next_step=f"The catalog is {directory.catalog}."
        )


def _tables_in(directory: Directory, schema: Name) -> list[str]:
    if len(schema) > 1 and schema[0].casefold() == directory.catalog.casefold():
        schema = schema[1:]
    wanted = ".".join(schema).casefold()
    if wanted not in {name.casefold() for name in directory.namespaces}:
        raise QueryFailed(
            f"There is no schema {'.'.join(schema)!r} in catalog {directory.catalog}",
            next_step=f"There is: {', '.join(directory.namespaces) or 'none'}.",
        )
    return [name.name for name in directory.tables if ".".join(name.namespace).casefold() == wanted]


def _load(directory: Directory, parts: Name, namespace: str) -> tuple[str, TableMetadata]:
    name = directory.find(parts, namespace)
    if name is None:
        raise directory.missing(parts)
    return f"{directory.catalog}.{name}", read_metadata(name, directory.tables[name])


def _columns(metadata: TableMetadata) -> Answer:
    keys = {by.column: by.transform for by in partitioning(metadata)}
    rows = [
        (
            field["name"],
            type_text(field["type"]),
            _extra(field["required"], keys.get(field["name"])),
            field.get("doc") or "",
        )
        for field in metadata.fields
    ]
    return _answer(["Column", "Type", "Extra", "Comment"], rows)


def _extra(required: bool, transform: str | None) -> str:
    words = ["not null"] if required else []
    if transform:
        words.append("partition key" if transform == "identity" else f"partition by {transform}")
    return ", ".join(words)


def _names(column: str, names: Iterable[str]) -> Answer:
    return _answer([column], [(name,) for name in names])


def _answer(columns: list[str], rows: Iterable[tuple[object, ...]]) -> Answer:
    kept = list(rows)
    return Answer(tuple(columns), ("VARCHAR",) * len(columns), kept, len(kept))
