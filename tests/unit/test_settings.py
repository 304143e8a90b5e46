"""Settings come from the environment, have defaults, and refuse nonsense by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakeward.errors import UsageError
from lakeward.settings import load_settings


def test_without_any_variable_everything_has_a_default() -> None:
    settings = load_settings({})
    assert settings.home == Path.cwd() / ".lakeward"
    assert settings.bootstrap_servers == "127.0.0.1:9092"
    assert settings.topics == ("apilogs", "errorlogs", "auditlogs")
    assert settings.warehouse == settings.home / "warehouse" / "kafkawarehouse"
    assert settings.namespace == "streaming"
    ports = (settings.kafka_port, settings.kafka_internal_port, settings.kafka_controller_port)
    assert ports == (9092, 29092, 29093)


def test_every_variable_is_honoured() -> None:
    settings = load_settings(
        {
            "LAKEWARD_HOME": "/data/lake",
            "LAKEWARD_CACHE": "/data/cache",
            "KAFKA_BOOTSTRAP_SERVERS": "kafka:29092",
            "WAREHOUSE_NAME": "w",
            "NAMESPACE_NAME": "n",
            "API_LOGS_TOPIC": "a",
            "ERROR_LOGS_TOPIC": "e",
            "AUDIT_LOGS_TOPIC": "u",
            "LAKEWARD_SPARK_MASTER": "local[1]",
        }
    )
    assert settings.home == Path("/data/lake")
    assert settings.cache == Path("/data/cache")
    assert settings.bootstrap_servers == "kafka:29092"
    assert (settings.warehouse_name, settings.namespace) == ("w", "n")
    assert settings.topics == ("a", "e", "u")
    assert settings.spark_master == "local[1]"


def test_moving_the_brokers_port_moves_its_clients() -> None:
    assert load_settings({"KAFKA_EXTERNAL_PORT": "19092"}).bootstrap_servers == "127.0.0.1:19092"


@pytest.mark.parametrize("text", ["0", "65536", "-1", "9092x", "٣", "9 092"])
def test_a_port_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="KAFKA_EXTERNAL_PORT"):
        load_settings({"KAFKA_EXTERNAL_PORT": text})
