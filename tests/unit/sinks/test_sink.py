"""The commit protocol on a real catalog: one winner, nothing twice, a doubt stops the job."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import StringType

from lakeward.catalogs.tables import create_table, from_iceberg, load_table
from lakeward.errors import Fenced, JobStopped, StorageFull, TableMissing, TableUnsuitable
from lakeward.model.fields import Kind, Struct, optional, required
from lakeward.model.ledger import Decision, from_json, property_name
from lakeward.model.offsets import Batch, Position, Slice, TopicPartition
from lakeward.model.outcome import TaskResult
from lakeward.model.protocol import Discarded, Pin
from lakeward.model.spec import CatalogSpec, JobSpec, Limits, SourceSpec, TableName
from lakeward.records.arrow import arrow_schema
from lakeward.records.chunk import Chunk
from lakeward.records.dead_letters import letters_table
from lakeward.records.decode_json import JsonDecoder
from lakeward.schemas.shape import TableShape
from lakeward.sinks.iceberg.decide import view_tables, write_decision
from lakeward.sinks.iceberg.files import FileSet
from lakeward.sinks.iceberg.founding import Origin
from lakeward.sinks.iceberg.sink import IcebergSink, JobState

TABLE = TableName.parse("db.events")
LETTERS = TableName.parse("db.events__dead_letters")
SHAPE = TableShape(
    Struct((required("id", Kind.LONG), optional("name", Kind.STRING)))
).with_metadata_columns()
ORIGIN = Origin("cluster", {"t": "topic-id"}, {TopicPartition("t", 0): 0}, {})


@pytest.fixture
def spec(catalog_spec: CatalogSpec, catalog: Catalog) -> JobSpec:
    create_table(catalog, TABLE, SHAPE)
    limits = Limits(commit_timeout=5.0)
    return JobSpec("job", SourceSpec("unused", ("t",)), catalog_spec, TABLE, limits=limits)


def sink_for(spec: JobSpec, catalog: Catalog) -> IcebergSink:
    return IcebergSink(spec, catalog, lambda _seconds: None)


def started(spec: JobSpec, catalog: Catalog) -> tuple[IcebergSink, JobState]:
    sink = sink_for(spec, catalog)
    return sink, sink.start(lambda: ORIGIN, lambda _ledger: None)


def pin(spec: JobSpec, state: JobState) -> Pin:
    return Pin(spec.revision, 0, state.anchor.table.metadata.current_schema_id, {"t": "topic-id"})


def work(
    sink: IcebergSink, state: JobState, spec: JobSpec, values: list[bytes], start: int = 0
) -> tuple[Batch, TaskResult]:
    """Decode and write records as a task would, without Kafka."""
    rows_target, letters_target = sink.targets(state, pin(spec, state).schema_id)
    offsets = np.arange(start, start + len(values))
    chunk = Chunk(
        "t",
        np.zeros(len(values), np.int32),
        offsets,
        np.full(len(values), 1000),
        values,
        lambda _index: None,
    )
    decoder = JsonDecoder(from_iceberg(rows_target.schema), 1 << 20, metadata_columns=True)
    decoded = decoder.decode(chunk)
    rows, letters = FileSet(rows_target, 1 << 20), FileSet(letters_target, 1 << 20)
    rows.add(decoded.rows)
    letters.add(letters_table(decoded.letters, arrow_schema(from_iceberg(letters_target.schema))))
    part = Slice("t", 0, start, start + len(values))
    result = TaskResult(
        data_files=list(rows.finish()), letter_files=list(letters.finish()),
        ends={part.where: Position(part.end)}, rows=decoded.rows.num_rows,
        newest_by_partition={part.where: 1000},
    )  # fmt: skip
    result.rejected.update(str(letter.reason) for letter in decoded.letters)
    return Batch((part,), ((part,),)), result


def good(count: int) -> list[bytes]:
    return [b'{"id":%d,"name":"n"}' % index for index in range(count)]


def count(catalog: Catalog, name: TableName = TABLE) -> int:
    return int(load_table(catalog, name).scan().count())


def offset(catalog: Catalog, spec: JobSpec) -> int:
    state = sink_for(spec, catalog)
    state.epoch = 10**9
    return state.read().ledger.positions()[TopicPartition("t", 0)].offset


def on_commit(
    monkeypatch: pytest.MonkeyPatch, catalog: Catalog, act: Callable[[Any, Callable[[], Any]], Any]
) -> None:
    """Put something between a commit and the catalog; `act` gets the table and the real call."""
    real = catalog.commit_table

    def commit_table(table: Any, requirements: Any, updates: Any) -> Any:
        return act(table, lambda: real(table, requirements, updates))

    monkeypatch.setattr(catalog, "commit_table", commit_table)


def test_a_first_start_founds_the_ledger_and_claims_both_tables(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    assert sink.epoch == 1
    assert state.ledger.positions() == {TopicPartition("t", 0): Position(0)}
    assert state.ledger.tables == (str(LETTERS),)
    assert state.letters.known().epoch == 1
    assert state.half_done is None


def test_a_batch_and_its_position_are_committed_together(spec: JobSpec, catalog: Catalog) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, [*good(5), b"junk"])
    outcome = sink.commit(state, batch, result, pin(spec, state))
    assert isinstance(outcome, JobState)
    table = load_table(catalog, TABLE)
    assert table.current_snapshot() is not None
    assert table.current_snapshot().snapshot_id == outcome.ledger.snapshot_id  # type: ignore[union-attr]
    assert (count(catalog), count(catalog, LETTERS), offset(catalog, spec)) == (5, 1, 6)
    summary = table.current_snapshot().summary.additional_properties  # type: ignore[union-attr]
    assert summary["lakeward.ranges"] == '{"t":{"0":[0,6]}}'
    assert summary["kafka.connect.commit-id"] == summary["lakeward.commit-id"]
    assert summary["kafka.connect.valid-through-ts"] == "1970-01-01T00:00:01+00:00"


def test_a_missing_table_is_named(spec: JobSpec, catalog: Catalog) -> None:
    elsewhere = replace(spec, table=TableName.parse("db.nowhere"))
    with pytest.raises(TableMissing, match=r"db\.nowhere"):
        started(elsewhere, catalog)


def test_a_table_written_by_somebody_else_is_not_touched(spec: JobSpec, catalog: Catalog) -> None:
    _, state = started(spec, catalog)
    other = replace(spec, name="other")
    with pytest.raises(JobStopped, match="no ledger of job other"):
        started(other, catalog)
    assert state.anchor.table.metadata == load_table(catalog, TABLE).metadata


def test_an_empty_table_of_a_job_that_ran_before_is_not_taken_for_a_first_start(
    spec: JobSpec, catalog: Catalog
) -> None:
    before = replace(ORIGIN, group_positions={TopicPartition("t", 0): 7})
    with pytest.raises(JobStopped, match="has run before"):
        sink_for(spec, catalog).start(lambda: before, lambda _ledger: None)


def test_a_second_coordinator_takes_over_and_the_first_is_fenced(
    spec: JobSpec, catalog: Catalog
) -> None:
    first, state = started(spec, catalog)
    batch, result = work(first, state, spec, good(5))
    second, _ = started(spec, catalog)
    assert second.epoch == 2
    with pytest.raises(Fenced, match="taken over"):
        first.commit(state, batch, result, pin(spec, state))
    assert count(catalog) == 0
    fresh = second.read()
    assert isinstance(
        second.commit(fresh, *work(second, fresh, spec, good(5)), pin(spec, fresh)), JobState
    )
    assert count(catalog) == 5


def test_a_fenced_coordinator_cannot_even_add_dead_letters(spec: JobSpec, catalog: Catalog) -> None:
    first, state = started(spec, catalog)
    batch, result = work(first, state, spec, [b"junk"])
    started(spec, catalog)
    with pytest.raises(Fenced):
        first.commit(state, batch, result, pin(spec, state))
    assert count(catalog, LETTERS) == 0


def test_a_foreign_commit_in_between_only_costs_a_second_attempt(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, good(5))
    foreign = load_table(catalog, TABLE)
    with foreign.transaction() as transaction, transaction.update_snapshot().fast_append():
        pass
    assert isinstance(sink.commit(state, batch, result, pin(spec, state)), JobState)
    assert (count(catalog), offset(catalog, spec)) == (5, 5)


def test_an_answer_that_is_lost_is_looked_up_in_the_table(
    spec: JobSpec, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, good(5))

    def land_and_fail(_table: Any, call: Callable[[], Any]) -> Any:
        call()
        raise TimeoutError("the answer was lost")

    on_commit(monkeypatch, catalog, land_and_fail)
    assert isinstance(sink.commit(state, batch, result, pin(spec, state)), JobState)
    assert (count(catalog), offset(catalog, spec)) == (5, 5)


def test_a_conflict_reported_for_a_commit_that_landed_is_seen_through(
    spec: JobSpec, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, good(5))

    def land_and_refuse(_table: Any, call: Callable[[], Any]) -> Any:
        call()
        raise CommitFailedException("409, although it landed")

    on_commit(monkeypatch, catalog, land_and_refuse)
    assert isinstance(sink.commit(state, batch, result, pin(spec, state)), JobState)
    assert count(catalog) == 5


def test_a_catalog_that_fails_for_a_while_gets_the_same_files_again(
    spec: JobSpec, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, good(5))
    failures = iter([True, True, False])

    def fail_twice(_table: Any, call: Callable[[], Any]) -> Any:
        if next(failures):
            raise ConnectionError("down")
        return call()

    on_commit(monkeypatch, catalog, fail_twice)
    assert isinstance(sink.commit(state, batch, result, pin(spec, state)), JobState)
    assert (count(catalog), offset(catalog, spec)) == (5, 5)


def test_a_commit_that_lands_late_is_not_repeated(
    spec: JobSpec, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, good(5))
    held: list[Callable[[], Any]] = []

    def hold_the_first(_table: Any, call: Callable[[], Any]) -> Any:
        if not held:
            held.append(call)
            raise TimeoutError("no answer")
        held.pop()()
        held.append(lambda: None)
        return call()

    on_commit(monkeypatch, catalog, hold_the_first)
    assert isinstance(sink.commit(state, batch, result, pin(spec, state)), JobState)
    assert (count(catalog), offset(catalog, spec)) == (5, 5)


def test_a_schema_changed_meanwhile_sends_the_batch_back_to_planning(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, good(5))
    with load_table(catalog, TABLE).update_schema() as update:
        update.add_column("extra", StringType())
    assert sink.commit(state, batch, result, pin(spec, state)) == Discarded("the schema changed")
    fresh = sink.read()
    again = work(sink, fresh, spec, good(5))
    assert isinstance(sink.commit(fresh, *again, pin(spec, fresh)), JobState)
    assert load_table(catalog, TABLE).scan().to_arrow().column("extra").null_count == 5


def test_partitioning_changed_meanwhile_sends_the_batch_back_to_planning(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    sink.commit(state, *work(sink, state, spec, good(3)), pin(spec, state))
    before = sink.read()
    batch, result = work(sink, before, spec, good(5), start=3)
    with load_table(catalog, TABLE).update_spec() as update:
        update.add_field("name", IdentityTransform(), "name")
    outcome = sink.commit(before, batch, result, pin(spec, before))
    assert outcome == Discarded("the partitioning changed")
    fresh = sink.read()
    sink.commit(fresh, *work(sink, fresh, spec, good(5), start=3), pin(spec, fresh))
    table = load_table(catalog, TABLE)
    specs = [task.file.spec_id for task in table.scan().plan_files()]
    assert sorted(specs) == [0, 1]
    assert table.scan().count() == 8


def test_a_rollback_stops_the_job_and_names_the_snapshot(spec: JobSpec, catalog: Catalog) -> None:
    sink, state = started(spec, catalog)
    sink.commit(state, *work(sink, state, spec, good(5)), pin(spec, state))
    table = load_table(catalog, TABLE)
    ours = table.current_snapshot()
    assert ours is not None
    assert ours.parent_snapshot_id is not None
    table.manage_snapshots().set_current_snapshot(ours.parent_snapshot_id).commit()
    with pytest.raises(JobStopped, match=rf"rolled back.*{ours.snapshot_id}"):
        sink.read()


def foreign_commits_then_expiry(catalog: Catalog, commits: int) -> None:
    """Append and expire as maintenance does, until only the head is left."""
    table = load_table(catalog, TABLE)
    for _ in range(commits):
        table.append(table.scan().to_arrow().slice(0, 0))
        table.refresh()
    head = table.current_snapshot()
    assert head is not None
    old = [each.snapshot_id for each in table.snapshots() if each != head]
    table.maintenance.expire_snapshots().by_ids(old).commit()


def test_maintenance_that_commits_often_and_expires_all_but_the_head_disturbs_nobody(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    done = sink.commit(state, *work(sink, state, spec, good(5)), pin(spec, state))
    foreign_commits_then_expiry(catalog, 4)
    assert isinstance(done, JobState)
    assert sink.read().ledger == done.ledger


def test_a_rollback_hidden_by_commits_and_expiry_is_still_found(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    sink.commit(state, *work(sink, state, spec, good(5)), pin(spec, state))
    table = load_table(catalog, TABLE)
    ours = table.current_snapshot()
    assert ours is not None
    assert ours.parent_snapshot_id is not None
    table.manage_snapshots().set_current_snapshot(ours.parent_snapshot_id).commit()
    foreign_commits_then_expiry(catalog, 4)
    with pytest.raises(JobStopped, match="was rolled back"):
        sink.read()


def test_a_history_nobody_knows_any_more_stops_the_job(spec: JobSpec, catalog: Catalog) -> None:
    sink, state = started(spec, catalog)
    sink.commit(state, *work(sink, state, spec, good(5)), pin(spec, state))
    foreign_commits_then_expiry(catalog, 4)
    table = load_table(catalog, TABLE)
    for entry in table.metadata.metadata_log:
        table.io.delete(entry.metadata_file)
    with pytest.raises(JobStopped, match="has a history we cannot follow"):
        sink.read()


def test_a_table_dropped_and_made_again_stops_the_job(spec: JobSpec, catalog: Catalog) -> None:
    sink, state = started(spec, catalog)
    text = state.anchor.table.properties[property_name(spec.name)]
    catalog.drop_table(TABLE.identifier)
    create_table(catalog, TABLE, SHAPE, {property_name(spec.name): text})
    with pytest.raises(JobStopped, match="not the one this job wrote"):
        sink.read()


def test_a_ledger_that_was_removed_stops_the_job(spec: JobSpec, catalog: Catalog) -> None:
    sink, _ = started(spec, catalog)
    with load_table(catalog, TABLE).transaction() as transaction:
        transaction.remove_properties(property_name(spec.name))
    with pytest.raises(JobStopped, match="lost its ledger"):
        sink.read()


def test_a_ledger_that_cannot_be_read_stops_the_job_and_names_the_way_out(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, _ = started(spec, catalog)
    with load_table(catalog, TABLE).transaction() as transaction:
        transaction.set_properties({property_name(spec.name): "{}"})
    with pytest.raises(JobStopped, match="`lakeward job adopt job --from table`"):
        sink.read()


def test_a_decision_that_reached_one_table_only_stops_the_job(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    decision = Decision(1, "resume-from job earliest", 0, "me@here", "", ())
    moved = replace(state.ledger, generation=1, decisions=(decision,))
    tables = view_tables(catalog, spec)
    assert write_decision(catalog, replace(tables, letters=None), moved, 5.0)
    with pytest.raises(Fenced):
        sink.read()
    with pytest.raises(JobStopped, match="`lakeward job resume-from job earliest`"):
        started(spec, catalog)


def test_a_decision_is_made_on_the_tables_as_they_were_read(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    tables = view_tables(catalog, spec)
    sink.commit(state, *work(sink, state, spec, good(5)), pin(spec, state))
    decision = Decision(1, "resume-from job earliest", 0, "me@here", "", ())
    moved = replace(state.ledger, generation=1, decisions=(decision,))
    assert not write_decision(catalog, tables, moved, 5.0)
    assert (count(catalog), offset_in(catalog, TABLE)) == (5, 5)


def offset_in(catalog: Catalog, name: TableName) -> int:
    ledger = from_json(load_table(catalog, name).properties[property_name("job")])
    return ledger.positions()[TopicPartition("t", 0)].offset


def test_dead_letters_committed_without_their_rows_pin_the_batch(
    spec: JobSpec, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, [*good(5), b"junk"])

    class Crash(BaseException):
        pass

    def crash_at_the_anchor(table: Any, call: Callable[[], Any]) -> Any:
        if table.name()[-1] == TABLE.name:
            raise Crash
        return call()

    with monkeypatch.context() as patch:
        on_commit(patch, catalog, crash_at_the_anchor)
        patch.setattr(sink, "read", lambda: (_ for _ in ()).throw(Crash()))
        with pytest.raises(Crash):
            sink.commit(state, batch, result, pin(spec, state))
    # What a new coordinator finds: the letters are in, the rows are not.
    again, found = started(spec, catalog)
    assert (count(catalog), count(catalog, LETTERS)) == (0, 1)
    assert found.half_done is not None
    assert found.half_done.revision == spec.revision
    redo, fresh = work(again, found, spec, [*good(5), b"junk"])
    fresh.letter_files = []
    assert isinstance(again.commit(found, redo, fresh, pin(spec, found)), JobState)
    assert (count(catalog), count(catalog, LETTERS), offset(catalog, spec)) == (5, 1, 6)
    assert again.read().half_done is None


def test_a_dead_letter_table_that_was_dropped_is_made_again_at_the_next_start(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, _ = started(spec, catalog)
    catalog.drop_table(LETTERS.identifier)
    with pytest.raises(JobStopped, match="was dropped"):
        sink.read()
    _, state = started(spec, catalog)
    assert state.letters.known().epoch == 2


@pytest.mark.parametrize("merge", ["true", "false"])
def test_manifests_are_merged_as_the_table_wishes(
    spec: JobSpec, catalog: Catalog, merge: str
) -> None:
    with load_table(catalog, TABLE).transaction() as transaction:
        transaction.set_properties(
            {"commit.manifest-merge.enabled": merge, "commit.manifest.min-count-to-merge": "4"}
        )
    sink, state = started(spec, catalog)
    for index in range(6):
        sink.commit(state, *work(sink, state, spec, good(2), start=2 * index), pin(spec, state))
        state = sink.read()
    table = load_table(catalog, TABLE)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifests = snapshot.manifests(table.io)
    assert (len(manifests) == 6) is (merge == "false")
    assert table.scan().count() == 12


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"write.format.default": "avro"}, "write.format.default"),
        ({"format-version": "1"}, "version 1"),
    ],
)
def test_a_table_we_cannot_write_is_refused_before_anything_happens(
    catalog: Catalog, catalog_spec: CatalogSpec, properties: dict[str, str], complaint: str
) -> None:
    create_table(catalog, TABLE, SHAPE, properties)
    spec = JobSpec("job", SourceSpec("unused", ("t",)), catalog_spec, TABLE)
    with pytest.raises(TableUnsuitable, match=complaint):
        started(spec, catalog)
    assert not load_table(catalog, TABLE).metadata.snapshots


def test_a_metadata_column_of_another_type_is_refused(
    catalog: Catalog, catalog_spec: CatalogSpec
) -> None:
    shape = TableShape(Struct((required("id", Kind.LONG), optional("_offset", Kind.STRING))))
    create_table(catalog, TABLE, shape)
    spec = JobSpec("job", SourceSpec("unused", ("t",)), catalog_spec, TABLE)
    with pytest.raises(TableUnsuitable, match="_offset"):
        started(spec, catalog)


def test_a_coordinator_that_must_not_run_does_not_take_the_job_from_one_that_may(
    spec: JobSpec, catalog: Catalog
) -> None:
    healthy, _ = started(spec, catalog)

    def refuse(_ledger: Any) -> None:
        raise JobStopped("another cluster")

    with pytest.raises(JobStopped, match="another cluster"):
        sink_for(spec, catalog).start(lambda: ORIGIN, refuse)
    assert healthy.read().ledger.epoch == 1


def test_a_topic_added_to_the_connector_enters_the_ledger_with_its_first_batch(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    part = Slice("u", 2, 40, 50)
    result = TaskResult(ends={part.where: Position(50)})
    ids = {"t": "topic-id", "u": "other-id"}
    added = replace(pin(spec, state), topic_ids=ids)
    assert isinstance(sink.commit(state, Batch((part,), ((part,),)), result, added), JobState)
    topic = sink.read().ledger.topics["u"]
    assert (topic.id, topic.starts, topic.positions) == ("other-id", {2: 40}, {2: Position(50)})


def test_dead_letters_of_a_table_that_is_gone_are_not_mistaken_for_a_half_done_batch(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, state = started(spec, catalog)
    sink.commit(state, *work(sink, state, spec, [*good(3), b"junk"]), pin(spec, state))
    catalog.drop_table(TABLE.identifier)
    create_table(catalog, TABLE, SHAPE)
    with pytest.raises(JobStopped, match="dead letters of another table"):
        started(spec, catalog)


def test_old_metadata_files_are_removed_as_the_table_wishes(
    spec: JobSpec, catalog: Catalog
) -> None:
    with load_table(catalog, TABLE).transaction() as transaction:
        transaction.set_properties({"write.metadata.previous-versions-max": "3"})
    sink, state = started(spec, catalog)
    for index in range(8):
        sink.commit(state, *work(sink, state, spec, good(1), start=index), pin(spec, state))
        state = sink.read()
    folder = Path(urlparse(state.anchor.table.location()).path) / "metadata"
    assert len(list(folder.glob("*.metadata.json"))) <= 6
    assert count(catalog) == 8


def test_a_full_disk_while_manifests_are_written_is_worth_a_retry(
    spec: JobSpec, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, state = started(spec, catalog)
    batch, result = work(sink, state, spec, good(3))

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pyiceberg.table.update.snapshot.write_manifest", full)
        with pytest.raises(StorageFull):
            sink.commit(state, batch, result, pin(spec, state))
    assert isinstance(sink.commit(state, batch, result, pin(spec, state)), JobState)
    assert count(catalog) == 3


def test_a_column_an_operator_added_to_the_dead_letters_stays_null(
    spec: JobSpec, catalog: Catalog
) -> None:
    sink, _ = started(spec, catalog)
    with load_table(catalog, LETTERS).update_schema() as update:
        update.add_column("handled", StringType())
    state = sink.read()
    sink.commit(state, *work(sink, state, spec, [b"junk"]), pin(spec, state))
    (letter,) = load_table(catalog, LETTERS).scan().to_arrow().to_pylist()
    assert (letter["reason"], letter["handled"]) == ("not-json", None)


@pytest.mark.parametrize(
    "properties",
    [
        {"write.parquet.page-row-limit": "0"},
        {"write.parquet.row-group-limit": "0"},
        {"write.parquet.compression-codec": "snappy", "write.parquet.compression-level": "5"},
    ],
)
def test_parquet_properties_that_cannot_be_are_refused_at_the_start(
    spec: JobSpec, catalog: Catalog, properties: dict[str, str]
) -> None:
    with load_table(catalog, TABLE).transaction() as transaction:
        transaction.set_properties(properties)
    with pytest.raises(TableUnsuitable, match=r"write\.parquet"):
        started(spec, catalog)
