"""Records kept aside: why, and as rows of the dead-letter table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from lakeward.records.chunk import Chunk, micros_of


class Reason(StrEnum):
    """Why a record could not be stored. The codes are part of the table's contract."""

    NOT_UTF8 = "not-utf8"
    NOT_JSON = "not-json"
    NOT_AN_OBJECT = "not-an-object"
    DUPLICATE_KEY = "duplicate-key"
    TOO_BIG = "too-big"
    MISSING_FIELD = "missing-field"
    WRONG_TYPE = "wrong-type"
    LOSSY_VALUE = "lossy-value"
    CRASHES_DECODER = "crashes-decoder"


class Unfit(Exception):
    """Raised inside the decoder when a record cannot become a row."""

    def __init__(self, reason: Reason, message: str, path: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.path = path

    def under(self, name: str) -> Unfit:
        """Return the same verdict with its path seen from one level further out."""
        joined = f"{name}.{self.path}" if self.path else name
        return Unfit(self.reason, self.message, joined)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be stored, with its bytes and the reason."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Kafka timestamp in ms, -1 if the record has none."""
    key: bytes | None
    value: bytes | None
    reason: Reason
    field: str
    message: str


def letter_of(chunk: Chunk, index: int, unfit: Unfit) -> DeadLetter:
    """Return the record at an index of a chunk as a dead letter."""
    return DeadLetter(
        chunk.topic,
        int(chunk.partitions[index]),
        int(chunk.offsets[index]),
        int(chunk.timestamps[index]),
        chunk.key(index),
        chunk.values[index],
        unfit.reason,
        unfit.path,
        unfit.message,
    )


def letters_table(letters: Sequence[DeadLetter], schema: pa.Schema) -> pa.Table:
    """Lay dead letters out as rows of their table."""
    columns = {
        "topic": [letter.topic for letter in letters],
        "partition": [letter.partition for letter in letters],
        "offset": [letter.offset for letter in letters],
        "timestamp": micros_of(np.array([letter.timestamp for letter in letters], np.int64)),
        "key": [letter.key for letter in letters],
        "value": [letter.value for letter in letters],
        "reason": [str(letter.reason) for letter in letters],
        "field": [letter.field or None for letter in letters],
        "message": [letter.message for letter in letters],
    }
    arrays = [
        # Operators may add columns of their own to the table.
        pa.array(columns[column.name], column.type)
        if column.name in columns
        else pa.nulls(len(letters), column.type)
        for column in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
