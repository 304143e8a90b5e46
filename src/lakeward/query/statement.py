"""What kind of statement a text is: one of Trino's SHOW forms, or a query for the engine. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lakeward.errors import QueryFailed
from lakeward.query.tokens import Token, dotted_name, tokens

Name = tuple[str, ...]

SHOW_FORMS = (
    "SHOW CATALOGS, SHOW SCHEMAS [FROM catalog], SHOW TABLES [FROM catalog.schema], "
    "SHOW COLUMNS FROM table, SHOW CREATE TABLE table"
)


@dataclass(frozen=True, slots=True)
class Like:
    """A LIKE pattern; the default matches everything."""

    pattern: str = "%"

    def matches(self, text: str) -> bool:
        wild = {"%": ".*", "_": "."}
        expression = "".join(wild.get(char, re.escape(char)) for char in self.pattern)
        return re.fullmatch(expression, text, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class ShowCatalogs:
    like: Like


@dataclass(frozen=True, slots=True)
class ShowSchemas:
    catalog: str | None
    like: Like


@dataclass(frozen=True, slots=True)
class ShowTables:
    schema: Name | None
    like: Like


@dataclass(frozen=True, slots=True)
class ShowColumns:
    table: Name


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    table: Name


@dataclass(frozen=True, slots=True)
class Query:
    """A statement for the engine's own parser."""

    text: str


Statement = ShowCatalogs | ShowSchemas | ShowTables | ShowColumns | ShowCreateTable | Query


def parse(text: str) -> Statement:
    """Tell the SHOW forms from queries; a SHOW that is none of them is refused."""
    found = tokens(text)
    match [token.keyword for token in found[:3]]:
        case ["SHOW", "CATALOGS", *_]:
            return ShowCatalogs(_like(found[2:]))
        case ["SHOW", "SCHEMAS", *_]:
            name, rest = _from(found[2:])
            if name is not None and len(name) > 1:
                raise _bad_show()
            return ShowSchemas(name[0] if name else None, _like(rest))
        case ["SHOW", "TABLES", *_]:
            name, rest = _from(found[2:])
            return ShowTables(name, _like(rest))
        case ["SHOW", "COLUMNS", "FROM" | "IN"]:
            return ShowColumns(_only_name(found[3:]))
        case ["SHOW", "CREATE", "TABLE"]:
            return ShowCreateTable(_only_name(found[3:]))
        case ["DESCRIBE" | "DESC", *_] if _is_name(found[1:]):
            return ShowColumns(_only_name(found[1:]))
        case ["SHOW", *_]:
            raise _bad_show()
    return Query(text)


def table_argument(text: str) -> Name | None:
    """Read a command line argument as a table's name; None if it must be SQL."""
    text = text.strip().removesuffix(";").rstrip()
    if re.fullmatch(r"[^\s\"'();,]+", text):
        return tuple(text.split("."))
    found = tokens(text)
    return _only_name(found) if _is_name(found) else None


def without_catalog(text: str, catalog: str) -> str:
    """Blank out the catalog before `information_schema`, which DuckDB has only once for all."""
    found = tokens(text)
    for first, dot, second in zip(found, found[1:], found[2:], strict=False):
        if (
            (first.name or "").casefold() == catalog.casefold()
            and dot.text == "."
            and (second.name or "").casefold() == "information_schema"
        ):
            # Spaces keep every other position in error messages right.
            blank = " " * (second.start - first.start)
            text = text[: first.start] + blank + text[second.start :]
    return text


def _from(found: Sequence[Token]) -> tuple[Name | None, Sequence[Token]]:
    if not found or found[0].keyword not in {"FROM", "IN"}:
        return None, found
    read = dotted_name(found[1:])
    if read is None:
        raise _bad_show()
    return read


def _like(rest: Sequence[Token]) -> Like:
    if not rest:
        return Like()
    if len(rest) == 2 and rest[0].keyword == "LIKE" and rest[1].kind == "string":
        return Like(rest[1].text[1:-1].replace("''", "'"))
    raise _bad_show()


def _is_name(found: Sequence[Token]) -> bool:
    read = dotted_name(found)
    return read is not None and not read[1]


def _only_name(found: Sequence[Token]) -> Name:
    read = dotted_name(found)
    if read is None or read[1]:
        raise _bad_show()
    return read[0]


def _bad_show() -> QueryFailed:
    return QueryFailed("This SHOW statement is not known", next_step=f"Write one of: {SHOW_FORMS}.")
