"""The broker's folder: its settings, written at every start, and its storage, formatted once."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from lakeward.errors import ServiceFailed
from lakeward.stack.ports import LOOPBACK

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


def prepare_storage(folder: Path, java: Sequence[str], ports: Mapping[str, int]) -> str:
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
