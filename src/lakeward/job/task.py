"""What a task does with its slices: read, decode, write. Runs wherever Spark puts it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lakeward.catalogs.tables import from_iceberg
from lakeward.failpoints import reach
from lakeward.kafka.read import SliceReader
from lakeward.model.fields import Kind, Struct, optional
from lakeward.model.offsets import Position, Slice, TopicPartition
from lakeward.model.outcome import TaskResult, most_seen
from lakeward.model.spec import SourceSpec
from lakeward.records.arrow import arrow_schema
from lakeward.records.chunk import Chunk
from lakeward.records.dead_letters import DeadLetter, letters_table
from lakeward.records.decode_json import Decoded, JsonDecoder
from lakeward.records.survive import decode_surely
from lakeward.sinks.iceberg.files import FileSet, FileTarget


@dataclass(frozen=True)
class Work:
    """What every task of a batch must know. Travels to executors."""

    source: SourceSpec
    rows: FileTarget
    letters: FileTarget
    letters_from: Mapping[TopicPartition, int]
    """Dead letters below these offsets are already in their table."""
    max_record_bytes: int
    metadata_columns: bool
    buffer_bytes: int
    condemned: frozenset[tuple[TopicPartition, int]] = frozenset()
    """Records found to kill the process that decodes them; they go to the dead letters unread."""


def run_task(work: Work, slices: Sequence[Slice]) -> TaskResult:
    """Read the slices, store what fits, set aside what does not, and report."""
    result = TaskResult()
    reader = _reader(work.source.bootstrap_servers, tuple(sorted(work.source.client.items())))
    decoder = _decoder(from_iceberg(work.rows.schema), work.max_record_bytes, work.metadata_columns)
    rows = FileSet(work.rows, work.buffer_bytes)
    letters = FileSet(work.letters, work.buffer_bytes // 8)
    letters_schema = arrow_schema(from_iceberg(work.letters.schema))
    result.ends = {part.where: Position(part.end, part.leader_epoch) for part in slices}
    for chunk in _timed(reader.read(slices), result):
        with _stage(result, "decode"):
            decoded = decode_surely(decoder, chunk, work.condemned)
        with _stage(result, "write"):
            rows.add(decoded.rows)
            letters.add(letters_table(_fresh(decoded, work), letters_schema))
        reach("mid-write")
        _count(result, chunk, decoded)
    with _stage(result, "write"):
        result.data_files += rows.finish()
        result.letter_files += letters.finish()
    return result


def rehearse(_turn: int) -> None:
    """Decode a record of no table, so that libraries are loaded when the first real one comes."""
    decoder = JsonDecoder(Struct((optional("n", Kind.LONG),)), 100, metadata_columns=False)
    nothing = np.zeros(1, np.int64)
    decoder.decode(Chunk("", np.zeros(1, np.int32), nothing, nothing, [b'{"n":1}'], lambda _: None))


def _fresh(decoded: Decoded, work: Work) -> list[DeadLetter]:
    return [
        letter
        for letter in decoded.letters
        if letter.offset >= work.letters_from.get(TopicPartition(letter.topic, letter.partition), 0)
    ]


def _count(result: TaskResult, chunk: Chunk, decoded: Decoded) -> None:
    result.rows += decoded.rows.num_rows
    result.tombstones += decoded.tombstones
    result.rejected.update(str(letter.reason) for letter in decoded.letters)
    result.drift = most_seen(result.drift + decoded.drift)
    result.bytes_read += decoded.bytes
    result.condemned |= set(decoded.condemned)
    newest = np.full(max(chunk.leader_epochs) + 1, -1, np.int64)
    np.maximum.at(newest, chunk.partitions, chunk.timestamps)
    for partition, epoch in chunk.leader_epochs.items():
        where = TopicPartition(chunk.topic, partition)
        result.ends[where] = Position(result.ends[where].offset, epoch)
        if newest[partition] >= 0:
            known = result.newest_by_partition.get(where, -1)
            result.newest_by_partition[where] = max(known, int(newest[partition]))


def _timed(chunks: Iterator[Chunk], result: TaskResult) -> Iterator[Chunk]:
    while True:
        with _stage(result, "read"):
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


@contextmanager
def _stage(result: TaskResult, name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    result.seconds[name] += time.perf_counter() - started  # type: ignore[assignment]


@lru_cache(maxsize=8)
def _decoder(fields: Struct, max_record_bytes: int, metadata_columns: bool) -> JsonDecoder:
    return JsonDecoder(fields, max_record_bytes, metadata_columns=metadata_columns)


@lru_cache(maxsize=4)
def _reader(bootstrap_servers: str, client: tuple[tuple[str, str], ...]) -> SliceReader:
    """Keep one consumer per cluster in a worker process: connecting costs more than a slice."""
    return SliceReader(bootstrap_servers, dict(client))
