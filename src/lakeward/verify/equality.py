"""What counts as equal when the same value can be written in more than one way.

Each class stands for an expected value and compares itself with the plain form found in a table.
Expected values stay on the left of `==`, so ordinary dict and list comparison finds them.
"""

from __future__ import annotations

import math
from typing import Any

from lakeward.verify.strict_json import (
    NUMBER,
    Literal,
    TooDeep,
    Unfit,
    parse,
    same_json,
    same_number,
)


class NumberText:
    """A number in a string column: any JSON number of the same value is equal."""

    __slots__ = ("number",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, number: int | Literal) -> None:
        self.number = number

    def __eq__(self, found: object) -> bool:
        if not isinstance(found, str):
            return False
        text = str(self.number)
        return text == found or (
            NUMBER.fullmatch(found) is not None and same_number(self.number, found)
        )

    def __str__(self) -> str:
        return str(self.number)


class JsonText:
    """An object or array in a string column: any JSON text of the same value is equal."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, found: object) -> bool:
        if not isinstance(found, str):
            return False
        try:
            return same_json(self.value, parse(found))
        except (Unfit, TooDeep):
            return False

    def __str__(self) -> str:
        return f"JSON text of {self.value}"


class NotANumber:
    """A NaN, which to Python does not even equal itself."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, found: object) -> bool:
        return isinstance(found, float) and math.isnan(found)

    def __str__(self) -> str:
        return "NaN"


class Entries:
    """A map: the order of its entries is irrelevant, a key found twice is not."""

    __slots__ = ("entries",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, entries: dict[Any, Any]) -> None:
        self.entries = entries

    def __eq__(self, found: object) -> bool:
        if not isinstance(found, dict):
            return False
        keys, values = found["k"], found["v"]
        return len(keys) == len(self.entries) and self.entries == dict(
            zip(keys, values, strict=True)
        )
