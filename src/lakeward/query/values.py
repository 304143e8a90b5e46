"""Values as JSON for programs, and as short lines for people. Pure."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal

ELLIPSIS = "…"
BINARY_MARK = "base64:"
CELL_WIDTHS = (120, 60, 40, 27)
"""How much of a value is shown; the widest that makes all columns fit is taken."""


def plain(value: object) -> object:
    """Turn a value into what JSON can say, exactly."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return int(value) if value.as_tuple().exponent == 0 else str(value)
        case datetime():
            return _time(value)
        case date() | time():
            return value.isoformat()
        case bytes():
            return _binary(value)
        case dict():
            return {_key(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    return str(value)


def shown(value: object, width: int) -> str:
    """Write a value on one line of at most `width` characters; nested ones get half of it."""
    simple = plain(value)
    if simple is None:
        return ""
    if isinstance(simple, dict | list):
        width //= 2
    if not isinstance(simple, str):
        simple = json.dumps(simple, ensure_ascii=False, separators=(",", ":"))
    start = simple[: width + 1]
    # Data must not be able to move the cursor or to colour the terminal.
    line = "".join(char if char.isprintable() else _escaped(char) for char in start)
    return line if len(line) <= width else line[: width - 1] + ELLIPSIS


def fit(
    columns: Sequence[str], rows: Sequence[Sequence[object]], width: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """Choose how much of each value, and how many columns, fit into a width.

    Returns the columns that fit, their rows, and the names of those that do not.
    """
    for cell in CELL_WIDTHS:
        lines = [[shown(value, cell) for value in row] for row in rows]
        count = _columns_that_fit(columns, lines, width)
        if count == len(columns):
            break
    kept = [[*line[:count]] for line in lines]
    return list(columns[:count]), kept, list(columns[count:])


def _columns_that_fit(columns: Sequence[str], lines: Sequence[Sequence[str]], width: int) -> int:
    used = 1
    for number, name in enumerate(columns):
        # Three characters frame a cell.
        used += 3 + max([len(name), *(len(line[number]) for line in lines)])
        if used > width and number > 0:
            return number
    return len(columns)


def _time(value: datetime) -> str:
    fine = "microseconds" if value.microsecond % 1000 else "milliseconds"
    text = value.isoformat(timespec=fine if value.microsecond else "seconds")
    return text.replace("+00:00", "Z")


def _binary(value: bytes) -> str:
    marked = BINARY_MARK + base64.b64encode(value).decode()
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return marked
    # Text that looks like our mark is marked itself, so that the mark never lies.
    return marked if text.startswith(BINARY_MARK) else text


def _key(key: object) -> str:
    simple = plain(key)
    return simple if isinstance(simple, str) else json.dumps(simple)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def count_text(count: int | None) -> str:
    """Write a count for people: 300,000; a question mark where nobody knows."""
    return "?" if count is None else f"{count:,}"


def size_text(size: int | None) -> str:
    """Write a number of bytes for people: 5.2 MB."""
    if size is None:
        return "?"
    amount, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 999.5 or unit == "TB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f} {unit}"
