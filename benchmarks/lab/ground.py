"""The ground a benchmark runs on: a temporary home with a broker, and a site for every run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.child import Child
from lab.meter import Meter
from lab.table import Content, TableWatch, content_of, live_files
from lakeward.catalogs.warehouse import embedded_catalog
from lakeward.model.spec import CatalogSpec
from lakeward.settings import Settings, load_settings
from lakeward.stack.kafka import KafkaBroker, start_kafka
from lakeward.stack.ports import free_ports

PORTS = ("KAFKA_EXTERNAL_PORT", "KAFKA_INTERNAL_PORT", "KAFKA_CONTROLLER_PORT")
TABLE = "apilogs"
SEED = "7"


def say(text: str) -> None:
    """Tell whoever waits what goes on."""
    print(text, file=sys.stderr, flush=True)


@dataclass
class Site:
    """A home of its own for one run: catalog, warehouse and table as `lakeward init` makes them."""

    home: Path
    environment: dict[str, str]
    settings: Settings = field(init=False)

    def __post_init__(self) -> None:
        self.settings = load_settings(self.environment)
        type_command(self.environment, "init")

    @property
    def table(self) -> tuple[str, str]:
        return (self.settings.namespace, TABLE)

    def watch(self, name: str = TABLE) -> TableWatch:
        return TableWatch(self.settings.catalog_file, self.settings.namespace, name)

    def add(self, name: str, partitions: int = 3) -> None:
        """Create one more table of the same shape, and a topic of the same name."""
        from lakeward.catalogs.tables import create_table
        from lakeward.kafka.client import open_admin
        from lakeward.kafka.topics import create_topics
        from lakeward.model.spec import TableName
        from lakeward.schemas.minio_api import API_LOG

        table = TableName((self.settings.namespace,), name)
        create_table(self.catalog(), table, API_LOG.with_metadata_columns())
        create_topics(open_admin(self.settings.bootstrap_servers), {name: partitions})

    def route(self, name: str, changes: Mapping[str, Any]) -> Path:
        """Write the connector from a topic to the table of the same name."""
        where = {"topics": name, "iceberg.tables": f"{self.settings.namespace}.{name}"}
        return self.connector(name, where | changes)

    def connector(self, name: str, changes: Mapping[str, Any]) -> Path:
        """Write the API log's connector under another name: group offsets belong to a name."""
        path = self.home / "connectors" / f"iceberg-sink-{TABLE}.json"
        content = json.loads(path.read_text())
        config = {**content["config"], "name": name} | {k: str(v) for k, v in changes.items()}
        fresh = path.with_name(f"{name}.json")
        fresh.write_text(json.dumps({"name": name, "config": config}))
        return fresh

    def worker(self, *connectors: Path, **child: Any) -> Child:
        """Start `lakeward worker` as a user does."""
        command = [sys.executable, "-m", "lakeward", "worker", *map(str, connectors)]
        return Child(command, self.environment, self.settings.logs / "worker.log", **child)

    def progress(self, job: str) -> dict[str, Any]:
        """Return a job's progress file; empty until there is one."""
        try:
            content: dict[str, Any] = json.loads(
                (self.settings.progress / f"{job}.json").read_text()
            )
        except (OSError, ValueError):
            return {}
        return content

    def catalog(self) -> Any:
        """Open the site's catalog."""
        from lakeward.catalogs.open import open_catalog

        return open_catalog(self.catalog_spec())

    def catalog_spec(self) -> CatalogSpec:
        settings = self.settings
        return embedded_catalog(settings.warehouse_name, settings.catalog_file, settings.warehouse)

    def content(self, name: str = TABLE) -> Content:
        """Read a table's live files."""
        return content_of(live_files(self.catalog(), (self.settings.namespace, name)))

    def await_running(self, child: Child, jobs: Sequence[str], patience: float = 120.0) -> None:
        """Wait until every job has claimed its tables and runs."""
        deadline = time.monotonic() + patience
        while any(self.progress(job).get("state") != "RUNNING" for job in jobs):
            child.check()
            if time.monotonic() > deadline:
                child.give_up(f"has jobs that do not run after {patience:.0f} s")
            time.sleep(0.1)

    def clear(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)


@dataclass(frozen=True)
class Ground:
    """A broker and a folder."""

    home: Path
    environment: dict[str, str]
    broker: KafkaBroker
    broker_meter: Meter

    def load(self, topic: str, records: int, partitions: int = 3) -> None:
        """Send API log records to a fresh topic, as fast as the broker takes them."""
        environment = self.environment | {"API_LOGS_TOPIC": topic}
        say(f"loading {records:,} records into {topic}, {partitions} partitions")
        counts = ("-n", str(records), "--partitions", str(partitions), "--seed", SEED)
        type_command(environment, "produce", topic, *counts)

    def site(self, name: str, topic: str) -> Site:
        """Make a home for one run over a topic."""
        home = self.home / "sites" / name
        return Site(home, self.environment | {"LAKEWARD_HOME": str(home), "API_LOGS_TOPIC": topic})


@contextmanager
def open_ground() -> Iterator[Ground]:
    """Start a broker in a temporary home; stop it and remove everything at the end."""
    # Also when we are asked to end: nothing of ours may stay behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="lakeward-bench-") as folder:
        home = Path(folder)
        ports = dict(zip(PORTS, map(str, free_ports(3)), strict=True))
        environment = {**plain_environment(), **ports, "LAKEWARD_HOME": str(home)}
        settings = load_settings(environment)
        environment["KAFKA_BOOTSTRAP_SERVERS"] = settings.bootstrap_servers
        say("starting a broker")
        broker = start_kafka(settings, tied=True)
        try:
            yield Ground(home, environment, broker, Meter(broker.pid))
        finally:
            broker.stop(grace=10)


def plain_environment() -> dict[str, str]:
    """Return our environment without what would lead a run to another installation."""
    ours = ("LAKEWARD_", "KAFKA_", "API_LOGS_", "ERROR_LOGS_", "AUDIT_LOGS_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | {"LAKEWARD_CACHE": str(load_settings().cache)}


def type_command(environment: Mapping[str, str], *arguments: str) -> None:
    """Type a `lakeward` command; leave with its words if it fails."""
    command = [sys.executable, "-m", "lakeward", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"lakeward {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
