"""Look at a table from outside: what the catalog points to, and what its files hold."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POINTER = (
    "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
)


@dataclass(frozen=True, slots=True)
class Content:
    """What a reader finds in a table's files."""

    files: int
    rows: int
    distinct: int | None
    """Different places in the topic; None if the engine did not note them."""


def local_path(location: str) -> str:
    """Turn a location into a path; Java writes one slash after the scheme, Python three."""
    return "/" + location.removeprefix("file:").lstrip("/")


class TableWatch:
    """Follows a table of the embedded catalog; holds the metadata it saw last."""

    def __init__(self, catalog_file: Path, namespace: str, name: str) -> None:
        # One short read at a time: a writer never waits for us.
        self._database = sqlite3.connect(
            f"file:{catalog_file}?mode=ro", uri=True, timeout=5, isolation_level=None
        )
        self._table = (namespace, name)
        self._location = ""
        self.metadata: dict[str, Any] = {}

    def moved(self) -> bool:
        """Load the table's metadata if the catalog points to a new one."""
        found = self._database.execute(POINTER, self._table).fetchone()
        if found is None or found[0] == self._location:
            return False
        try:
            self.metadata = json.loads(Path(local_path(found[0])).read_bytes())
        except FileNotFoundError:
            # Replaced and deleted between our two looks.
            return False
        self._location = found[0]
        return True

    def records(self) -> int:
        """Return how many records the newest snapshot has."""
        self.moved()
        head = self.metadata.get("current-snapshot-id")
        for snapshot in reversed(self.metadata.get("snapshots", [])):
            if snapshot["snapshot-id"] == head:
                return int(snapshot["summary"].get("total-records", 0))
        return 0

    def close(self) -> None:
        self._database.close()


def content_of(paths: list[str]) -> Content:
    """Read data files with an engine that none of the contestants writes with."""
    import duckdb

    if not paths:
        return Content(0, 0, None)
    query = (
        "SELECT count(*), count(_offset), count(DISTINCT (_kafka_partition, _offset)) "
        "FROM read_parquet(?, hive_partitioning = false)"
    )
    with duckdb.connect() as engine:
        rows, noted, distinct = engine.execute(query, [paths]).fetchall()[0]
    return Content(len(paths), rows, distinct if noted else None)


def live_files(catalog: Any, identifier: tuple[str, ...]) -> list[str]:
    """Return the data files of the newest snapshot."""
    scan = catalog.load_table(identifier).scan()
    return [local_path(task.file.file_path) for task in scan.plan_files()]
