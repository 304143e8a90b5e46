"""Read a table's state and check that it is still the table we knew (invariant 4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakeward.errors import DestinationUnavailable, JobStopped, LakewardError
from lakeward.model.decisions import job_command
from lakeward.model.history import Ancestry
from lakeward.model.ledger import Ledger, from_json, property_name
from lakeward.model.protocol import Seen
from lakeward.model.spec import TableName
from lakeward.sinks.iceberg.lineage import lineage


class Fault(Enum):
    """Why a table's ledger cannot be gone by."""

    UNREADABLE = "unreadable"
    OTHER_TABLE = "other table"
    ROLLED_BACK = "rolled back"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as it was read, and what it says about one job."""

    name: TableName
    table: Table
    job: str
    ledger: Ledger | None
    fault: Fault | None = None
    broken: str = ""
    """What is wrong with a ledger that cannot be read."""

    @property
    def empty(self) -> bool:
        """Whether nothing was ever written to the table."""
        return not self.table.metadata.snapshots

    @property
    def head(self) -> int | None:
        """The snapshot readers see."""
        ref = self.table.metadata.refs.get(self.ledger.ref if self.ledger else "main")
        return ref.snapshot_id if ref else None

    def known(self) -> Ledger:
        """Return the ledger of a table that must have one."""
        if self.ledger is None:
            raise JobStopped(
                f"The table {self.name} has lost its ledger",
                where=f"property {property_name(self.job)}",
                next_step="Restore the table property, or go on from what the table holds:"
                f" `{job_command('adopt', self.job, '--from', 'table')}`",
            )
        return self.ledger

    def seen(self) -> Seen:
        """Return what the protocol decides on."""
        metadata = self.table.metadata
        return Seen(self.known(), metadata.current_schema_id, metadata.default_spec_id)

    def checked(self) -> TableState:
        """Return the state itself, or stop the job for what is wrong with it."""
        match self.fault:
            case Fault.UNREADABLE:
                raise self._unreadable()
            case Fault.OTHER_TABLE:
                raise self._another()
            case Fault.ROLLED_BACK | Fault.AMBIGUOUS:
                raise self._not_descended()
        return self

    def _unreadable(self) -> JobStopped:
        return JobStopped(
            f"The ledger of job {self.job} cannot be read: {self.broken}",
            where=f"table {self.name}, property {property_name(self.job)}",
            next_step="Restore the property from the table's metadata history, or go on from what"
            f" the table holds: `{job_command('adopt', self.job, '--from', 'table')}`",
        )

    def _another(self) -> JobStopped:
        return JobStopped(
            f"The table {self.name} is not the one this job wrote",
            where=f"uuid {self.table.metadata.table_uuid}, expected {self.known().table_uuid}",
            next_step="Bring the old table back, or go on with this one from what it holds:"
            f" `{job_command('adopt', self.job, '--from', 'table')}`",
        )

    def _not_descended(self) -> JobStopped:
        ledger, head = self.known(), self.head
        rolled_back = self.fault is Fault.ROLLED_BACK
        what = "was rolled back" if rolled_back else "has a history we cannot follow"
        return JobStopped(
            f"The table {self.name} {what}",
            where=f"head {head or 'none'}, ledger at {ledger.snapshot_id}",
            next_step=f"Set {ledger.ref} back to snapshot {ledger.snapshot_id} or a descendant, or"
            " read again what the table no longer holds:"
            f" `{job_command('resume-from', self.job, 'table')}`",
        )


def read_state(catalog: Catalog, name: TableName, job: str) -> TableState | None:
    """Read and check a table; None if it does not exist."""
    state = view_state(catalog, name, job)
    return None if state is None else state.checked()


def view_state(catalog: Catalog, name: TableName, job: str) -> TableState | None:
    """Read a table as it is, with what is wrong with it; None if it does not exist."""
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
    text = table.metadata.properties.get(property_name(job))
    if text is None:
        return TableState(name, table, job, None)
    try:
        ledger = from_json(text)
    except ValueError as broken:
        return TableState(name, table, job, None, Fault.UNREADABLE, str(broken))
    return TableState(name, table, job, ledger, _fault(table, ledger))


def _fault(table: Table, ledger: Ledger) -> Fault | None:
    if str(table.metadata.table_uuid) != ledger.table_uuid:
        return Fault.OTHER_TABLE
    return FAULTS[lineage(table, ledger)]


FAULTS = {
    Ancestry.PROVEN: None,
    Ancestry.ROLLED_BACK: Fault.ROLLED_BACK,
    Ancestry.AMBIGUOUS: Fault.AMBIGUOUS,
}
