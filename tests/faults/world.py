"""One topic, one table, one job, and what a test does with them."""

from __future__ import annotations

import json
import logging
import pickle
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from faults.child import Child, eventually, start_forked
from faults.coordinator import coordinate
from faults.rest_catalog import RestCatalogServer
from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.tables import create_table, load_table
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog, location_of
from lakeward.errors import SourceError
from lakeward.failpoints import arm
from lakeward.job.coordinator import Coordinator
from lakeward.job.cycle import Committed, Job
from lakeward.job.run import InlineRunner
from lakeward.job.worker import build_job
from lakeward.kafka.client import client_settings, open_admin
from lakeward.kafka.offsets import KafkaOffsets
from lakeward.model.fields import STRING_MAP, Kind, Struct, optional, required
from lakeward.model.offsets import TopicPartition
from lakeward.model.spec import CatalogSpec, JobSpec, Limits, SourceSpec, TableName
from lakeward.schemas.dead_letter import SUFFIX
from lakeward.schemas.shape import PartitionBy, TableShape
from lakeward.verify.report import Report
from lakeward.verify.run import verify_jobs

SHAPE = TableShape(
    Struct(
        (
            required("id", Kind.LONG),
            optional("kind", Kind.STRING),
            optional("tags", STRING_MAP),
        )
    ),
    (PartitionBy("kind"),),
).with_metadata_columns()
TABLE = TableName.parse("db.events")
LETTERS = TABLE.beside(SUFFIX)
JUNK = b"not json"


def record(number: int, **more: Any) -> bytes:
    """Make a record that fits the table."""
    return json.dumps({"id": number, "kind": f"k{number % 3}", **more}).encode()


@dataclass
class World:
    """A job's surroundings; holds the processes it has started."""

    folder: Path
    spec: JobSpec
    catalog: Catalog
    """Our own way to the tables, past every fault."""
    admin: AdminClient
    server: RestCatalogServer | None = None
    """What stands between the job and its tables, in tests of the catalog."""
    children: list[Child] = field(default_factory=list)

    @property
    def topic(self) -> str:
        return self.spec.source.topics[0]

    @property
    def rest(self) -> RestCatalogServer:
        assert self.server is not None
        return self.server

    def send(self, *values: bytes | None, partition: int = 0) -> None:
        """Send records and wait until the broker has them."""
        # A new producer each time knows partitions that were just added.
        producer = self.producer()
        for value in values:
            producer.produce(self.topic, value=value, key=b"k", partition=partition)
        assert producer.flush(30) == 0

    def producer(self, **settings: Any) -> Producer:
        common = client_settings(self.spec.source.bootstrap_servers)
        return Producer(common | settings, logger=logging.getLogger("faults.producer"))

    def numbers(self, start: int, end: int, partition: int = 0) -> None:
        self.send(*(record(n) for n in range(start, end)), partition=partition)

    def mixed(self, start: int, end: int) -> None:
        """Send numbered records to both partitions, and one dead letter to each."""
        middle = (start + end) // 2
        self.send(*(record(n) for n in range(start, middle)), JUNK, partition=0)
        self.send(*(record(n) for n in range(middle, end)), JUNK, partition=1)

    def job(self, **changes: Any) -> Job:
        return build_job(replace(self.spec, **changes), InlineRunner(), threading.Event())

    def started(self, **changes: Any) -> Job:
        """Return a job that has claimed its tables, in this process."""
        job = self.job(**changes)
        job.start()
        return job

    def child(self, failpoint: str = "", **changes: Any) -> Child:
        """Start a coordinator of the job in a process of its own."""
        folder = self.folder / f"child-{len(self.children)}"
        folder.mkdir()
        (folder / "spec").write_bytes(pickle.dumps(replace(self.spec, **changes)))
        child = start_forked(coordinate, folder, failpoint)
        self.children.append(child)
        return child

    @contextmanager
    def coordinated(self, failpoint: str = "") -> Iterator[Coordinator]:
        """Run a coordinator of the job beside the test, in this process."""
        stop = threading.Event()
        arm(failpoint)
        job = build_job(self.spec, InlineRunner(), stop)
        coordinator = Coordinator(job, stop, lambda _: None)
        thread = threading.Thread(target=coordinator.run, name="coordinator")
        thread.start()
        try:
            yield coordinator
        finally:
            stop.set()
            thread.join(60)
            arm("")

    def drain(self, job: Job | None = None) -> list[Committed]:
        """Cycle until nothing waits; by default with a job that starts now."""
        job = job or self.started()
        done: list[Committed] = []

        def empty() -> bool:
            while (committed := job.cycle()) is not None:
                done.append(committed)
            return self.caught_up()

        eventually(empty, "the job has read everything")
        return done

    def caught_up(self) -> bool:
        """Say whether the table's ledger stands where Kafka ends."""
        offsets = KafkaOffsets(self.spec.source, "watcher")
        partitions = offsets.topics([self.topic])[self.topic].partitions
        ends = offsets.ends(TopicPartition(self.topic, number) for number in partitions)
        positions = self.positions()
        return all(positions.get(at.partition, 0) >= end for at, end in ends.items())

    def positions(self, table: TableName = TABLE) -> dict[int, int]:
        """Read the next offset of each partition from a table's ledger, by hand."""
        text = self.table(table).properties.get(f"lakeward.ledger.{self.spec.name}")
        topic = json.loads(text)["topics"].get(self.topic) if text else None
        return {int(p): at for p, (at, _) in topic["positions"].items()} if topic else {}

    def table(self, name: TableName = TABLE) -> Table:
        return load_table(self.catalog, name)

    def ids(self) -> list[int]:
        return sorted(self.table().scan().to_arrow().column("id").to_pylist())

    def letters(self) -> int:
        return int(self.table(LETTERS).scan().count())

    def verified(self) -> Report:
        return verify_jobs(self.catalog, self.spec.source.bootstrap_servers)

    def assert_exact(self, ids: int, letters: int = 0) -> None:
        """Expect ids 0 to `ids` once each, that many dead letters, and a clean verification."""
        assert self.ids() == list(range(ids))
        report = self.verified()
        assert report.clean, report.verdict()
        assert report.records == ids + letters, report.verdict()
        assert sum(tally.dead_letters for tally in report.partitions) == letters

    def make_topic(self, partitions: int = 2) -> None:
        """Create the topic, also while the broker still deletes one of that name."""

        def made() -> bool:
            try:
                self.admin.create_topics([NewTopic(self.topic, partitions)])[self.topic].result(10)
            except KafkaException:
                return False
            return True

        def known() -> bool:
            try:
                KafkaOffsets(self.spec.source, "watcher").topics([self.topic])
            except SourceError:
                return False
            return True

        eventually(made, "the topic is created", every=0.2)
        eventually(known, "the topic is known", every=0.2)

    def delete_topic(self) -> None:
        self.admin.delete_topics([self.topic])[self.topic].result(10)

    def clean_up(self) -> None:
        for child in self.children:
            child.kill()
        if self.server is not None:
            self.server.stop()


@contextmanager
def make_world(
    folder: Path, bootstrap_servers: str, *, rest: bool = False, warehouse: Path | None = None
) -> Iterator[World]:
    """Make a topic and an empty table, and take both away from the processes that used them."""
    warehouse = warehouse or folder / "warehouse"
    create_warehouse(folder / "catalog.db", warehouse)
    embedded = embedded_catalog("lake", folder / "catalog.db", warehouse)
    catalog = open_catalog(embedded)
    create_table(catalog, TABLE, SHAPE)
    server = RestCatalogServer(catalog, location_of(warehouse)) if rest else None
    topic = f"fault-{uuid.uuid4().hex[:8]}"
    spec = JobSpec(
        topic,
        SourceSpec(bootstrap_servers, (topic,)),
        CatalogSpec("lake", server.properties) if server else embedded,
        TABLE,
        limits=Limits(commit_interval=0.05),
    )
    admin = open_admin(bootstrap_servers)
    world = World(folder, spec, catalog, admin, server)
    world.make_topic()
    try:
        yield world
    finally:
        arm("")
        world.clean_up()
