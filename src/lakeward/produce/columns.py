"""Columns of values that a record has for itself: times, ids, keys, durations.

Whole blocks are drawn at once with numpy; one value at a time would be far too slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lakeward.produce.go_json import duration, escape

Column = npt.NDArray[Any]

_SECOND = 1_000_000_000
_SHORTEST, _LONGEST = 9_000, 900 * _SECOND


def objects(values: Sequence[bytes]) -> Column:
    """Return values as a column that can be indexed by an array of picks."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def popular(rng: np.random.Generator, ranks: int, count: int) -> Column:
    """Draw ranks from zero, the r-th about 1/r as often as the first (Zipf's law)."""
    return (ranks ** rng.random(count)).astype(np.int64) - 1


def hexadecimal(rng: np.random.Generator, digits: int, count: int) -> Column:
    """Return random hexadecimal numbers with an even number of digits."""
    return np.frombuffer(rng.bytes(count * digits // 2).hex().encode(), dtype=f"S{digits}")


def uuids(rng: np.random.Generator, count: int) -> Column:
    """Return random UUIDs of version 4."""
    digits = hexadecimal(rng, 32, count).view("S1").reshape(count, 32)
    text = np.full((count, 36), b"-", dtype="S1")
    for group, (start, end) in enumerate(((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))):
        text[:, start + group : end + group] = digits[:, start:end]
    text[:, 14], text[:, 19] = b"4", b"a"
    return text.view("S36").reshape(-1)


def request_ids(moments: Column) -> Column:
    """Return request ids as MinIO makes them: the nanosecond of arrival in hexadecimal."""
    return np.frombuffer(moments.astype(">i8").tobytes().hex().upper().encode(), dtype="S16")


def durations(nanoseconds: Column) -> Column:
    """Return Go durations near these; a longer time never gets a shorter text."""
    steps = (len(_DURATIONS) - 1) / np.log(_LONGEST / _SHORTEST)
    position = np.log(np.clip(nanoseconds, _SHORTEST, _LONGEST) / _SHORTEST) * steps
    texts: Column = _DURATIONS[position.astype(np.int64)]
    return texts


def logged(rng: np.random.Generator, moments: Column, ticks: Column) -> Column:
    """Return when events reach the log: a little later, so out of order, by each node's clock."""
    late: Column = moments + rng.exponential(1_000_000, len(moments)).astype(np.int64)
    late -= late % ticks
    return late


def timestamps(moments: Column, zones: Column) -> Column:
    """Return RFC 3339 times: nanoseconds since the epoch, each with its zone in minutes.

    As in Go, trailing zeros of the fraction are cut, and the fraction itself when it is zero.
    """
    seconds, fraction = np.divmod(moments + zones * (60 * _SECOND), _SECOND)
    distinct, which = np.unique(seconds, return_inverse=True)
    dates = np.datetime_as_string(distinct.astype("datetime64[s]")).astype("S19")[which]
    digits = (fraction + _SECOND).astype("S10").view("S1").reshape(-1, 10)[:, 1:]
    fractions = np.strings.add(b".", np.ascontiguousarray(digits).view("S9").reshape(-1))
    offsets, whose = np.unique(zones, return_inverse=True)
    zone_texts = np.array([_zone(int(minutes)) for minutes in offsets], dtype="S6")[whose]
    return np.strings.add(np.strings.add(dates, np.strings.rstrip(fractions, b"0.")), zone_texts)


def _zone(minutes: int) -> bytes:
    sign, size = ("+", minutes) if minutes > 0 else ("-", -minutes)
    return f"{sign}{size // 60:02d}:{size % 60:02d}".encode() if minutes else b"Z"


_DURATIONS = objects(
    [
        escape(duration(int(nanoseconds)))
        for nanoseconds in np.geomspace(_SHORTEST, _LONGEST, 16_384)
    ]
)
"""In even ratios, so that a duration's place follows from its logarithm."""
