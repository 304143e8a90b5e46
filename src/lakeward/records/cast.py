"""Turn columns of text into their types, exactly or not at all.

Each function returns the typed array and which elements it was not sure of. Those are null in the
array and go to the exact reader, which has the last word (`coerce`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakeward.model.fields import Decimal, Fixed, Kind, Type
from lakeward.records.arrow import arrow_type, validity
from lakeward.records.coerce import coerce
from lakeward.records.dead_letters import Unfit
from lakeward.records.scan_json import Flags

Cast = tuple[pa.Array, Flags | None]

NUMBERS = frozenset({Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE})
_FIRST_DAY = -719_162
"""The first of January of the year 1, in days before the epoch."""
_EXACT_IN = {Kind.FLOAT: 2.0**24, Kind.DOUBLE: 2.0**53}
"""Whole numbers below this are exact; from here on, the exact reader decides."""


def cast_text(text: pa.Array, kind: Type) -> Cast:
    """Turn an array of text into an array of a type without parts."""
    match kind:
        case Kind.STRING:
            return text, None
        case Kind.INT | Kind.LONG:
            return _whole(text, kind)
        case Kind.FLOAT | Kind.DOUBLE:
            return _floating(text, kind)
        case Kind.BOOLEAN:
            return _boolean(text)
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return _timestamp(text, kind)
        case Kind.DATE:
            return _date(text)
        case Decimal():
            return _or_find(text, lambda part: pc.cast(part, arrow_type(kind)), arrow_type(kind))
        case Kind() | Fixed():
            return _one_by_one(text, kind)
    raise TypeError(f"{kind} has parts")


def _whole(text: pa.Array, kind: Kind) -> Cast:
    try:
        return pc.cast(text, arrow_type(kind)), None
    except pa.ArrowInvalid:
        # Nine and eighteen digits fit whatever they are; the rest is for the exact reader.
        digits = 9 if kind is Kind.INT else 18
        sure = pc.match_substring_regex(text, rf"^-?[0-9]{{1,{digits}}}$")
        return pc.cast(_keep(text, sure), arrow_type(kind)), _unsure(text, sure)


def _floating(text: pa.Array, kind: Kind) -> Cast:
    try:
        numbers, doubt = pc.cast(text, pa.float64()), None
    except pa.ArrowInvalid:
        sure = pc.match_substring_regex(text, r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$")
        numbers, doubt = pc.cast(_keep(text, sure), pa.float64()), _unsure(text, sure)
    values = numbers.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        large = ~(np.abs(values) < _EXACT_IN[kind]) & validity(numbers)
    if large.any():
        doubt = large if doubt is None else doubt | large
    return pc.cast(numbers, arrow_type(kind), safe=False), doubt


def _boolean(text: pa.Array) -> Cast:
    sure = pc.is_in(text, pa.array(["true", "false"], text.type))
    return pc.equal(_keep(text, sure), "true"), _unsure(text, sure)


def _timestamp(text: pa.Array, kind: Kind) -> Cast:
    nanos = pa.timestamp("ns", "UTC") if kind is Kind.TIMESTAMPTZ else pa.timestamp("ns")
    moments, doubt = _or_find(text, lambda part: pc.cast(part, nanos), nanos)
    # Arrow also reads `2025-01-15T10Z`, which is no timestamp to the sink we follow.
    minutes = pc.equal(pc.binary_slice(pc.cast(text, pa.binary()), 13, 14), b":")
    odd = _unsure(text, minutes)
    if odd is not None:
        doubt = odd if doubt is None else doubt | odd
    # Digits beyond microseconds are cut, as text is cut: towards the past, also before 1970.
    micros = np.floor_divide(pc.cast(moments, pa.int64()).fill_null(0).to_numpy(), 1000)
    mask = ~validity(moments)
    return pa.array(micros, pa.int64(), mask=mask).cast(arrow_type(kind)), doubt


def _date(text: pa.Array) -> Cast:
    dates, doubt = _or_find(text, lambda part: pc.cast(part, pa.date32()), pa.date32())
    # Arrow knows a year 0; the calendar does not.
    early = pc.less(pc.cast(dates, pa.int32()), _FIRST_DAY).fill_null(False)
    early = early.to_numpy(zero_copy_only=False)
    if early.any():
        doubt = early if doubt is None else doubt | early
    return dates, doubt


def _one_by_one(text: pa.Array, kind: Type) -> Cast:
    values: list[Any] = []
    doubt = np.zeros(len(text), np.bool_)
    for index, item in enumerate(text.to_pylist()):
        try:
            values.append(coerce(item, kind))
        except Unfit:
            values.append(None)
            doubt[index] = True
    return pa.array(values, arrow_type(kind)), doubt if doubt.any() else None


def _or_find(text: pa.Array, cast: Callable[[pa.Array], pa.Array], kind: pa.DataType) -> Cast:
    """Cast the whole array at once; if that fails, halve it until the culprits stand alone."""
    try:
        return cast(text), None
    except pa.ArrowInvalid:
        if len(text) == 1:
            return pa.nulls(1, kind), np.ones(1, np.bool_)
    middle = len(text) // 2
    parts = [_or_find(half, cast, kind) for half in (text[:middle], text[middle:])]
    doubts = [np.zeros(len(array), np.bool_) if doubt is None else doubt for array, doubt in parts]
    return pa.concat_arrays([array for array, _ in parts]), np.concatenate(doubts)


def _keep(text: pa.Array, sure: pa.Array) -> pa.Array:
    return pc.if_else(sure, text, pa.scalar(None, text.type))


def _unsure(text: pa.Array, sure: pa.Array) -> Flags | None:
    doubt = validity(text) & ~sure.fill_null(False).to_numpy(zero_copy_only=False)
    return doubt if doubt.any() else None
