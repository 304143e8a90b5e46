from __future__ import annotations

import numpy as np
import pytest

from lakeward.produce.columns import durations, request_ids, timestamps
from lakeward.produce.go_json import duration, encode, escape


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (932, "932ns"),
        (1_000, "1µs"),
        (850_000, "850µs"),
        (12_000_000, "12ms"),
        (1_234_567, "1.234567ms"),
        (1_500_000_000, "1.5s"),
        (62_500_000_000, "1m2.5s"),
        (3_600_000_000_000, "1h0m0s"),
        (7_380_500_000_000, "2h3m0.5s"),
    ],
)
def test_a_duration_is_written_as_go_writes_it(nanoseconds: int, text: str) -> None:
    assert duration(nanoseconds) == text


def test_html_characters_are_escaped_as_go_escapes_them() -> None:
    assert encode({"a": "<b> & ü"}) == '{"a":"\\u003cb\\u003e \\u0026 ü"}'.encode()
    assert escape('say "hi"') == b'say \\"hi\\"'


@pytest.mark.parametrize(
    ("nanoseconds", "minutes", "text"),
    [
        (0, 0, b"1970-01-01T00:00:00Z"),
        (1_768_473_000_000_000_000, 0, b"2026-01-15T10:30:00Z"),
        (1_768_473_000_123_456_789, 0, b"2026-01-15T10:30:00.123456789Z"),
        (1_768_473_000_100_000_000, 0, b"2026-01-15T10:30:00.1Z"),
        (1_768_473_000_000_000_010, 0, b"2026-01-15T10:30:00.00000001Z"),
        (1_768_473_000_500_000_000, 330, b"2026-01-15T16:00:00.5+05:30"),
        (1_768_473_000_000_000_000, -480, b"2026-01-15T02:30:00-08:00"),
    ],
)
def test_a_time_has_up_to_nine_fraction_digits_and_its_own_zone(
    nanoseconds: int, minutes: int, text: bytes
) -> None:
    assert timestamps(np.array([nanoseconds]), np.array([minutes])).tolist() == [text]


def test_times_of_several_seconds_and_zones_do_not_mix() -> None:
    moments = np.array([2_000_000_000, 1_250_000_000, 2_000_000_001])
    assert timestamps(moments, np.array([0, 60, 0])).tolist() == [
        b"1970-01-01T00:00:02Z",
        b"1970-01-01T01:00:01.25+01:00",
        b"1970-01-01T00:00:02.000000001Z",
    ]


def test_a_longer_time_never_gets_a_shorter_duration() -> None:
    texts = durations(np.array([1, 9_000, 2_000_000, 3_000_000_000, 10**15])).tolist()
    assert texts[0] == texts[1] == "9µs".encode()
    assert texts[2].endswith(b"ms")
    assert texts[3].endswith(b"s")
    assert texts[4] == b"15m0s"


def test_a_request_id_is_the_nanosecond_of_arrival() -> None:
    assert request_ids(np.array([0x18E84F0EDAEC17BE])).tolist() == [b"18E84F0EDAEC17BE"]
