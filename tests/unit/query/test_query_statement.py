"""Trino's SHOW forms are told from queries; names from SQL."""

from __future__ import annotations

import pytest

from lakeward.errors import QueryFailed
from lakeward.query.statement import (
    Like,
    Query,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowSchemas,
    ShowTables,
    Statement,
    parse,
    table_argument,
    without_catalog,
)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SHOW CATALOGS", ShowCatalogs(Like())),
        ("show /* all */ schemas", ShowSchemas(None, Like())),
        ("SHOW SCHEMAS FROM w", ShowSchemas("w", Like())),
        ("SHOW SCHEMAS IN w LIKE 's%'", ShowSchemas("w", Like("s%"))),
        ("SHOW TABLES", ShowTables(None, Like())),
        ('SHOW TABLES FROM w."a.b"', ShowTables(("w", "a.b"), Like())),
        ("SHOW COLUMNS FROM s.t", ShowColumns(("s", "t"))),
        ("DESCRIBE w.s.t", ShowColumns(("w", "s", "t"))),
        ("DESC t", ShowColumns(("t",))),
        ("SHOW CREATE TABLE t", ShowCreateTable(("t",))),
        ("DESCRIBE SELECT 1", Query("DESCRIBE SELECT 1")),
        ("SELECT 1", Query("SELECT 1")),
    ],
)
def test_a_statement_is_what_it_looks_like(text: str, statement: Statement) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize(
    "text",
    ["SHOW", "SHOW FUNCTIONS", "SHOW TABLES FROM", "SHOW CATALOGS please", "SHOW SCHEMAS FROM a.b"],
)
def test_an_unknown_show_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(QueryFailed, match="SHOW TABLES"):
        parse(text)


def test_like_knows_both_wildcards_and_takes_the_rest_literally() -> None:
    assert Like("api%").matches("apilogs")
    assert Like("a_i").matches("api")
    assert not Like("a.i").matches("api")
    assert not Like("api").matches("apilogs")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("apilogs", ("apilogs",)),
        ("streaming.apilogs;", ("streaming", "apilogs")),
        ("apilogs$snapshots", ("apilogs$snapshots",)),
        ("my-topic.v2", ("my-topic", "v2")),
        ('"My Table"', ("My Table",)),
        ("SELECT 1", None),
        ("FROM apilogs", None),
        ("(SELECT 1)", None),
    ],
)
def test_an_argument_is_a_name_or_sql(text: str, name: tuple[str, ...] | None) -> None:
    assert table_argument(text) == name


def test_the_catalog_before_information_schema_becomes_spaces() -> None:
    text = "SELECT 1 FROM w.information_schema.tables, w.s.t"
    assert without_catalog(text, "W") == "SELECT 1 FROM   information_schema.tables, w.s.t"
