"""Decode a chunk whatever it holds: a record the decoder cannot survive becomes a dead letter."""

from __future__ import annotations

import logging
from collections.abc import Collection

import duckdb
import numpy as np
import pyarrow as pa

from lakeward.errors import LakewardError
from lakeward.model.offsets import TopicPartition
from lakeward.records.chunk import Chunk
from lakeward.records.dead_letters import Reason, Unfit, letter_of
from lakeward.records.decode_json import Decoded, JsonDecoder

log = logging.getLogger(__name__)

OF_THE_MACHINE = (MemoryError, duckdb.OutOfMemoryException, duckdb.IOException, LakewardError)
"""Errors no record is to blame for; they go on to whoever can wait and try again."""


def decode_surely(
    decoder: JsonDecoder, chunk: Chunk, condemned: Collection[tuple[TopicPartition, int]] = ()
) -> Decoded:
    """Decode a chunk; set aside condemned records, and any that makes the decoder fail.

    A decoder should not fail; when it does, the record is found by halving the chunk.
    """
    doomed = np.zeros(len(chunk), np.bool_)
    for where, offset in condemned:
        if where.topic == chunk.topic:
            doomed |= (chunk.partitions == where.partition) & (chunk.offsets == offset)
    if not doomed.any():
        return _decode(decoder, chunk)
    kept = _decode(decoder, chunk.pick(np.flatnonzero(~doomed)))
    aside = chunk.pick(np.flatnonzero(doomed))
    return _joined(kept, _set_aside(decoder, aside, "the process that decoded it died"))


def _decode(decoder: JsonDecoder, chunk: Chunk) -> Decoded:
    try:
        return decoder.decode(chunk)
    except OF_THE_MACHINE:
        raise
    except Exception as failure:
        if len(chunk) == 1:
            log.exception("record %s-%d@%d", chunk.topic, chunk.partitions[0], chunk.offsets[0])
            return _set_aside(decoder, chunk, f"{type(failure).__name__} in the decoder")
    middle = np.arange(len(chunk)) < len(chunk) // 2
    halves = (chunk.pick(np.flatnonzero(middle)), chunk.pick(np.flatnonzero(~middle)))
    return _joined(*(_decode(decoder, half) for half in halves))


def _set_aside(decoder: JsonDecoder, chunk: Chunk, message: str) -> Decoded:
    verdict = Unfit(Reason.CRASHES_DECODER, message)
    letters = [letter_of(chunk, index, verdict) for index in range(len(chunk))]
    return Decoded(
        decoder.no_rows(),
        letters,
        bytes=int(chunk.sizes().clip(0).sum()),
        condemned=[(TopicPartition(each.topic, each.partition), each.offset) for each in letters],
    )


def _joined(left: Decoded, right: Decoded) -> Decoded:
    return Decoded(
        pa.concat_tables([left.rows, right.rows]),
        left.letters + right.letters,
        left.tombstones + right.tombstones,
        left.bytes + right.bytes,
        left.drift + right.drift,
        left.condemned + right.condemned,
    )
