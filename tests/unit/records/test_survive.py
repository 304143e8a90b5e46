"""A record the decoder cannot survive is found and kept aside; its neighbours become rows."""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb
import numpy as np
import pytest

from lakeward.model.fields import Kind, Struct, optional, required
from lakeward.model.offsets import TopicPartition
from lakeward.records.chunk import Chunk
from lakeward.records.dead_letters import Reason
from lakeward.records.decode_json import Decoded, JsonDecoder
from lakeward.records.survive import decode_surely

FIELDS = Struct((required("id", Kind.LONG), optional("kind", Kind.STRING)))
FIRST = 100
HERE, THERE = TopicPartition("t", 2), TopicPartition("t", 1)


def chunk(values: Sequence[bytes | None]) -> Chunk:
    offsets = np.arange(FIRST, FIRST + len(values))
    partitions = np.full(len(values), 2, np.int32)
    return Chunk("t", partitions, offsets, offsets * 10, list(values), lambda i: f"k{i}".encode())


def records(count: int) -> list[bytes | None]:
    return [json.dumps({"id": number}).encode() for number in range(count)]


class Fragile(JsonDecoder):
    """A decoder that fails on every record that says so."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(FIELDS, 1 << 20, metadata_columns=False)
        self._failure = failure
        self.chunks = 0

    def decode(self, chunk: Chunk) -> Decoded:
        self.chunks += 1
        if any(b"poison" in value for value in chunk.values if value):
            raise self._failure
        return super().decode(chunk)


def test_a_record_that_makes_the_decoder_fail_is_a_dead_letter_and_its_neighbours_are_rows() -> (
    None
):
    values = [*records(50), b'{"id": 50, "kind": "poison"}', None, *records(48)]
    decoder = Fragile(RuntimeError("broken"))

    decoded = decode_surely(decoder, chunk(values))

    assert decoded.rows.column("id").to_pylist() == [*range(50), *range(48)]
    assert decoded.tombstones == 1
    assert decoded.condemned == [(HERE, FIRST + 50)]
    (letter,) = decoded.letters
    assert letter.reason is Reason.CRASHES_DECODER
    assert (letter.offset, letter.timestamp, letter.key) == (150, 1500, b"k50")
    assert letter.value == values[50]
    assert letter.message == "RuntimeError in the decoder"
    assert decoded.bytes == sum(len(value) for value in values if value)


def test_halving_takes_few_attempts() -> None:
    decoder = Fragile(RuntimeError("broken"))
    decode_surely(decoder, chunk([*records(1023), b"poison"]))
    assert decoder.chunks == 21


@pytest.mark.parametrize("failure", [MemoryError(), duckdb.OutOfMemoryException("full")])
def test_trouble_of_the_machine_is_never_blamed_on_a_record(failure: Exception) -> None:
    with pytest.raises(type(failure)):
        decode_surely(Fragile(failure), chunk([*records(3), b"poison"]))


def test_condemned_records_are_set_aside_without_being_decoded() -> None:
    values = [*records(3), b"poison", *records(2), b"poison"]
    decoder = Fragile(AssertionError("decoded after all"))

    decoded = decode_surely(
        decoder, chunk(values), {(HERE, 103), (HERE, 106), (HERE, 999), (THERE, 101)}
    )

    assert decoded.rows.num_rows == 5
    assert [letter.offset for letter in decoded.letters] == [103, 106]
    assert [letter.key for letter in decoded.letters] == [b"k3", b"k6"]
    assert decoded.condemned == [(HERE, 103), (HERE, 106)]
    assert decoder.chunks == 1
