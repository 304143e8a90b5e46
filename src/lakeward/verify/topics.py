"""Read topics as any careful consumer would: committed records only, to a known end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from lakeward.errors import SourceUnavailable
from lakeward.kafka.client import explain, explained, open_admin, open_consumer

ANSWER_SECONDS = 8.0
SILENCE_SECONDS = 30.0
"""How long a partition may give neither a record nor its end."""
BATCH_BYTES = 32 * 1024 * 1024
BATCH_RECORDS = 5_000

CONSUMER = {
    # Fast refill of the queue: librdkafka otherwise waits a second once the queue was full.
    "fetch.queue.backoff.ms": 5,
    "queued.max.messages.kbytes": 65_536,
    "check.crcs": True,
}


class Record(NamedTuple):
    """One record as Kafka shows it."""

    offset: int
    timestamp: int | None
    """Milliseconds since 1970."""
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Topic:
    """What Kafka says about a topic now."""

    name: str
    id: str
    partitions: frozenset[int]


class Topics:
    """Holds the connections to one Kafka cluster."""

    def __init__(self, bootstrap_servers: str, admin: AdminClient, consumer: Consumer) -> None:
        self._where = bootstrap_servers
        self._admin = admin
        self._consumer = consumer

    def cluster_id(self) -> str:
        with explained(self._where):
            return str(self._admin.list_topics(timeout=ANSWER_SECONDS).cluster_id)

    def describe(self, name: str) -> Topic:
        with explained(f"topic {name} at {self._where}"):
            asked = self._admin.describe_topics(
                TopicCollection([name]), request_timeout=ANSWER_SECONDS
            )
            found = asked[name].result()
        return Topic(name, str(found.topic_id), frozenset(part.id for part in found.partitions))

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset Kafka still has, and the one after the last."""
        with explained(f"{topic}-{partition} at {self._where}"):
            low, high = self._consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=ANSWER_SECONDS
            )
        return int(low), int(high)

    def records(
        self, topic: str, partition: int, start: int, end: int, progress: Callable[[int], None]
    ) -> Iterator[Record]:
        """Yield the visible records of `[start, end)`, which may have gaps, and then stop.

        It ends at a record or an end of partition at or past `end`; an end of partition before
        `end` ends it too, since Kafka then holds nothing more.
        """
        if start >= end:
            return
        where = f"{topic}-{partition} at {self._where}"
        with explained(where):
            self._consumer.assign([TopicPartition(topic, partition, start)])
            try:
                yield from self._until(end, where, start, progress)
            finally:
                self._consumer.unassign()

    def _until(
        self, end: int, where: str, at: int, progress: Callable[[int], None]
    ) -> Iterator[Record]:
        size, heard = 100, time.monotonic()
        while at < end:
            # `consume` waits for as many as it is asked for: never ask past the end.
            batch = self._consumer.consume(min(size, end - at), timeout=0.2)
            if not batch and time.monotonic() - heard > SILENCE_SECONDS:
                raise SourceUnavailable(
                    f"Kafka has sent nothing for {SILENCE_SECONDS:.0f} seconds",
                    where=where,
                    next_step="Check that the broker runs (lakeward status), then verify again.",
                )
            for message in batch:
                heard = time.monotonic()
                if _is_end(message, where) or _offset(message) >= end:
                    progress(end - at)
                    return
                yield _record(message)
            if batch:
                last = _offset(batch[-1]) + 1
                progress(last - at)
                at, size = last, _next_size(batch)


def _is_end(message: Message, where: str) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    raise explain(error, where)


def _offset(message: Message) -> int:
    return int(message.offset())


def _record(message: Message) -> Record:
    kind, timestamp = message.timestamp()
    known = None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp
    return Record(_offset(message), known, message.key(), message.value())


def _next_size(batch: list[Message]) -> int:
    total = sum(len(message.value() or b"") + 100 for message in batch)
    return max(1, min(BATCH_RECORDS, BATCH_BYTES * len(batch) // total))


@contextmanager
def open_topics(bootstrap_servers: str) -> Iterator[Topics]:
    """Connect to Kafka for as long as the block runs."""
    consumer = open_consumer(bootstrap_servers, group="lakeward-verify", extra=CONSUMER)
    try:
        yield Topics(bootstrap_servers, open_admin(bootstrap_servers), consumer)
    finally:
        consumer.close()
