"""JSON read to the letter: no duplicate keys, no NaN, numbers kept as they were written."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn


class Unfit(Exception):
    """Raised when a record does not fit its table; says why and at which field."""

    def __init__(self, reason: str, path: str = "") -> None:
        self.reason = reason
        self.path = path
        super().__init__(reason)

    def inside(self, name: str) -> Unfit:
        """Return the same reason, seen from the value around it."""
        separator = "" if not self.path or self.path.startswith("[") else "."
        return Unfit(self.reason, f"{name}{separator}{self.path}")

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class Undecidable(Exception):
    """Raised when nobody can say what should have become of a record."""


class TooDeep(Undecidable):
    """Raised when a value is nested deeper than anyone can be asked to follow."""


class Literal(str):
    """A number as it stands in the text, where a float would have rounded it."""

    __slots__ = ()


NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
DEEPEST = 200
"""How many levels are followed. Decoders end somewhere between this and a thousand."""
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Unfit("an object has the same key twice")
    return fields


def _constant(name: str) -> NoReturn:
    raise Unfit(f"not JSON: {name}")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=Literal, parse_constant=_constant
)
_long_numbers = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=Literal, parse_int=Literal, parse_constant=_constant
)


def parse(text: str) -> Any:
    """Parse one JSON value; integers become ints, all other numbers stay `Literal`."""
    try:
        value = _decode(text)
    except json.JSONDecodeError as wrong:
        raise Unfit(f"not JSON: {wrong.msg}") from wrong
    except RecursionError as deep:
        raise TooDeep from deep
    if text.count("[") + text.count("{") > DEEPEST:
        _refuse_deep(value)
    if SURROGATE.search(text):
        _refuse_lone_surrogates(value)
    return value


def _decode(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python refuses to turn more than 4300 digits into an int.
        return _long_numbers.decode(text)


def _refuse_deep(value: Any) -> None:
    level = [value]
    for _depth in range(DEEPEST):
        level = [
            item
            for held in level
            if isinstance(held, dict | list)
            for item in (held.values() if isinstance(held, dict) else held)
        ]
    if level:
        raise TooDeep


def _refuse_lone_surrogates(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_lone_surrogates(key)
            _refuse_lone_surrogates(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_lone_surrogates(item)
    elif isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        raise Unfit("a string holds half a surrogate pair")


def exact(number: int | str) -> Decimal:
    """Return the value of a JSON number, or of its text, without rounding."""
    try:
        return Decimal(number)
    except InvalidOperation as absurd:
        raise Unfit("the number's exponent is beyond all bounds") from absurd


def is_number(value: object) -> bool:
    return type(value) is int or type(value) is Literal


def same_json(left: Any, right: Any) -> bool:
    """Compare two parsed values: objects in any order, numbers by value."""
    if is_number(left) and is_number(right):
        return same_number(left, right)
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(
            same_json(item, right[key]) for key, item in left.items()
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)


def same_number(left: int | str, right: int | str) -> bool:
    try:
        return str(left) == str(right) or exact(left) == exact(right)
    except Unfit:
        return False
