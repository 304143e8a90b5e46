"""A batch is caught half way by a change of schema or configuration; its verdicts stay."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.table import Table
from pyiceberg.types import LongType

from faults.meddling import assert_stops
from faults.world import JUNK, World, record
from lakeward.failpoints import FailpointReached, arm


@pytest.mark.fault(
    "table",
    "schema changed while a batch is written: {change}",
    injected="a column is {change} after the files are written",
    must="the files are written anew under the new schema",
)
@pytest.mark.parametrize("change", ["added", "dropped and added again"])
def test_a_schema_changed_under_a_batch_is_noticed(
    world: World, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world.table().update_schema() as update:
        update.add_column("size", LongType())
    world.send(*(record(n, size=n, more=n) for n in range(50)))
    job = world.started()
    real = job.runner.run

    def run(*batch: Any) -> Any:
        written = real(*batch)
        monkeypatch.undo()
        alter(world.table(), change)
        return written

    monkeypatch.setattr(job.runner, "run", run)
    world.drain(job)
    world.assert_exact(50)
    column = "more" if change == "added" else "size"
    assert sum(world.table().scan().to_arrow().column(column).to_pylist()) == sum(range(50))


@pytest.mark.fault(
    "table",
    "half-done batch, then another configuration",
    injected="killed between dead letters and rows, `max.record.bytes` changed",
    must="the job stops until the configuration is back, then finishes the batch",
)
def test_a_half_done_batch_is_not_finished_under_another_configuration(world: World) -> None:
    world.mixed(0, 60)
    die_between_the_tables(world)
    other = world.started(max_record_bytes=5)
    assert_stops(other.cycle, f"Job {world.spec.name} changed while a batch was half committed")
    world.mixed(60, 100)
    world.drain()
    world.assert_exact(100, 4)


@pytest.mark.fault(
    "table",
    "half-done batch, then another schema: column {change}",
    injected="killed between dead letters and rows; a column is {change}",
    must="the batch is finished with the verdicts it was begun with",
)
@pytest.mark.parametrize("change", ["added", "removed"])
def test_a_half_done_batch_keeps_its_verdicts(world: World, change: str) -> None:
    if change == "removed":
        with world.table().update_schema() as update:
            update.add_column("size", LongType())
    # With the column this record is a dead letter, without it a row.
    world.send(record(0), b'{"id":1,"size":"many"}', JUNK)
    die_between_the_tables(world)
    with world.table().update_schema(allow_incompatible_changes=True) as update:
        if change == "added":
            update.add_column("size", LongType())
        else:
            update.delete_column("size")
    world.drain()
    assert world.ids() == ([0, 1] if change == "added" else [0])
    report = world.verified()
    assert report.clean, report.verdict()
    assert report.records == 3


def die_between_the_tables(world: World) -> None:
    """Run a cycle that commits its dead letters and ends before its rows."""
    arm("between-tables:raise")
    with pytest.raises(FailpointReached):
        world.started().cycle()
    arm("")
    assert world.letters() > 0
    assert world.ids() == []


def alter(table: Table, change: str) -> None:
    if change == "added":
        with table.update_schema() as update:
            update.add_column("more", LongType())
        return
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("size")
    with table.update_schema() as update:
        update.add_column("size", LongType())
