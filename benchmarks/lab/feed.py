"""Sends API log records in process, and knows when each was handed over."""

from __future__ import annotations

import time
from collections import defaultdict

from confluent_kafka import Producer

from lakeward.produce.recipe import Recipe
from lakeward.produce.shapes import Log
from lakeward.produce.stream import Stream

PARTITIONS = 3
STEP = 0.001
"""Seconds between two events, as their own times tell."""


class Feed:
    """A producer and its records; holds, per topic and partition, when each was handed over.

    A fresh topic with this feed as its only producer numbers its records in that same order.
    """

    def __init__(self, bootstrap_servers: str, partitions: int = PARTITIONS) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 2,
                "compression.type": "lz4",
            }
        )
        self._stream = Stream(Log.API, Recipe(seed=7).settle(), STEP, partitions)
        self.handed: defaultdict[str, list[list[float]]] = defaultdict(
            lambda: [[] for _partition in range(partitions)]
        )

    def send(self, topic: str, count: int) -> None:
        """Hand so many records over."""
        while count:
            portion = self._stream.take(count)
            count -= len(portion.values)
            for value, partition in zip(portion.values, portion.partitions.tolist(), strict=True):
                self._hand_over(topic, value, partition)
        self._producer.poll(0)

    def settle(self) -> None:
        """Wait until the broker has everything; leave if it does not take it."""
        if self._producer.flush(60):
            raise SystemExit("The broker does not take records")

    def _hand_over(self, topic: str, value: bytes, partition: int) -> None:
        while True:
            try:
                self._producer.produce(topic, value=value, partition=partition)
            except BufferError:
                self._producer.poll(0.05)
            else:
                self.handed[topic][partition].append(time.monotonic())
                return
