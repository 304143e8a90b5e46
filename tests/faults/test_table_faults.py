"""Somebody else touches the tables: the job goes on if it can prove that it may, else it stops."""

from __future__ import annotations

import pytest

from faults.meddling import (
    assert_stops,
    compact,
    delete_earlier_metadata,
    expire_all_but_the_head,
    expire_and_forget_parents,
    foreign_rows,
    remove_property,
    set_head,
    set_property,
)
from faults.world import LETTERS, SHAPE, TABLE, World
from lakeward.catalogs.tables import create_table
from lakeward.errors import JobStopped, TableMissing
from lakeward.model.ledger import property_name


@pytest.mark.fault(
    "table",
    "compaction and expiry between two batches, job {then}",
    injected="all files rewritten into one snapshot, every older snapshot expired",
    must="the job goes on",
)
@pytest.mark.parametrize("then", ["running", "restarted"])
def test_maintenance_between_two_batches_does_not_disturb(world: World, then: str) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    world.mixed(60, 100)
    world.drain(job)
    compact(world.table())
    expire_all_but_the_head(world, TABLE)
    compact(world.table(LETTERS))
    expire_all_but_the_head(world, LETTERS)
    world.mixed(100, 160)
    world.drain(job if then == "running" else None)
    world.assert_exact(160, 6)


GONE = ["rewritten twice, then expired", "expired by PyIceberg, which forgets parents"]


@pytest.mark.fault(
    "table",
    "history gone from the table: {how}",
    injected="every older snapshot is gone: {how}; earlier metadata files are there",
    must="they prove that the position still holds; the job goes on",
)
@pytest.mark.parametrize("how", GONE)
def test_earlier_metadata_proves_what_the_table_forgot(world: World, how: str) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    lose_history(world, how)
    world.mixed(60, 100)
    world.drain(job)
    world.assert_exact(100, 4)


@pytest.mark.fault(
    "table",
    "history gone altogether: {how}",
    injected="every older snapshot is gone: {how}; earlier metadata files are deleted",
    must="the job stops: whether its position still holds cannot be proven",
)
@pytest.mark.parametrize("how", GONE)
def test_a_history_that_proves_nothing_stops_the_job(world: World, how: str) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    lose_history(world, how)
    delete_earlier_metadata(world.table())
    world.mixed(60, 100)
    assert_stops(job.cycle, "has a history we cannot follow")
    assert_stops(world.started, "has a history we cannot follow")
    assert world.ids() == list(range(60))


def lose_history(world: World, how: str) -> None:
    compact(world.table())
    if how.startswith("expired by PyIceberg"):
        expire_and_forget_parents(world.table())
    else:
        compact(world.table())
        expire_all_but_the_head(world, TABLE)


@pytest.mark.fault(
    "table",
    "rolled back{then}",
    injected="main set to an older snapshot{then}",
    must="the job stops; set forward again, it goes on",
)
@pytest.mark.parametrize("then", ["", ", then written by others"])
def test_a_table_rolled_back_stops_the_job(world: World, then: str) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    older = world.table().metadata.current_snapshot_id
    world.mixed(60, 100)
    world.drain(job)
    newest = world.table().metadata.current_snapshot_id
    assert older is not None
    assert newest is not None
    set_head(world.table(), older)
    if then:
        world.table().append(foreign_rows(world.table(), 3))
    world.mixed(100, 160)
    assert_stops(job.cycle, "was rolled back")
    assert_stops(world.started, "was rolled back")
    set_head(world.table(), newest)
    world.drain()
    world.assert_exact(160, 6)


@pytest.mark.fault(
    "table",
    "dropped",
    injected="the table is dropped from the catalog",
    must="the job stops",
)
def test_a_dropped_table_stops_the_job(world: World) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    place = world.table().metadata_location
    world.catalog.drop_table(TABLE.identifier)
    world.mixed(60, 100)
    assert_stops(job.cycle, "The table db.events was dropped")
    with pytest.raises(TableMissing):
        world.started()
    world.catalog.register_table(TABLE.identifier, place)
    world.drain()
    world.assert_exact(100, 4)


@pytest.mark.fault(
    "table",
    "dropped and created again",
    injected="the table is dropped; an empty one takes its name",
    must="the job stops, running or restarted, and writes nothing",
)
def test_a_table_created_again_is_not_taken_for_the_old_one(world: World) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    world.catalog.drop_table(TABLE.identifier)
    create_table(world.catalog, TABLE, SHAPE)
    world.mixed(60, 100)
    with pytest.raises(JobStopped):
        job.cycle()
    assert_stops(world.started, f"Job {world.spec.name} has run before")
    assert world.table().metadata.snapshots == []


@pytest.mark.fault(
    "table",
    "created again with the old ledger",
    injected="the ledger's property is copied to a new table of the same name",
    must="the job stops: the ledger names another table",
)
def test_a_ledger_copied_to_another_table_is_not_believed(world: World) -> None:
    world.mixed(0, 60)
    world.drain()
    name = property_name(world.spec.name)
    ledger = world.table().properties[name]
    world.catalog.drop_table(TABLE.identifier)
    create_table(world.catalog, TABLE, SHAPE)
    set_property(world.table(), name, ledger)
    assert_stops(world.started, "The table db.events is not the one this job wrote")


@pytest.mark.fault(
    "table",
    "ledger removed, job restarted",
    injected="the ledger's table property is deleted",
    must="the job stops; with the property restored it goes on",
)
def test_a_written_table_without_its_ledger_is_not_started_over(world: World) -> None:
    world.mixed(0, 60)
    world.drain()
    name = property_name(world.spec.name)
    ledger = world.table().properties[name]
    remove_property(world.table(), name)
    world.mixed(60, 100)
    assert_stops(world.started, "The table db.events has been written but has no ledger")
    set_property(world.table(), name, ledger)
    world.drain()
    world.assert_exact(100, 4)


@pytest.mark.fault(
    "table",
    "ledger removed while the job runs",
    injected="the ledger's table property is deleted between two batches",
    must="the next commit, decided before, writes it again: nothing is lost or doubled",
)
def test_a_running_job_whose_ledger_is_removed_writes_it_again(world: World) -> None:
    world.numbers(0, 60)
    job = world.started()
    world.drain(job)
    remove_property(world.table(), property_name(world.spec.name))
    world.numbers(60, 100)
    world.drain(job)
    world.assert_exact(100)


@pytest.mark.fault(
    "table",
    "ledger removed while the job runs, dead letters in the batch",
    injected="the ledger's table property is deleted between two batches",
    must="the job stops with a half-done batch; with the property restored it is finished",
)
def test_a_ledger_found_missing_between_two_tables_stops_the_job(world: World) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    name = property_name(world.spec.name)
    ledger = world.table().properties[name]
    remove_property(world.table(), name)
    world.mixed(60, 100)
    assert_stops(job.cycle, "The table db.events has lost its ledger")
    set_property(world.table(), name, ledger)
    world.drain()
    world.assert_exact(100, 4)


@pytest.mark.fault(
    "table",
    "rows of an unknown writer",
    injected="another program appends rows between two batches",
    must="the job goes on; its own records are there exactly once",
)
def test_rows_of_others_are_left_alone(world: World) -> None:
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    world.table().append(foreign_rows(world.table(), 7))
    world.mixed(60, 100)
    world.drain(job)
    world.table().append(foreign_rows(world.table(), 5))
    world.mixed(100, 120)
    world.drain()
    ours = [id_ for id_ in world.ids() if id_ >= 0]
    assert ours == list(range(120))
    report = world.verified()
    assert {name: n for name, n in report.counts.items() if n and name != "phantom"} == {}
    assert report.counts.get("phantom", 0) in {0, 12}
    assert report.records == 126
