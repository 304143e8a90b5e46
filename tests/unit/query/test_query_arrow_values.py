"""Arrow columns become Python values without losing anything."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lakeward.query.arrow_values import rows_of, values_of


def test_a_map_that_repeats_a_key_shows_both() -> None:
    array = pa.array([[("a", 1), ("a", 2)], [("b", 3)]], pa.map_(pa.string(), pa.int64()))
    assert values_of(array) == [[["a", 1], ["a", 2]], {"b": 3}]


def test_a_map_whose_keys_cannot_be_hashed_is_a_list() -> None:
    kind = pa.map_(pa.struct([("k", pa.int64())]), pa.int64())
    assert values_of(pa.array([[({"k": 1}, 2)]], kind)) == [[[{"k": 1}, 2]]]


def test_missing_values_stay_missing_at_every_depth() -> None:
    kind = pa.struct([("l", pa.list_(pa.map_(pa.string(), pa.struct([("x", pa.int64())]))))])
    rows = [None, {"l": None}, {"l": []}, {"l": [None, [("k", None)]]}]
    expected = [None, {"l": None}, {"l": []}, {"l": [None, {"k": None}]}]
    assert values_of(pa.array(rows, kind)) == expected


def test_slices_see_only_their_own_rows() -> None:
    kind = pa.struct([("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64()))])
    rows = [{"l": [n, n], "m": [("k", n)]} for n in range(5)]
    batch = pa.RecordBatch.from_arrays([pa.array(rows, kind)], ["c"]).slice(2, 2)
    assert rows_of(batch) == [({"l": [n, n], "m": {"k": n}},) for n in (2, 3)]


@given(st.lists(st.none() | st.datetimes(timezones=st.just(UTC))))
def test_times_with_a_zone_come_back_in_utc(times: list[datetime | None]) -> None:
    assert values_of(pa.array(times, pa.timestamp("us", tz="America/New_York"))) == times


@given(st.lists(st.none() | st.dates()))
def test_dates_come_back(dates: list[object]) -> None:
    assert values_of(pa.array(dates, pa.date32())) == dates
