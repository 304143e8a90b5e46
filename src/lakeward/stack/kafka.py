"""A real Kafka broker as a child process: one node in KRaft mode with a small heap."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from lakeward.errors import PortBusy, ServiceFailed, UsageError
from lakeward.settings import Settings
from lakeward.stack.jars import fetch
from lakeward.stack.java import find_java
from lakeward.stack.kafka_storage import prepare_storage
from lakeward.stack.lockfile import held
from lakeward.stack.ports import LOOPBACK, why_unusable
from lakeward.stack.service import GRACE_SECONDS, Service, await_ready, find_service, spawn

NAME = "kafka"
READY_SECONDS = 90.0

VARIABLES = {
    "external": "KAFKA_EXTERNAL_PORT",
    "internal": "KAFKA_INTERNAL_PORT",
    "controller": "KAFKA_CONTROLLER_PORT",
}
"""Listener -> the environment variable that moves its port."""

HEAP = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-XX:-UsePerfData")
LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
    # Otherwise every start writes some hundred lines of default settings.
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config.AbstractConfig=warn",
)


class KafkaBroker:
    """The broker of this home; holds the service it runs as."""

    def __init__(self, service: Service, *, already_running: bool = False) -> None:
        self._service = service
        self.already_running = already_running
        """Whether it ran before we asked; then it is not ours to stop."""

    @property
    def bootstrap_servers(self) -> str:
        return f"{LOOPBACK}:{self._service.record.ports['external']}"

    @property
    def pid(self) -> int:
        return self._service.record.pid

    @property
    def alive(self) -> bool:
        return self._service.alive

    def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Shut the broker down; kill it when the grace time is over."""
        self._service.stop(grace)

    def kill(self) -> None:
        """End the broker as a crash would; it starts again with its data."""
        self._service.kill()


def start_kafka(settings: Settings, *, tied: bool = False) -> KafkaBroker:
    """Start the broker of this home, or return the one that runs.

    A broker that is tied ends with this process, even if this process is killed.
    """
    ports = broker_ports(settings)
    with held(settings.run / f"{NAME}.lock"):
        running = find_service(NAME, settings)
        if running is not None:
            _require_ports(running, ports)
            return KafkaBroker(running, already_running=True)
        for listener, port in ports.items():
            _require_usable(listener, port)
        classpath = ":".join(map(str, fetch("kafka", settings)))
        java = [str(find_java(settings).binary), *HEAP, *LOGGING, "-cp", classpath]
        folder = settings.home / "kafka"
        cluster_id = prepare_storage(folder, java, ports)
        probe = Probe(f"{LOOPBACK}:{ports['external']}", cluster_id)
        command = [*java, f"-Dlakeward.home={settings.home}", "kafka.Kafka", "server.properties"]
        service = spawn(NAME, command, settings, folder=folder, ports=ports, tied=tied)
        await_ready(service, probe.answers, READY_SECONDS)
    return KafkaBroker(service)


def find_kafka(settings: Settings) -> KafkaBroker | None:
    """Return the running broker of this home."""
    service = find_service(NAME, settings)
    return KafkaBroker(service, already_running=True) if service is not None else None


def broker_ports(settings: Settings) -> dict[str, int]:
    """Return the port of each listener."""
    ports = {
        "external": settings.kafka_port,
        "internal": settings.kafka_internal_port,
        "controller": settings.kafka_controller_port,
    }
    if len(set(ports.values())) < len(ports):
        raise UsageError(
            f"Kafka needs three different ports, not {', '.join(map(str, ports.values()))}",
            where="environment",
            next_step=f"Set {', '.join(VARIABLES.values())}.",
        )
    return ports


def _require_ports(running: Service, wanted: Mapping[str, int]) -> None:
    ports = running.record.ports
    if ports != wanted:
        raise ServiceFailed(
            f"Kafka already runs on other ports: {', '.join(map(str, ports.values()))}",
            where=f"pid {running.record.pid}",
            next_step=f"Run: lakeward stop; or set {', '.join(VARIABLES.values())} to these.",
        )


def _require_usable(listener: str, port: int) -> None:
    reason = why_unusable(port)
    if reason:
        raise PortBusy(
            f"Kafka's {listener} listener cannot have port {port}: {reason}",
            where=f"{LOOPBACK}:{port}",
            next_step=f"Stop that process, or set {VARIABLES[listener]} to a free port.",
        )


class Probe:
    """Asks a starting broker for its cluster; holds one client that keeps trying to connect."""

    def __init__(self, bootstrap_servers: str, cluster_id: str) -> None:
        from confluent_kafka.admin import AdminClient

        self._cluster_id = cluster_id
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 250,
        }
        # A logger of our own, silent: until the broker is up, librdkafka has much to say.
        silent = logging.getLogger("lakeward.stack.probe")
        silent.disabled = True
        self._admin = AdminClient(settings, logger=silent)

    def answers(self) -> bool:
        """Check that the broker is up, registered, and of the cluster we expect."""
        from confluent_kafka import KafkaException

        try:
            seen = self._admin.list_topics(timeout=0.5)
        except KafkaException:
            return False
        return bool(seen.brokers) and seen.cluster_id == self._cluster_id
