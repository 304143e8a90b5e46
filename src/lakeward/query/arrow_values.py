"""Arrow columns as plain Python values, without losing what Python's own types cannot hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pyarrow as pa

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - times without a zone have none
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)


def rows_of(batch: pa.RecordBatch) -> list[tuple[object, ...]]:
    """Return the rows of a batch."""
    columns = [values_of(column) for column in batch.columns]
    return list(zip(*columns, strict=True)) if columns else []


def values_of(array: pa.Array) -> list[object]:
    """Return the values of a column: maps as dicts, times with a zone in UTC."""
    kind = array.type
    if pa.types.is_struct(kind):
        return _structs(array)
    if pa.types.is_map(kind):
        return _maps(array)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = values_of(array.values)
        return _spans(array, lambda start, end: inner[start:end])
    if pa.types.is_timestamp(kind):
        return _times(array)
    if pa.types.is_date(kind):
        return _dates(array)
    values: list[object] = array.to_pylist()
    return values


def _structs(array: pa.StructArray) -> list[object]:
    names = [field.name for field in array.type]
    children = [values_of(array.field(number)) for number in range(len(names))]
    rows = zip(*children, strict=True) if children else iter([()] * len(array))
    valid = array.is_valid().to_pylist()
    return [
        dict(zip(names, row, strict=True)) if there else None
        for row, there in zip(rows, valid, strict=True)
    ]


def _maps(array: pa.MapArray) -> list[object]:
    keys, items = values_of(array.keys), values_of(array.items)

    def entries(start: int, end: int) -> object:
        pairs = list(zip(keys[start:end], items[start:end], strict=True))
        try:
            distinct = dict(pairs)
        except TypeError:
            return [list(pair) for pair in pairs]
        # A map read from a file may repeat a key; showing only one of them would hide data.
        return distinct if len(distinct) == len(pairs) else [list(pair) for pair in pairs]

    return _spans(array, entries)


def _spans(array: pa.Array, value: Callable[[int, int], object]) -> list[object]:
    ends = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    return [
        value(start, end) if there else None
        for (start, end), there in zip(pairwise(ends), valid, strict=True)
    ]


def _times(array: pa.TimestampArray) -> list[object]:
    zone = array.type.tz is not None
    epoch = _EPOCH_UTC if zone else _EPOCH
    try:
        ticks = array.cast(pa.timestamp("us", tz=array.type.tz)).cast(pa.int64()).to_pylist()
        return [None if tick is None else epoch + timedelta(microseconds=tick) for tick in ticks]
    except (OverflowError, pa.ArrowInvalid):
        # Years past 9999, and fractions finer than a microsecond, exist only as text.
        texts = array.cast(pa.timestamp(array.type.unit)).cast(pa.string()).to_pylist()
        mark = "Z" if zone else ""
        return [None if text is None else text.replace(" ", "T") + mark for text in texts]


def _dates(array: pa.Array) -> list[object]:
    try:
        days = array.cast(pa.date32()).cast(pa.int32()).to_pylist()
        return [None if day is None else date(1970, 1, 1) + timedelta(days=day) for day in days]
    except OverflowError:
        texts: list[object] = array.cast(pa.string()).to_pylist()
        return texts
