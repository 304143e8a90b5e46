"""What a JSON value becomes in a column of a simple type, one value at a time.

Written from the rules in docs/verify.md, on purpose without a look at the write path. Every
function returns the value in the plain form `readback` gives, or raises `Unfit`.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from lakeward.verify.equality import JsonText, NotANumber, NumberText
from lakeward.verify.strict_json import Literal, Unfit, exact, is_number

Convert = Callable[[Any], Any]

WHOLE_TEXT = re.compile(r"[+-]?[0-9]+")
DECIMAL_TEXT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
UUID_TEXT = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NOT_FINITE = {"NaN": NotANumber(), "Infinity": math.inf, "-Infinity": -math.inf}


def text(value: Any) -> Any:
    """Strings as they are, numbers and booleans by their text, the rest as JSON text."""
    kind = type(value)
    if kind is str:
        return value
    if kind is bool:
        return "true" if value else "false"
    if kind is dict or kind is list:
        return JsonText(value)
    return NumberText(value)


def boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise Unfit("neither true nor false")


def whole(bits: int) -> Convert:
    """Whole numbers of so many bits; 1.0 and 1e3 are whole, 1.9 is not."""
    limit = 1 << (bits - 1)

    def convert(value: Any) -> int:
        number = whole_number(value)
        if -limit <= number < limit:
            return number
        raise Unfit(f"does not fit into {bits} bits")

    return convert


def whole_number(value: Any) -> int:
    """Return a whole number from a JSON number or from plain digits."""
    if type(value) is int:
        return value
    if type(value) is str and not WHOLE_TEXT.fullmatch(value):
        raise Unfit("not the digits of a whole number")
    if type(value) is not str and type(value) is not Literal:
        raise Unfit("not a number")
    number = exact(value)
    if number.adjusted() > 30:
        raise Unfit("far too large for a whole number")
    if number != number.to_integral_value():
        raise Unfit("has a fraction")
    return int(number)


def floating(single: bool) -> Convert:
    """Numbers in binary; a fraction is rounded to the nearest, a whole number must be exact."""

    def convert(value: Any) -> Any:
        if type(value) is str and value in _NOT_FINITE:
            return _NOT_FINITE[value]
        number = _number(value)
        nearest = _single(float(number)) if single else float(number)
        if math.isinf(nearest):
            raise Unfit("too large for the column")
        if _is_integer_text(value) and number != Decimal(nearest):
            raise Unfit("a whole number the column cannot hold exactly")
        return nearest

    return convert


def _single(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.inf


def _is_integer_text(value: Any) -> bool:
    return type(value) is int or WHOLE_TEXT.fullmatch(value) is not None


def _number(value: Any) -> Decimal:
    if is_number(value):
        return exact(value)
    if type(value) is str and DECIMAL_TEXT.fullmatch(value):
        return exact(value)
    raise Unfit("not a number")


def decimal(precision: int, scale: int) -> Convert:
    """Numbers with so many digits; never rounded. Plain form: text with all its decimals."""

    def convert(value: Any) -> str:
        number = _number(value)
        if number and number.adjusted() >= precision - scale:
            raise Unfit(f"has more than {precision - scale} digits before the point")
        if number and _decimals(number) > scale:
            raise Unfit(f"has more than {scale} decimals")
        return decimal_text(number, scale)

    return convert


def _decimals(number: Decimal) -> int:
    _sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return -(exponent + zeros)


def decimal_text(number: Decimal, scale: int) -> str:
    """Return a number that has no more than `scale` decimals with exactly so many."""
    if not number:
        return f"{Decimal(0):.{scale}f}"
    return f"{number:.{scale}f}"


def uuid(value: Any) -> str:
    """UUIDs in their usual form. Plain form: 32 digits."""
    if type(value) is str and UUID_TEXT.fullmatch(value):
        return value.replace("-", "").upper()
    raise Unfit("not a UUID")


def binary(length: int | None = None) -> Convert:
    """Bytes from base64, of a fixed length if one is given. Plain form: hexadecimal."""

    def convert(value: Any) -> str:
        if type(value) is not str:
            raise Unfit("not base64 text")
        try:
            content = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as wrong:
            raise Unfit(f"not base64: {wrong}") from wrong
        if length is not None and len(content) != length:
            raise Unfit(f"{len(content)} bytes instead of {length}")
        return content.hex().upper()

    return convert
