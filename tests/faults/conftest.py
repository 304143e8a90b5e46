"""Real services for the fault suite, and the table of faults written from its results."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.fault_table import FaultTable
from faults.mortal import MortalBroker
from faults.world import World, make_world
from lakeward.settings import Settings, load_settings
from lakeward.stack.kafka import KafkaBroker, start_kafka
from lakeward.stack.ports import free_ports

PORT_VARIABLES = ("KAFKA_EXTERNAL_PORT", "KAFKA_INTERNAL_PORT", "KAFKA_CONTROLLER_PORT")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("faults")
    group.addoption("--rounds", type=int, default=1, help="How often in a row to run the suite.")
    group.addoption("--write-faults", type=Path, help="Write the table of faults to this file.")


def pytest_configure(config: pytest.Config) -> None:
    target = config.getoption("--write-faults", None)
    if target is not None:
        config.pluginmanager.register(FaultTable(target), "fault-table")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    rounds = metafunc.config.getoption("--rounds", 1)
    if rounds > 1:
        metafunc.fixturenames.append("round_number")
        metafunc.parametrize("round_number", range(1, rounds + 1), scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run whole rounds: every fault once before any comes again."""
    items.sort(key=_round)


def _round(item: pytest.Item) -> int:
    call: Any = getattr(item, "callspec", None)
    return int(call.params.get("round_number", 0)) if call else 0


def broker_settings(home: Path) -> Settings:
    """Return settings of an installation of its own: new home, free ports, shared jars."""
    ports = dict(zip(PORT_VARIABLES, map(str, free_ports(3)), strict=True))
    places = {"LAKEWARD_HOME": str(home), "LAKEWARD_CACHE": str(load_settings().cache)}
    return load_settings({**places, **ports})


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return broker_settings(tmp_path_factory.mktemp("lakeward home"))


@pytest.fixture(scope="session")
def broker(settings: Settings) -> Iterator[KafkaBroker]:
    """The broker every test shares; nobody may hurt it."""
    running = start_kafka(settings, tied=True)
    yield running
    running.stop(grace=10)


@pytest.fixture
def mortal_broker(tmp_path: Path) -> Iterator[MortalBroker]:
    """A broker of the test's own."""
    made = MortalBroker(broker_settings(tmp_path / "mortal"))
    yield made
    made.kill()


@pytest.fixture
def dice() -> random.Random:
    """Chance that can be repeated: the seed is printed, and taken from SEED if that is set."""
    seed = os.environ.get("SEED") or str(random.SystemRandom().randrange(10**9))
    print(f"Repeat with SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def world(broker: KafkaBroker, tmp_path: Path) -> Iterator[World]:
    """A world whose job uses an embedded catalog."""
    with make_world(tmp_path, broker.bootstrap_servers) as made:
        yield made


@pytest.fixture
def rest_world(broker: KafkaBroker, tmp_path: Path) -> Iterator[World]:
    """A world whose job reaches its tables through a REST catalog of ours."""
    with make_world(tmp_path, broker.bootstrap_servers, rest=True) as made:
        yield made
