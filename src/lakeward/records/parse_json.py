"""Read one JSON record strictly: the slow, exact reader that gives reasons."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

from lakeward.model.fields import List, Map, Struct, Type
from lakeward.records.coerce import Literal, coerce_field
from lakeward.records.dead_letters import Reason, Unfit

DEEPEST = 200
"""Deeper nesting is no record but an attack on whoever reads it."""

# Possessive, so that an unterminated string costs one look and not one per character.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def decode_record(text: str, fields: Struct) -> tuple[dict[str, Any], Counter[str]]:
    """Return the row a record makes and the fields the table lacks; raise Unfit with the reason."""
    parsed = parse_object(text)
    row = {field.name: coerce_field(parsed.get(field.name), field) for field in fields.fields}
    return row, Counter(unknown_fields(parsed, fields))


def parse_object(text: str) -> dict[str, Any]:
    """Parse JSON text that must be an object; numbers stay as written."""
    if _depth(text) > DEEPEST:
        raise Unfit(Reason.NOT_JSON, f"nested deeper than {DEEPEST} levels")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as wrong:
        raise Unfit(Reason.NOT_JSON, f"{wrong.msg} at character {wrong.pos}") from None
    if not isinstance(value, dict):
        raise Unfit(Reason.NOT_AN_OBJECT, f"the record is {_kind(value)}, not an object")
    _refuse_lone_surrogates(text, value)
    return value


def unknown_fields(value: Any, kind: Type, path: str = "") -> Iterator[str]:
    """Yield the path of every non-null field that has no column."""
    match kind:
        case Struct() if isinstance(value, dict):
            for name, item in value.items():
                inner = f"{path}.{name}" if path else name
                field = kind.field(name)
                if field is not None:
                    yield from unknown_fields(item, field.type, inner)
                elif item is not None:
                    yield inner
        case List(element) if isinstance(value, list):
            inside = (unknown_fields(item, element.type, f"{path}.element") for item in value)
            yield from {name for names in inside for name in names}
        case Map(_, held) if isinstance(value, dict):
            inside = (unknown_fields(item, held.type, f"{path}.value") for item in value.values())
            yield from {name for names in inside for name in names}


def _depth(text: str) -> int:
    """Return how deep brackets are nested, or 0 if there are too few to matter."""
    if text.count("{") + text.count("[") <= DEEPEST:
        return 0
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        sign = text[token.start()]
        depth += (sign in "{[") - (sign in "}]")
        deepest = max(deepest, depth)
        if deepest > DEEPEST:
            break
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = next(
            name for name, count in Counter(name for name, _ in pairs).items() if count > 1
        )
        raise Unfit(Reason.DUPLICATE_KEY, f"the key {twice[:60]!r} appears twice in one object")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise Unfit(Reason.NOT_JSON, f"{name} is not JSON")


def _refuse_lone_surrogates(text: str, value: dict[str, Any]) -> None:
    # Only an escape can bring one in; the bytes were checked to be UTF-8 before.
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Unfit(Reason.NOT_JSON, "half of a surrogate pair is not text") from None


def _kind(value: Any) -> str:
    names: dict[type, str] = {list: "an array", Literal: "a number", str: "a string"}
    return names.get(type(value), "null" if value is None else "a boolean")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=Literal,
    parse_float=Literal,
    parse_constant=_refuse_constant,
)
