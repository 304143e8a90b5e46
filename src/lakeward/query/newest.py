"""The query behind a table's name: its newest rows. Pure but for reading the metadata file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakeward.query.directory import Directory
from lakeward.query.scans import full_name
from lakeward.query.table_metadata import read_metadata
from lakeward.query.tokens import quoted

METADATA_TIMES = {"snapshots": ["committed_at"], "history": ["made_current_at"]}


def newest_rows(directory: Directory, parts: Sequence[str], namespace: str, limit: int) -> str:
    """Write the query for the newest rows of a table or metadata table."""
    name = directory.find_anywhere(parts, namespace)
    if name is not None:
        fields = read_metadata(name, directory.tables[name]).fields
        columns = {field["name"]: str(field["type"]) for field in fields}
        return _select(full_name(directory.catalog, name), order_of(columns), limit)
    base, _, kind = parts[-1].rpartition("$")
    name = directory.find_anywhere((*parts[:-1], base), namespace) if base else None
    if name is None:
        raise directory.missing(parts)
    target = full_name(directory.catalog, name.beside(f"${kind}"))
    return _select(target, METADATA_TIMES.get(kind.lower(), []), limit)


def order_of(columns: Mapping[str, str]) -> list[str]:
    """Choose what tells new from old: Kafka's timestamp, else the first column that is a time."""
    times = [name for name, kind in columns.items() if kind.startswith("timestamp")]
    first = "_timestamp" if "_timestamp" in times else next(iter(times), None)
    by_offset = [name for name in ("_offset",) if first == "_timestamp" and name in columns]
    return [first, *by_offset] if first is not None else []


def _select(table: str, order: Sequence[str], limit: int) -> str:
    by = ", ".join(f"{quoted(name)} DESC NULLS LAST" for name in order)
    return f"SELECT * FROM {table}{f' ORDER BY {by}' if by else ''} LIMIT {limit}"
