"""How we talk to Kafka: settings for librdkafka, and its errors in our words."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from lakeward.errors import LakewardError, OffsetsLost, SourceError, SourceUnavailable, TopicMissing

PERMANENT = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._INVALID_ARG,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError._SSL,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError.INVALID_REQUEST,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.INVALID_GROUP_ID,
    }
)
"""What no retry heals. Anything else may be a broker that restarts or a leader that moves."""
MISSING = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})
LOST = frozenset(
    {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION}
)

# librdkafka writes to stderr unless it is given a logger; its chatter is ours to place.
_quiet = logging.getLogger("lakeward.kafka.librdkafka")
_quiet.addHandler(logging.NullHandler())


def client_settings(
    bootstrap_servers: str, extra: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the settings every client of ours starts from."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "lakeward",
        "socket.connection.setup.timeout.ms": 5000,
        **(extra or {}),
    }


def open_admin(bootstrap_servers: str, extra: Mapping[str, str] | None = None) -> AdminClient:
    """Open an admin client. It connects on first use."""
    return AdminClient(client_settings(bootstrap_servers, extra), logger=_quiet)


def open_consumer(
    bootstrap_servers: str, group: str = "lakeward", extra: Mapping[str, Any] | None = None
) -> Consumer:
    """Open a consumer for explicit assignment: no group is joined, nothing is committed."""
    settings = client_settings(bootstrap_servers) | {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "isolation.level": "read_committed",
        # Jumping past lost offsets would lose records without a word (invariant 4).
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        **(extra or {}),
    }
    return Consumer(settings, logger=_quiet)


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Raise librdkafka's errors as ours."""
    try:
        yield
    except KafkaException as failure:
        raise explain(failure.args[0], where) from failure


def explain(error: KafkaError, where: str) -> LakewardError:
    """Say what a Kafka error means and what to do about it."""
    code = error.code()
    if code in MISSING:
        return TopicMissing(
            "The topic does not exist",
            where=where,
            next_step="Create it: lakeward topics create NAME --partitions 3.",
        )
    if code in LOST:
        return OffsetsLost(
            f"Kafka no longer has these offsets: {error.str()}",
            where=where,
            next_step="Retention has overtaken the reader, or the log was cut short.",
        )
    if code in PERMANENT:
        return SourceError(f"Kafka refused: {error.str()}", where=where)
    return SourceUnavailable(
        f"Kafka cannot be reached: {error.str()}",
        where=where,
        next_step="Check KAFKA_BOOTSTRAP_SERVERS and that the broker runs (lakeward status).",
    )
