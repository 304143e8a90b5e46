"""The DuckDB engine: every statement gets a database of its own that holds what it mentions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import duckdb

from lakeward.errors import QueryFailed
from lakeward.model.spec import CatalogSpec, TableName
from lakeward.query.arrow_values import rows_of
from lakeward.query.complaints import complaint
from lakeward.query.directory import Directory, read_directory
from lakeward.query.engine import Answer, unique_names
from lakeward.query.mentions import Mentions, mentions, refusal
from lakeward.query.sandbox import confine, load_iceberg, opened
from lakeward.query.scans import Scan, scan_of
from lakeward.query.show import answer_show
from lakeward.query.statement import Query, parse, without_catalog
from lakeward.query.tokens import quoted

BATCH_ROWS = 2048
COUNTED_ROWS = 1_000_000
"""Past this many rows that nobody will see, counting stops."""
TEXT_ONLY = ("BIT", "INTERVAL", "TIME WITH TIME ZONE", "TIMESTAMP_NS", "UNION", "VARIANT")
"""Types that Arrow, or Python, would bend; DuckDB itself writes them as text."""


class DuckDbEngine:
    """Answers statements over one catalog; holds the running connection, to interrupt it."""

    def __init__(self, catalog: CatalogSpec, namespace: str) -> None:
        self._catalog = catalog
        self._namespace = namespace
        self._running: duckdb.DuckDBPyConnection | None = None
        self._interrupted = False

    def run(self, sql: str, keep: int | None = None) -> Answer:
        """Run one statement and return its rows.

        1. SHOW forms are answered from the catalog.
        2. DuckDB parses the text; anything but a query is refused.
        3. The tables it mentions become views, in a database named as the catalog.
        4. The database is locked: only those tables' folders can be read.
        5. The query runs.
        """
        self._interrupted = False
        directory = read_directory(self._catalog)
        statement = parse(sql)
        if not isinstance(statement, Query):
            answer = answer_show(statement, directory, self._namespace)
            return replace(answer, rows=answer.rows[:keep])
        text = without_catalog(statement.text, directory.catalog)
        with self._connection(text) as connection:
            scans = _scans(_parsed(connection, text), directory, self._namespace)
            _create_views(connection, directory, scans, self._namespace)
            confine(connection, sorted({folder for scan in scans for folder in scan.folders}))
            return self._read(connection, text, keep)

    def interrupt(self) -> None:
        """Stop the statement that is running; called from another thread."""
        self._interrupted = True
        if self._running is not None:
            self._running.interrupt()

    @contextmanager
    def _connection(self, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            with opened() as connection:
                self._running = connection
                yield connection
        except (duckdb.Error, OSError) as failure:
            # Once rows flow through Arrow, DuckDB's errors arrive as OSError.
            raise complaint(str(failure), sql) from failure
        finally:
            self._running = None

    def _read(self, connection: duckdb.DuckDBPyConnection, sql: str, keep: int | None) -> Answer:
        if self._interrupted:
            # DuckDB forgets an interrupt that comes before its statement.
            raise QueryFailed("The query was interrupted")
        connection.execute(sql)
        names, types = _columns(connection)
        if any(kind.startswith(TEXT_ONLY) for kind in types):
            connection.execute(_as_text(sql, types))
        rows: list[tuple[object, ...]] = []
        total, counted = 0, True
        for batch in connection.to_arrow_reader(BATCH_ROWS):
            total += batch.num_rows
            rows += rows_of(batch if keep is None else batch.slice(0, keep - len(rows)))
            if keep is not None and total >= max(COUNTED_ROWS, keep + 1):
                counted = False
                break
        return Answer(unique_names(names), tuple(types), rows, total, counted)


def _parsed(connection: duckdb.DuckDBPyConnection, sql: str) -> Mentions:
    found = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    assert found is not None
    try:
        tree: dict[str, Any] = json.loads(found[0])
    except RecursionError as deep:
        raise QueryFailed("The statement is nested too deeply") from deep
    if tree["error"]:
        if tree["error_type"] == "parser":
            raise complaint(found[0], sql)
        raise refusal(sql)
    return mentions(tree, sql)


def _scans(found: Mentions, directory: Directory, namespace: str) -> list[Scan]:
    if found.information_schema:
        return [scan_of(directory, name) for name in directory.tables]
    scans: dict[tuple[TableName, str], Scan] = {}
    for parts in found.to_resolve():
        if scan := _resolved(parts, directory, namespace):
            scans[scan.table, scan.metadata_table] = scan
        elif len(parts) > 1 or parts[0].lower() not in found.subqueries or "/" in parts[0]:
            raise directory.missing(parts)
    return list(scans.values())


def _resolved(parts: tuple[str, ...], directory: Directory, namespace: str) -> Scan | None:
    if name := directory.find(parts, namespace):
        return scan_of(directory, name)
    base, _, kind = parts[-1].rpartition("$")
    name = directory.find((*parts[:-1], base), namespace) if base else None
    return scan_of(directory, name, kind) if name is not None else None


def _create_views(
    connection: duckdb.DuckDBPyConnection,
    directory: Directory,
    scans: list[Scan],
    namespace: str,
) -> None:
    catalog = quoted(directory.catalog)
    connection.execute(f"ATTACH ':memory:' AS {catalog}")
    for schema in sorted({namespace, *(".".join(scan.table.namespace) for scan in scans)}):
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {catalog}.{quoted(schema)}")
    if any(not scan.metadata_table for scan in scans):
        load_iceberg(connection)
    for scan in scans:
        scan.create(connection)
    connection.execute(f"USE {catalog}.{quoted(namespace)}")


def _columns(connection: duckdb.DuckDBPyConnection) -> tuple[list[str], list[str]]:
    described = connection.description or []
    return [column[0] for column in described], [str(column[1]) for column in described]


def _as_text(sql: str, types: list[str]) -> str:
    names = [f"c{number}" for number in range(len(types))]
    chosen = ", ".join(
        f"CAST({name} AS VARCHAR)" if kind.startswith(TEXT_ONLY) else name
        for name, kind in zip(names, types, strict=True)
    )
    # The line break ends a comment at the end of the statement.
    return f"SELECT {chosen} FROM ({sql}\n) AS answer({', '.join(names)})"
