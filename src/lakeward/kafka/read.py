"""Read a slice of a partition: every visible record in `[start, end)`, or a clear error."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from lakeward.errors import SourceUnavailable
from lakeward.kafka.client import explain, explained, open_consumer
from lakeward.model.offsets import Slice
from lakeward.records.chunk import Chunk

CHUNK_BYTES = 8 * 1024 * 1024
CHUNK_RECORDS = 20_000
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

    def read(self, part: Slice) -> Iterator[Chunk]:
        """Yield the slice's visible records in chunks; returning means that it is complete."""
        try:
            yield from self._read(part)
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

    def _read(self, part: Slice) -> Iterator[Chunk]:
        consumer = self._open()
        start = KafkaPartition(
            part.topic, part.partition, part.start, leader_epoch=part.leader_epoch
        )
        with explained(str(part)):
            consumer.assign([start])
        pending = _Pending(part)
        heard = time.monotonic()
        while not pending.done:
            messages = consumer.consume(CHUNK_RECORDS, 0) or consumer.consume(1, 0.2)
            if messages:
                heard = time.monotonic()
                pending.take(messages)
            elif time.monotonic() - heard > PATIENCE:
                raise SourceUnavailable(
                    f"No record for {PATIENCE:.0f} s at offset {pending.at}",
                    where=f"{part}, brokers {self.bootstrap_servers}",
                    next_step="The job tries again; check the broker if this goes on.",
                )
            if pending.full and not pending.done:
                yield pending.chunk()
        consumer.unassign()
        yield pending.chunk()

    def _open(self) -> Consumer:
        if self._consumer is None:
            extra: dict[str, Any] = {**_FETCH, **self.client}
            self._consumer = open_consumer(self.bootstrap_servers, extra=extra)
        return self._consumer


class _Pending:
    """Collects messages of a slice until they make a chunk; knows when the slice is complete."""

    def __init__(self, part: Slice) -> None:
        self._part = part
        self.messages: list[Message] = []
        self._bytes = 0
        self.at = part.start
        self._epoch = part.leader_epoch
        self.done = len(part) == 0

    @property
    def full(self) -> bool:
        return self._bytes >= CHUNK_BYTES or len(self.messages) >= CHUNK_RECORDS

    def take(self, messages: list[Message]) -> None:
        good = messages
        if any(map(Message.error, messages)):
            good = [message for message in messages if message.error() is None]
            self._notice([message for message in messages if message.error() is not None])
        if good and good[0].offset() < self._part.start:
            good = [message for message in good if message.offset() >= self._part.start]
        if good and good[-1].offset() >= self._part.end - 1:
            # Markers and compaction leave gaps, so records past the end may have come along.
            good = [message for message in good if message.offset() < self._part.end]
            self.done = True
        if good:
            self.messages += good
            self._bytes += sum(map(len, good))
            self.at = good[-1].offset() + 1
            epoch = good[-1].leader_epoch()
            self._epoch = self._epoch if epoch is None else epoch

    def chunk(self) -> Chunk:
        """Hand over what was collected, and start anew."""
        messages, self.messages, self._bytes = self.messages, [], 0
        count = len(messages)
        return Chunk(
            self._part.topic,
            self._part.partition,
            np.fromiter(map(Message.offset, messages), np.int64, count),
            np.fromiter(map(itemgetter(1), map(Message.timestamp, messages)), np.int64, count),
            list(map(Message.value, messages)),
            lambda index: _key(messages[index]),
            self._epoch,
        )

    def _notice(self, events: list[Message]) -> None:
        for event in events:
            error = event.error()
            if error.code() == KafkaError._PARTITION_EOF:
                # The end of the log: everything below this offset has been seen.
                self.done |= event.offset() >= self._part.end
            else:
                raise explain(error, str(self._part)) from KafkaException(error)


def _key(message: Message) -> bytes | None:
    key: bytes | None = message.key()
    return key
