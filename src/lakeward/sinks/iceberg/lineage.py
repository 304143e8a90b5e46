"""Does a table's head descend from the snapshot a ledger was written with?

Expiry removes snapshots, and with them the links between head and ledger. Then the table's earlier
metadata files, as long as they are kept, still know them.
"""

from __future__ import annotations

from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from lakeward.model.history import Ancestry, SnapshotLink, ancestry
from lakeward.model.ledger import Ledger


def lineage(table: Table, ledger: Ledger) -> Ancestry:
    """Walk from the head, through metadata files of the past if the present one is not enough."""
    head = table.metadata.refs.get(ledger.ref)
    start = head.snapshot_id if head else None
    links = _links(table.metadata)
    found = ancestry(ledger, start, links)
    for entry in reversed(table.metadata.metadata_log):
        if found is not Ancestry.AMBIGUOUS or start is None:
            break
        try:
            past = FromInputFile.table_metadata(table.io.new_input(entry.metadata_file))
        except (OSError, ValueError):
            # Deleted or out of reach: what cannot be read proves nothing.
            break
        # Some engines also take a snapshot's parent away when they expire it; the past has it.
        links |= _links(past)
        found = ancestry(ledger, start, links)
    return found


def _links(metadata: TableMetadata) -> dict[int, SnapshotLink]:
    return {
        snapshot.snapshot_id: SnapshotLink(
            snapshot.parent_snapshot_id, snapshot.sequence_number or 0
        )
        for snapshot in metadata.snapshots
    }
