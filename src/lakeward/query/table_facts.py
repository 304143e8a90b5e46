"""What a table's metadata tells without reading its rows: size, columns, jobs, commits. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lakeward.model.ledger import PREFIX, Ledger, from_json
from lakeward.model.spec import TableName
from lakeward.query.table_metadata import Document, TableMetadata


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One table at a glance."""

    name: TableName
    format_version: int | None = None
    rows: int | None = None
    """None where only a scan could tell: equality deletes hide an unknown number of rows."""
    files: int | None = None
    bytes: int | None = None
    snapshots: int | None = None
    last_commit: datetime | None = None
    columns: tuple[str, ...] = ()
    problem: str = ""
    """Why nothing else is known."""


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a table, nested ones included."""

    id: int
    path: str
    depth: int
    type: str
    required: bool
    doc: str

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2] if self.depth else self.path


@dataclass(frozen=True, slots=True)
class PartitionedBy:
    """One partition field: a transform over a column."""

    name: str
    transform: str
    column: str

    def __str__(self) -> str:
        return self.column if self.transform == "identity" else f"{self.transform}({self.column})"


@dataclass(frozen=True, slots=True)
class Commit:
    """One snapshot, and the batch of ours that it holds."""

    committed_at: datetime
    snapshot_id: int
    operation: str
    added_rows: int
    added_files: int
    removed_files: int
    job: str | None
    batch: int | None
    commit_id: str | None
    summary: Mapping[str, str]


def facts_of(name: TableName, metadata: TableMetadata) -> TableFacts:
    """Gather a table's facts."""
    head = metadata.current_snapshot
    rows, files, size = (0, 0, 0) if head is None else _totals(head.get("summary") or {})
    return TableFacts(
        name,
        metadata.document.get("format-version"),
        rows,
        files,
        size,
        len(metadata.snapshots),
        None if head is None else instant(head["timestamp-ms"]),
        tuple(field["name"] for field in metadata.fields),
    )


def columns_of(metadata: TableMetadata) -> list[Column]:
    """List all columns, each followed by the fields inside it."""
    return [column for field in metadata.fields for column in _columns(field, "", 0)]


def partitioning(metadata: TableMetadata) -> list[PartitionedBy]:
    """Return the fields new files are partitioned by."""
    paths = {column.id: column.path for column in columns_of(metadata)}
    return [
        PartitionedBy(field["name"], field["transform"], paths.get(field["source-id"], "?"))
        for field in metadata.partition_fields
        if field["transform"] != "void"
    ]


def ledgers_of(metadata: TableMetadata) -> dict[str, Ledger | str]:
    """Return the ledger of each job that writes the table; the text of one we cannot read."""
    found: dict[str, Ledger | str] = {}
    for key, value in sorted(metadata.properties.items()):
        if key.startswith(PREFIX):
            try:
                found[key.removeprefix(PREFIX)] = from_json(value)
            except ValueError:
                found[key.removeprefix(PREFIX)] = value
    return found


def commits_of(metadata: TableMetadata) -> list[Commit]:
    """Return the table's snapshots, the newest first."""
    return [_commit(snapshot) for snapshot in reversed(metadata.snapshots)]


def type_text(kind: str | Document) -> str:
    """Write a type without the ids of its fields."""
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "struct":
            inner = (f"{field['name']}: {type_text(field['type'])}" for field in kind["fields"])
            return f"struct<{', '.join(inner)}>"
        case "list":
            return f"list<{type_text(kind['element'])}>"
        case "map":
            return f"map<{type_text(kind['key'])}, {type_text(kind['value'])}>"
    return str(kind["type"])


def instant(milliseconds: int) -> datetime:
    """Return a time of the metadata, which counts milliseconds."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _commit(snapshot: Document) -> Commit:
    summary = {key: str(value) for key, value in (snapshot.get("summary") or {}).items()}
    return Commit(
        instant(snapshot["timestamp-ms"]),
        snapshot["snapshot-id"],
        summary.pop("operation", ""),
        _whole(summary, "added-records") or 0,
        _whole(summary, "added-data-files") or 0,
        _whole(summary, "deleted-data-files") or 0,
        summary.get("lakeward.job"),
        _whole(summary, "lakeward.batch"),
        # Tables of the old Kafka Connect sink name their commits this way.
        summary.get("lakeward.commit-id") or summary.get("kafka.connect.commit-id"),
        summary,
    )


def _totals(summary: Mapping[str, str]) -> tuple[int | None, int | None, int | None]:
    """Return rows, data files and bytes, as far as the snapshot's writer kept them."""
    records = _whole(summary, "total-records")
    hidden = _whole(summary, "total-equality-deletes")
    deleted = _whole(summary, "total-position-deletes") or 0
    rows = None if records is None or hidden else records - deleted
    return rows, _whole(summary, "total-data-files"), _whole(summary, "total-files-size")


def _whole(summary: Mapping[str, str], key: str) -> int | None:
    text = str(summary.get(key, ""))
    return int(text) if text.isascii() and text.isdigit() else None


def _columns(field: Document, parent: str, depth: int) -> Iterator[Column]:
    kind = field["type"]
    text, inner = _nested(kind)
    path = f"{parent}{field['name']}"
    yield Column(field["id"], path, depth, text, field["required"], field.get("doc") or "")
    for child in inner:
        yield from _columns(child, f"{path}.", depth + 1)


def _nested(kind: str | Document) -> tuple[str, list[Document]]:
    """Return a short text for a type, and the fields to list below it."""
    match kind:
        case {"type": "struct", "fields": fields}:
            return "struct", list(fields)
        case {"type": "list", "element": {"type": "struct", "fields": fields}}:
            return "list<struct>", list(fields)
        case {"type": "map", "key": key, "value": {"type": "struct", "fields": fields}}:
            return f"map<{type_text(key)}, struct>", list(fields)
    return type_text(kind), []
