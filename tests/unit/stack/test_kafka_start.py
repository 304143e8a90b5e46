"""What keeps a broker from starting is said before anything is made."""

from __future__ import annotations

import dataclasses
import re
import socket

import pytest

from lakeward.errors import PortBusy, UsageError
from lakeward.settings import Settings
from lakeward.stack.kafka import start_kafka
from lakeward.stack.kafka_storage import new_cluster_id


@pytest.mark.parametrize(
    ("field", "variable"),
    [
        ("kafka_port", "KAFKA_EXTERNAL_PORT"),
        ("kafka_internal_port", "KAFKA_INTERNAL_PORT"),
        ("kafka_controller_port", "KAFKA_CONTROLLER_PORT"),
    ],
)
def test_a_busy_port_is_named_with_the_variable_that_moves_it(
    settings: Settings, field: str, variable: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortBusy) as caught:
            start_kafka(dataclasses.replace(settings, **{field: port}))
    assert str(port) in caught.value.what
    assert variable in caught.value.next_step
    assert not (settings.home / "kafka").exists()


def test_a_listener_on_all_addresses_makes_a_port_busy(settings: Settings) -> None:
    with (
        socket.create_server(("0.0.0.0", 0)) as other,
        pytest.raises(PortBusy, match="another process"),
    ):
        start_kafka(dataclasses.replace(settings, kafka_port=other.getsockname()[1]))


def test_the_three_ports_must_differ(settings: Settings) -> None:
    with pytest.raises(UsageError, match="three different ports"):
        start_kafka(dataclasses.replace(settings, kafka_port=settings.kafka_internal_port))


def test_a_cluster_id_is_what_kafka_itself_would_make() -> None:
    ids = {new_cluster_id() for _ in range(200)}
    assert len(ids) == 200
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", each) for each in ids)
