"""DuckDB's complaints in our words: one line, and the place in the statement. Pure."""

from __future__ import annotations

import json

from lakeward.errors import QueryFailed
from lakeward.query.tokens import tokens

PLACELESS = frozenset({"IO", "Permission"})
"""Kinds whose position lies in a view of ours, not in the statement."""
NEXT_STEPS = {
    "COLUMN_NOT_FOUND": "See a table's columns with: lakeward tables show TABLE.",
    "IO": "Check the table's files with: lakeward verify.",
    "Permission": "Queries read only the files of the tables they name.",
}


def complaint(message: str, sql: str) -> QueryFailed:
    """Turn an error of DuckDB into ours; JSON in it tells kind and position."""
    try:
        raw = json.loads(message[message.index("{") :])
        what = raw.get("exception_message") or raw["error_message"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return QueryFailed(" ".join(message.split()).rstrip("."), next_step=NEXT_STEPS["IO"])
    kinds = (raw.get("error_subtype"), raw.get("exception_type"))
    return QueryFailed(
        " ".join(what.split()).rstrip("."),
        where="" if kinds[1] in PLACELESS else _place(sql, raw.get("position")),
        next_step=next((NEXT_STEPS[kind] for kind in kinds if kind in NEXT_STEPS), ""),
    )


def _place(sql: str, position: str | None) -> str:
    """Say line, column and word of a position, which DuckDB counts in bytes."""
    if position is None:
        return ""
    at = len(sql.encode()[: int(position)].decode(errors="ignore"))
    before = sql[:at]
    line, column = before.count("\n") + 1, at - before.rfind("\n")
    word = next((token.text for token in tokens(sql) if token.end > at), "")
    return f"line {line}, column {column}" + (f", at {word[:40]}" if word else "")
