"""The contestants of the drain: how each is started, and how far it is."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab import peer_jars
from lab.child import Child
from lab.ground import Site
from lakeward.catalogs.warehouse import spark_catalog_settings
from lakeward.kafka.offsets import KafkaOffsets
from lakeward.model.offsets import Position, TopicPartition
from lakeward.model.plan import plan_batch
from lakeward.model.spec import Limits, SourceSpec
from lakeward.stack.jars import fetch
from lakeward.stack.java import find_java

RECORD_BYTES = 650.0
PROGRAMS = Path(__file__).parents[1] / "peers"


@dataclass(frozen=True, slots=True)
class Task:
    """What every contestant is told: drain this topic into the site's table."""

    site: Site
    topic: str
    records: int
    batch: int
    """Most records one commit covers, where the engine can be told."""
    name: str
    """Different in every run: consumer groups remember names."""


@dataclass(frozen=True, slots=True)
class Started:
    """A contestant under way."""

    child: Child
    done: Callable[[], int]
    committed: bool = True
    """Whether its rows end in the table; the floor's end in files alone."""
    by_time: bool = False
    """Whether it commits by the clock, not when a batch is complete."""


def start_lakeward(task: Task) -> Started:
    """Start `lakeward worker` with the connector `lakeward init` wrote."""
    changes = {
        "iceberg.control.commit.interval-ms": 1000,
        "lakeward.batch.records": task.batch,
    }
    child = task.site.worker(task.site.connector(task.name, changes))
    return Started(child, task.site.watch().records)


def start_plain_spark(task: Task) -> Started:
    """Start the plain Spark job of an afternoon."""
    settings = task.site.settings
    java = find_java(settings)
    jars = [*fetch("spark", settings), *peer_jars.fetch("plain-spark", settings)]
    catalog = settings.warehouse_name
    given = {
        "master": settings.spark_master,
        "bootstrap_servers": settings.bootstrap_servers,
        "topic": task.topic,
        "table": ".".join((catalog, *task.site.table)),
        "batch": task.batch,
        "checkpoint": str(task.site.home / "checkpoint"),
        "settings": {
            "spark.jars": ",".join(map(str, jars)),
            "spark.driver.memory": "2g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.session.timeZone": "UTC",
            **spark_catalog_settings(catalog, settings.catalog_file, settings.warehouse),
        },
    }
    environment = task.site.environment | {
        "JAVA_HOME": str(java.home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, str(PROGRAMS / "plain_spark.py"), json.dumps(given)]
    child = Child(command, environment, settings.logs / "plain-spark.log")
    return Started(child, task.site.watch().records)


def start_floor(task: Task) -> Started:
    """Start one plain process per core over the slices Lakeward would cut."""
    settings = task.site.settings
    cores = os.cpu_count() or 1
    catalog = task.site.catalog_spec()
    progress = task.site.home / "floor.progress"
    progress.write_text("0")
    given = {
        "bootstrap_servers": settings.bootstrap_servers,
        "catalog": {"name": catalog.name, "properties": dict(catalog.properties)},
        "table": task.site.table,
        "tasks": tasks_of(task, cores),
        "cores": cores,
        "progress": str(progress),
    }
    command = [sys.executable, str(PROGRAMS / "floor.py"), json.dumps(given)]
    child = Child(command, task.site.environment, settings.logs / "floor.log")
    return Started(child, lambda: int(progress.read_text()), committed=False)


def tasks_of(task: Task, cores: int) -> list[list[tuple[str, int, int, int]]]:
    """Cut the whole backlog as Lakeward's planner cuts it, batch by batch."""
    source = SourceSpec(task.site.settings.bootstrap_servers, (task.topic,))
    kafka = KafkaOffsets(source, "bench")
    numbers = kafka.topics([task.topic])[task.topic].partitions
    partitions = [TopicPartition(task.topic, number) for number in numbers]
    ends = kafka.ends(partitions)
    positions = {where: Position(0) for where in partitions}
    limits = Limits(batch_records=task.batch)
    tasks: list[list[tuple[str, int, int, int]]] = []
    # Like a new job, the first batch is planned without knowing how large records are.
    size = 0.0
    while (batch := plan_batch(positions, ends, limits, cores, size)) is not None:
        tasks += [
            [(part.topic, part.partition, part.start, part.end) for part in parts]
            for parts in batch.tasks
        ]
        positions |= {part.where: Position(part.end) for part in batch.ranges}
        size = RECORD_BYTES
    return tasks


ENGINES: dict[str, Callable[[Task], Started]] = {
    "lakeward": start_lakeward,
    "plain-spark": start_plain_spark,
    "floor": start_floor,
}
