"""A real broker through its life: started, crashed, moved, refused, stopped."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakeward.errors import ServiceFailed
from lakeward.kafka.client import open_admin
from lakeward.kafka.topics import create_topics, describe_topics
from lakeward.settings import Settings, load_settings
from lakeward.stack.kafka import KafkaBroker, find_kafka, start_kafka
from lakeward.stack.ports import free_ports, why_unusable

pytestmark = pytest.mark.integration

RUN_BRIEFLY = """
import time
from lakeward.settings import load_settings
from lakeward.stack.kafka import start_kafka
print(start_kafka(load_settings()).pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def own_environment(tmp_path: Path) -> dict[str, str]:
    names = ("KAFKA_EXTERNAL_PORT", "KAFKA_INTERNAL_PORT", "KAFKA_CONTROLLER_PORT")
    ports = dict(zip(names, map(str, free_ports(3)), strict=True))
    home = tmp_path / "a home, ünlike others"
    return {"LAKEWARD_HOME": str(home), "LAKEWARD_CACHE": str(load_settings().cache), **ports}


@pytest.fixture
def own(own_environment: dict[str, str]) -> Iterator[Settings]:
    settings = load_settings(own_environment)
    yield settings
    running = find_kafka(settings)
    if running is not None:
        running.stop(grace=10)


def lakeward(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lakeward", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_broker_killed_and_started_again_has_its_data(own: Settings) -> None:
    broker = start_kafka(own)
    create_topics(open_admin(broker.bootstrap_servers), {"kept": 3})
    before = describe_topics(open_admin(broker.bootstrap_servers), ["kept"])
    broker.kill()
    assert not broker.alive
    again = start_kafka(own)
    assert describe_topics(open_admin(again.bootstrap_servers), ["kept"]) == before
    again.stop(grace=10)


def test_a_second_start_finds_the_running_broker(own: Settings) -> None:
    broker = start_kafka(own)
    again = start_kafka(own)
    assert (again.pid, again.already_running, broker.already_running) == (broker.pid, True, False)
    broker.stop(grace=10)


def test_ports_may_move_between_two_starts_but_not_while_it_runs(own: Settings) -> None:
    broker = start_kafka(own)
    create_topics(open_admin(broker.bootstrap_servers), {"moving": 1})
    external, internal, controller = free_ports(3)
    moved = dataclasses.replace(
        own,
        kafka_port=external,
        kafka_internal_port=internal,
        kafka_controller_port=controller,
    )
    with pytest.raises(ServiceFailed, match="already runs on other ports"):
        start_kafka(moved)
    broker.stop(grace=10)
    again = start_kafka(moved)
    assert again.bootstrap_servers == f"127.0.0.1:{external}"
    (topic,) = describe_topics(open_admin(again.bootstrap_servers), ["moving"])
    assert topic.partitions[0].leader == 1
    again.stop(grace=10)


def test_a_broker_that_cannot_start_shows_its_last_words_and_leaves_nothing(own: Settings) -> None:
    start_kafka(own).stop(grace=10)
    meta = own.home / "kafka" / "data" / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=7"))
    with pytest.raises(ServiceFailed) as caught:
        start_kafka(own)
    assert "while starting" in caught.value.what
    assert str(own.logs / "kafka.log") in caught.value.where
    assert "node" in caught.value.next_step
    assert find_kafka(own) is None


def test_start_status_and_stop_from_the_command_line(
    own: Settings, own_environment: dict[str, str]
) -> None:
    started = lakeward(own_environment, "start")
    assert started.returncode == 0, started.stderr
    assert f"127.0.0.1:{own.kafka_port}" in started.stdout
    (kafka,) = json.loads(lakeward(own_environment, "status", "--json").stdout)["services"]
    assert (kafka["state"], kafka["port"]) == ("running", own.kafka_port)
    assert "already runs" in lakeward(own_environment, "start").stdout
    checked = json.loads(lakeward(own_environment, "doctor", "--json").stdout)
    ports = [check for check in checked if check["name"].startswith("port ")]
    assert [check["state"] for check in ports] == ["ok"] * 3
    assert all(str(kafka["pid"]) in check["found"] for check in ports)
    stopped = lakeward(own_environment, "stop")
    assert f"Stopped kafka (pid {kafka['pid']})." in stopped.stdout
    assert why_unusable(own.kafka_port) == ""


def test_a_busy_port_is_one_line_and_exit_code_1(
    broker: KafkaBroker, settings: Settings, own_environment: dict[str, str]
) -> None:
    taken = {**own_environment, "KAFKA_EXTERNAL_PORT": str(settings.kafka_port)}
    refused = lakeward(taken, "start")
    assert refused.returncode == 1
    *_, line = refused.stderr.splitlines()
    assert line.startswith("Error: ")
    assert str(settings.kafka_port) in line
    assert "KAFKA_EXTERNAL_PORT" in line


def test_a_broker_outlives_a_starter_that_is_killed_and_is_found_again(
    own: Settings, own_environment: dict[str, str]
) -> None:
    command = [sys.executable, "-c", RUN_BRIEFLY]
    with subprocess.Popen(
        command, env=os.environ | own_environment, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.send_signal(signal.SIGKILL)
    found = start_kafka(own)
    assert (found.pid, found.already_running) == (pid, True)
