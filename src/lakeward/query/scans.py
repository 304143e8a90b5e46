"""How one table becomes readable in DuckDB: a view over its files, or its metadata as rows."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from lakeward.model.spec import TableName
from lakeward.query.directory import Directory
from lakeward.query.table_metadata import folders_of, read_metadata
from lakeward.query.tokens import literal, quoted


@dataclass(frozen=True, slots=True)
class Scan:
    """One table, or one of its metadata tables, to be read by a statement."""

    directory: Directory
    table: TableName
    metadata_table: str = ""
    """`snapshots` for `table$snapshots`; empty for the table itself."""
    folders: tuple[str, ...] = ()
    compressed: bool = False

    def create(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the view or table that the statement names."""
        suffix = f"${self.metadata_table}" if self.metadata_table else ""
        name = full_name(self.directory.catalog, self.table.beside(suffix))
        if self.metadata_table:
            self._create_metadata(connection, name)
            return
        codec = ", metadata_compression_codec = 'gzip'" if self.compressed else ""
        location = literal(self.directory.tables[self.table])
        connection.execute(f"CREATE VIEW {name} AS FROM iceberg_scan({location}{codec})")

    def _create_metadata(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        from lakeward.query.metadata_tables import metadata_table

        rows = metadata_table(self.directory, self.table, self.metadata_table)
        connection.register("lakeward_metadata", rows)
        connection.execute(f"CREATE TABLE {name} AS FROM lakeward_metadata")
        connection.unregister("lakeward_metadata")


def scan_of(directory: Directory, name: TableName, metadata_table: str = "") -> Scan:
    """Find out how to read a table."""
    if metadata_table:
        return Scan(directory, name, metadata_table.lower())
    location = directory.tables[name]
    metadata = read_metadata(name, location)
    return Scan(directory, name, "", folders_of(name, location, metadata), metadata.compressed)


def full_name(catalog: str, table: TableName) -> str:
    """Write a table's name in SQL; a nested namespace is one schema with dots in its name."""
    return ".".join(map(quoted, (catalog, ".".join(table.namespace), table.name)))
