"""From a JSON value to a column's value, one at a time and with a reason when it cannot be.

These are the rules; `docs/types.md` tabulates them and the tests read that table. They follow the
Iceberg sink's, except that nothing lossy passes: such a record becomes a dead letter.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal as Exact
from decimal import InvalidOperation, localcontext
from typing import Any

from lakeward.model.fields import Decimal, Field, Fixed, Kind, List, Map, Struct, Type
from lakeward.records.dead_letters import Reason, Unfit
from lakeward.records.moments import (
    date_of_days,
    parse_date,
    parse_time,
    parse_timestamp,
    time_of_millis,
    timestamp_of_millis,
)


class Literal(str):
    """A JSON number kept as it was written, so that nothing is rounded on the way."""

    __slots__ = ()


_WHOLE = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_BOUNDS = {Kind.INT: 2**31, Kind.LONG: 2**63}


def coerce(value: Any, kind: Type) -> Any:
    """Return the value as Arrow wants it for this type; raise Unfit if it does not fit."""
    if value is None:
        return None
    match kind:
        case Struct():
            return _struct(value, kind)
        case List(element):
            return _list(value, element)
        case Map():
            return _map(value, kind)
        case Decimal():
            return _decimal(value, kind)
        case Fixed(length):
            return _fixed(value, length)
        case _:
            return _SIMPLE[kind](value)


def coerce_field(value: Any, field: Field) -> Any:
    """Coerce a field's value, and refuse null where the field is required."""
    if value is None and field.required:
        raise Unfit(Reason.MISSING_FIELD, "a required field is missing or null", field.name)
    try:
        return coerce(value, field.type)
    except Unfit as unfit:
        raise unfit.under(field.name) from None


def json_text(value: Any) -> str:
    """Write a parsed JSON value as compact JSON text, numbers as they came (but -0 as 0)."""
    if isinstance(value, Literal):
        return "0" if value == "-0" else str(value)
    if isinstance(value, dict):
        members = (f"{_quoted(key)}:{json_text(item)}" for key, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(json_text(item) for item in value) + "]"
    return _quoted(value)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _wrong(value: Any, wanted: str) -> Unfit:
    shown = json_text(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return Unfit(Reason.WRONG_TYPE, f"{_name(value)} {shown} is not {wanted}")


def _lossy(value: Any, wanted: str) -> Unfit:
    return Unfit(
        Reason.LOSSY_VALUE, f"{_name(value)} {str(value)[:60]} does not fit {wanted} exactly"
    )


def _name(value: Any) -> str:
    names = {Literal: "number", str: "string", bool: "boolean", dict: "object", list: "array"}
    return names.get(type(value), "value")


def _struct(value: Any, kind: Struct) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, "an object")
    return {field.name: coerce_field(value.get(field.name), field) for field in kind.fields}


def _list(value: Any, element: Field) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(value, "an array")
    return [coerce_field(item, element) for item in value]


def _map(value: Any, kind: Map) -> list[tuple[Any, Any]]:
    if not isinstance(value, dict):
        raise _wrong(value, "an object")
    entries = [
        (coerce_field(key, kind.key), coerce_field(item, kind.value)) for key, item in value.items()
    ]
    if len({key for key, _ in entries}) < len(entries):
        raise Unfit(Reason.DUPLICATE_KEY, "two keys become the same")
    return entries


def _string(value: Any) -> str:
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, str):
        return value
    return json_text(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if type(value) is str and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _wrong(value, "a boolean")


def _whole(kind: Kind) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if not isinstance(value, Literal) and not (type(value) is str and _WHOLE.match(value)):
            raise _wrong(value, f"{kind}")
        exact = _exact(value, f"{kind}")
        whole = exact == exact.to_integral_value()
        if not whole or not -_BOUNDS[kind] <= exact < _BOUNDS[kind]:
            raise _lossy(value, f"{kind}")
        return int(exact)

    return convert


def _exact(text: str, wanted: str) -> Exact:
    try:
        exact = Exact(text)
    except InvalidOperation:
        raise _wrong(text, wanted) from None
    # int() of 1e999999999 would take all memory there is.
    if exact.adjusted() > 400:
        raise _lossy(text, wanted)
    return exact


def _floating(kind: Kind) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        if type(value) is str and value in ("NaN", "Infinity", "-Infinity"):
            return float(value)
        if not isinstance(value, str) or not _DECIMAL.match(value):
            raise _wrong(value, f"{kind}")
        # JSON's -0 is a whole number, and whole numbers have one zero.
        number = 0.0 if value == "-0" else float(value)
        if kind is Kind.FLOAT:
            number = _single(number)
        # A fraction means the nearest float there is; a whole number means itself.
        if math.isinf(number) or (_WHOLE.match(value) and Exact(value) != Exact(number)):
            raise _lossy(value, f"{kind}")
        return number

    return convert


def _single(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.inf


def _decimal(value: Any, kind: Decimal) -> Exact:
    if not isinstance(value, str) or not _DECIMAL.match(value):
        raise _wrong(value, f"{kind}")
    exact = _exact(value, f"{kind}")
    if exact and exact.adjusted() < -kind.scale:
        raise _lossy(value, f"{kind}")
    with localcontext(prec=max(kind.precision, 1) + len(value) + 2):
        scaled = exact.scaleb(kind.scale) if exact else Exact(0)
        if scaled != scaled.to_integral_value() or abs(scaled) >= Exact(10) ** kind.precision:
            raise _lossy(value, f"{kind}")
        return exact


def _uuid(value: Any) -> bytes:
    if type(value) is not str or not _UUID.match(value):
        raise _wrong(value, "a uuid")
    return uuid.UUID(value).bytes


def _binary(value: Any) -> bytes:
    if type(value) is not str:
        raise _wrong(value, "base64 text")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(value, "base64 text") from None


def _fixed(value: Any, length: int) -> bytes:
    decoded = _binary(value)
    if len(decoded) != length:
        raise _lossy(value, f"fixed({length})")
    return decoded


def _moment(kind: Kind, from_number: Callable[[int], Any], from_text: Callable[[str], Any]) -> Any:
    whole = _whole(Kind.LONG)

    def convert(value: Any) -> Any:
        try:
            if isinstance(value, Literal):
                return from_number(whole(value))
            parsed = from_text(value) if type(value) is str else None
        except (ValueError, OverflowError):
            raise _lossy(value, f"{kind}") from None
        if parsed is None:
            raise _wrong(value, f"a {kind}")
        return parsed

    return convert


_SIMPLE: dict[Any, Callable[[Any], Any]] = {
    Kind.BOOLEAN: _boolean,
    Kind.INT: _whole(Kind.INT),
    Kind.LONG: _whole(Kind.LONG),
    Kind.FLOAT: _floating(Kind.FLOAT),
    Kind.DOUBLE: _floating(Kind.DOUBLE),
    Kind.STRING: _string,
    Kind.UUID: _uuid,
    Kind.BINARY: _binary,
    Kind.DATE: _moment(Kind.DATE, date_of_days, parse_date),
    Kind.TIME: _moment(Kind.TIME, time_of_millis, parse_time),
    Kind.TIMESTAMP: _moment(
        Kind.TIMESTAMP,
        lambda millis: timestamp_of_millis(millis).replace(tzinfo=None),
        lambda text: parse_timestamp(text, zoned=False),
    ),
    Kind.TIMESTAMPTZ: _moment(
        Kind.TIMESTAMPTZ,
        timestamp_of_millis,
        lambda text: parse_timestamp(text, zoned=True),
    ),
}
