"""Consumer groups as an operator sees them: who is in, how far they are, what is left."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from lakeward.errors import LakewardError, SourceError
from lakeward.kafka.client import explain
from lakeward.kafka.offsets import UNCOORDINATED
from lakeward.kafka.topics import ANSWER_SECONDS, answer_of, offsets_of


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """How far a consumer group is in one partition."""

    topic: str
    partition: int
    committed: int
    end: int | None

    @property
    def lag(self) -> int | None:
        return None if self.end is None else max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True)
class Group:
    """One consumer group."""

    name: str
    state: str
    members: int
    positions: tuple[GroupPosition, ...]


def list_groups(admin: AdminClient) -> list[Group]:
    """Return every consumer group with its positions, by name."""
    where = "list of consumer groups"
    listed = answer_of(admin.list_consumer_groups(request_timeout=ANSWER_SECONDS), where)
    for error in listed.errors:
        raise explain(error, where)
    return [describe_group(admin, name) for name in sorted(each.group_id for each in listed.valid)]


def describe_group(admin: AdminClient, name: str) -> Group:
    """Return one consumer group: its members, and per partition how far it is."""
    group = _described(admin, name, time.monotonic() + ANSWER_SECONDS)
    positions = _positions(admin, name)
    state = group.state.name.lower()
    if state == "dead" and not positions:
        raise _no_group(name)
    return Group(name, state, len(group.members), positions)


def _described(admin: AdminClient, name: str, deadline: float) -> Any:
    answers = admin.describe_consumer_groups([name], request_timeout=ANSWER_SECONDS)
    try:
        return answers[name].result()
    except KafkaException as failure:
        if failure.args[0].code() not in UNCOORDINATED or time.monotonic() > deadline:
            raise _refused(failure.args[0], name) from failure
    time.sleep(0.2)
    return _described(admin, name, deadline)


def _positions(admin: AdminClient, group: str) -> tuple[GroupPosition, ...]:
    asked = [ConsumerGroupTopicPartitions(group)]
    answers = admin.list_consumer_group_offsets(asked, request_timeout=ANSWER_SECONDS)
    committed = {
        (at.topic, at.partition): at.offset
        for at in answer_of(answers[group], f"group {group}").topic_partitions
        if at.offset >= 0
    }
    ends = offsets_of(admin, committed, OffsetSpec.latest())
    return tuple(
        GroupPosition(*place, committed[place], ends[place]) for place in sorted(committed)
    )


def _refused(error: KafkaError, name: str) -> LakewardError:
    if error.code() == KafkaError.GROUP_ID_NOT_FOUND:
        return _no_group(name)
    return explain(error, f"group {name}")


def _no_group(name: str) -> SourceError:
    return SourceError(
        "The consumer group does not exist",
        where=f"group {name}",
        next_step="See which do: lakeward groups show.",
    )
