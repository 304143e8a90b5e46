"""How one table becomes readable in DuckDB: a view over its files, or its metadata as rows."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import duckdb

from lakeward.errors import DestinationError, QueryFailed
from lakeward.model.spec import TableName
from lakeward.query.directory import Directory
from lakeward.query.tokens import literal, quoted

FILE_LOCATIONS = (
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
)
"""Table properties that place files outside the table's own folder."""
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Scan:
    """One table, or one of its metadata tables, to be read by a statement."""

    directory: Directory
    table: TableName
    metadata_table: str = ""
    """`snapshots` for `table$snapshots`; empty for the table itself."""
    folders: tuple[str, ...] = ()
    """Where its files lie."""
    compressed: bool = False

    def create(self, connection: duckdb.DuckDBPyConnection, catalog: str) -> None:
        """Create the view or table that the statement names."""
        schema = quoted(".".join(self.table.namespace))
        if self.metadata_table:
            name = quoted(f"{self.table.name}${self.metadata_table}")
            self._create_metadata(connection, f"{catalog}.{schema}.{name}")
            return
        codec = ", metadata_compression_codec = 'gzip'" if self.compressed else ""
        location = literal(self.directory.tables[self.table])
        connection.execute(
            f"CREATE VIEW {catalog}.{schema}.{quoted(self.table.name)} AS "
            f"FROM iceberg_scan({location}{codec})"
        )

    def _create_metadata(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        from lakeward.query.metadata_tables import metadata_table

        rows = metadata_table(self.directory.load(self.table), self.metadata_table)
        connection.register("lakeward_metadata", rows)
        connection.execute(f"CREATE TABLE {name} AS FROM lakeward_metadata")
        connection.unregister("lakeward_metadata")


def scan_of(directory: Directory, name: TableName, metadata_table: str = "") -> Scan:
    """Find out how to read a table."""
    if metadata_table:
        return Scan(directory, name, metadata_table.lower())
    file = _local(directory.tables[name], name)
    try:
        content = file.read_bytes()
        compressed = content.startswith(GZIP)
        metadata = json.loads(gzip.decompress(content) if compressed else content)
        properties = metadata.get("properties", {})
        places = [metadata["location"], *(properties.get(key) for key in FILE_LOCATIONS)]
    except (OSError, ValueError, KeyError, EOFError) as failure:
        raise DestinationError(
            f"The metadata of table {name} cannot be read: {failure}",
            where=str(file),
            next_step="Check the table with: lakeward verify.",
        ) from failure
    folders = {str(file.parent), *(str(_local(place, name)) for place in places if place)}
    return Scan(directory, name, "", tuple(f"{folder}/" for folder in folders), compressed)


def _local(location: str, name: TableName) -> Path:
    """Return the path of a location on this machine; Iceberg does not escape its locations."""
    path = location.removeprefix("file://") if "://" in location else location.removeprefix("file:")
    if not path.startswith("/"):
        raise QueryFailed(
            f"DuckDB reads tables on this machine only, and {name} is not", where=location
        )
    return Path(path)
