"""Dates, times and timestamps from JSON values; plain form: days, or microseconds."""

from __future__ import annotations

import re
from datetime import date as calendar_date
from functools import lru_cache
from typing import Any

from lakeward.verify.scalars import Convert, whole_number
from lakeward.verify.strict_json import Unfit

EPOCH = calendar_date(1970, 1, 1).toordinal()
DAY_MILLIS = 86_400_000
DAY_MICROS = DAY_MILLIS * 1000
FIRST_DAY = calendar_date.min.toordinal() - EPOCH
LAST_DAY = calendar_date.max.toordinal() - EPOCH

_DATE = r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_ZONE = r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
DATE_TEXT = re.compile(_DATE)
TIME_TEXT = re.compile(_TIME)
TIMESTAMP_TEXT = re.compile(f"{_DATE}[T ]{_TIME}{_ZONE}")


def date(value: Any) -> int:
    """Days since 1970: a whole number as it is, or `yyyy-MM-dd`."""
    if type(value) is not str:
        return _in_calendar(whole_number(value), per_day=1)
    if not DATE_TEXT.fullmatch(value):
        raise Unfit("not a date")
    return _days(value)


def time(value: Any) -> int:
    """Microseconds of the day: a whole number counts milliseconds, text is a local time."""
    if type(value) is not str:
        millis = whole_number(value)
        if 0 <= millis < DAY_MILLIS:
            return millis * 1000
        raise Unfit("beyond the milliseconds of a day")
    parts = TIME_TEXT.fullmatch(value)
    if parts is None:
        raise Unfit("not a time of day")
    return _micros(*parts.groups())


def timestamp(zoned: bool) -> Convert:
    """Microseconds since 1970. Without a zone the column keeps the local part, as written."""

    def convert(value: Any) -> int:
        if type(value) is not str:
            return _in_calendar(whole_number(value) * 1000, DAY_MICROS)
        parts = TIMESTAMP_TEXT.fullmatch(value)
        if parts is None:
            raise Unfit("not a timestamp")
        day, hour, minute, second, fraction, zone = parts.groups()
        local = _days(day) * DAY_MICROS + _micros(hour, minute, second, fraction)
        offset = _offset(zone) if zone and zone != "Z" else 0
        return _in_calendar(local - offset, DAY_MICROS) if zoned and offset else local

    return convert


def _in_calendar(count: int, per_day: int) -> int:
    """Return a count of days or microseconds that lies in the years 1 to 9999."""
    if FIRST_DAY <= count // per_day <= LAST_DAY:
        return count
    raise Unfit("beyond the years 1 to 9999")


@lru_cache(maxsize=4096)
def _days(text: str) -> int:
    try:
        return calendar_date.fromisoformat(text).toordinal() - EPOCH
    except ValueError as wrong:
        raise Unfit(f"not in the calendar: {wrong}") from wrong


def _micros(hour: str, minute: str, second: str | None, fraction: str | None) -> int:
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise Unfit("not a time of day")
    # Nanoseconds are cut, not rounded.
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros


def _offset(zone: str) -> int:
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise Unfit("no such zone")
    total = (hours * 60 + minutes) * 60_000_000
    return total if zone[0] == "+" else -total
