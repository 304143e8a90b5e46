"""Hands records to Kafka and keeps account: how many, which bytes, what failed."""

from __future__ import annotations

import hashlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from struct import Struct

from confluent_kafka import KafkaError, Message, Producer

from lakeward.errors import LakewardError, SourceError, SourceUnavailable
from lakeward.kafka.client import client_settings, explained
from lakeward.produce.columns import objects
from lakeward.produce.stream import Portion

MOST_IN_FLIGHT = 60_000
"""Records librdkafka may hold: enough to keep it busy, few enough that stopping is quick."""
DELIVER_WITHIN = 20.0
"""Seconds after which a record that no broker has taken counts as failed."""
STOP_WITHIN = 4.0
"""Seconds that records in flight still get once somebody has asked to stop."""

_LENGTH = Struct(">Q")
_GONE = frozenset(
    {KafkaError._MSG_TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}
    | {KafkaError._TIMED_OUT, KafkaError._RESOLVE}
)
"""No broker answers."""
_PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""Our own doing when we give up, hence never the reason for it."""

_quiet = logging.getLogger("lakeward.produce.librdkafka")
# Without a handler of its own Python would print librdkafka's chatter to stderr.
_quiet.addHandler(logging.NullHandler())


class Tally:
    """What went to one partition so far."""

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0
        self._hash = hashlib.sha256()

    def add(self, values: Sequence[bytes]) -> None:
        lengths = map(_LENGTH.pack, map(len, values))
        framed = b"".join(chain.from_iterable(zip(lengths, values, strict=True)))
        self._hash.update(framed)
        self.count += len(values)
        self.bytes += len(framed) - 8 * len(values)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


class Outbox:
    """A producer with its accounts: a tally per topic-partition, and the deliveries that failed."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.tallies: defaultdict[tuple[str, int], Tally] = defaultdict(Tally)
        self._where = bootstrap_servers
        self._sent = 0
        self._delivered = 0
        self._failed = 0
        self._reason: KafkaError | None = None
        self._producer = Producer(
            client_settings(bootstrap_servers)
            | {
                "enable.idempotence": True,
                "compression.type": "lz4",
                "linger.ms": 10,
                "batch.size": 1_000_000,
                "message.timeout.ms": round(DELIVER_WITHIN * 1000),
                # Never reached, since room is made first: a full queue would change the order.
                "queue.buffering.max.messages": 10 * MOST_IN_FLIGHT,
                "queue.buffering.max.kbytes": 2_000_000,
                "delivery.report.only.error": True,
                "on_delivery": self._note,
            },
            logger=_quiet,
        )

    @property
    def delivered(self) -> int:
        # librdkafka counts its own events as in flight too, so the difference may step back.
        in_flight = len(self._producer) + self._failed
        self._delivered = max(self._delivered, self._sent - in_flight)
        return self._delivered

    def send(self, topic: str, portion: Portion) -> None:
        """Hand over some records; their order within each partition is kept."""
        values = objects(portion.values)
        for partition in set(portion.partitions.tolist()):
            own = values[portion.partitions == partition].tolist()
            messages = [{"value": value} for value in own]
            with explained(f"{topic}/{partition}"):
                accepted = self._producer.produce_batch(topic, messages, partition=partition)
            self._sent += len(own)
            self.tallies[topic, partition].add(own)
            if accepted < len(own):
                for message in messages:
                    self._note(message.get("_error"))

    def wait(self, seconds: float) -> None:
        """Pass the time, and notice what became of earlier records; raise if any failed."""
        self._producer.poll(seconds)
        if self._failed:
            self._give_up()

    def make_room(self, stop: Callable[[], bool]) -> None:
        """Wait until few enough records are in flight; raise if any delivery failed."""
        while len(self._producer) > MOST_IN_FLIGHT and not self._failed and not stop():
            self._producer.poll(0.02)
        self.wait(0)

    def settle(self, progress: Callable[[int], None], stop: Callable[[], bool]) -> None:
        """Wait until Kafka has confirmed every record; raise if it does not."""
        deadline = None
        while (left := self._producer.flush(0.1)) and not self._failed:
            progress(self.delivered)
            if deadline is None and stop():
                deadline = time.monotonic() + STOP_WITHIN
            if deadline is not None and time.monotonic() > deadline:
                break
        if left or self._failed:
            self._give_up()
        progress(self._sent)

    def _give_up(self) -> None:
        self._producer.purge()
        self._producer.flush(1)
        raise self._failure()

    def _failure(self) -> LakewardError:
        gone = self._reason is None or self._reason.code() in _GONE
        reason = self._reason.str() if self._reason is not None else "no answer"
        return (SourceUnavailable if gone else SourceError)(
            f"Kafka did not confirm {self._failed:,} of {self._sent:,} records: {reason}",
            where=self._where,
            next_step="There is no manifest of this run. Check the broker: lakeward status.",
        )

    def _note(self, error: KafkaError | None, _message: Message | None = None) -> None:
        if error is not None:
            self._failed += 1
            if self._reason is None and error.code() not in _PURGED:
                self._reason = error
