"""Statements are split and names are read as DuckDB would."""

from __future__ import annotations

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from lakeward.query.tokens import dotted_name, literal, quoted, split, tokens

PARSER = duckdb.connect()


def test_statements_end_at_semicolons() -> None:
    assert split("SELECT 1; SELECT 2 ;; ") == ["SELECT 1", "SELECT 2"]


def test_semicolons_in_strings_names_and_comments_end_nothing() -> None:
    text = """SELECT ';' AS ";", $$;$$, $a$;$b$;$a$, E'\\';' -- ;
    /* ; /* ; */ ; */ FROM t"""
    assert split(text) == [text]


def test_a_text_of_comments_says_nothing() -> None:
    assert split("-- hello\n/* there */ ;") == []


def test_comments_around_a_statement_are_dropped() -> None:
    assert split("-- first\nSELECT 1 -- one\n; -- last") == ["SELECT 1"]


def test_an_unfinished_string_runs_to_the_end() -> None:
    assert split("SELECT 'a; b") == ["SELECT 'a; b"]


def test_a_name_is_read_part_by_part() -> None:
    read = dotted_name(tokens('a."b.c"."d""e$files" LIKE'))
    assert read is not None
    assert read[0] == ("a", "b.c", 'd"e$files')
    assert [token.text for token in read[1]] == ["LIKE"]


def test_a_name_must_not_end_in_a_dot() -> None:
    assert dotted_name(tokens("a.")) is None


@given(st.text())
def test_every_text_splits_and_keeps_what_it_says(text: str) -> None:
    said = [token.text for token in tokens(text) if token.text != ";"]
    assert [token.text for piece in split(text) for token in tokens(piece)] == said


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_what_we_quote_comes_back_unchanged(text: str) -> None:
    row = PARSER.execute(f"SELECT {literal(text)} AS {quoted(text or 'x')}")
    assert row.description[0][0] == (text or "x")
    assert row.fetchone() == (text,)
