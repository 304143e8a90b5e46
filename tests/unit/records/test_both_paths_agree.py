"""The fast path never decides otherwise than the exact reader, whatever the bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakeward.model.fields import (
    STRING_MAP,
    Decimal,
    Kind,
    Struct,
    list_of,
    map_of,
    optional,
    required,
)
from lakeward.records.chunk import Chunk
from lakeward.records.dead_letters import Unfit
from lakeward.records.decode_json import JsonDecoder
from lakeward.records.parse_json import decode_record

EXAMPLES = int(os.environ.get("LAKEWARD_TEST_EXAMPLES", "25"))
"""Thousands were tried; a few are enough to notice when something breaks."""

INNER = Struct((optional("n", Kind.LONG), optional("s", Kind.STRING), optional("m", STRING_MAP)))
FIELDS = Struct(
    (
        required("id", Kind.LONG),
        optional("name", Kind.STRING),
        optional("ok", Kind.BOOLEAN),
        optional("small", Kind.INT),
        optional("ratio", Kind.DOUBLE),
        optional("price", Decimal(9, 2)),
        optional("at", Kind.TIMESTAMPTZ),
        optional("day", Kind.DATE),
        optional("tags", STRING_MAP),
        optional("words", list_of(Kind.STRING)),
        optional("counts", map_of(Kind.STRING, Kind.LONG)),
        optional("inner", INNER),
        optional("inners", list_of(INNER)),
    )
)
ALL_OPTIONAL = Struct((optional("id", Kind.LONG), *FIELDS.fields[1:]))
"""Without a required column nothing but the proof stands between garbage and a row of nulls."""
JUNK = [
    "", ",", '"', "}", "]", "\\", ":", "{", "\t", "NaN", " ", '"id":1,', '"name":null,',
    '"zz":null,',
    '"zz" :[NaN],', '"inner":"x",', '"name":{},', '"inf":inf,', "-0", "[nan]",
]  # fmt: skip
NAMES = [field.name for field in FIELDS.fields] + [field.name for field in INNER.fields]

texts = st.one_of(
    st.sampled_from(
        ["", "5", "true", "null", "NaN", "[1]", '{"a":1}', 'quote":', "\\", '\\":', ",}"]
    ),
    st.sampled_from(["2025-01-15T10:30:00Z", "2025-01-15T10:30:00.123456789+02:00", "2025-01-15"]),
    st.text(max_size=8),
)
numbers = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(float),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, texts)
keys = st.one_of(
    st.sampled_from(NAMES), st.sampled_from(['a"b', "x\\", "new"]), st.text(max_size=3)
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=6,
)
likely = {
    "id": st.integers(0, 9),
    "name": texts,
    "ok": st.booleans(),
    "small": st.integers(-(2**32), 2**32),
    "ratio": numbers,
    "price": st.decimals(-1000, 1000, places=2).map(float),
    "at": st.sampled_from(["2025-01-15T10:30:00Z", "2025-01-15T10:30:00", "x", 1736937000000]),
    "day": st.sampled_from(["2025-01-15", "2025-02-30", 20103]),
    "tags": st.dictionaries(texts, texts, max_size=3),
    "words": st.lists(texts, max_size=3),
    "counts": st.dictionaries(texts, numbers, max_size=3),
    "inner": st.fixed_dictionaries({}, optional={"n": numbers, "s": texts, "x": leaves}),
    "inners": st.lists(st.fixed_dictionaries({}, optional={"n": leaves, "s": texts}), max_size=2),
}
records = st.one_of(
    st.fixed_dictionaries({"id": likely.pop("id")}, optional=likely),
    st.fixed_dictionaries({}, optional=dict.fromkeys(likely, values)),
    st.dictionaries(keys, values, max_size=4),
)


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """Draw JSON text in several styles, now and then damaged."""
    spacing = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), (",\n ", ":  ")]))
    text = json.dumps(
        draw(records), separators=spacing, ensure_ascii=draw(st.booleans()), allow_nan=False
    )
    if draw(st.integers(0, 4)) == 0 and text:
        at = draw(st.integers(0, len(text) - 1))
        junk = draw(st.sampled_from(JUNK))
        text = text[:at] + junk + text[at + draw(st.integers(0, 1)) :]
    if draw(st.integers(0, 3)) == 0:
        text = text.replace(
            '":', draw(st.sampled_from(['" :', '"\t:', '": '])), draw(st.integers(1, 2))
        )
    return text


def chunk_of(values: list[bytes]) -> Chunk:
    count = len(values)
    return Chunk(
        "t",
        np.full(count, 3, np.int32),
        np.arange(count),
        np.zeros(count, np.int64),
        values,
        lambda _index: None,
    )


def plain_decoder(fields: Struct) -> JsonDecoder:
    with_offset = Struct((*fields.fields, optional("_offset", Kind.LONG)))
    return JsonDecoder(with_offset, 1 << 20, metadata_columns=True)


def loose_decoder(fields: Struct) -> JsonDecoder:
    """Return a decoder that has seen other things than strings in every string column."""
    decoder = plain_decoder(fields)
    inner = {"n": 1, "s": {}, "m": {"k": [1]}}
    odd = {"id": 1, "name": {"a": 1}, "tags": {"k": 1}, "words": [[]], "inner": inner}
    decoder.decode(chunk_of([json.dumps({**odd, "inners": [inner]}).encode()] * 60))
    return decoder


@cache
def made(kind: Callable[[Struct], JsonDecoder], fields: Struct) -> JsonDecoder:
    return kind(fields)


def exactly(text: str, fields: Struct) -> tuple[str, Any]:
    try:
        row, drift = decode_record(text, fields)
    except Unfit as unfit:
        return "letter", (str(unfit.reason), unfit.path)
    return "row", (row, dict(drift))


NASTY = [
    "{", "{garbage", '{"id"}', '{"zz":nul}', "", '{"id":1,"name":{},"inner":"x"}',
    '{"id":1,"tags":{"a":"x"},"name":{}}', '{"id":1,"name":"x","name":null}',
    '{"id":1,"zz":null,"zz":null}', '{"id":1,"id" :2}', '{"id":1,"zz" :[NaN]}', '{"id":1,"zz" :5}',
    '{"id":1,"name":{"a":1,"b":[nan]}}', '{"id":1,"name":{"a":1,"b":[NaN]}}',
    '{"id":1,"name":{"x":null,"x":null}}', '{"id":1,"price":1e-2000000}', '{"id":1,"ratio":-0}',
    '{"id":1,"name":"' + '\\\\"' * 300 + "[" * 300, '{"id":1' + " " * 5000 + "}",
    '{"id":1,"name":' + "[" * 250 + "]" * 250 + "}", '{"id":1,"inner":{"n":1},"inner":7}',
]  # fmt: skip


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
@pytest.mark.parametrize("fields", [FIELDS, ALL_OPTIONAL], ids=["required", "optional"])
@pytest.mark.parametrize("kind", [plain_decoder, loose_decoder])
def test_a_record_that_once_fooled_the_fast_path_does_not_again(
    kind: Callable[[Struct], JsonDecoder], fields: Struct, text: str
) -> None:
    decoded = made(kind, fields).decode(chunk_of([b'{"id":0}', text.encode(), b'{"id":2}']))
    fate, detail = exactly(text, fields)
    assert len(decoded.letters) == (fate == "letter")
    if fate == "letter":
        assert str(decoded.letters[0].reason) == detail[0]
    else:
        rows = {row.pop("_offset"): row for row in decoded.rows.to_pylist()}
        assert repr(rows[1]) == repr(_as_arrow_shows(detail[0]))
        assert dict(decoded.drift) == detail[1]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("fields", [FIELDS, ALL_OPTIONAL], ids=["required", "optional"])
@pytest.mark.parametrize("kind", [plain_decoder, loose_decoder])
@given(batch=st.lists(json_texts(), min_size=1, max_size=6))
def test_a_chunk_is_decoded_as_its_records_one_by_one(
    fields: Struct, kind: Callable[[Struct], JsonDecoder], batch: list[str]
) -> None:
    decoder = made(kind, fields)
    encoded = [text.encode("utf-8", "surrogatepass") for text in batch]
    fine = [value for value in encoded if _is_utf8(value)]
    chunk = chunk_of(fine)
    decoded = decoder.decode(chunk)
    rows = {row.pop("_offset"): row for row in decoded.rows.to_pylist()}
    letters = {letter.offset: (str(letter.reason), letter.field) for letter in decoded.letters}
    assert len(rows) + len(letters) == len(fine)
    drift: dict[str, int] = {}
    for offset, value in enumerate(fine):
        fate, detail = exactly(value.decode(), fields)
        if fate == "letter":
            assert letters[offset] == detail, value
            continue
        assert repr(rows[offset]) == repr(_as_arrow_shows(detail[0])), value
        for path, count in detail[1].items():
            drift[path] = drift.get(path, 0) + count
    assert dict(decoded.drift) == drift


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _as_arrow_shows(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as it reads back from an Arrow table."""
    import pyarrow as pa

    from lakeward.records.arrow import arrow_schema

    schema = arrow_schema(FIELDS)
    arrays = [pa.array([row[column.name]], column.type) for column in schema]
    shown: dict[str, Any] = pa.Table.from_arrays(arrays, schema=schema).to_pylist()[0]
    return shown
