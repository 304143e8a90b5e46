"""String columns that are sent other things than strings: read as JSON text, proven like the rest.

MinIO's audit log is the reason: `details` is an object in every record and text in the table. Such
a column is *loose*; the decoder learns which are from the records themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakeward.model.fields import Kind, List, Map, Struct, Type
from lakeward.records.arrow import validity
from lakeward.records.coerce import Literal
from lakeward.records.scan_json import PADDING, Bytes, Counts, Flags, Weight, count_keyed, weight_of

Loose = frozenset[str]
"""Paths of the loose columns, such as `details` or `requestClaims.value`."""

FEW_BRACKETS = 100
"""Text with more might be nested too deeply; the exact reader knows."""

SHORT = 500
"""Text of so many characters is remembered: claims and policies repeat from record to record."""

# DuckDB prints numbers as a double would, and escapes in its own way; such text is not as it came.
_BENT = r"(^|[:,\[])-?([0-9]+[.eE]|[0-9]{20})|\\u|^0$"


def find_loose(value: Any, kind: Type, path: str) -> Iterator[str]:
    """Yield the paths of string columns that hold something else in this value."""
    match kind:
        case Kind.STRING if isinstance(value, Literal | bool | dict | list):
            yield path
        case Struct(fields) if isinstance(value, dict):
            for field in fields:
                yield from find_loose(value.get(field.name), field.type, f"{path}.{field.name}")
        case List(element) if isinstance(value, list):
            for item in value:
                yield from find_loose(item, element.type, f"{path}.element")
        case Map(_, held) if isinstance(value, dict):
            for item in value.values():
                yield from find_loose(item, held.type, f"{path}.value")


def read_loose(raw: pa.Array) -> tuple[pa.Array, Counts, Counts, Flags]:
    """Turn JSON text into column text.

    Also returns the count of the keyed values inside each value, the weight of the value itself,
    and which of them are suspects.
    """
    text, offsets = _bytes_of(raw)
    inside, suspects = count_keyed(text, offsets)
    own = weight_of(text[offsets[:-1]]) * validity(raw)
    is_string = pc.starts_with(raw, '"')
    escaped = pc.and_(is_string, pc.match_substring(raw, "\\"))
    suspects |= _flags(escaped) | _flags(pc.match_substring_regex(raw, _BENT))
    brackets = pc.add(pc.count_substring(raw, "{"), pc.count_substring(raw, "["))
    suspects |= _flags(pc.greater(brackets, FEW_BRACKETS))
    # A string without escapes has no quote inside, so only its own are trimmed.
    array = pc.if_else(is_string, pc.utf8_trim(raw, '"'), raw)
    structured = (own == Weight.OBJECT) | (own == Weight.ARRAY)
    places = np.flatnonzero(structured & ~suspects)
    suspects[places] = [not _is_sound(text) for text in raw.take(pa.array(places)).to_pylist()]
    return array, inside, own, suspects


def _is_sound(text: str) -> bool:
    """Tell whether text is JSON to the letter, without a key twice; DuckDB lets more pass."""
    return _known_sound(text) if len(text) <= SHORT else _check(text)


@lru_cache(maxsize=4096)
def _known_sound(text: str) -> bool:
    return _check(text)


def _check(text: str) -> bool:
    try:
        _STRICT.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_twins(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_refuse_twins, parse_constant=_refuse)


def _bytes_of(raw: pa.Array) -> tuple[Bytes, Counts]:
    if raw.offset:
        raw = pa.concat_arrays([raw])
    _, offsets, data = raw.buffers()
    places = np.frombuffer(offsets, np.int32, len(raw) + 1).astype(np.int64)
    content = b"" if data is None else memoryview(data)[: places[-1]]
    return np.frombuffer(b"".join((content, PADDING)), np.uint8), places


def _flags(array: pa.Array) -> Flags:
    flags: Flags = array.fill_null(False).to_numpy(zero_copy_only=False)
    return flags
