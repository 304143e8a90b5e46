"""`lakeward topics` and `lakeward groups` against a real broker, as a user types them."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from lakeward.errors import SourceError
from lakeward.kafka.client import open_admin
from lakeward.kafka.topics import create_topics, describe_topics
from lakeward.stack.kafka import KafkaBroker

pytestmark = pytest.mark.integration

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def topic() -> str:
    return f"topics-command-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def run(broker: KafkaBroker, environment: dict[str, str]) -> Run:
    def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lakeward", *arguments],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return typed


@pytest.fixture
def producer(broker: KafkaBroker) -> Iterator[Producer]:
    sender = Producer({"bootstrap.servers": broker.bootstrap_servers})
    yield sender
    sender.flush(10)


def send(producer: Producer, topic: str, *values: bytes | None, partition: int = 0) -> None:
    for value in values:
        producer.produce(topic, value, key=b"key", partition=partition)
    assert producer.flush(10) == 0


def test_a_topic_is_created_listed_and_shown(run: Run, topic: str, producer: Producer) -> None:
    created = run("topics", "create", topic, "--partitions", "2", "--config", "retention.ms=90000")
    assert created.returncode == 0, created.stderr
    send(producer, topic, b"a", b"b", partition=1)
    listed = {each["topic"]: each for each in json.loads(run("topics", "list", "--json").stdout)}
    assert (listed[topic]["partitions"], listed[topic]["records"]) == (2, 2)
    shown = json.loads(run("topics", "show", topic, "--json").stdout)
    assert shown["settings"] == {"retention.ms": "90000"}
    assert [each["end"] for each in shown["partitions"]] == [0, 2]
    assert topic in run("topics", "show", topic).stdout


def test_an_open_transaction_does_not_move_the_end(
    run: Run, topic: str, broker: KafkaBroker
) -> None:
    run("topics", "create", topic, "--partitions", "1")
    sender = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic})
    sender.init_transactions(20)
    sender.begin_transaction()
    sender.produce(topic, b"not yet")
    sender.flush(10)
    assert json.loads(run("topics", "show", topic, "--json").stdout)["records"] == 0
    sender.commit_transaction(20)
    assert json.loads(run("topics", "show", topic, "--json").stdout)["records"] == 2


def test_messages_are_shown_as_text_or_marked_as_base64(
    run: Run, topic: str, producer: Producer
) -> None:
    run("topics", "create", topic, "--partitions", "1")
    send(producer, topic, "grün\x1b[31m".encode(), b"\xff\x00", None, b"")
    reading = ("topics", "consume", topic, "--from-beginning", "--max-messages", "4")
    shown = run(*reading)
    binary = base64.b64encode(b"\xff\x00").decode()
    assert shown.stdout.splitlines() == [
        r"0:0  key  grün\x1b[31m",
        f"0:1  key  base64:{binary}",
        "0:2  key  (no value)",
        "0:3  key  ",
    ]
    objects = [json.loads(line) for line in run(*reading, "--json").stdout.splitlines()]
    assert [each["offset"] for each in objects] == [0, 1, 2, 3]
    assert (objects[0]["value"], objects[0]["value_encoding"]) == ("grün\x1b[31m", "utf-8")
    assert (objects[1]["value"], objects[1]["value_encoding"]) == (binary, "base64")
    assert objects[2]["value"] is None


def test_one_partition_can_be_read_alone(run: Run, topic: str, producer: Producer) -> None:
    run("topics", "create", topic, "--partitions", "2")
    send(producer, topic, b"left", partition=0)
    send(producer, topic, b"right", partition=1)
    reading = ("topics", "consume", topic, "--from-beginning", "--max-messages", "1")
    assert run(*reading, "--partition", "1").stdout == "1:0  key  right\n"
    refused = run(*reading, "--partition", "2")
    assert (refused.returncode, "partitions 0 to 1" in refused.stderr) == (2, True)


def test_without_from_beginning_only_new_messages_come_until_interrupted(
    run: Run, topic: str, producer: Producer, environment: dict[str, str]
) -> None:
    run("topics", "create", topic, "--partitions", "1")
    send(producer, topic, b"old")
    command = [sys.executable, "-m", "lakeward", "topics", "consume", topic]
    with subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.PIPE, text=True
    ) as reading:
        assert reading.stdout is not None
        for number in range(20):
            time.sleep(0.5)
            send(producer, topic, f"new {number}".encode())
            if reading.poll() is None and _has_output(reading):
                break
        line = reading.stdout.readline()
        reading.send_signal(signal.SIGINT)
        assert reading.wait(5) == 0
    assert "old" not in line
    assert "new" in line


def _has_output(process: subprocess.Popen[str]) -> bool:
    import select

    return bool(select.select([process.stdout], [], [], 0)[0])


def test_groups_show_members_positions_and_lag(
    run: Run, topic: str, producer: Producer, broker: KafkaBroker
) -> None:
    run("topics", "create", topic, "--partitions", "2")
    send(producer, topic, b"a", b"b", b"c", partition=1)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic})
    consumer.commit(offsets=[TopicPartition(topic, 1, 1)], asynchronous=False)
    consumer.close()
    (row,) = json.loads(run("groups", "show", topic, "--json").stdout)
    assert row == {
        "group": topic,
        "state": "empty",
        "members": 0,
        "topic": topic,
        "partition": 1,
        "committed": 1,
        "end": 3,
        "lag": 2,
    }
    assert topic in run("groups", "show").stdout
    missing = run("groups", "show", "no-such-group")
    assert (missing.returncode, "does not exist" in missing.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("topics", "show", "no-such-topic"), 1, "does not exist"),
        (("topics", "consume", "no-such-topic"), 1, "does not exist"),
        (("topics", "create", "no/such/name"), 2, "Kafka refuses this topic"),
        (("topics", "create", "x", "--config", "no.such=1"), 2, "no.such"),
        (("topics", "create", "x", "--config", "nonsense"), 2, "KEY=VALUE"),
        (("topics", "create", "x", "--partitions", "0"), 2, "--partitions"),
        (("topics", "consume", "x", "--max-messages", "0"), 2, "--max-messages"),
    ],
)
def test_bad_input_is_one_line_and_the_right_exit_code(
    run: Run, arguments: tuple[str, ...], code: int, says: str
) -> None:
    refused = run(*arguments)
    assert refused.returncode == code
    (line,) = refused.stderr.splitlines()
    assert says in line


@pytest.mark.parametrize(
    "command", [("topics", "list"), ("groups", "show"), ("groups", "show", "g")]
)
def test_an_unreachable_broker_is_one_line_within_ten_seconds(
    run: Run, command: tuple[str, ...]
) -> None:
    began = time.monotonic()
    refused = run(*command, "--bootstrap-servers", "127.0.0.1:1")
    assert time.monotonic() - began < 10
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert "127.0.0.1:1" in line


def test_create_topics_makes_what_is_missing_and_checks_what_is_there(
    broker: KafkaBroker, topic: str
) -> None:
    admin = open_admin(broker.bootstrap_servers)
    assert create_topics(admin, {f"{topic}-a": 3}) == [f"{topic}-a"]
    assert create_topics(admin, {f"{topic}-a": 2, f"{topic}-b": 1}) == [f"{topic}-b"]
    with pytest.raises(SourceError, match="3 partitions, 4 are wanted"):
        create_topics(admin, {f"{topic}-c": 1, f"{topic}-a": 4})
    with pytest.raises(SourceError, match="does not exist"):
        describe_topics(admin, [f"{topic}-c"])
