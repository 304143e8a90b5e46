"""Is Kafka still the one the ledger speaks of? Pure checks that stop a job (invariant 4)."""

from __future__ import annotations

from collections.abc import Mapping

from lakeward.errors import JobStopped
from lakeward.kafka.offsets import TopicState
from lakeward.model.ledger import Ledger
from lakeward.model.offsets import Positions, TopicPartition


def check_same_cluster(ledger: Ledger, cluster_id: str) -> None:
    """Stop if the brokers belong to another cluster than the position."""
    if ledger.cluster_id != cluster_id:
        raise JobStopped(
            f"Job {ledger.job} is connected to another Kafka cluster",
            where=f"cluster {cluster_id}, the table was written from {ledger.cluster_id}",
            next_step="Connect to the old cluster, or start over with a new connector and table.",
        )


def check_same_topics(ledger: Ledger, topics: Mapping[str, TopicState]) -> None:
    """Stop if a topic was deleted and created again: its offsets mean other records now."""
    for name, topic in ledger.topics.items():
        if name in topics and topics[name].id != topic.id:
            raise JobStopped(
                f"The topic {name} was deleted and created again",
                where=f"topic id {topics[name].id}, the table was written from {topic.id}",
                next_step="Start over with a new connector and table to read the new topic.",
            )


def check_log_ends(positions: Positions, ends: Mapping[TopicPartition, int]) -> None:
    """Stop if a log ends before what was read of it: offsets were given out a second time."""
    for where, position in positions.items():
        if ends.get(where, position.offset) < position.offset:
            raise JobStopped(
                f"The log of {where} was cut short: it ends at {ends[where]}, and the table has"
                f" records up to {position.offset}",
                next_step="Restore the partition, or start over with a new connector and table.",
            )
