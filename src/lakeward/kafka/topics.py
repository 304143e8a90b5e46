"""Topics as an operator sees them: what exists, how far it goes, what is in it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ConfigSource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from lakeward.errors import SourceError, SourceUnavailable, UsageError
from lakeward.kafka.client import explain, explained

ANSWER_SECONDS = 6.0
"""How long brokers may take to answer before they count as unreachable."""

LEADER_SECONDS = 2.0
"""How long a partition may be without a leader before we go on without its offsets."""

UNTOLD = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._NOENT,
    }
)
"""What brokers answer about a partition that nobody leads, not yet or no longer."""

UNACCEPTABLE = frozenset(
    {
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_REQUEST,
        KafkaError._INVALID_ARG,
    }
)
"""What brokers answer when a topic is described wrongly."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: who leads it and which offsets it has."""

    number: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    first: int | None
    end: int | None
    """The last stable offset: what a read-committed reader can reach."""

    @property
    def records(self) -> int | None:
        return None if self.first is None or self.end is None else self.end - self.first


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic with its partitions."""

    name: str
    id: str
    internal: bool
    partitions: tuple[Partition, ...]

    @property
    def records(self) -> int:
        """Offsets in use; markers and compacted records count too."""
        return sum(partition.records or 0 for partition in self.partitions)


class TopicExists(SourceError):
    """Raised when a topic to be created is there already."""

    http_status = 409


def list_topics(admin: AdminClient) -> list[Topic]:
    """Return every topic, by name."""
    with explained("list of topics"):
        names = sorted(admin.list_topics(timeout=ANSWER_SECONDS).topics)
    return describe_topics(admin, names)


def describe_topics(admin: AdminClient, names: Sequence[str]) -> list[Topic]:
    """Return what the brokers know about topics; all must exist."""
    if not names:
        return []
    answers = admin.describe_topics(TopicCollection(names), request_timeout=ANSWER_SECONDS)
    described = [answer_of(answers[name], f"topic {name}") for name in names]
    places = [(topic.name, each.id) for topic in described for each in topic.partitions]
    first = offsets_of(admin, places, OffsetSpec.earliest())
    end = offsets_of(admin, places, OffsetSpec.latest())
    return [_topic(topic, first, end) for topic in described]


def topic_settings(admin: AdminClient, name: str) -> dict[str, str]:
    """Return the settings made for this topic, without those of the broker."""
    resource = ConfigResource(ResourceType.TOPIC, name)
    answers = admin.describe_configs([resource], request_timeout=ANSWER_SECONDS)
    entries = answer_of(answers[resource], f"topic {name}").values()
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {entry.name: str(entry.value) for entry in entries if entry.source == own}


def create_topic(
    admin: AdminClient, name: str, partitions: int, settings: Mapping[str, str] | None = None
) -> None:
    """Create one topic, which must not exist, and wait until it has leaders."""
    topic = NewTopic(name, num_partitions=partitions, config=dict(settings or {}))
    try:
        # On a bad name the client raises at once; the brokers answer through the future.
        created = admin.create_topics([topic], request_timeout=ANSWER_SECONDS)
        created[name].result()
    except KafkaException as failure:
        raise _refused(failure.args[0], name) from failure
    _await_leaders(admin, name, partitions)


def create_topics(admin: AdminClient, wanted: Mapping[str, int]) -> list[str]:
    """Create the topics that are missing and return their names.

    One that exists is fine if it has at least the partitions asked for; otherwise nothing is made.
    """
    with explained("list of topics"):
        existing = admin.list_topics(timeout=ANSWER_SECONDS).topics
    for name in wanted.keys() & existing.keys():
        has = len(existing[name].partitions)
        if has < wanted[name]:
            raise SourceError(
                f"The topic has {has} partitions, {wanted[name]} are wanted",
                where=f"topic {name}",
                next_step="Use another topic name, or delete this one.",
            )
    missing = [name for name in wanted if name not in existing]
    for name in missing:
        try:
            create_topic(admin, name, wanted[name])
        except TopicExists:
            # Somebody else made it a moment ago.
            continue
    return missing


def follow(consumer: Consumer, starts: Mapping[tuple[str, int], int]) -> Iterator[Message | None]:
    """Yield messages from the given offsets on, for ever; None while there is nothing new."""
    consumer.assign([TopicPartition(*place, start) for place, start in starts.items()])
    while True:
        message = consumer.poll(0.2)
        error = message.error() if message is not None else None
        if error is None:
            yield message
        elif error.code() not in (KafkaError._PARTITION_EOF, KafkaError._TRANSPORT):
            raise explain(error, ", ".join(sorted({topic for topic, _ in starts})))


def _topic(
    described: Any,
    first: Mapping[tuple[str, int], int | None],
    end: Mapping[tuple[str, int], int | None],
) -> Topic:
    partitions = (
        Partition(
            each.id,
            each.leader.id if each.leader is not None and each.leader.id >= 0 else None,
            tuple(node.id for node in each.replicas),
            tuple(node.id for node in each.isr),
            first[described.name, each.id],
            end[described.name, each.id],
        )
        for each in described.partitions
    )
    return Topic(described.name, str(described.topic_id), described.is_internal, tuple(partitions))


def offsets_of(
    admin: AdminClient, places: Iterable[tuple[str, int]], which: OffsetSpec
) -> dict[tuple[str, int], int | None]:
    """Return the first or last stable offsets of partitions; None where nobody can tell."""
    found: dict[tuple[str, int], int | None] = dict.fromkeys(places)
    deadline = time.monotonic() + LEADER_SECONDS
    waiting = list(found)
    while waiting:
        asked = {TopicPartition(*place): which for place in waiting}
        answers = admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_SECONDS
        )
        found |= {(at.topic, at.partition): _offset(answer) for at, answer in answers.items()}
        waiting = [place for place in waiting if found[place] is None]
        # A partition made a moment ago has a leader that does not know of it yet.
        if time.monotonic() > deadline:
            break
        time.sleep(0.05 if waiting else 0)
    return found


def _offset(answer: Future[Any]) -> int | None:
    try:
        return int(answer.result().offset)
    except KafkaException as failure:
        # A partition without a leader, or of a deleted topic, has no offsets to tell.
        if failure.args[0].code() in UNTOLD:
            return None
        raise explain(failure.args[0], "offsets of partitions") from failure


def answer_of(answer: Future[Any], where: str) -> Any:
    """Wait for what the brokers answer; their errors become ours."""
    with explained(where):
        return answer.result()


def _refused(error: KafkaError, name: str) -> Exception:
    where = f"topic {name}"
    if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
        return TopicExists(
            "The topic already exists", where=where, next_step=f"See: lakeward topics show {name}."
        )
    if error.code() in UNACCEPTABLE:
        return UsageError(f"Kafka refuses this topic: {error.str()}", where=where)
    return explain(error, where)


def _await_leaders(admin: AdminClient, name: str, partitions: int) -> None:
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        with explained(f"topic {name}"):
            seen = admin.list_topics(name, timeout=ANSWER_SECONDS).topics[name]
        if sum(each.leader >= 0 for each in seen.partitions.values()) >= partitions:
            return
        if time.monotonic() > deadline:
            raise SourceUnavailable("The topic is created but has no leader yet", where=name)
        time.sleep(0.05)
