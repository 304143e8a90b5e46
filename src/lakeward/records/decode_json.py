"""JSON records to rows: a whole chunk at once where that is provably right, else one by one.

1. Set aside tombstones, values over the size limit and values that are not UTF-8.
2. Count, in the bytes, the keyed values of each class (`scan_json`).
3. Let DuckDB decode the chunk leniently; cast its text strictly (`cast`, `columns`).
4. Where the counts agree and every cast was sure, the row is exact.
5. The exact reader (`parse_json`) reads every other row again: a row, or the reason why not.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakeward.model.fields import METADATA_NAMES, Decimal, List, Map, Struct, Type
from lakeward.model.offsets import TopicPartition
from lakeward.records.arrow import arrow_schema, arrow_type, validity
from lakeward.records.chunk import Chunk, micros_of
from lakeward.records.columns import Place, duckdb_type, rebuild
from lakeward.records.dead_letters import DeadLetter, Reason, Unfit, letter_of
from lakeward.records.loose_text import Loose, find_loose
from lakeward.records.parse_json import decode_record, parse_object
from lakeward.records.scan_json import PADDING, has_inexact_number, scan

Indexes = npt.NDArray[np.int64]

MANY_SUSPECTS = 50
SAMPLE = 40
"""When a chunk has many suspects, this many are looked at for a common cause."""


@dataclass(slots=True)
class Decoded:
    """What became of a chunk: every record is in exactly one of the three."""

    rows: pa.Table
    letters: list[DeadLetter] = field(default_factory=list)
    tombstones: int = 0
    bytes: int = 0
    """Size of all values, as they came."""
    drift: Counter[str] = field(default_factory=Counter)
    condemned: list[tuple[TopicPartition, int]] = field(default_factory=list)
    """The records among the letters that the decoder does not survive."""


class JsonDecoder:
    """Decodes chunks into rows of one table; holds a DuckDB connection and the table's shape."""

    def __init__(self, fields: Struct, max_record_bytes: int, *, metadata_columns: bool) -> None:
        self._metadata = METADATA_NAMES if metadata_columns else frozenset[str]()
        self._fields = fields.without(self._metadata)
        self._schema = arrow_schema(fields)
        self._limit = max_record_bytes
        self._has_decimals = _mentions_decimal(self._fields)
        self._loose: Loose = frozenset()
        self._sql = _transform_sql(self._fields, self._loose)
        self._duckdb = duckdb.connect(":memory:", config={"threads": 1})

    def decode(self, chunk: Chunk) -> Decoded:
        """Turn a chunk into rows and dead letters."""
        result = Decoded(self.no_rows())
        sizes = chunk.sizes()
        live = self._set_aside(chunk, sizes, result)
        text = _join(chunk, sizes, live)
        if not text.is_utf8():
            live = _set_aside_binary(chunk, live, result)
            text = _join(chunk, sizes, live)
        if not len(live):
            return result
        columns, suspects = self._decode_at_once(text)
        if np.count_nonzero(suspects) > MANY_SUSPECTS and self._learn(chunk, live[suspects]):
            columns, suspects = self._decode_at_once(text)
        tables = []
        if not suspects.all():
            tables.append(self._table(columns, chunk, live, ~suspects))
        if suspects.any():
            tables.append(self._decode_one_by_one(chunk, live[suspects], result))
        result.rows = pa.concat_tables(tables)
        return result

    def no_rows(self) -> pa.Table:
        """Return a table of the decoder's rows with none in it."""
        return self._schema.empty_table()

    def _set_aside(self, chunk: Chunk, sizes: Indexes, result: Decoded) -> Indexes:
        """Take out tombstones and values over the limit; return the indexes of the rest."""
        result.tombstones = int(np.count_nonzero(sizes < 0))
        result.bytes = int(sizes.sum()) + result.tombstones
        for index in np.flatnonzero(sizes > self._limit).tolist():
            message = f"{sizes[index]} bytes are more than the limit of {self._limit}"
            result.letters.append(letter_of(chunk, index, Unfit(Reason.TOO_BIG, message)))
        return np.flatnonzero((sizes >= 0) & (sizes <= self._limit))

    def _decode_at_once(self, text: _Text) -> tuple[list[pa.Array], npt.NDArray[np.bool_]]:
        if not self._sql:
            return [], np.ones(len(text.offsets) - 1, np.bool_)
        counts, suspects = scan(text.bytes, text.offsets)
        if self._has_decimals:
            # DuckDB reads every number through a double.
            suspects |= has_inexact_number(text.bytes, text.offsets)
        decoded = self._transform(text.array)
        # What is not JSON at all decodes to nothing, and nothing is accounted for by nothing.
        suspects |= ~validity(decoded)
        accounted = np.zeros(len(suspects), np.int64)
        columns = []
        for raw, column_field in zip(decoded.flatten(), self._fields.fields, strict=True):
            column = rebuild(raw, column_field, Place(column_field.name, self._loose))
            accounted += column.counts
            suspects |= column.suspects
            columns.append(column.array)
        return columns, suspects | (counts != accounted)

    def _learn(self, chunk: Chunk, suspects: Indexes) -> bool:
        """Look at some suspects for string columns that hold other things; true if some are new."""
        found = set(self._loose)
        for index in suspects[:SAMPLE].tolist():
            value = chunk.values[index]
            assert value is not None
            try:
                parsed = parse_object(value.decode())
            except Unfit:
                continue
            for column in self._fields.fields:
                found |= set(find_loose(parsed.get(column.name), column.type, column.name))
        if found == self._loose:
            return False
        self._loose = frozenset(found)
        self._sql = _transform_sql(self._fields, self._loose)
        return bool(self._sql)

    def _transform(self, values: pa.Array) -> pa.StructArray:
        chunk = pa.table({"value": values})
        self._duckdb.register("chunk", chunk)
        try:
            decoded = self._duckdb.execute(self._sql.format("value")).to_arrow_table()
        except (duckdb.Error, UnicodeDecodeError):
            # One row that is not JSON fails the statement; asking each row first costs more.
            # DuckDB quotes the row in its message, and may cut it inside a character.
            guarded = "CASE WHEN json_valid(value) THEN value END"
            decoded = self._duckdb.execute(self._sql.format(guarded)).to_arrow_table()
        finally:
            self._duckdb.unregister("chunk")
        return decoded.column(0).combine_chunks()

    def _decode_one_by_one(self, chunk: Chunk, indexes: Indexes, result: Decoded) -> pa.Table:
        rows: list[dict[str, Any]] = []
        rescued: list[int] = []
        for index in indexes.tolist():
            value = chunk.values[index]
            assert value is not None
            try:
                row, unknown = decode_record(value.decode(), self._fields)
            except Unfit as unfit:
                result.letters.append(letter_of(chunk, index, unfit))
                continue
            rows.append(row)
            rescued.append(index)
            result.drift += unknown
        columns = [
            pa.array([row[column.name] for row in rows], arrow_type(column.type))
            for column in self._fields.fields
        ]
        kept = np.asarray(rescued, np.int64)
        return self._table(columns, chunk, kept, np.ones(len(kept), np.bool_))

    def _table(
        self, columns: list[pa.Array], chunk: Chunk, live: Indexes, keep: npt.NDArray[np.bool_]
    ) -> pa.Table:
        if not keep.all():
            mask = pa.array(keep)
            columns = [column.filter(mask) for column in columns]
            live = live[keep]
        named = dict(zip((f.name for f in self._fields.fields), columns, strict=True))
        if self._metadata:
            named |= _origin(chunk, live)
        arrays = [named[column.name] for column in self._schema]
        return pa.Table.from_arrays(arrays, schema=self._schema)


@dataclass(frozen=True, slots=True)
class _Text:
    """The values of a chunk end to end, as bytes for counting and as Arrow text for DuckDB."""

    bytes: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    array: pa.Array

    def is_utf8(self) -> bool:
        try:
            self.array.validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True


def _join(chunk: Chunk, sizes: Indexes, live: Indexes) -> _Text:
    values = chunk.values if len(live) == len(chunk) else [chunk.values[i] for i in live.tolist()]
    data = b"".join((*values, PADDING))
    offsets = np.concatenate(([0], np.cumsum(sizes[live])))
    narrow = pa.py_buffer(offsets.astype(np.int32))
    array = pa.StringArray.from_buffers(len(values), narrow, pa.py_buffer(data))
    return _Text(np.frombuffer(data, np.uint8), offsets, array)


def _set_aside_binary(chunk: Chunk, live: Indexes, result: Decoded) -> Indexes:
    """Take out values that are not UTF-8."""
    kept = []
    for index in live.tolist():
        value = chunk.values[index]
        assert value is not None
        try:
            value.decode()
            kept.append(index)
        except UnicodeDecodeError as wrong:
            message = f"byte {wrong.start} is not UTF-8"
            result.letters.append(letter_of(chunk, index, Unfit(Reason.NOT_UTF8, message)))
    return np.asarray(kept, np.int64)


def _origin(chunk: Chunk, live: Indexes) -> dict[str, pa.Array]:
    """Say where rows came from: the metadata columns."""
    return {
        "_topic": pa.repeat(pa.scalar(chunk.topic), len(live)),
        "_kafka_partition": pa.array(chunk.partitions[live]),
        "_offset": pa.array(chunk.offsets[live]),
        "_timestamp": micros_of(chunk.timestamps[live]),
    }


def _transform_sql(fields: Struct, loose: Loose) -> str:
    """Return the statement that decodes a chunk; empty if DuckDB cannot tell columns apart."""
    if _names_clash(fields):
        return ""
    structure = {
        column.name: duckdb_type(column.type, loose, column.name) for column in fields.fields
    }
    literal = json.dumps(structure).replace("'", "''").replace("{", "{{").replace("}", "}}")
    return f"SELECT json_transform({{}}, '{literal}') FROM chunk"


def _names_clash(kind: Type) -> bool:
    match kind:
        case Struct(fields):
            folded = [column.name.lower() for column in fields]
            clash = len(set(folded)) < len(folded) or not fields
            return clash or any(_names_clash(column.type) for column in fields)
        case List(element):
            return _names_clash(element.type)
        case Map(_, value):
            return _names_clash(value.type)
    return False


def _mentions_decimal(kind: Type) -> bool:
    match kind:
        case Struct(fields):
            return any(_mentions_decimal(column.type) for column in fields)
        case List(element):
            return _mentions_decimal(element.type)
        case Map(_, value):
            return _mentions_decimal(value.type)
    return isinstance(kind, Decimal)
