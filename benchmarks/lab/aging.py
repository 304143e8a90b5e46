"""Give a table a long past at once: copies of its head, put between the head and its parent."""

from __future__ import annotations

import copy
import json
import sqlite3
import uuid
from pathlib import Path
from typing import Any

from lab.table import POINTER, local_path
from lakeward.model.ledger import property_name


def aged(metadata: dict[str, Any], snapshots: int, job: str) -> dict[str, Any]:
    """Return metadata with so many snapshots; the head keeps its id, its files and its rows.

    Sequence numbers stay in order, so the head and the job's ledger move up by what was put in.
    """
    old = copy.deepcopy(metadata)
    by_id = {snapshot["snapshot-id"]: snapshot for snapshot in old["snapshots"]}
    head = by_id[old["current-snapshot-id"]]
    more = snapshots - len(old["snapshots"])
    if more <= 0:
        return old
    parent, first = head.get("parent-snapshot-id"), head["sequence-number"]
    since = old["snapshot-log"][-1]["timestamp-ms"]
    for number in range(more):
        past = copy.deepcopy(head)
        past |= {"snapshot-id": new_id(), "sequence-number": first + number, "timestamp-ms": since}
        if parent is not None:
            past["parent-snapshot-id"] = parent
        parent = past["snapshot-id"]
        old["snapshots"].insert(-1, past)
        old["snapshot-log"].insert(-1, {"snapshot-id": parent, "timestamp-ms": since})
    head |= {"parent-snapshot-id": parent, "sequence-number": first + more}
    old["last-sequence-number"] += more
    ledger = json.loads(old["properties"][property_name(job)])
    ledger["sequence"] += more
    old["properties"][property_name(job)] = json.dumps(ledger, separators=(",", ":"))
    return old


def new_id() -> int:
    return uuid.uuid4().int >> 65


def age_table(
    catalog_file: Path, namespace: str, name: str, snapshots: int, job: str
) -> tuple[int, int]:
    """Age a table of the embedded catalog that nobody uses; return its snapshots and their bytes.

    The bytes are those of the metadata file, which every commit reads and writes whole.
    """
    with sqlite3.connect(catalog_file, timeout=30) as database:
        (location,) = database.execute(POINTER, (namespace, name)).fetchone()
        path = Path(local_path(location))
        metadata = aged(json.loads(path.read_bytes()), snapshots, job)
        number = int(path.name.split("-")[0]) + 1
        fresh = path.with_name(f"{number:05d}-{uuid.uuid4()}.metadata.json")
        fresh.write_text(json.dumps(metadata, separators=(",", ":")))
        database.execute(
            "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? "
            "WHERE table_namespace = ? AND table_name = ?",
            (f"file://{fresh}", location, namespace, name),
        )
    return len(metadata["snapshots"]), fresh.stat().st_size
