"""A worker on real Spark, as a user starts it, and the processes it consists of."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from faults.child import Child, start_command
from faults.world import World
from lakeward.failpoints import VARIABLE
from lakeward.settings import load_settings

EXECUTOR = "CoarseGrainedExecutorBackend"
DAEMON = "-m lakeward.job.daemon"


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a worker."""

    pid: int
    parent: int
    command: str


def start_worker(
    world: World,
    failpoint: str = "",
    master: str = "local[2,4]",
    extra: Mapping[str, str] | None = None,
) -> Child:
    """Start `lakeward worker` with the world's job, and variables of its own."""
    folder = world.folder / f"worker-{len(world.children)}"
    folder.mkdir()
    connector = folder / "connector.json"
    connector.write_text(json.dumps(_configuration(world)))
    environment = {
        "LAKEWARD_HOME": str(folder),
        "LAKEWARD_CACHE": str(load_settings().cache),
        "KAFKA_BOOTSTRAP_SERVERS": world.spec.source.bootstrap_servers,
        "LAKEWARD_SPARK_MASTER": master,
        "PYTHONFAULTHANDLER": "1",
        VARIABLE: failpoint,
        **(extra or {}),
    }
    command = [sys.executable, "-m", "lakeward", "worker", str(connector)]
    child = start_command(command, folder, environment)
    world.children.append(child)
    return child


def finish(world: World) -> None:
    """Let a worker that nobody disturbs read all there is."""
    worker = start_worker(world)
    # All may be read already; a process that is asked to stop before it listens dies otherwise.
    worker.until(lambda: "claimed with epoch" in worker.log, "the worker has claimed the job", 120)
    worker.until(world.caught_up, "the worker has read everything", 120)
    worker.end()


def python_workers(child: Child) -> list[int]:
    """Return the processes that run tasks: what Spark's Python daemon has forked."""
    found = [process for process in _session(child.pid) if DAEMON in process.command]
    daemons = {process.pid for process in found}
    return [process.pid for process in found if process.parent in daemons]


def executors(child: Child) -> list[int]:
    """Return the JVMs that run tasks, if they are processes of their own."""
    return [process.pid for process in _session(child.pid) if EXECUTOR in process.command]


def _session(leader: int) -> Iterator[Process]:
    """Find by session: Spark's Python daemon leads a process group of its own."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            # It has ended meanwhile.
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            yield Process(int(folder.name), int(fields[1]), command)


def _configuration(world: World) -> dict[str, str]:
    database = world.folder / "catalog.db"
    return {
        "name": world.spec.name,
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": world.topic,
        "iceberg.tables": str(world.spec.table),
        "iceberg.catalog": "lake",
        "iceberg.catalog.type": "jdbc",
        "iceberg.catalog.uri": f"jdbc:sqlite:{database}",
        "iceberg.catalog.warehouse": world.spec.catalog.properties["warehouse"],
        "iceberg.control.commit.interval-ms": "100",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }


def end_process(pid: int) -> None:
    """Kill one process of ours, if it is still there."""
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
