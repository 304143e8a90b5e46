"""Dates and times in JSON: ISO text of any precision and zone, and numbers since the epoch.

A parser returns None for text of another form, and raises ValueError for a date that is no date.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?\Z")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]"
    r"([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?\Z"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def date_of_days(days: int) -> date:
    """Return the date this many days after the epoch."""
    return _EPOCH.date() + timedelta(days=days)


def time_of_millis(millis: int) -> time:
    """Return the time this many milliseconds after midnight."""
    if not 0 <= millis < 86_400_000:
        raise ValueError("outside of a day")
    return (_EPOCH + timedelta(milliseconds=millis)).time()


def timestamp_of_millis(millis: int) -> datetime:
    """Return the moment this many milliseconds after the epoch, in UTC."""
    return _EPOCH + timedelta(milliseconds=millis)


def parse_date(text: str) -> date | None:
    """Read `2025-01-15`."""
    return date.fromisoformat(text) if _DATE.match(text) else None


def parse_time(text: str) -> time | None:
    """Read `10:30`, `10:30:00` or `10:30:00.123456789`, cut to microseconds."""
    return time.fromisoformat(_cut_to_micros(text)) if _TIME.match(text) else None


def parse_timestamp(text: str, *, zoned: bool) -> datetime | None:
    """Read an ISO timestamp, cut to microseconds.

    Zoned: the moment in UTC; without a zone the text counts as UTC. Not zoned: the local part, the
    zone dropped. Both as the Iceberg sink does.
    """
    match = _TIMESTAMP.match(text)
    if not match:
        return None
    day, clock, zone = match.groups()
    local = datetime.fromisoformat(f"{day}T{_cut_to_micros(clock)}")
    offset = _offset(zone)
    return (local - offset).replace(tzinfo=UTC) if zoned else local


def _cut_to_micros(clock: str) -> str:
    whole, dot, fraction = clock.partition(".")
    return f"{whole}.{fraction[:6].ljust(6, '0')}" if dot else whole


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise ValueError("no such zone")
    size = timedelta(hours=hours, minutes=minutes)
    return size if zone[0] == "+" else -size
