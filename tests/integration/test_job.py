"""A job against a real broker and a real catalog, its tasks run in this process."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyiceberg.catalog import Catalog

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.tables import create_table, load_table
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.errors import (
    DestinationUnavailable,
    JobStopped,
    OffsetsLost,
    SourceUnavailable,
    TopicMissing,
)
from lakeward.job.cycle import Committed, Job
from lakeward.job.run import InlineRunner
from lakeward.job.worker import build_job
from lakeward.model.fields import STRING_MAP, Kind, Struct, optional, required
from lakeward.model.outcome import Conflict, Unknown
from lakeward.model.spec import JobSpec, Limits, SourceSpec, TableName
from lakeward.schemas.shape import PartitionBy, TableShape
from lakeward.stack.kafka import KafkaBroker
from lakeward.verify.run import verify_jobs

pytestmark = pytest.mark.integration

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


@dataclass
class World:
    """One topic, one table, and what a test does with them."""

    spec: JobSpec
    catalog: Catalog
    admin: AdminClient

    @property
    def topic(self) -> str:
        return self.spec.source.topics[0]

    def send(self, *values: bytes | None, partition: int = 0) -> None:
        # A new producer each time knows partitions that were just added.
        producer = Producer({"bootstrap.servers": self.spec.source.bootstrap_servers})
        for value in values:
            producer.produce(self.topic, value=value, key=b"k", partition=partition)
        assert producer.flush(10) == 0

    def numbers(self, start: int, end: int, partition: int = 0) -> None:
        self.send(*(record(n) for n in range(start, end)), partition=partition)

    def job(self, **changes: Any) -> Job:
        spec = replace(self.spec, **changes)
        return build_job(spec, InlineRunner(), threading.Event())

    def started(self, **changes: Any) -> Job:
        job = self.job(**changes)
        job.start()
        return job

    def ids(self) -> list[int]:
        rows = load_table(self.catalog, self.spec.table).scan().to_arrow()
        return sorted(rows.column("id").to_pylist())

    def letters(self) -> list[dict[str, Any]]:
        table = load_table(self.catalog, self.spec.table.beside("__dead_letters"))
        found: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
        return sorted(found, key=lambda row: (row["partition"], row["offset"]))

    def assert_verified(self) -> None:
        report = verify_jobs(self.catalog, self.spec.source.bootstrap_servers)
        assert report.clean, report.verdict()


def record(number: int, **more: Any) -> bytes:
    return json.dumps({"id": number, "kind": f"k{number % 3}", **more}).encode()


def killed_before_its_rows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a cycle that dies after its dead letters are committed and before its rows are."""
    job = world.started()
    real = job.sink._settle

    def settle(before: Any, *rest: Any) -> Any:
        if before.name == world.spec.table:
            raise RuntimeError("killed before the rows were committed")
        return real(before, *rest)

    monkeypatch.setattr(job.sink, "_settle", settle)
    with pytest.raises(RuntimeError, match="killed"):
        job.cycle()


def drain(job: Job) -> list[Committed]:
    """Cycle until nothing waits."""
    done = []
    while (committed := job.cycle()) is not None:
        done.append(committed)
    return done


@pytest.fixture
def world(broker: KafkaBroker, tmp_path: Path) -> Iterator[World]:
    topic = f"job-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 2)])[topic].result(10)
    create_warehouse(tmp_path / "catalog.db", tmp_path / "warehouse")
    catalog_spec = embedded_catalog("lake", tmp_path / "catalog.db", tmp_path / "warehouse")
    catalog = open_catalog(catalog_spec)
    table = TableName.parse("db.events")
    create_table(catalog, table, SHAPE)
    spec = JobSpec(topic, SourceSpec(broker.bootstrap_servers, (topic,)), catalog_spec, table)
    yield World(spec, catalog, admin)
    admin.delete_topics([topic])


def test_records_become_rows_and_bad_ones_dead_letters_with_their_bytes(world: World) -> None:
    world.numbers(0, 500)
    world.numbers(500, 700, partition=1)
    world.send(b"not json", b'{"kind":"no id"}', b'{"id":1.5}', b"\xff\xfe", b"[1]", partition=1)
    world.send(None)
    (done,) = drain(world.started())
    assert (done.result.rows, done.result.letters, done.result.tombstones) == (700, 5, 1)
    assert world.ids() == list(range(700))
    letters = world.letters()
    assert [(row["offset"], row["reason"], row["field"]) for row in letters] == [
        (200, "not-json", None),
        (201, "missing-field", "id"),
        (202, "lossy-value", "id"),
        (203, "not-utf8", None),
        (204, "not-an-object", None),
    ]
    assert letters[3]["value"] == b"\xff\xfe"
    assert letters[0]["key"] == b"k"
    assert {row["topic"] for row in letters} == {world.topic}
    world.assert_verified()


def test_a_restarted_job_goes_on_where_the_table_says(world: World) -> None:
    world.numbers(0, 100)
    drain(world.started())
    world.numbers(100, 150)
    second = world.started()
    assert second.sink.epoch == 2
    (done,) = drain(second)
    assert done.result.rows == 50
    assert world.ids() == list(range(150))
    world.assert_verified()


def test_a_backlog_is_committed_in_batches_within_the_limits(world: World) -> None:
    world.numbers(0, 1000)
    limits = Limits(batch_records=300, small_batch_records=50, slice_records=100)
    done = drain(world.started(limits=limits))
    assert [len(each.batch) for each in done] == [300, 300, 300, 100]
    assert [each.lag for each in done] == [700, 400, 100, 0]
    assert world.ids() == list(range(1000))
    world.assert_verified()


def test_partitions_added_while_the_job_runs_are_read_from_their_start(world: World) -> None:
    world.numbers(0, 10)
    job = world.started()
    drain(job)
    world.admin.create_partitions([NewPartitions(world.topic, 4)])[world.topic].result(10)
    _eventually(lambda: len(job.kafka.topics([world.topic])[world.topic].partitions) == 4)
    world.numbers(10, 30, partition=3)
    drain(job)
    assert world.ids() == list(range(30))
    world.assert_verified()


def test_only_committed_transactions_are_stored(world: World) -> None:
    settings = {
        "bootstrap.servers": world.spec.source.bootstrap_servers,
        "transactional.id": world.topic,
    }
    producer = Producer(settings)
    producer.init_transactions(10)
    for number, commit in enumerate([True, False, True]):
        producer.begin_transaction()
        for index in range(100):
            producer.produce(world.topic, value=record(number * 100 + index), partition=0)
        producer.flush(10)
        (producer.commit_transaction if commit else producer.abort_transaction)(10)
    job = world.started()
    _eventually(lambda: sum(job.kafka.ends(job.sink.read().ledger.positions()).values()) >= 303)
    drain(job)
    assert world.ids() == [*range(100), *range(200, 300)]
    world.assert_verified()


def test_an_open_transaction_does_not_hold_up_what_is_before_it(world: World) -> None:
    world.numbers(0, 50)
    settings = {
        "bootstrap.servers": world.spec.source.bootstrap_servers,
        "transactional.id": f"{world.topic}-open",
    }
    producer = Producer(settings)
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(world.topic, value=record(50), partition=0)
    producer.flush(10)
    job = world.started()
    drain(job)
    assert world.ids() == list(range(50))
    producer.commit_transaction(10)
    _eventually(lambda: drain(job) != [])
    assert world.ids() == list(range(51))
    world.assert_verified()


def test_fields_without_a_column_are_counted_and_left_out(world: World) -> None:
    world.send(record(0), record(1, extra=5), record(2, extra=None), record(3, extra={"deep": 1}))
    (done,) = drain(world.started())
    assert dict(done.result.drift) == {"extra": 2}
    assert world.ids() == [0, 1, 2, 3]
    world.assert_verified()


def test_a_record_over_the_size_limit_is_a_dead_letter(world: World) -> None:
    world.send(record(0), record(1, tags={"a": "x" * 2000}))
    drain(world.started(max_record_bytes=1000))
    assert world.ids() == [0]
    (letter,) = world.letters()
    assert letter["reason"] == "too-big"
    assert len(letter["value"]) > 2000


def test_the_group_shows_the_position_to_kafkas_tools(world: World) -> None:
    world.numbers(0, 20)
    job = world.started()
    drain(job)
    positions = job.kafka.group_positions(job.sink.read().ledger.positions())
    assert {where.partition: offset for where, offset in positions.items()} == {
        0: 20,
        1: 0,
    }


def test_a_batch_interrupted_between_dead_letters_and_rows_is_finished_exactly(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.numbers(0, 100)
    world.send(b"junk")
    killed_before_its_rows(world, monkeypatch)
    assert (world.ids(), len(world.letters())) == ([], 1)
    world.numbers(100, 200)
    done = drain(world.started())
    assert [len(each.batch) for each in done] == [101, 100]
    assert (world.ids(), len(world.letters())) == (list(range(200)), 1)
    world.assert_verified()


def test_a_half_done_batch_is_not_finished_under_another_configuration(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.send(record(0), b"junk")
    killed_before_its_rows(world, monkeypatch)
    other = world.started(max_record_bytes=5)
    with pytest.raises(JobStopped, match="changed while a batch was half committed"):
        other.cycle()
    drain(world.started())
    world.assert_verified()


def test_a_schema_widened_while_a_batch_is_half_done_changes_no_verdict(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.types import LongType

    world.send(record(0), b'{"id":1,"size":"many"}', b"junk")
    with load_table(world.catalog, world.spec.table).update_schema() as update:
        update.add_column("size", LongType())
    killed_before_its_rows(world, monkeypatch)
    assert len(world.letters()) == 2
    with load_table(world.catalog, world.spec.table).update_schema(
        allow_incompatible_changes=True
    ) as update:
        update.delete_column("size")
    # Under the new schema record 1 would fit; it is in the dead letters already.
    drain(world.started())
    assert world.ids() == [0]
    assert len(world.letters()) == 2


def test_a_topic_deleted_and_made_again_stops_the_job(world: World) -> None:
    world.numbers(0, 10)
    job = world.started()
    drain(job)
    world.admin.delete_topics([world.topic])[world.topic].result(10)
    _eventually(lambda: _recreate(world))
    world.numbers(0, 50)
    with pytest.raises(JobStopped, match="deleted and created again"):
        job.cycle()
    assert world.ids() == list(range(10))


def test_records_deleted_before_they_were_read_stop_the_job(world: World) -> None:
    from confluent_kafka import TopicPartition

    world.numbers(0, 10)
    job = world.started()
    drain(job)
    world.numbers(10, 50)
    world.admin.delete_records([TopicPartition(world.topic, 0, 30)])
    _eventually(lambda: max(job.kafka.starts(job.sink.read().ledger.positions()).values()) == 30)
    with pytest.raises(OffsetsLost):
        job.cycle()
    assert world.ids() == list(range(10))


def test_a_missing_topic_is_named(world: World) -> None:
    source = replace(world.spec.source, topics=("nowhere-to-be-found",))
    with pytest.raises(TopicMissing, match="nowhere-to-be-found"):
        world.started(source=source, name="other")


def test_an_unreachable_broker_is_worth_a_retry(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakeward.kafka.offsets.PATIENCE", 1.0)
    source = replace(world.spec.source, bootstrap_servers="127.0.0.1:1")
    with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1:1"):
        world.started(source=source)


def test_a_new_job_may_begin_at_the_end(world: World) -> None:
    world.numbers(0, 10)
    job = world.started(source=replace(world.spec.source, start="latest"))
    world.numbers(10, 15)
    drain(job)
    assert world.ids() == list(range(10, 15))
    world.assert_verified()


def _recreate(world: World) -> bool:
    try:
        world.admin.create_topics([NewTopic(world.topic, 2)])[world.topic].result(10)
    except KafkaException:
        return False
    return True


def _eventually(happens: Callable[[], Any], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_a_commit_that_was_given_up_can_never_land(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.send(b"junk")
    job = world.started()
    real_send, real_read = job.sink._send, job.sink.read
    on_its_way: list[Callable[[], Any]] = []

    def swallow(state: Any, change: Any) -> Any:
        on_its_way.append(lambda: real_send(state, change))
        return Unknown("no answer")

    def unreadable() -> Any:
        raise DestinationUnavailable("the catalog is down")

    monkeypatch.setattr(job.sink, "_send", swallow)
    monkeypatch.setattr(job.sink, "read", unreadable)
    with pytest.raises(DestinationUnavailable):
        job.cycle()
    monkeypatch.setattr(job.sink, "_send", real_send)
    monkeypatch.setattr(job.sink, "read", real_read)
    epoch = job.sink.epoch
    # The batch is planned again, and just then the first request reaches the catalog.
    plan = job._plan

    def late(state: Any) -> Any:
        assert isinstance(on_its_way.pop()(), Conflict)
        return plan(state)

    monkeypatch.setattr(Job, "_plan", lambda _, state: late(state))
    assert job.cycle() is not None
    assert job.sink.epoch == epoch
    assert len(world.letters()) == 1
    world.assert_verified()
