"""Iceberg's partition transforms, one value at a time, from the text of its specification."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    IcebergType,
    StringType,
    UUIDType,
)

from lakeward.errors import TableUnsuitable
from lakeward.verify.murmur import murmur3

Transform = Callable[[Any], Any]

DAY = 86_400_000_000
HOUR = 3_600_000_000
EPOCH = date(1970, 1, 1)
PARAMETER = re.compile(r"(bucket|truncate)\[([0-9]+)\]")


def transform(name: str, kind: IcebergType) -> Transform:
    """Return the function a transform is, over plain values of a column type."""
    parameter = PARAMETER.fullmatch(name)
    if parameter is None and name not in _WITHOUT_PARAMETER:
        raise TableUnsuitable(
            f"Partition transform {name!r} cannot be verified",
            next_step="Leave this job out: lakeward verify OTHER_JOB.",
        )
    if parameter is None:
        apply = _WITHOUT_PARAMETER[name](kind)
    elif parameter[1] == "bucket":
        apply = _bucket(int(parameter[2]), kind)
    else:
        apply = _truncate(int(parameter[2]), kind)
    return lambda value: None if value is None else apply(value)


def _identity(_kind: IcebergType) -> Transform:
    return lambda value: value


def _void(_kind: IcebergType) -> Transform:
    return lambda _value: None


def _days(kind: IcebergType) -> Transform:
    return (lambda value: value) if isinstance(kind, DateType) else (lambda value: value // DAY)


def _hours(_kind: IcebergType) -> Transform:
    return lambda value: value // HOUR


def _months(kind: IcebergType) -> Transform:
    days = _days(kind)
    return lambda value: _month_of(days(value))


def _years(kind: IcebergType) -> Transform:
    days = _days(kind)
    return lambda value: _month_of(days(value)) // 12


@lru_cache(maxsize=4096)
def _month_of(days: int) -> int:
    # Whole cycles of 400 years keep days beyond the calendar's range inside it.
    cycles, within = divmod(days, 146_097)
    day = EPOCH + timedelta(days=within)
    return cycles * 4800 + (day.year - 1970) * 12 + day.month - 1


_WITHOUT_PARAMETER: dict[str, Callable[[IcebergType], Transform]] = {
    "identity": _identity,
    "void": _void,
    "year": _years,
    "month": _months,
    "day": _days,
    "hour": _hours,
}


def _bucket(count: int, kind: IcebergType) -> Transform:
    content = _hashed_bytes(kind)

    @lru_cache(maxsize=65536)
    def bucket(value: Any) -> int:
        return (murmur3(content(value)) & 0x7FFF_FFFF) % count

    return bucket


def _hashed_bytes(kind: IcebergType) -> Callable[[Any], bytes]:
    match kind:
        case StringType():
            return lambda value: value.encode()
        case UUIDType() | BinaryType() | FixedType():
            return bytes.fromhex
        case DecimalType():
            return lambda value: _shortest(_unscaled(value))
    return lambda value: int(value).to_bytes(8, "little", signed=True)


def _unscaled(text: str) -> int:
    return int(text.replace(".", ""))


def _shortest(number: int) -> bytes:
    # One bit more than the digits need, for the sign.
    length = ((number if number >= 0 else ~number).bit_length() + 8) // 8
    return number.to_bytes(length, "big", signed=True)


def _truncate(width: int, kind: IcebergType) -> Transform:
    match kind:
        case StringType():
            return lambda value: value[:width]
        case BinaryType():
            return lambda value: value[: 2 * width]
        case DecimalType():
            return lambda value: _cut_decimal(value, width, kind.scale)
    return lambda value: value - value % width


def _cut_decimal(text: str, width: int, scale: int) -> str:
    unscaled = _unscaled(text)
    cut = unscaled - unscaled % width
    digits = str(abs(cut)).zfill(scale + 1)
    sign = "-" if cut < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"
