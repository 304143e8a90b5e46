"""A real Kafka broker as a child process: one node in KRaft mode with a small heap."""

from __future__ import annotations

import base64
import logging
import re
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from lakeward.errors import PortBusy, ServiceFailed, UsageError
from lakeward.settings import Settings
from lakeward.stack.jars import fetch
from lakeward.stack.java import find_java
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

PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "INTERNAL",
    "listener.security.protocol.map": "EXTERNAL:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    # A broker that was killed may register again only when its old session is over.
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "2",
    # The default of 128 MB is a quarter of the heap.
    "log.cleaner.dedupe.buffer.size": "16777216",
    # Records past `max.record.bytes` must be able to arrive: they end as dead letters.
    "message.max.bytes": "33554432",
}


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


def start_kafka(settings: Settings) -> KafkaBroker:
    """Start the broker of this home, or return the one that runs."""
    ports = broker_ports(settings)
    jars = fetch("kafka", settings)
    with held(settings.run / f"{NAME}.lock"):
        running = find_service(NAME, settings)
        if running is not None:
            _require_ports(running, ports)
            return KafkaBroker(running, already_running=True)
        for listener, port in ports.items():
            _require_usable(listener, port)
        java = [str(find_java(settings).binary), *HEAP, *LOGGING, "-cp", ":".join(map(str, jars))]
        folder = settings.home / "kafka"
        cluster_id = _prepare(folder, java, ports)
        command = [*java, f"-Dlakeward.home={settings.home}", "kafka.Kafka", "server.properties"]
        service = spawn(NAME, command, settings, folder=folder, ports=ports)
        broker = KafkaBroker(service)
        probe = Probe(broker.bootstrap_servers, cluster_id)
        await_ready(service, probe.answers, READY_SECONDS)
    return broker


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


def _prepare(folder: Path, java: Sequence[str], ports: Mapping[str, int]) -> str:
    """Write the broker's settings, format its storage on the first start; return the cluster id."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_properties(folder / "server.properties", ports, "data")
    if not (folder / "data" / "meta.properties").exists():
        _format(folder, java, ports)
    meta = (folder / "data" / "meta.properties").read_text(encoding="utf-8")
    found = re.search(r"^cluster\.id=(.+)$", meta, re.MULTILINE)
    return found[1].strip() if found else ""


def _format(folder: Path, java: Sequence[str], ports: Mapping[str, int]) -> None:
    # Formatted aside and moved: a start that is cut off here leaves no half-formatted storage.
    shutil.rmtree(folder / "data.new", ignore_errors=True)
    _write_properties(folder / "format.properties", ports, "data.new")
    tool = ["kafka.tools.StorageTool", "format", "--config", "format.properties"]
    command = [*java, *tool, "--cluster-id", new_cluster_id()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise ServiceFailed(
            f"Kafka's storage could not be formatted: {lines[-1] if lines else done.returncode}",
            where=str(folder),
            next_step="Check that the folder can be written and has space.",
        )
    (folder / "format.properties").unlink()
    (folder / "data.new").replace(folder / "data")


def _write_properties(path: Path, ports: Mapping[str, int], data: str) -> None:
    at = {listener: f"{LOOPBACK}:{port}" for listener, port in ports.items()}
    clients = f"EXTERNAL://{at['external']},INTERNAL://{at['internal']}"
    properties = PROPERTIES | {
        "listeners": f"{clients},CONTROLLER://{at['controller']}",
        "advertised.listeners": clients,
        # Voters named here, not in the data: the ports may move between two starts.
        "controller.quorum.voters": f"1@{at['controller']}",
        # Relative to the broker's folder, since this key takes no path with a comma.
        "log.dirs": data,
    }
    lines = (f"{key}={value}\n" for key, value in properties.items())
    path.write_text("".join(lines), encoding="utf-8")


def new_cluster_id() -> str:
    """Make a cluster id as Kafka does: a random uuid in URL-safe base64."""
    text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # On a command line a leading dash would be taken for an option.
    return new_cluster_id() if text.startswith("-") else text


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
