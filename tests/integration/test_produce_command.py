from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from lakeward.errors import SourceError
from lakeward.kafka.client import open_admin, open_consumer
from lakeward.produce.manifest import Manifest, SentRange, load_manifest
from lakeward.produce.recipe import Recipe
from lakeward.produce.send import send_records
from lakeward.produce.topics import prepare_topics
from lakeward.settings import Settings, load_settings

pytestmark = pytest.mark.integration

COMMAND = Path(sys.executable).with_name("lakeward")


@pytest.fixture
def own_environment(broker: Any, tmp_path: Path) -> dict[str, str]:
    unique = uuid4().hex[:8]
    return {
        "PATH": os.environ["PATH"],
        "LAKEWARD_HOME": str(tmp_path / "home"),
        "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "API_LOGS_TOPIC": f"produce-api-{unique}",
        "ERROR_LOGS_TOPIC": f"produce-error-{unique}",
        "AUDIT_LOGS_TOPIC": f"produce-audit-{unique}",
    }


@pytest.fixture
def here(own_environment: dict[str, str]) -> Settings:
    return load_settings(own_environment)


def produce(
    own_environment: dict[str, str], *arguments: str
) -> tuple[int, dict[str, Any], subprocess.CompletedProcess[str]]:
    answer = subprocess.run(
        [COMMAND, "produce", "--json", *arguments],
        env=own_environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return answer.returncode, json.loads(answer.stdout or "{}"), answer


def read(here: Settings, sent: SentRange) -> list[bytes]:
    consumer = open_consumer(here.bootstrap_servers)
    consumer.assign([TopicPartition(sent.topic, sent.partition, sent.first_offset)])
    values: list[bytes] = []
    deadline = time.monotonic() + 20
    while missing := sent.end_offset - sent.first_offset - len(values):
        assert time.monotonic() < deadline
        found = consumer.consume(missing, timeout=1)
        values += [message.value() for message in found if message.error() is None]
    consumer.close()
    return values


def framed_hash(values: list[bytes]) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(len(value).to_bytes(8, "big"))
        digest.update(value)
    return digest.hexdigest()


def only_manifest(here: Settings) -> Manifest:
    (path,) = here.manifests.iterdir()
    return load_manifest(path)


def test_the_manifest_says_exactly_what_a_consumer_reads(here: Settings) -> None:
    counts = {here.api_topic: 9_000, here.error_topic: 700, here.audit_topic: 300}
    manifest = send_records(here, counts, Recipe(seed=5, fault_share=0.05))
    assert only_manifest(here) == manifest
    assert {topic.name: topic.records for topic in manifest.topics} == counts
    assert all(250 < sum(topic.faults.values()) * counts[here.api_topic] / topic.records < 700
               for topic in manifest.topics)  # fmt: skip
    for sent in manifest.ranges:
        values = read(here, sent)
        assert sent.exclusive
        assert (sent.count, sent.sha256) == (len(values), framed_hash(values))


def test_records_have_no_key_as_minio_sends_none(here: Settings) -> None:
    send_records(here, {here.audit_topic: 30})
    consumer = open_consumer(here.bootstrap_servers)
    consumer.assign([TopicPartition(here.audit_topic, 0, 0)])
    assert {message.key() for message in consumer.consume(5, timeout=10)} == {None}
    consumer.close()


def test_without_a_topic_each_of_the_three_gets_n_records(
    own_environment: dict[str, str], here: Settings
) -> None:
    code, summary, _ = produce(own_environment, "-n", "300", "--faults")
    assert code == 0
    assert {name: topic["records"] for name, topic in summary["topics"].items()} == dict.fromkeys(
        here.topics, 300
    )
    assert summary["records"] == 900
    assert summary["bytes"] == only_manifest(here).bytes
    assert summary["manifest"] == str(next(here.manifests.iterdir()))


def test_a_missing_topic_is_created_and_an_existing_one_keeps_its_partitions(
    own_environment: dict[str, str], here: Settings
) -> None:
    _, first, _ = produce(own_environment, here.error_topic, "-n", "200", "--partitions", "5")
    _, second, _ = produce(own_environment, here.error_topic, "-n", "200", "--partitions", "2")
    for summary in (first, second):
        partitions = summary["topics"][here.error_topic]["partitions"]
        assert list(partitions) == ["0", "1", "2", "3", "4"]
        assert sum(partitions.values()) == 200


def test_the_same_seed_and_start_send_the_same_bytes_again(
    own_environment: dict[str, str], here: Settings
) -> None:
    again = [here.api_topic, "--seed", "11", "--start-time", "2026-01-15T10:30:00Z", "--faults"]
    manifests = [
        load_manifest(Path(produce(own_environment, *again)[1]["manifest"])) for _ in range(2)
    ]
    hashes = [[sent.sha256 for sent in manifest.ranges] for manifest in manifests]
    assert hashes[0] == hashes[1]
    assert manifests[1].ranges[0].first_offset == manifests[0].ranges[0].end_offset


def test_a_range_that_somebody_else_wrote_into_is_not_exclusive(here: Settings) -> None:
    other = Producer({"bootstrap.servers": here.bootstrap_servers})

    def interfere(_done: int) -> None:
        other.produce(here.api_topic, b"{}", partition=1)
        other.flush(5)

    manifest = send_records(here, {here.api_topic: 5_000}, progress=interfere)
    assert {sent.partition: sent.exclusive for sent in manifest.ranges} == {
        0: True,
        1: False,
        2: True,
    }


def test_a_rate_is_kept_over_all_topics_together(here: Settings) -> None:
    manifest = send_records(here, dict.fromkeys(here.topics, 400), Recipe(rate=500))
    # A busy machine may confirm the last records a little late, but never early.
    assert 0.9 * 500 < manifest.records_per_second <= 1.01 * 500


def test_progress_ends_with_everything_delivered(here: Settings) -> None:
    seen: list[int] = []
    send_records(here, {here.api_topic: 20_000}, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 20_000


def wait_for_records(here: Settings, topic: str) -> None:
    consumer, deadline = open_consumer(here.bootstrap_servers), time.monotonic() + 30
    while consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    consumer.close()


@contextmanager
def running(own_environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [str(COMMAND), "produce", "--json", *arguments]
    with subprocess.Popen(
        command, env=own_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_an_interrupt_stops_at_once_and_leaves_the_manifest_of_what_was_sent(
    own_environment: dict[str, str], here: Settings
) -> None:
    prepare_topics(open_admin(here.bootstrap_servers), [here.api_topic], 3, "the broker")
    with running(own_environment, here.api_topic, "-n", "1000000", "--rate", "5000") as process:
        wait_for_records(here, here.api_topic)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        output, errors = process.communicate(timeout=20)
    assert time.monotonic() - asked < 5
    assert process.returncode == 130
    assert json.loads(errors)["error"] == "interrupted"
    manifest = only_manifest(here)
    assert manifest.interrupted
    assert 0 < manifest.records == json.loads(output)["records"] < 1_000_000
    for sent in manifest.ranges:
        assert framed_hash(read(here, sent)) == sent.sha256


def test_a_delivery_that_fails_is_one_line_and_exit_code_1_and_no_manifest(
    own_environment: dict[str, str], here: Settings
) -> None:
    admin = open_admin(here.bootstrap_servers)
    small = NewTopic(here.api_topic, 3, config={"max.message.bytes": "600"})
    admin.create_topics([small])[here.api_topic].result()
    code, _, answer = produce(own_environment, here.api_topic, "-n", "2000")
    assert code == 1
    assert "Kafka did not confirm" in json.loads(answer.stderr)["message"]
    assert "Traceback" not in answer.stderr
    assert list(here.manifests.iterdir()) == []


def test_a_failed_delivery_names_how_many_of_how_many_and_why(here: Settings) -> None:
    admin = open_admin(here.bootstrap_servers)
    small = NewTopic(here.audit_topic, 1, config={"max.message.bytes": "300"})
    admin.create_topics([small])[here.audit_topic].result()
    with pytest.raises(SourceError, match=r"did not confirm [\d,]+ of 50 records: .*large"):
        send_records(here, {here.audit_topic: 50})


def test_kafka_that_cannot_be_reached_is_one_line_within_seconds(
    own_environment: dict[str, str],
) -> None:
    begun = time.monotonic()
    code, _, answer = produce(own_environment, "--bootstrap-servers", "127.0.0.1:1")
    assert code == 1
    assert time.monotonic() - begun < 10
    assert "Kafka cannot be reached" in json.loads(answer.stderr)["message"]
    assert len(answer.stderr.splitlines()) == 1


def test_an_unwritable_home_is_noticed_before_anything_is_sent(
    own_environment: dict[str, str], here: Settings, tmp_path: Path
) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    code, _, answer = produce(own_environment, here.api_topic)
    assert code == 1
    assert "home" in json.loads(answer.stderr)["message"]
    topics = open_admin(here.bootstrap_servers).list_topics(timeout=10).topics
    assert here.api_topic not in topics


def test_faults_are_spread_over_all_kinds(here: Settings) -> None:
    manifest = send_records(here, {here.api_topic: 3_000}, Recipe(seed=1, fault_share=0.2))
    faults = Counter(manifest.topics[0].faults)
    assert len(faults) == 7
    assert min(faults.values()) > 40
