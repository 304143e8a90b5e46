"""The one commit: files, position and properties in a single compare-and-swap.

PyIceberg's own `commit_transaction` is never used: when a request landed and its answer says
conflict, it deletes the manifests of the snapshot that is now live.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import (
    AssertCreate,
    AssertCurrentSchemaId,
    AssertDefaultSpecId,
    AssertRefSnapshotId,
    AssertTableUUID,
    SetPropertiesUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.table.update.snapshot import _FastAppendFiles, _MergeAppendFiles
from pyiceberg.utils.properties import property_as_bool

from lakeward.catalogs.tables import TABLE_DEFAULTS, partition_spec, to_iceberg
from lakeward.model.ledger import Ledger, property_name, to_json
from lakeward.model.outcome import Applied, Conflict, Outcome, Unknown
from lakeward.model.spec import TableName
from lakeward.schemas.shape import TableShape
from lakeward.sinks.iceberg.storage import storage_errors

Updates = tuple[TableUpdate, ...]


class _Transaction(Transaction):
    """A transaction that only ever looks at the table as it was read.

    PyIceberg copies the whole metadata at every look: fourteen times per commit, 3 seconds for a
    table of 5,000 snapshots.
    """

    @property
    def table_metadata(self) -> TableMetadata:
        return self._table.metadata


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit brings: files, the ledger that covers them, and notes for readers."""

    ledger: Ledger
    files: Sequence[DataFile] = ()
    summary: Mapping[str, str] | None = None


def commit(catalog: Catalog, table: Table, change: Change, timeout: float) -> Outcome:
    """Apply a change to the table as it was read, or to nothing."""
    transaction = _Transaction(table)
    with storage_errors(str(table.name())):
        updates, snapshot_id = _snapshot(transaction, change)
    head = table.metadata.refs.get(change.ledger.ref)
    base = head.snapshot_id if head else None
    requirements = (
        AssertTableUUID(uuid=table.metadata.table_uuid),
        AssertRefSnapshotId(ref=change.ledger.ref, snapshot_id=base),  # type: ignore[call-arg]
        # A column dropped and added again under its name would read as null everywhere.
        AssertCurrentSchemaId(current_schema_id=table.metadata.current_schema_id),  # type: ignore[call-arg]
        AssertDefaultSpecId(default_spec_id=table.metadata.default_spec_id),  # type: ignore[call-arg]
    )
    return _send(catalog, table, requirements, updates, snapshot_id, timeout)


def create_with_ledger(
    catalog: Catalog, name: TableName, shape: TableShape, ledger: Ledger, timeout: float
) -> Outcome:
    """Create a table that carries its ledger from its very first metadata on."""
    schema = to_iceberg(shape.fields)
    # A place of its own: two creators at once must not write into one folder.
    location = f"{catalog.properties['warehouse'].rstrip('/')}/" + "/".join(name.identifier)
    transaction = catalog.create_table_transaction(
        name.identifier,
        schema,
        location=f"{location}-{uuid.uuid4().hex[:8]}",
        partition_spec=partition_spec(shape, schema),
        properties=TABLE_DEFAULTS,
    )
    created: Updates = transaction._updates
    with storage_errors(str(name)):
        updates, snapshot_id = _snapshot(transaction, Change(ledger))
    table = transaction._table
    return _send(catalog, table, (AssertCreate(),), created + updates, snapshot_id, timeout)


def _snapshot(transaction: Transaction, change: Change) -> tuple[Updates, int]:
    """Write the manifests of a new snapshot; return the updates that make it the head."""
    metadata = transaction.table_metadata
    merge = property_as_bool(metadata.properties, "commit.manifest-merge.enabled", True)
    producer = (_MergeAppendFiles if merge else _FastAppendFiles)(
        operation=Operation.APPEND,
        transaction=transaction,
        io=transaction._table.io,
        snapshot_properties=_summary(change),
        branch=change.ledger.ref,
    )
    if isinstance(producer, _MergeAppendFiles):
        # Iceberg merges manifests unless told not to; PyIceberg's default is the reverse.
        producer._merge_enabled = True
    for file in change.files:
        producer.append_data_file(file)
    ledger = replace(
        change.ledger,
        table_uuid=str(metadata.table_uuid),
        snapshot_id=producer.snapshot_id,
        sequence=metadata.next_sequence_number(),
    )
    updates, _ = producer._commit()
    properties = {property_name(ledger.job): to_json(ledger)}
    return (*updates, SetPropertiesUpdate(updates=properties)), producer.snapshot_id


def _forget_old_metadata(catalog: Catalog, table: Table, fresh: TableMetadata) -> None:
    """Delete metadata files the table no longer keeps; PyIceberg does so only in its own commit."""
    with suppress(Exception):
        catalog._delete_old_metadata(table.io, table.metadata, fresh)


def _summary(change: Change) -> dict[str, str]:
    ledger = change.ledger
    return {
        "lakeward.job": ledger.job,
        "lakeward.commit-id": ledger.commit_id,
        "lakeward.epoch": str(ledger.epoch),
        "lakeward.batch": str(ledger.batch),
        **(change.summary or {}),
    }


def _send(
    catalog: Catalog,
    table: Table,
    requirements: tuple[TableRequirement, ...],
    updates: Updates,
    snapshot_id: int,
    timeout: float,
) -> Outcome:
    """Send a commit and wait so long; only a clear yes is applied, only a clear no a conflict."""
    answers: list[Outcome] = []

    def request() -> None:
        try:
            answer = catalog.commit_table(table, requirements, updates)
            answers.append(Applied(snapshot_id))
            _forget_old_metadata(catalog, table, answer.metadata)
        except (CommitFailedException, TableAlreadyExistsError) as refused:
            answers.append(Conflict(str(refused)))
        except Exception as failure:  # noqa: BLE001 - whatever it was, the request may have landed
            answers.append(Unknown(f"{type(failure).__name__}: {failure}"))

    sender = threading.Thread(target=request, name="commit", daemon=True)
    sender.start()
    sender.join(timeout)
    return answers[0] if answers else Unknown(f"no answer within {timeout:g} s")
