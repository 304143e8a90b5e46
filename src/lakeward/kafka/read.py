"""Read slices of partitions: every visible record in `[start, end)`, or a clear error."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from lakeward.errors import SourceUnavailable
from lakeward.kafka.client import explain, explained, open_consumer
from lakeward.model.offsets import Slice, TopicPartition
from lakeward.records.chunk import Chunk

CHUNK_BYTES = 24 * 1024 * 1024
CHUNK_RECORDS = 30_000
"""Fewer per chunk cost more each: 9 ms per chunk do not depend on its size."""
PATIENCE = 60.0
"""Seconds without a single record or answer before a slice is given up and tried again."""

_FETCH = {
    # Measured: with the default back-off of 1000 ms consuming is three to four times slower.
    "fetch.queue.backoff.ms": 5,
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 32 * 1024,
    "check.crcs": False,
    # A fetch that waits at the end of a log holds up the next slice's first fetch.
    "fetch.wait.max.ms": 10,
}


@dataclass(slots=True)
class SliceReader:
    """Reads slices of one cluster's partitions; holds a consumer, opened on first use."""

    bootstrap_servers: str
    client: Mapping[str, str] = field(default_factory=dict)
    _consumer: Consumer | None = None

    def read(self, slices: Sequence[Slice]) -> Iterator[Chunk]:
        """Yield the slices' visible records in chunks; returning means that all are complete.

        Slices of different partitions are read together: asking for one after the other would
        take a round trip each.
        """
        try:
            for together in _without_twins(slices):
                yield from self._read(together)
        except GeneratorExit:
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _read(self, slices: Sequence[Slice]) -> Iterator[Chunk]:
        consumer = self._open()
        pending = _Pending(slices)
        with explained(str(slices[0])):
            consumer.assign([_start(part) for part in slices])
        heard = time.monotonic()
        while not pending.done:
            messages = consumer.consume(CHUNK_RECORDS, 0) or consumer.consume(1, 0.2)
            if messages:
                heard = time.monotonic()
                pending.take(messages)
            elif time.monotonic() - heard > PATIENCE:
                raise SourceUnavailable(
                    f"No record for {PATIENCE:.0f} s at offset {pending.at}",
                    where=f"{pending.waiting}, brokers {self.bootstrap_servers}",
                    next_step="The job tries again; check the broker if this goes on.",
                )
            if pending.full and not pending.done:
                yield from pending.chunks()
        consumer.unassign()
        yield from pending.chunks()

    def _open(self) -> Consumer:
        if self._consumer is None:
            extra: dict[str, Any] = {**_FETCH, **self.client}
            self._consumer = open_consumer(self.bootstrap_servers, extra=extra)
        return self._consumer


class _Pending:
    """Collects messages of slices until they make chunks; knows when all slices are complete."""

    def __init__(self, slices: Sequence[Slice]) -> None:
        self._parts = {part.where: _Part(part) for part in slices}
        self._messages: dict[str, list[Message]] = defaultdict(list)
        self._count = 0
        self._bytes = 0

    @property
    def done(self) -> bool:
        return all(part.done for part in self._parts.values())

    @property
    def full(self) -> bool:
        return self._bytes >= CHUNK_BYTES or self._count >= CHUNK_RECORDS

    @property
    def waiting(self) -> Slice:
        return self._unfinished().slice

    @property
    def at(self) -> int:
        return self._unfinished().at

    def take(self, messages: list[Message]) -> None:
        events: list[Message] = []
        if any(map(Message.error, messages)):
            events = [message for message in messages if message.error() is not None]
            messages = [message for message in messages if message.error() is None]
        for part, mine in self._sorted(messages):
            good = part.take(mine)
            if good:
                self._messages[part.slice.topic] += good
                self._count += len(good)
                self._bytes += sum(map(len, good))
        for event in events:
            self._notice(event)

    def chunks(self) -> Iterator[Chunk]:
        """Hand over what was collected, a chunk per topic, and start anew."""
        collected, self._messages = self._messages, defaultdict(list)
        self._count = self._bytes = 0
        for topic, messages in collected.items():
            count = len(messages)
            yield Chunk(
                topic,
                np.fromiter(map(Message.partition, messages), np.int32, count),
                np.fromiter(map(Message.offset, messages), np.int64, count),
                np.fromiter(map(itemgetter(1), map(Message.timestamp, messages)), np.int64, count),
                list(map(Message.value, messages)),
                partial(_key, messages),
                {w.partition: part.epoch for w, part in self._parts.items() if w.topic == topic},
            )

    def _sorted(self, messages: list[Message]) -> Iterator[tuple[_Part, list[Message]]]:
        if len(self._parts) == 1:
            # The common case of a large slice; a message more or less each costs time.
            yield next(iter(self._parts.values())), messages
            return
        sorted_out: dict[TopicPartition, list[Message]] = defaultdict(list)
        for message in messages:
            sorted_out[TopicPartition(message.topic(), message.partition())].append(message)
        for where, mine in sorted_out.items():
            yield self._parts[where], mine

    def _notice(self, event: Message) -> None:
        error = event.error()
        part = self._parts.get(TopicPartition(event.topic(), event.partition()))
        if error.code() == KafkaError._PARTITION_EOF and part is not None:
            # The end of the log: everything below this offset has been seen.
            part.done |= event.offset() >= part.slice.end
        else:
            where = part.slice if part is not None else self.waiting
            raise explain(error, str(where)) from KafkaException(error)

    def _unfinished(self) -> _Part:
        return next(part for part in self._parts.values() if not part.done)


class _Part:
    """How far one slice is read."""

    __slots__ = ("at", "done", "epoch", "slice")

    def __init__(self, part: Slice) -> None:
        self.slice = part
        self.at = part.start
        self.epoch = part.leader_epoch
        self.done = len(part) == 0

    def take(self, messages: list[Message]) -> list[Message]:
        """Return the messages that are inside the slice."""
        good = messages
        if good and good[0].offset() < self.slice.start:
            good = [message for message in good if message.offset() >= self.slice.start]
        if good and good[-1].offset() >= self.slice.end - 1:
            # Markers and compaction leave gaps, so records past the end may have come along.
            good = [message for message in good if message.offset() < self.slice.end]
            self.done = True
        if good:
            self.at = good[-1].offset() + 1
            epoch = good[-1].leader_epoch()
            self.epoch = self.epoch if epoch is None else epoch
        return good


def _without_twins(slices: Sequence[Slice]) -> Iterator[list[Slice]]:
    """Yield groups of slices with one slice of a partition each: a consumer is in one place."""
    rest = list(slices)
    while rest:
        group = {part.where: part for part in reversed(rest)}
        yield list(group.values())[::-1]
        rest = [part for part in rest if group[part.where] is not part]


def _start(part: Slice) -> KafkaPartition:
    return KafkaPartition(part.topic, part.partition, part.start, leader_epoch=part.leader_epoch)


def _key(messages: Sequence[Message], index: int) -> bytes | None:
    key: bytes | None = messages[index].key()
    return key
