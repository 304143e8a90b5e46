"""Read a table's state and check that it is still the table we knew (invariant 4)."""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakeward.errors import DestinationUnavailable, JobStopped, LakewardError
from lakeward.model.history import Ancestry, SnapshotLink, ancestry
from lakeward.model.ledger import Ledger, from_json, property_name
from lakeward.model.protocol import Seen
from lakeward.model.spec import TableName


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as it was read, and what it says about one job."""

    name: TableName
    table: Table
    ledger: Ledger | None

    @property
    def empty(self) -> bool:
        """Whether nothing was ever written to the table."""
        return not self.table.metadata.snapshots

    def known(self) -> Ledger:
        """Return the ledger of a table that must have one."""
        if self.ledger is None:
            raise JobStopped(
                f"The table {self.name} has lost its ledger",
                next_step="Restore the table property, or start over with a new table.",
            )
        return self.ledger

    def seen(self) -> Seen:
        """Return what the protocol decides on."""
        metadata = self.table.metadata
        return Seen(self.known(), metadata.current_schema_id, metadata.default_spec_id)


def read_state(catalog: Catalog, name: TableName, job: str) -> TableState | None:
    """Read and check a table; None if it does not exist."""
    try:
        table = catalog.load_table(name.identifier)
    except NoSuchTableError:
        return None
    except LakewardError:
        raise
    except Exception as failure:
        raise DestinationUnavailable(
            f"The table {name} cannot be read: {type(failure).__name__}: {failure}",
            where=f"catalog {catalog.name}",
            next_step="The job tries again; check catalog and storage if this goes on.",
        ) from failure
    state = TableState(name, table, _ledger(table, name, job))
    if state.ledger is not None:
        _check(state, state.ledger)
    return state


def _ledger(table: Table, name: TableName, job: str) -> Ledger | None:
    text = table.metadata.properties.get(property_name(job))
    if text is None:
        return None
    try:
        return from_json(text)
    except ValueError as broken:
        raise JobStopped(
            f"The ledger of job {job} cannot be read: {broken}",
            where=f"table {name}, property {property_name(job)}",
            next_step="Restore the property from the table's metadata history.",
        ) from broken


def _check(state: TableState, ledger: Ledger) -> None:
    metadata = state.table.metadata
    if str(metadata.table_uuid) != ledger.table_uuid:
        raise JobStopped(
            f"The table {state.name} is not the one this job wrote",
            where=f"uuid {metadata.table_uuid}, expected {ledger.table_uuid}",
            next_step="Bring the old table back, or use a new connector name to start over.",
        )
    head = metadata.refs.get(ledger.ref)
    links = {
        snapshot.snapshot_id: SnapshotLink(
            snapshot.parent_snapshot_id, snapshot.sequence_number or 0
        )
        for snapshot in metadata.snapshots
    }
    found = ancestry(ledger, head.snapshot_id if head else None, links)
    if found is not Ancestry.PROVEN:
        what = (
            "was rolled back" if found is Ancestry.ROLLED_BACK else "has a history we cannot follow"
        )
        raise JobStopped(
            f"The table {state.name} {what}",
            where=f"head {head.snapshot_id if head else 'none'}, ledger at {ledger.snapshot_id}",
            next_step=f"Set {ledger.ref} back to snapshot {ledger.snapshot_id} or a descendant.",
        )
