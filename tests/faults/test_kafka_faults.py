"""Kafka changes under the job: what can be healed is waited for, what cannot stops it."""

from __future__ import annotations

import signal
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, Producer, TopicPartition
from confluent_kafka.admin import NewPartitions

from faults.child import eventually
from faults.meddling import assert_stops
from faults.mortal import MortalBroker
from faults.world import JUNK, World, make_world, record
from lakeward.errors import OffsetsLost, SourceUnavailable


@pytest.mark.fault(
    "kafka",
    "topic deleted and created again, {length}",
    injected="the topic is deleted; one of its name takes {records} records",
    must="the job stops, running or restarted: the offsets mean other records now",
)
@pytest.mark.parametrize(("length", "records"), [("shorter", 10), ("longer", 200)])
def test_a_topic_created_again_stops_the_job(world: World, length: str, records: int) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    world.delete_topic()
    world.make_topic()
    world.numbers(0, records)
    message = f"The topic {world.topic} was deleted and created again"
    assert_stops(job.cycle, message)
    assert_stops(world.started, message)
    assert world.ids() == list(range(60))
    assert world.letters() == 2


@pytest.mark.fault(
    "kafka",
    "topic created again while a batch is read",
    injected="the topic is replaced after its records were read and before they are committed",
    must="the batch is not committed",
)
def test_a_topic_replaced_under_a_batch_is_noticed_before_the_commit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    world.numbers(60, 100)
    real = job.runner.run

    def run(*batch: Any) -> Any:
        written = real(*batch)
        world.delete_topic()
        world.make_topic()
        return written

    monkeypatch.setattr(job.runner, "run", run)
    assert_stops(job.cycle, f"The topic {world.topic} was deleted and created again")
    assert world.ids() == list(range(60))


@pytest.mark.fault(
    "kafka",
    "topic deleted",
    injected="the topic is deleted while the job runs",
    must="the job looks again for a while, then stops",
)
def test_a_topic_that_is_gone_stops_the_job(world: World) -> None:
    world.mixed(0, 60)
    child = world.child()
    child.until(world.caught_up, "the job has read everything")
    world.delete_topic()
    child.until_dead(1)
    assert child.progress["reason"].startswith("TopicMissing: ")
    assert world.ids() == list(range(60))


@pytest.mark.fault(
    "kafka",
    "retention overtakes the job, {then}",
    injected="records the job has not read are deleted",
    must="the job stops and says which offsets are gone; what it has stays",
)
@pytest.mark.parametrize("then", ["running", "restarted"])
def test_records_deleted_before_they_were_read_stop_the_job(world: World, then: str) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    world.numbers(60, 100)
    gone = TopicPartition(world.topic, 0, 50)
    world.admin.delete_records([gone])[gone].result(10)
    with pytest.raises(OffsetsLost):
        (job if then == "running" else world.started()).cycle()
    assert world.ids() == list(range(60))
    report = world.verified()
    assert report.clean, report.verdict()


@pytest.mark.fault(
    "kafka",
    "partitions added",
    injected="the topic grows from 2 to 5 partitions while the job runs",
    must="the new ones are read from their first record",
)
def test_added_partitions_are_read_from_their_start(world: World) -> None:
    world.mixed(0, 60)
    child = world.child()
    child.until(world.caught_up, "the job has read everything")
    world.admin.create_partitions([NewPartitions(world.topic, 5)])[world.topic].result(10)
    for partition in (2, 3, 4):
        start = 60 + 20 * (partition - 2)
        world.numbers(start, start + 20, partition=partition)
    child.until(lambda: len(world.positions()) == 5, "all partitions are known")
    child.until(world.caught_up, "the job has read everything")
    child.end()
    world.assert_exact(120, 2)


@pytest.mark.fault(
    "kafka",
    "aborted transactions",
    injected="every second producer transaction is aborted",
    must="only committed records are stored, and the job does not wait for the others",
)
def test_records_of_aborted_transactions_are_not_stored(world: World) -> None:
    producer = transactional(world, "a")
    for number in range(6):
        producer.begin_transaction()
        for index in range(20):
            value = record(number // 2 * 20 + index) if number % 2 == 0 else JUNK
            producer.produce(world.topic, value=value, partition=number % 2)
        producer.flush(10)
        (producer.commit_transaction if number % 2 == 0 else producer.abort_transaction)(10)
    world.drain()
    world.assert_exact(60)


@pytest.mark.fault(
    "kafka",
    "hanging transaction",
    injected="a producer leaves a transaction open; later its successor aborts it",
    must="records before it are stored, those after it once it is over, its own never",
)
def test_a_hanging_transaction_delays_but_loses_nothing(world: World) -> None:
    world.numbers(0, 50)
    hanging = transactional(world, "b")
    hanging.begin_transaction()
    hanging.produce(world.topic, value=JUNK, partition=0)
    hanging.flush(10)
    world.numbers(50, 80)
    job = world.started()
    world.drain(job)
    assert world.ids() == list(range(50))
    transactional(world, "b")
    eventually(lambda: world.drain(job) and len(world.ids()) == 80, "the rest is stored")
    world.assert_exact(80)


def transactional(world: World, name: str) -> Producer:
    producer = world.producer(**{"transactional.id": f"{world.topic}-{name}"})
    producer.init_transactions(10)
    return producer


@pytest.mark.fault(
    "kafka",
    "broker killed and restarted",
    injected="kill -9 of the broker, started again when the job has noticed",
    must="the job waits, says so, and goes on",
)
def test_a_broker_that_dies_and_comes_back_is_waited_for(
    mortal_broker: MortalBroker, tmp_path: Path
) -> None:
    with make_world(tmp_path, mortal_broker.bootstrap_servers) as world:
        child = world.child()
        world.mixed(0, 500)
        child.until(world.caught_up, "the job has read everything")
        # Its log speaks once the position is shown to Kafka, which may take a minute to give up.
        child.until(lambda: " committed: " in child.log, "the batch is published")
        mortal_broker.kill()
        child.until_state("WAITING")
        assert child.progress["reason"].startswith("SourceUnavailable: ")
        mortal_broker.start()
        world.mixed(500, 600)
        child.until(world.caught_up, "the job has read everything")
        child.until_state("RUNNING")
        child.end()
        world.assert_exact(600, 4)


@pytest.mark.fault(
    "kafka",
    "broker dies while it is asked where a log ends",
    injected="the client library answers with no offset and no error, as it then does",
    must="the job waits; it does not take the log for cut short",
)
def test_an_answer_without_an_offset_is_no_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    world.mixed(60, 100)
    empty: Future[Any] = Future()
    empty.set_result(SimpleNamespace(offset=OFFSET_INVALID))
    with monkeypatch.context() as patch:
        answers = dict.fromkeys([TopicPartition(world.topic, 0)], empty)
        patch.setattr(job.kafka, "_admin", SimpleNamespace(list_offsets=lambda *_, **__: answers))
        with pytest.raises(SourceUnavailable):
            job.kafka.ends(job.sink.read().ledger.positions())
    world.drain(job)
    world.assert_exact(100, 4)


@pytest.mark.fault(
    "kafka",
    "cluster replaced",
    injected="the broker's storage is wiped; a new cluster has a topic of the same name",
    must="the job stops, running or restarted, and reads nothing from it",
)
def test_another_cluster_at_the_same_address_stops_the_job(
    mortal_broker: MortalBroker, tmp_path: Path
) -> None:
    with make_world(tmp_path, mortal_broker.bootstrap_servers) as world:
        world.mixed(0, 60)
        child = world.child()
        child.until(world.caught_up, "the job has read everything")
        child.signal(signal.SIGSTOP)
        mortal_broker.replace()
        world.make_topic()
        world.numbers(1000, 1200)
        child.signal(signal.SIGCONT)
        child.until_dead(1)
        assert child.progress["reason"].startswith("JobStopped: ")
        message = f"Job {world.spec.name} is connected to another Kafka cluster"
        assert_stops(world.started, message)
        assert world.ids() == list(range(60))
