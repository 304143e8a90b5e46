"""Values become JSON exactly, and short lines for people."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeward.query.engine import unique_names
from lakeward.query.values import count_text, fit, plain, shown, size_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 11, 1, 8, tzinfo=UTC), "2026-11-01T08:00:00Z"),
        (datetime(2026, 11, 1, 8, 0, 0, 1000, tzinfo=UTC), "2026-11-01T08:00:00.001Z"),
        (datetime(2026, 11, 1, 8, 0, 0, 1, tzinfo=UTC), "2026-11-01T08:00:00.000001Z"),
        (datetime(2026, 11, 1, 8), "2026-11-01T08:00:00"),
        (date(2026, 11, 1), "2026-11-01"),
        (time(1, 2, 3), "01:02:03"),
        (Decimal("1234567890123456.7891"), "1234567890123456.7891"),
        (Decimal(2**100), 2**100),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (b"text", "text"),
        (b"\xff\xfe", "base64://4="),
        (b"base64:x", "base64:YmFzZTY0Ong="),
        ({1: b"\xff", "a": [None, True]}, {"1": "base64:/w==", "a": [None, True]}),
    ],
)
def test_a_value_becomes_json_exactly(value: object, expected: object) -> None:
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


@given(st.binary())
def test_bytes_can_always_be_told_back(value: bytes) -> None:
    text = str(plain(value))
    marked = text.startswith("base64:")
    assert (base64.b64decode(text[7:]) if marked else text.encode()) == value


def test_data_cannot_steer_the_terminal() -> None:
    assert shown("a\x1b[31m\nb", 40) == "a\\x1b[31m\\nb"


@given(st.text() | st.binary() | st.lists(st.text(), max_size=3), st.integers(4, 50))
def test_a_shown_value_is_one_short_printable_line(value: object, width: int) -> None:
    line = shown(value, width)
    assert len(line) <= width
    assert line.isprintable()


def test_nothing_is_shown_as_nothing() -> None:
    assert shown(None, 10) == ""


def test_columns_that_fit_are_kept_whole() -> None:
    columns, rows, hidden = fit(["a", "b"], [(1, {"x": "y"})], 80)
    assert (columns, rows, hidden) == (["a", "b"], [["1", '{"x":"y"}']], [])


def test_values_are_shortened_before_columns_are_hidden() -> None:
    wide = "w" * 100
    columns, rows, hidden = fit(["a", "b"], [(wide, wide)], 80)
    assert columns == ["a", "b"]
    assert not hidden
    assert all(len(cell) <= 40 for cell in rows[0])


def test_columns_without_room_are_named() -> None:
    columns, _, hidden = fit([f"column_{n}" for n in range(20)], [tuple("x" * 20)], 60)
    assert len(columns) + len(hidden) == 20
    assert hidden[-1] == "column_19"


def test_one_column_is_always_shown() -> None:
    assert fit(["a", "b"], [("x" * 300, 1)], 10)[0] == ["a"]


def test_repeated_column_names_are_numbered() -> None:
    assert unique_names(["a", "a", "a_1", "a"]) == ("a", "a_2", "a_1", "a_3")


def test_counts_and_sizes_read_easily() -> None:
    assert count_text(300_000) == "300,000"
    assert count_text(None) == size_text(None) == "?"
    assert [size_text(n) for n in (0, 999, 1000, 5_215_854, 123_456_789_012)] == [
        "0 B", "999 B", "1.0 kB", "5.2 MB", "123 GB",
    ]  # fmt: skip
