"""What Kafka knows about our topics: ids, partitions, first and last offsets, group positions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import OffsetSpec

from lakeward.errors import SourceUnavailable, TopicMissing
from lakeward.kafka.client import explained, open_admin, open_consumer
from lakeward.model.offsets import Position, TopicPartition
from lakeward.model.spec import SourceSpec

PATIENCE = 15.0
"""Seconds we give a broker to answer."""

UNCOORDINATED = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""What a young cluster answers until it has a place for group offsets."""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as Kafka describes it now."""

    id: str
    partitions: tuple[int, ...]


def _once_coordinated(ask: Callable[[], Any]) -> Any:
    """Ask again while the group's coordinator is just being found: a young cluster has none."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return ask()
        except KafkaException as failure:
            if failure.args[0].code() not in UNCOORDINATED or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


class KafkaOffsets:
    """Answers where topics begin and end and where a group is; holds its connections."""

    def __init__(self, source: SourceSpec, group: str) -> None:
        self._source = source
        self._group = group
        self._where = f"brokers {source.bootstrap_servers}"
        self._admin = open_admin(source.bootstrap_servers, source.client)

    def cluster_id(self) -> str:
        """Return the id of the cluster we are connected to."""
        with explained(self._where):
            future = self._admin.describe_cluster(request_timeout=PATIENCE)
            return str(future.result().cluster_id)

    def topics(self, names: Sequence[str]) -> dict[str, TopicState]:
        """Describe topics; TopicMissing names the first that does not exist."""
        with explained(self._where):
            described = self._admin.describe_topics(
                TopicCollection(list(names)), request_timeout=PATIENCE
            )
        states = {}
        for name, future in described.items():
            with explained(f"topic {name}, {self._where}"):
                topic = future.result()
            states[name] = TopicState(
                str(topic.topic_id), tuple(sorted(part.id for part in topic.partitions))
            )
        missing = [name for name in names if not states[name].partitions]
        if missing:
            raise TopicMissing(f"The topic {missing[0]} has no partitions yet", where=self._where)
        return states

    def starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first offset Kafka still has of each partition."""
        return self._list(partitions, OffsetSpec.earliest())

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return each partition's last stable offset: beyond it a transaction is still open."""
        return self._list(partitions, OffsetSpec.latest())

    def _list(
        self, partitions: Iterable[TopicPartition], wanted: OffsetSpec
    ) -> dict[TopicPartition, int]:
        request: dict[Any, Any] = {
            KafkaPartition(where.topic, where.partition): wanted for where in partitions
        }
        if not request:
            return {}
        with explained(self._where):
            futures = self._admin.list_offsets(
                request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=PATIENCE
            )
            found = {
                TopicPartition(part.topic, part.partition): future.result().offset
                for part, future in futures.items()
            }
        for where, offset in found.items():
            if offset < 0:
                # A broker that dies while it is asked leaves "no offset" and no error.
                raise SourceUnavailable(
                    f"Kafka did not say where {where} begins or ends",
                    where=self._where,
                    next_step="The job asks again; check the broker if this goes on.",
                )
        return found

    def tend(self) -> None:
        """Take what the clients have to say: unread, their log events would pile up for ever."""
        self._admin.poll(0)
        self._member.poll(0)

    def group_positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets our consumer group has committed."""
        asked = [KafkaPartition(where.topic, where.partition) for where in partitions]
        with explained(f"group {self._group}, {self._where}"):
            found = _once_coordinated(lambda: self._member.committed(asked, PATIENCE))
        return {
            TopicPartition(part.topic, part.partition): part.offset
            for part in found
            if part.offset >= 0
        }

    def publish(self, positions: Mapping[TopicPartition, Position]) -> None:
        """Show positions to Kafka's tools as the offsets of our consumer group."""
        parts = [
            KafkaPartition(where.topic, where.partition, position.offset)
            for where, position in positions.items()
        ]
        with explained(f"group {self._group}, {self._where}"):
            _once_coordinated(lambda: self._member.commit(offsets=parts, asynchronous=False))

    @cached_property
    def _member(self) -> Consumer:
        # Asked through an admin client, librdkafka crashes the process if the group's coordinator
        # is just moving (confluent-kafka-javascript#374); a consumer waits for it.
        source = self._source
        return open_consumer(source.bootstrap_servers, self._group, source.client)
