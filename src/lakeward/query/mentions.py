"""What a query reads, found in DuckDB's own parse tree; refuses what is not a query. Pure.

The tree is the JSON that DuckDB's `json_serialize_sql` gives. It exists for SELECT only, so all
that could change something (DDL, DML, COPY, ATTACH, SET, PRAGMA, CALL, ...) is refused by having
no tree. Table functions are refused unless listed: many of them read files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lakeward.errors import QueryFailed
from lakeward.query.tokens import tokens

TABLE_FUNCTIONS = frozenset(
    {"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest"}
)
"""Table functions that only compute."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """The names a query reads from."""

    tables: frozenset[tuple[str, ...]]
    """Names as written: table, schema.table or catalog.schema.table."""
    subqueries: frozenset[str]
    """Names defined by WITH, in lower case."""

    @property
    def information_schema(self) -> bool:
        return any(_in_information_schema(name) for name in self.tables)

    def to_resolve(self) -> list[tuple[str, ...]]:
        """Return the names that must be tables of the catalog, or may be."""
        return sorted(name for name in self.tables if not _in_information_schema(name))


def mentions(tree: Mapping[str, Any], sql: str) -> Mentions:
    """Collect what a parsed query reads; QueryFailed if it must not run."""
    if len(tree["statements"]) != 1:
        raise QueryFailed("Only one statement can run at a time")
    found: set[tuple[str, ...]] = set()
    subqueries: set[str] = set()
    for node in _nodes(tree):
        match node.get("type"):
            case "BASE_TABLE":
                parts = (node["catalog_name"], node["schema_name"], node["table_name"])
                found.add(tuple(part for part in parts if part))
            case "TABLE_FUNCTION":
                _check_function(node["function"]["function_name"])
            case "SHOW_REF" if node["table_name"]:
                raise refusal(sql)
        if "cte_map" in node:
            subqueries.update(entry["key"].lower() for entry in node["cte_map"]["map"])
    return Mentions(frozenset(found), frozenset(subqueries))


def refusal(sql: str) -> QueryFailed:
    """Say that a statement is not a query."""
    first = next((token.text.upper() for token in tokens(sql)), "")
    return QueryFailed(
        f"{first} is refused: statements here only read",
        next_step="Write a SELECT, WITH, VALUES, DESCRIBE, SUMMARIZE or SHOW statement.",
    )


def _check_function(name: str) -> None:
    if name.lower() not in TABLE_FUNCTIONS:
        raise QueryFailed(
            f"The table function {name} is refused: queries read the catalog's tables only",
            next_step="List the tables with: lakeward query.",
        )


def _nodes(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting: list[Any] = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _in_information_schema(name: tuple[str, ...]) -> bool:
    return len(name) == 2 and name[0].lower() == "information_schema"
