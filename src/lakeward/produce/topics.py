"""The topics records go to: created when missing, asked for their end offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from lakeward.kafka.client import explained

ANSWER_WITHIN = 6.0
"""Seconds a broker has to answer before it counts as unreachable."""
READY_WITHIN = 15.0
"""Seconds a new topic has until all its partitions answer."""

_NOT_YET = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
    }
)


@dataclass(frozen=True, slots=True)
class Target:
    """A topic as Kafka has it: its identity and where each partition ends."""

    topic: str
    id: str
    ends: Mapping[int, int]
    """The offset the next record of each partition gets."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What records are sent onto: the cluster, and its topics before the first record."""

    cluster_id: str
    targets: list[Target]


def prepare_topics(admin: AdminClient, names: Iterable[str], partitions: int, where: str) -> Ground:
    """Create the topics that are missing; one that exists keeps its number of partitions."""
    wanted = list(names)
    with explained(where):
        cluster = admin.list_topics(timeout=ANSWER_WITHIN)
    with explained(", ".join(wanted)):
        missing = [name for name in wanted if name not in cluster.topics]
        if missing:
            _create(admin, missing, partitions)
        return Ground(str(cluster.cluster_id), _once_ready(lambda: _find(admin, wanted)))


def find_ends(admin: AdminClient, ground: Ground) -> dict[str, Mapping[int, int]]:
    """Ask where each partition ends now."""
    names = [target.topic for target in ground.targets]
    with explained(", ".join(names)):
        return {target.topic: target.ends for target in _find(admin, names)}


def _create(admin: AdminClient, names: list[str], partitions: int) -> None:
    new = [NewTopic(name, num_partitions=partitions) for name in names]
    for answer in admin.create_topics(new, request_timeout=ANSWER_WITHIN).values():
        try:
            answer.result()
        except KafkaException as refused:
            # Somebody else was faster, which is as good.
            if refused.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def _find(admin: AdminClient, names: list[str]) -> list[Target]:
    described = admin.describe_topics(TopicCollection(names), request_timeout=ANSWER_WITHIN)
    found = {name: answer.result() for name, answer in described.items()}
    return [
        Target(name, str(found[name].topic_id), _ends(admin, name, len(found[name].partitions)))
        for name in names
    ]


def _ends(admin: AdminClient, name: str, partitions: int) -> dict[int, int]:
    latest = {TopicPartition(name, number): OffsetSpec.latest() for number in range(partitions)}
    answers = admin.list_offsets(latest, request_timeout=ANSWER_WITHIN)
    return {asked.partition: answer.result().offset for asked, answer in answers.items()}


def _once_ready(ask: Callable[[], list[Target]]) -> list[Target]:
    """Ask again while brokers still learn of a new topic; they name a leader before it serves."""
    deadline = time.monotonic() + READY_WITHIN
    while True:
        try:
            return ask()
        except KafkaException as failure:
            if failure.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
