"""Child processes: found again, stopped for sure, and never somebody else's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakeward.errors import ServiceFailed
from lakeward.settings import Settings
from lakeward.stack.service import Service, await_ready, find_service, find_services, spawn

SLEEP = ["sleep", "60"]

START_TIED = """
import pathlib, sys, time
from lakeward.settings import load_settings
from lakeward.stack.service import spawn
settings = load_settings({"LAKEWARD_HOME": sys.argv[1]})
spawn("one", ["sleep", "60"], settings, folder=pathlib.Path("/"), tied=sys.argv[2] == "tied")
print("started", flush=True)
time.sleep(60)
"""


@pytest.fixture
def started() -> Iterator[list[Service]]:
    services: list[Service] = []
    yield services
    for service in services:
        service.kill()


def start(
    settings: Settings, started: list[Service], name: str, *command: str, program: str = ""
) -> Service:
    settings.home.mkdir(parents=True, exist_ok=True)
    line = list(command) or [sys.executable, "-c", program]
    service = spawn(name, line, settings, folder=settings.home, ports={"external": 1})
    started.append(service)
    return service


def test_a_service_is_found_again_by_its_pid_and_stopped(
    settings: Settings, started: list[Service]
) -> None:
    service = start(settings, started, "one", *SLEEP)
    found = find_service("one", settings)
    assert found is not None
    assert (found.record.pid, found.record.ports) == (service.record.pid, {"external": 1})
    began = time.monotonic()
    found.stop(grace=5)
    assert time.monotonic() - began < 3
    assert not service.alive
    assert find_service("one", settings) is None
    assert not list(settings.run.glob("*.json"))


def test_services_are_listed_in_the_order_of_their_start(
    settings: Settings, started: list[Service]
) -> None:
    for name in ("zebra", "ant"):
        start(settings, started, name, *SLEEP)
    assert [each.record.name for each in find_services(settings)] == ["zebra", "ant"]


def test_a_service_that_does_not_listen_is_killed_after_the_grace_time(
    settings: Settings, started: list[Service]
) -> None:
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); "
    service = start(settings, started, "deaf", program=program + "time.sleep(60)")
    await_ready(service, lambda: Path(service.record.log).stat().st_size > 0, 10)
    began = time.monotonic()
    service.stop(grace=0.3)
    assert not service.alive
    assert 0.3 <= time.monotonic() - began < 5


def test_a_later_process_with_the_same_pid_is_not_ours_to_kill(
    settings: Settings, started: list[Service]
) -> None:
    service = start(settings, started, "one", *SLEEP)
    record = settings.run / "one.json"
    facts = json.loads(record.read_text())
    # Births are told apart by the clock tick.
    time.sleep(0.05)
    with subprocess.Popen(SLEEP) as stranger:
        record.write_text(json.dumps({**facts, "pid": stranger.pid}))
        assert find_service("one", settings) is None
        Service(type(service.record)(**{**facts, "pid": stranger.pid}), record).stop(grace=1)
        assert stranger.poll() is None
        stranger.kill()


def test_a_damaged_pid_file_counts_as_none(settings: Settings) -> None:
    settings.run.mkdir(parents=True)
    for content in ("", "{", "[]", '{"pid": 1}'):
        (settings.run / "one.json").write_text(content)
        assert find_services(settings) == []


def test_the_terminals_interrupt_does_not_reach_a_service(
    settings: Settings, started: list[Service]
) -> None:
    service = start(settings, started, "one", *SLEEP)
    assert os.getsid(service.record.pid) != os.getsid(0)


def test_a_service_that_ends_while_starting_shows_its_last_words(
    settings: Settings, started: list[Service]
) -> None:
    program = "import sys; print('cannot open the vault'); print('\\tat frame'); sys.exit(3)"
    service = start(settings, started, "one", program=program)
    with pytest.raises(ServiceFailed) as caught:
        await_ready(service, lambda: False, 10)
    assert "one ended with code 3" in caught.value.what
    assert str(settings.logs / "one.log") in caught.value.where
    assert "cannot open the vault" in caught.value.next_step
    assert "frame" not in caught.value.next_step


def test_a_service_that_never_answers_is_ended(settings: Settings, started: list[Service]) -> None:
    service = start(settings, started, "one", *SLEEP)
    with pytest.raises(ServiceFailed, match="did not answer"):
        await_ready(service, lambda: False, 0.2)
    assert not service.alive


def test_an_interrupt_while_waiting_leaves_nothing_running(
    settings: Settings, started: list[Service]
) -> None:
    def interrupted() -> bool:
        raise KeyboardInterrupt

    service = start(settings, started, "one", *SLEEP)
    with pytest.raises(KeyboardInterrupt):
        await_ready(service, interrupted, 10)
    assert not service.alive
    assert find_services(settings) == []


@pytest.mark.parametrize("tie", ["tied", "free"])
def test_a_tied_service_ends_with_its_starter_even_if_that_is_killed(
    settings: Settings, tie: str
) -> None:
    command = [sys.executable, "-c", START_TIED, str(settings.home), tie]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "started\n"
        service = find_service("one", settings)
        assert service is not None
        starter.kill()
    deadline = time.monotonic() + (5 if tie == "tied" else 0.5)
    while service.alive and time.monotonic() < deadline:
        time.sleep(0.05)
    assert service.alive == (tie == "free")
    service.stop(grace=5)


def test_a_tied_service_can_be_stopped_like_any_other(settings: Settings) -> None:
    settings.home.mkdir()
    service = spawn("one", SLEEP, settings, folder=settings.home, tied=True)
    service.stop(grace=5)
    service.stop(grace=5)
    assert not service.alive


def test_a_log_that_has_grown_large_is_put_aside(
    settings: Settings, started: list[Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakeward.stack.service.LOG_BYTES", 10)
    settings.logs.mkdir(parents=True)
    (settings.logs / "one.log").write_text("old words, many of them")
    start(settings, started, "one", *SLEEP)
    assert (settings.logs / "one.log.1").read_text().startswith("old words")
    assert (settings.logs / "one.log").read_text() == ""
