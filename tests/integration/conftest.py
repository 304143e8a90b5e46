"""Real services, one of each per run; every test takes a topic and a namespace of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lakeward.settings import Settings, load_settings
from lakeward.stack.kafka import KafkaBroker, start_kafka
from lakeward.stack.ports import free_ports

PORT_VARIABLES = ("KAFKA_EXTERNAL_PORT", "KAFKA_INTERNAL_PORT", "KAFKA_CONTROLLER_PORT")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables of an installation of its own: new home, free ports, shared jars."""
    # A home as people have them: paths with spaces must not matter anywhere.
    home = tmp_path_factory.mktemp("lakeward home")
    ports = dict(zip(PORT_VARIABLES, map(str, free_ports(3)), strict=True))
    return {"LAKEWARD_HOME": str(home), "LAKEWARD_CACHE": str(load_settings().cache), **ports}


@pytest.fixture(scope="session")
def settings(environment: dict[str, str]) -> Settings:
    return load_settings(environment)


@pytest.fixture(scope="session")
def broker(settings: Settings) -> Iterator[KafkaBroker]:
    running = start_kafka(settings, tied=True)
    yield running
    running.stop(grace=10)
