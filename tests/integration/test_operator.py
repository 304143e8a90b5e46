"""Every way a job can stop has a way out: the command its own message prints, typed as printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka import TopicPartition as Partition
from confluent_kafka.admin import AdminClient, NewTopic
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.tables import create_table
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.cli.main import main
from lakeward.connect.translate import read_connector, translate
from lakeward.job.coordinator import Coordinator
from lakeward.job.cycle import Job
from lakeward.job.progress import Progress, write_progress
from lakeward.job.run import InlineRunner
from lakeward.job.worker import build_job
from lakeward.model.fields import Kind, Struct, optional, required
from lakeward.model.ledger import Ledger, from_json, property_name
from lakeward.model.retry import BackOff
from lakeward.model.spec import TableName
from lakeward.schemas.shape import TableShape
from lakeward.settings import load_settings
from lakeward.stack.kafka import KafkaBroker

pytestmark = pytest.mark.integration

TABLE, LETTERS = "db.events", "db.events__dead_letters"
SHAPE = TableShape(
    Struct((required("id", Kind.LONG), optional("kind", Kind.STRING)))
).with_metadata_columns()
JUNK = b"junk"
STAMP = int(time.time() * 1000)
"""Every record's timestamp, so that a record sent again is the same record."""


@dataclass
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass
class Installation:
    """A home with one connector, its topic and table, and somebody who types commands."""

    home: Path
    servers: str
    catalog: Catalog
    admin: AdminClient
    type: Callable[..., Answer]
    job: str = field(default_factory=lambda: f"op-{uuid.uuid4().hex[:8]}")

    @property
    def topic(self) -> str:
        return self.job

    @property
    def table(self) -> Table:
        return self.catalog.load_table(TABLE)

    @property
    def letter_table(self) -> Table:
        return self.catalog.load_table(LETTERS)

    @property
    def ledger(self) -> Ledger:
        return from_json(self.table.properties[property_name(self.job)])

    def configure(self, **changes: str) -> None:
        settings = load_settings({"LAKEWARD_HOME": str(self.home)})
        config = {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "topics": self.topic,
            "iceberg.tables": TABLE,
            "iceberg.catalog": settings.warehouse_name,
            "iceberg.catalog.type": "jdbc",
            "iceberg.catalog.uri": f"jdbc:sqlite:{settings.catalog_file}",
            "iceberg.catalog.warehouse": f"file://{settings.warehouse}",
            "iceberg.control.commit.interval-ms": "50",
        }
        path = self.home / "connectors" / "sink.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"name": self.job, "config": config | changes}))

    def send(self, *values: bytes | None, partition: int = 0, topic: str | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.servers})
        for value in values:
            producer.produce(
                topic or self.topic, value=value, key=b"k", partition=partition, timestamp=STAMP
            )
        assert producer.flush(10) == 0

    def numbers(self, start: int, end: int, partition: int = 0) -> None:
        self.send(*(record(n) for n in range(start, end)), partition=partition)

    def new_job(self, stop: threading.Event) -> Job:
        path = self.home / "connectors" / "sink.json"
        spec = translate(read_connector(path), self.servers, str(path))
        return build_job(spec, InlineRunner(), stop)

    def run(self) -> Progress:
        """Run the job as a worker does, until it has read everything or stops by itself."""
        stop = threading.Event()

        def report(progress: Progress) -> None:
            write_progress(self.home / "progress", progress)
            if progress.state == "RUNNING" and progress.lag == 0:
                stop.set()

        coordinator = Coordinator(self.new_job(stop), stop, report)
        coordinator.run()
        return coordinator.progress

    def went_on(self) -> None:
        ended = self.run()
        assert ended.state == "STOPPED", ended.reason

    def way_out(self, says: str) -> str:
        """Run the job until it stops, and return the command its message prints."""
        ended = self.run()
        assert ended.state == "FAILED"
        assert re.search(says, ended.reason), ended.reason
        (command,) = re.findall(r"`(lakeward job [^`]+)`", ended.reason)
        shown = self.type(f"lakeward job show {self.job} --json")
        problems = [problem["message"] for problem in shown.told["problems"]]
        assert any(command in problem for problem in problems), shown.out
        return str(command)

    def obey(self, command: str, more: str = "") -> dict[str, Any]:
        """Type a command, first without effect; both times it must say the same."""
        before = (self.table.metadata_location, self._letters_location())
        planned = self.type(f"{command} {more} --dry-run --json")
        assert planned.code == 0, planned.err
        assert (self.table.metadata_location, self._letters_location()) == before
        done = self.type(f"{command} {more} --json")
        assert done.code == 0, done.err
        assert planned.told["partitions"] == done.told["partitions"]
        assert (planned.told["applied"], done.told["applied"]) == (False, True)
        return done.told

    def _letters_location(self) -> str | None:
        exists = self.catalog.table_exists(LETTERS)
        return self.letter_table.metadata_location if exists else None

    def verified(self) -> dict[str, Any]:
        done = self.type("lakeward verify --json")
        assert done.code == 0, done.out or done.err
        return done.told

    def found_wrong(self) -> dict[str, int]:
        done = self.type("lakeward verify --json")
        assert done.code == 1
        return {name: count for name, count in done.told["counts"].items() if count}

    def ids(self) -> list[int]:
        return sorted(self.table.scan().to_arrow().column("id").to_pylist())

    def letter_offsets(self) -> list[int]:
        return sorted(self.letter_table.scan().to_arrow().column("offset").to_pylist())

    def edit_ledgers(self, edit: Callable[[dict[str, Any]], object]) -> None:
        """Change the ledger of both tables, as only a test may."""
        for table in (self.table, self.letter_table):
            ledger = json.loads(table.properties[property_name(self.job)])
            edit(ledger)
            set_ledger(table, self.job, json.dumps(ledger))

    def recreate_topic(self, partitions: int = 2) -> None:
        self.admin.delete_topics([self.topic])[self.topic].result(10)
        eventually(lambda: self._create(partitions))

    def _create(self, partitions: int) -> bool:
        try:
            self.admin.create_topics([NewTopic(self.topic, partitions)])[self.topic].result(10)
        except KafkaException:
            return False
        return True

    def topic_id(self) -> str:
        return self.new_job(threading.Event()).kafka.topics([self.topic])[self.topic].id

    def delete_records(self, before: int, partition: int = 0) -> None:
        where = Partition(self.topic, partition, before)
        self.admin.delete_records([where])[where].result(10)


def record(number: int) -> bytes:
    return json.dumps({"id": number, "kind": f"k{number % 3}"}).encode()


def set_ledger(table: Table, job: str, text: str | None) -> None:
    with table.transaction() as change:
        if text is None:
            change.remove_properties(property_name(job))
        else:
            change.set_properties({property_name(job): text})


def roll_back(table: Table, snapshots: int) -> None:
    """Set a table back by so many snapshots."""
    head = table.current_snapshot()
    for _ in range(snapshots):
        assert head is not None
        assert head.parent_snapshot_id is not None
        head = table.snapshot_by_id(head.parent_snapshot_id)
    assert head is not None
    table.manage_snapshots().set_current_snapshot(head.snapshot_id).commit()


def eventually(happens: Callable[[], Any], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


@pytest.fixture
def lake(
    broker: KafkaBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Installation]:
    monkeypatch.setattr(BackOff, "seconds", lambda *_: 0.05)
    monkeypatch.setenv("LAKEWARD_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)

    def type_(line: str) -> Answer:
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(ended.value.code, shown.out, shown.err)

    settings = load_settings({"LAKEWARD_HOME": str(tmp_path)})
    create_warehouse(settings.catalog_file, settings.warehouse)
    catalog = open_catalog(
        embedded_catalog(settings.warehouse_name, settings.catalog_file, settings.warehouse)
    )
    create_table(catalog, TableName.parse(TABLE), SHAPE)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    made = Installation(tmp_path, broker.bootstrap_servers, catalog, admin, type_)
    admin.create_topics([NewTopic(made.topic, 2)])[made.topic].result(10)
    made.configure()
    yield made
    admin.delete_topics([made.topic])


@pytest.fixture
def ten(lake: Installation) -> Installation:
    """Ten records and a dead letter are in the tables."""
    lake.numbers(0, 10)
    lake.send(JUNK)
    lake.went_on()
    return lake


def test_records_lost_to_retention_are_recorded_as_a_gap(ten: Installation) -> None:
    ten.numbers(11, 50)
    ten.delete_records(30)
    command = ten.way_out("Kafka no longer has these offsets")
    done = ten.obey(command, "--reason 'retention was too short'")
    assert done["partitions"][0] | {"topic": ""} == {
        "topic": "", "partition": 0, "from": 11, "to": 30, "skipped": 19, "read_again": 0,
    }  # fmt: skip
    ten.went_on()
    assert ten.ids() == [*range(10), *range(30, 50)]
    report = ten.verified()
    assert report["skipped"] == 19
    (decision,) = ten.type(f"lakeward job show {ten.job} --json").told["decisions"]
    assert (decision["command"], decision["reason"]) == (
        command.removeprefix("lakeward job "),
        "retention was too short",
    )
    assert "@" in decision["by"]


def test_after_a_gap_what_is_really_lost_is_still_found(ten: Installation) -> None:
    ten.numbers(11, 50)
    ten.delete_records(30)
    ten.obey(ten.way_out("no longer has"))
    ten.went_on()
    ten.table.delete("id = 40")
    assert ten.found_wrong() == {"lost": 1}


def test_there_is_no_gap_to_accept_where_kafka_has_everything(ten: Installation) -> None:
    answer = ten.type(f"lakeward job accept-gap {ten.job}")
    assert answer.code == 2
    assert "there is no gap" in answer.err


@pytest.mark.parametrize("count", [5, 40], ids=["shorter", "longer"])
def test_a_topic_created_again_is_read_from_its_start(ten: Installation, count: int) -> None:
    ten.recreate_topic()
    ten.numbers(100, 100 + count)
    ten.obey(ten.way_out("deleted and created again"))
    ten.went_on()
    assert ten.ids() == [*range(10), *range(100, 100 + count)]
    report = ten.verified()
    assert report["records"] == count
    assert report["unverifiable"] >= 6


def test_a_row_lost_of_a_topic_created_again_is_found(ten: Installation) -> None:
    ten.recreate_topic()
    ten.numbers(100, 120)
    ten.obey(ten.way_out("deleted and created again"))
    ten.went_on()
    ten.table.delete("id = 105")
    ten.table.delete("id = 115")
    assert ten.found_wrong() == {"lost": 2}


def test_a_topic_created_again_may_be_read_from_its_end(ten: Installation) -> None:
    ten.recreate_topic()
    ten.numbers(100, 120)
    ten.obey(ten.way_out("deleted and created again"), "--from latest")
    ten.numbers(120, 125)
    ten.went_on()
    assert ten.ids() == [*range(10), *range(120, 125)]
    ten.verified()


def test_a_topic_created_again_with_fewer_partitions_is_accepted(ten: Installation) -> None:
    ten.numbers(50, 60, partition=1)
    ten.went_on()
    ten.recreate_topic(partitions=1)
    ten.numbers(100, 105)
    ten.obey(ten.way_out("deleted and created again"))
    ten.went_on()
    assert ten.ids() == [*range(10), *range(50, 60), *range(100, 105)]
    ten.verified()


def test_a_copy_of_a_topic_is_read_on_at_the_same_offsets(ten: Installation) -> None:
    ten.recreate_topic()
    ten.numbers(0, 10)
    ten.send(JUNK)
    ten.numbers(11, 20)
    ten.obey(ten.way_out("deleted and created again"), "--from same-offsets")
    ten.went_on()
    assert ten.ids() == [*range(10), *range(11, 20)]
    report = ten.verified()
    assert (report["records"], report["unverifiable"]) == (20, 0)


def test_offsets_a_copy_does_not_have_are_not_the_same(ten: Installation) -> None:
    ten.recreate_topic()
    ten.numbers(0, 5)
    answer = ten.type(f"{ten.way_out('created again')} --from same-offsets")
    assert answer.code == 2
    assert "the job is at 11, it has [0, 5)" in answer.err


def test_another_cluster_is_accepted_with_all_its_topics(ten: Installation) -> None:
    ten.recreate_topic()
    ten.numbers(100, 110)
    ten.edit_ledgers(lambda ledger: ledger.update(cluster_id="the old cluster"))
    ten.obey(ten.way_out("another Kafka cluster"))
    ten.went_on()
    assert ten.ids() == [*range(10), *range(100, 110)]
    ten.verified()


def test_a_log_cut_short_is_read_on_from_its_new_end(ten: Installation) -> None:
    ten.recreate_topic()
    ten.numbers(0, 6)
    same = ten.topic_id()
    ten.edit_ledgers(lambda ledger: ledger["topics"][ten.topic].update(id=same))
    command = ten.way_out("cut short: it ends at 6")
    ten.numbers(200, 230)
    ten.obey(command)
    ten.went_on()
    assert ten.ids() == [*range(10), *range(200, 230)]
    report = ten.verified()
    assert (report["records"], report["unverifiable"]) == (36, 5)


def test_a_topic_that_is_gone_for_good_is_closed(ten: Installation) -> None:
    other = f"{ten.topic}-2"
    ten.admin.create_topics([NewTopic(other, 1)])[other].result(10)
    ten.send(*map(record, range(500, 505)), topic=other)
    ten.configure(topics=f"{ten.topic},{other}")
    ten.went_on()
    ten.admin.delete_topics([other])[other].result(10)
    command = ten.way_out("does not exist")
    refused = ten.type(command)
    assert refused.code == 2
    assert "take it out of the connector's topics" in refused.err
    ten.configure()
    ten.obey(command)
    ten.numbers(11, 20)
    ten.went_on()
    report = ten.verified()
    assert report["unverifiable"] == 5
    assert len(ten.ids()) == 24


def test_a_topic_that_was_missing_is_accepted_when_it_is_there_again(ten: Installation) -> None:
    ten.admin.delete_topics([ten.topic])[ten.topic].result(10)
    command = ten.way_out("does not exist")
    eventually(lambda: ten._create(2))
    ten.numbers(100, 105)
    ten.obey(command)
    ten.went_on()
    ten.verified()


def killed_between_the_tables(lake: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a cycle that dies after its dead letters are committed and before its rows are."""
    job = lake.new_job(threading.Event())
    job.start()
    real = job.sink._settle

    def settle(before: Any, *rest: Any) -> Any:
        if str(before.name) == TABLE:
            raise RuntimeError("killed")
        return real(before, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(job.sink, "_settle", settle)
        with pytest.raises(RuntimeError, match="killed"):
            job.cycle()


def test_a_half_done_batch_is_read_again_under_a_new_configuration(
    ten: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ten.numbers(11, 20)
    ten.send(JUNK)
    killed_between_the_tables(ten, monkeypatch)
    ten.configure(**{"max.record.bytes": "100000"})
    ten.obey(ten.way_out("changed while a batch was half committed"))
    ten.went_on()
    assert ten.ids() == [*range(10), *range(11, 20)]
    assert ten.letter_offsets() == [10, 20, 20]
    report = ten.verified()
    assert report["read_again"] == 1


@pytest.mark.parametrize("expired", [False, True], ids=["snapshots kept", "snapshots expired"])
def test_what_a_roll_back_took_is_read_again(ten: Installation, expired: bool) -> None:
    ten.numbers(11, 20)
    ten.went_on()
    ten.numbers(20, 30, partition=1)
    ten.send(JUNK)
    ten.went_on()
    roll_back(ten.table, 2)
    if expired:
        table = ten.table
        head = table.current_snapshot()
        assert head is not None
        others = [s.snapshot_id for s in table.snapshots() if s.snapshot_id != head.snapshot_id]
        table.maintenance.expire_snapshots().by_ids(others).commit()
    assert ten.ids() == [*range(10), *range(11, 20)]
    done = ten.obey(ten.way_out("rolled back|history we cannot follow"))
    assert [part["to"] for part in done["partitions"]] == [20, 0]
    ten.went_on()
    assert ten.ids() == [*range(10), *range(11, 30)]
    ten.verified()
    ten.table.append(ten.table.scan("id = 25").to_arrow())
    assert ten.found_wrong() == {"duplicated": 1}


def test_a_roll_back_over_everything_is_read_again(ten: Installation) -> None:
    ten.numbers(11, 20)
    ten.went_on()
    count = len(ten.table.snapshots())
    roll_back(ten.table, count - 1)
    assert ten.ids() == []
    ten.obey(ten.way_out("rolled back"))
    ten.went_on()
    assert ten.ids() == [*range(10), *range(11, 20)]
    ten.verified()


def test_after_a_roll_back_the_rows_may_be_given_up(ten: Installation) -> None:
    ten.numbers(11, 20)
    ten.went_on()
    roll_back(ten.table, 1)
    ten.way_out("rolled back")
    ten.obey(f"lakeward job resume-from {ten.job} latest")
    ten.numbers(20, 25)
    ten.went_on()
    assert ten.ids() == [*range(10), *range(20, 25)]
    ten.verified()


def test_what_a_roll_back_took_of_the_dead_letters_is_read_again(ten: Installation) -> None:
    ten.numbers(11, 15)
    ten.send(JUNK)
    ten.went_on()
    roll_back(ten.letter_table, 1)
    assert ten.letter_offsets() == [10]
    ten.obey(ten.way_out("rolled back"))
    ten.went_on()
    assert ten.letter_offsets() == [10, 15]
    assert ten.ids() == sorted([*range(10), *range(11, 15), *range(11, 15)])
    report = ten.verified()
    assert report["read_again"] == 4


@pytest.mark.parametrize("broken", [None, "{}"], ids=["removed", "unreadable"])
def test_a_lost_ledger_is_found_again_from_what_the_table_holds(
    ten: Installation, broken: str | None
) -> None:
    set_ledger(ten.table, ten.job, broken)
    ten.numbers(11, 20)
    done = ten.obey(ten.way_out("no ledger|cannot be read"))
    assert [part["to"] for part in done["partitions"]] == [11, 0]
    ten.went_on()
    assert ten.ids() == [*range(10), *range(11, 20)]
    assert ten.letter_offsets() == [10]
    report = ten.verified()
    assert report["adopted"] == 11
    ten.table.delete("id = 15")
    assert ten.found_wrong() == {"lost": 1}


def test_a_lost_ledger_of_the_dead_letters_is_written_anew(ten: Installation) -> None:
    set_ledger(ten.letter_table, ten.job, None)
    ten.numbers(11, 20)
    ten.obey(ten.way_out("has rows but no ledger"))
    ten.went_on()
    assert ten.letter_offsets() == [10]
    ten.verified()


def rows_of(start: int, end: int, **origin: Any) -> list[dict[str, Any]]:
    return [
        {"id": n, "kind": None, **{k: v(n) for k, v in origin.items()}} for n in range(start, end)
    ]


def append(table: Table, rows: list[dict[str, Any]]) -> None:
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))


def test_a_table_somebody_else_has_written_is_taken_over(lake: Installation) -> None:
    lake.numbers(0, 30)
    origin = {
        "_topic": lambda _n: lake.topic, "_kafka_partition": lambda _n: 0, "_offset": lambda n: n,
    }  # fmt: skip
    append(lake.table, rows_of(0, 20, **origin))
    append(lake.table, rows_of(900, 903))
    done = lake.obey(lake.way_out("has been written but has no ledger"))
    assert [part["to"] for part in done["partitions"]] == [20, 0]
    lake.went_on()
    assert lake.ids() == [*range(30), *range(900, 903)]
    report = lake.verified()
    assert (report["records"], report["adopted"]) == (10, 23)
    append(lake.table, rows_of(950, 951))
    assert lake.found_wrong() == {"phantom": 1}


def test_a_table_taken_over_may_be_read_into_from_the_start(lake: Installation) -> None:
    lake.numbers(0, 30)
    origin = {
        "_topic": lambda _n: lake.topic, "_kafka_partition": lambda _n: 0, "_offset": lambda n: n,
    }  # fmt: skip
    append(lake.table, rows_of(0, 20, **origin))
    lake.way_out("no ledger")
    lake.obey(f"lakeward job adopt {lake.job} --from earliest")
    lake.went_on()
    assert lake.ids() == sorted([*range(20), *range(30)])
    report = lake.verified()
    assert (report["records"], report["adopted"]) == (30, 20)


def test_an_adopted_table_goes_on_where_the_group_stands(ten: Installation) -> None:
    set_ledger(ten.table, ten.job, None)
    ten.numbers(11, 20)
    ten.way_out("no ledger")
    done = ten.obey(f"lakeward job adopt {ten.job} --from group")
    assert [part["to"] for part in done["partitions"]] == [11, 0]
    ten.went_on()
    ten.verified()


def test_a_table_made_again_is_filled_from_what_kafka_has(ten: Installation) -> None:
    ten.catalog.drop_table(TABLE)
    create_table(ten.catalog, TableName.parse(TABLE), SHAPE)
    ten.obey(ten.way_out("has run before"))
    ten.went_on()
    assert ten.ids() == list(range(10))
    ten.verified()


def test_a_table_replaced_by_a_copy_is_taken_over(ten: Installation) -> None:
    text = ten.table.properties[property_name(ten.job)]
    rows = ten.table.scan().to_arrow()
    ten.catalog.drop_table(TABLE)
    create_table(ten.catalog, TableName.parse(TABLE), SHAPE, {property_name(ten.job): text})
    ten.table.append(rows)
    ten.numbers(11, 20)
    ten.obey(ten.way_out("not the one this job wrote"))
    ten.went_on()
    assert ten.ids() == [*range(10), *range(11, 20)]
    ten.verified()


def test_dead_letters_of_another_table_are_added_to(ten: Installation) -> None:
    ten.catalog.drop_table(TABLE)
    create_table(ten.catalog, TableName.parse(TABLE), SHAPE)
    # Without group offsets this looks like a first start, until the dead letters are seen.
    ten.admin.delete_consumer_groups([f"connect-{ten.job}"])[f"connect-{ten.job}"].result(10)
    ten.obey(ten.way_out("dead letters of another table|does not hold the dead letters"))
    ten.went_on()
    assert ten.ids() == list(range(10))
    assert ten.letter_offsets() == [10, 10]
    ten.verified()


def test_a_table_dropped_while_the_job_runs_names_what_to_look_at(ten: Installation) -> None:
    stop = threading.Event()
    job = ten.new_job(stop)
    job.start()
    ten.catalog.drop_table(LETTERS)
    job.forget()
    coordinator = Coordinator(job, stop, lambda _progress: None)
    coordinator._claimed = True
    coordinator.run()
    (command,) = re.findall(r"`(lakeward job [^`]+)`", coordinator.progress.reason)
    assert ten.type(command).code == 0
    ten.numbers(11, 15)
    ten.went_on()


@pytest.mark.parametrize("verb", ["resume-from {} earliest", "adopt {} --from table"])
def test_a_decision_cut_short_is_made_again(
    ten: Installation, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    if verb.startswith("adopt"):
        set_ledger(ten.table, ten.job, None)
    command = f"lakeward job {verb.format(ten.job)}"
    with monkeypatch.context() as patch:
        patch.setattr("lakeward.job.operate.ATTEMPTS", 1)
        patch.setattr("lakeward.sinks.iceberg.decide.commit", only_dead_letters())
        assert ten.type(command).code == 1
    if verb.startswith("adopt"):
        again = ten.way_out("no ledger")
    else:
        again = ten.way_out("has reached only one of its tables")
        assert ten.found_wrong() == {"ledger": 1}
    assert again == command
    ten.obey(again)
    ten.went_on()
    ten.verified()


def only_dead_letters() -> Callable[..., object]:
    from lakeward.sinks.iceberg import decide

    real = decide.commit

    def commit(catalog: Any, table: Any, *rest: Any) -> object:
        return real(catalog, table, *rest) if table.name()[-1].endswith("letters") else None

    return commit


def test_a_job_may_go_back_and_every_record_is_there_again(ten: Installation) -> None:
    done = ten.obey(f"lakeward job resume-from {ten.job} {ten.topic}:0:4")
    assert [(p["to"], p["read_again"]) for p in done["partitions"]] == [(4, 7), (0, 0)]
    half = ten.verified()
    assert half["read_again"] == 0
    ten.went_on()
    assert ten.ids() == sorted([*range(10), *range(4, 10)])
    report = ten.verified()
    assert report["read_again"] == 7
    ten.table.append(ten.table.scan("id = 2").to_arrow())
    assert ten.found_wrong() == {"duplicated": 1}


def test_a_job_may_go_ahead_and_the_gap_is_recorded(ten: Installation) -> None:
    ten.numbers(11, 20)
    ten.obey(f"lakeward job resume-from {ten.job} latest")
    ten.numbers(20, 25)
    ten.went_on()
    assert ten.ids() == [*range(10), *range(20, 25)]
    assert ten.verified()["skipped"] == 9


def test_decisions_add_up(ten: Installation) -> None:
    ten.obey(f"lakeward job resume-from {ten.job} earliest")
    ten.went_on()
    ten.obey(f"lakeward job resume-from {ten.job} earliest")
    ten.numbers(11, 20)
    ten.went_on()
    ten.numbers(20, 30)
    ten.delete_records(25)
    ten.obey(ten.way_out("no longer has"))
    ten.went_on()
    assert ten.ids() == sorted([*range(10)] * 3 + [*range(11, 20), *range(25, 30)])
    ten.verified()
    assert [each.generation for each in ten.ledger.decisions] == [1, 2, 3]


def test_kafkas_tools_see_where_a_job_was_moved(ten: Installation) -> None:
    ten.obey(f"lakeward job resume-from {ten.job} {ten.topic}:0:4")
    shown = ten.type(f"lakeward groups show connect-{ten.job} --json")
    assert '"committed": 4' in shown.out, shown.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("resume-from {job} {topic}:0:99", "begins at 0 and ends at 11"),
        ("resume-from {job} {topic}:7:0", "does not exist"),
        ("resume-from {job} somewhere", "no place to go on from"),
        ("resume-from {job}", "Say where"),
        ("adopt {job} --from earliest", "nothing to adopt"),
        ("accept-topic {job}", "Nothing to accept"),
        ("show nobody", "No connector is called nobody"),
    ],
)
def test_a_decision_that_makes_no_sense_is_one_line(
    ten: Installation, arguments: str, says: str
) -> None:
    before = ten.table.metadata_location
    answer = ten.type("lakeward job " + arguments.format(job=ten.job, topic=ten.topic))
    assert answer.code == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1
    assert ten.table.metadata_location == before


def test_a_running_job_is_not_moved(ten: Installation) -> None:
    running = Progress(ten.job, state="RUNNING")
    write_progress(ten.home / "progress", running)
    answer = ten.type(f"lakeward job resume-from {ten.job} earliest")
    assert answer.code == 1
    assert f"Job {ten.job} is running (process {os.getpid()}" in answer.err
    assert ten.type(f"lakeward job show {ten.job}").code == 0


def test_a_job_whose_worker_was_killed_may_be_moved(ten: Installation) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    write_progress(ten.home / "progress", Progress(ten.job, state="RUNNING"))
    path = next((ten.home / "progress").glob("*.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": child.pid}))
    ten.obey(f"lakeward job resume-from {ten.job} table")


def test_a_gap_inside_a_half_done_batch_is_accepted(
    ten: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ten.numbers(11, 20)
    ten.send(JUNK)
    killed_between_the_tables(ten, monkeypatch)
    ten.delete_records(15)
    ten.obey(ten.way_out("no longer has"))
    ten.went_on()
    assert ten.ids() == [*range(10), *range(15, 20)]
    assert ten.letter_offsets() == [10, 20, 20]
    ten.verified()


def test_a_table_without_origin_columns_is_taken_over_from_its_group(lake: Installation) -> None:
    lake.catalog.drop_table(TABLE)
    shape = TableShape(Struct((required("id", Kind.LONG), optional("kind", Kind.STRING))))
    create_table(lake.catalog, TableName.parse(TABLE), shape)
    lake.numbers(0, 10)
    lake.went_on()
    set_ledger(lake.table, lake.job, None)
    lake.numbers(10, 20)
    command = lake.way_out("no ledger")
    assert command.endswith("--from group")
    refused = lake.type(f"lakeward job adopt {lake.job} --from table")
    assert (refused.code, "do not say where they came from" in refused.err) == (2, True)
    lake.obey(command)
    lake.went_on()
    assert lake.ids() == list(range(20))


def test_people_see_what_a_decision_does(ten: Installation) -> None:
    ten.numbers(11, 20)
    planned = ten.type(f"lakeward job resume-from {ten.job} latest --dry-run")
    assert re.search(rf"{ten.topic}-0 │ 11 +│ 20 +│ 9 +│ 0", planned.out), planned.out
    assert "Nothing was changed" in planned.out
    done = ten.type(f"lakeward job resume-from {ten.job} latest --reason 'old news'")
    assert "Recorded as decision 1. Start the worker again." in done.out
    shown = ten.type(f"lakeward job show {ten.job}").out
    assert f"resume-from {ten.job} latest: old news" in shown
    assert "[0,11) both" in shown


def test_a_worker_that_was_forgotten_is_fenced_by_a_decision(ten: Installation) -> None:
    stop = threading.Event()
    forgotten = ten.new_job(stop)
    forgotten.start()
    ten.obey(f"lakeward job resume-from {ten.job} earliest")
    coordinator = Coordinator(forgotten, stop, lambda _progress: None)
    coordinator._claimed = True
    ten.numbers(11, 15)
    coordinator.run()
    assert "taken over by another coordinator" in coordinator.progress.reason
    assert ten.ids() == list(range(10))
    ten.went_on()
    ten.verified()


def test_a_job_is_found_by_its_file_wherever_that_is(ten: Installation) -> None:
    path = ten.home / "connectors" / "sink.json"
    moved = path.rename(ten.home / "elsewhere.json")
    answer = ten.type(f"lakeward job show {ten.job}")
    assert (answer.code, "--config FILE" in answer.err) == (2, True)
    shown = ten.type(f"lakeward job show {ten.job} --config '{moved}'")
    assert shown.code == 0
    assert "nothing would stop it" in shown.out
