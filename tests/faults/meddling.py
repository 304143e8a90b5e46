"""What others do to a table behind a job's back."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table

from faults.world import World
from lakeward.errors import JobStopped
from lakeward.model.spec import TableName


def assert_stops(action: Callable[[], object], message: str) -> None:
    """Expect that the job refuses to go on, and begins to say why with these words."""
    with pytest.raises(JobStopped) as stopped:
        action()
    assert message in str(stopped.value)


def compact(table: Table) -> None:
    """Rewrite every file of a table in one commit, as maintenance does."""
    rows = table.scan().to_arrow()
    old = [task.file for task in table.scan().plan_files()]
    with table.transaction() as change, change.update_snapshot().overwrite() as rewrite:
        for file in old:
            rewrite.delete_data_file(file)
        for file in _dataframe_to_data_files(change.table_metadata, rows, table.io):
            rewrite.append_data_file(file)


def expire_all_but_the_head(world: World, name: TableName) -> None:
    """Expire as Iceberg's own procedure does: the head still says who its parent was."""
    table = world.table(name)
    head = table.metadata.current_snapshot_id
    kept = {
        "snapshots": [s for s in table.metadata.snapshots if s.snapshot_id == head],
        "snapshot_log": [s for s in table.metadata.snapshot_log if s.snapshot_id == head],
    }
    place = f"{table.location()}/metadata/{len(table.metadata.metadata_log) + 1:05d}-{uuid4()}"
    output = table.io.new_output(f"{place}.metadata.json")
    ToOutputFile.table_metadata(table.metadata.model_copy(update=kept), output)
    world.catalog.drop_table(name.identifier)
    world.catalog.register_table(name.identifier, output.location)


def expire_and_forget_parents(table: Table) -> None:
    """Expire as PyIceberg does: what is left has no parents."""
    head = table.metadata.current_snapshot_id
    others = [s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id != head]
    table.maintenance.expire_snapshots().by_ids(others).commit()


def delete_earlier_metadata(table: Table) -> None:
    """Delete the metadata files of a table's past, as `delete-after-commit` does."""
    for entry in table.metadata.metadata_log:
        table.io.delete(entry.metadata_file)


def set_head(table: Table, snapshot_id: int) -> None:
    table.manage_snapshots().set_current_snapshot(snapshot_id).commit()


def set_property(table: Table, name: str, value: str) -> None:
    with table.transaction() as change:
        change.set_properties({name: value})


def remove_property(table: Table, name: str) -> None:
    with table.transaction() as change:
        change.remove_properties(name)


def foreign_rows(table: Table, count: int) -> pa.Table:
    """Make rows no job of ours has written: ids below zero, no origin."""
    schema = table.schema().as_arrow()
    rows = [{"id": -1 - n, "kind": "foreign"} for n in range(count)]
    return pa.Table.from_pylist(rows, schema=schema)
