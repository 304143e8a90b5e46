"""An Iceberg table's metadata file as the JSON it is: read in milliseconds, without PyIceberg."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakeward.errors import DestinationError, QueryFailed
from lakeward.model.spec import TableName

FILE_LOCATIONS = (
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
)
"""Table properties that place files outside the table's own folder."""
GZIP = b"\x1f\x8b"

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """The state of one table, whatever its format version."""

    document: Document
    compressed: bool = False
    """Whether the file was compressed; DuckDB must be told."""

    @property
    def fields(self) -> list[Document]:
        """The columns of the current schema."""
        return _current(self.document, "schema", "schemas", "current-schema-id")

    @property
    def partition_fields(self) -> list[Document]:
        """What new files are partitioned by."""
        return _current(self.document, "partition-spec", "partition-specs", "default-spec-id")

    @property
    def properties(self) -> Mapping[str, str]:
        return dict(self.document.get("properties") or {})

    @property
    def snapshots(self) -> list[Document]:
        """All snapshots, the oldest first."""
        found = self.document.get("snapshots") or []
        return sorted(
            found, key=lambda each: (each.get("sequence-number", 0), each["timestamp-ms"])
        )

    @property
    def current_snapshot(self) -> Document | None:
        # Old writers say -1 where there is none.
        head = self.document.get("current-snapshot-id")
        return next((each for each in self.snapshots if each["snapshot-id"] == head), None)

    @property
    def refs(self) -> dict[str, Document]:
        head = self.current_snapshot
        implied = {} if head is None else {"main": {"snapshot-id": head["snapshot-id"]}}
        return {**implied, **(self.document.get("refs") or {})}

    def ancestors(self) -> set[int]:
        """The current snapshot and those it was built on."""
        by_id = {each["snapshot-id"]: each for each in self.snapshots}
        line: set[int] = set()
        at: Any = self.document.get("current-snapshot-id")
        while at in by_id and at not in line:
            line.add(at)
            at = by_id[at].get("parent-snapshot-id")
        return line


def read_metadata(name: TableName, location: str) -> TableMetadata:
    """Read a table's metadata file."""
    file = local_path(name, location)
    try:
        content = file.read_bytes()
        compressed = content.startswith(GZIP)
        document = json.loads(gzip.decompress(content) if compressed else content)
        metadata = TableMetadata(document, compressed)
        # A file that lacks what every table has is not worth more questions.
        assert document["location"]
        assert isinstance(metadata.fields, list)
    except (OSError, ValueError, LookupError, TypeError, AssertionError, EOFError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        raise DestinationError(
            f"The metadata of table {name} cannot be read: {reason or 'it is not complete'}",
            where=str(file),
            next_step="Restore the file, or point the catalog at an older one.",
        ) from failure
    return metadata


def folders_of(name: TableName, location: str, metadata: TableMetadata) -> tuple[str, ...]:
    """Return the folders a table's files lie in."""
    placed = [metadata.properties.get(key) for key in FILE_LOCATIONS]
    places = [metadata.document["location"], *filter(None, placed)]
    folders = {str(local_path(name, location).parent)}
    folders.update(str(local_path(name, place)) for place in places)
    return tuple(f"{folder}/" for folder in sorted(folders))


def local_path(name: TableName, location: str) -> Path:
    """Return the path of a location on this machine; Iceberg does not escape its locations."""
    path = location.removeprefix("file://") if "://" in location else location.removeprefix("file:")
    if not path.startswith("/"):
        raise QueryFailed(
            f"Only tables on this machine can be read, and {name} is not on it", where=location
        )
    return Path(path)


def _current(document: Document, single: str, plural: str, chosen: str) -> list[Document]:
    """Find the current one of several; format version 1 may have only one, and no list."""
    several = document.get(plural)
    if not several:
        only = document[single]
        return list(only["fields"] if isinstance(only, dict) else only)
    key = "spec-id" if plural == "partition-specs" else "schema-id"
    return list(next(each for each in several if each[key] == document[chosen])["fields"])
