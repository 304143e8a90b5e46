"""What a snapshot of ours says about itself, for people and for readers of the old sink."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from lakeward.model.offsets import Batch
from lakeward.model.outcome import TaskResult
from lakeward.records.chunk import LATEST

LONGEST = 3500
"""Summaries are read with every table load; past this size the ranges are left to the ledger."""


def summary(job: str, commit_id: str, batch: Batch, result: TaskResult) -> dict[str, str]:
    """Return the summary properties of a batch's snapshots."""
    notes = {
        "lakeward.records": str(result.rows),
        "lakeward.dead-letters": str(result.letters),
        "lakeward.tombstones": str(result.tombstones),
        "kafka.connect.commit-id": commit_id,
        "kafka.connect.task-id": f"{job}-0",
    }
    ranges: dict[str, dict[str, list[int]]] = {}
    for part in batch.ranges:
        ranges.setdefault(part.topic, {})[str(part.partition)] = [part.start, part.end]
    text = json.dumps(ranges, separators=(",", ":"))
    if len(text) <= LONGEST:
        notes["lakeward.ranges"] = text
    through = valid_through(batch, result)
    if through is not None:
        notes["kafka.connect.valid-through-ts"] = through.isoformat()
    return notes


def valid_through(batch: Batch, result: TaskResult) -> datetime | None:
    """Return the moment up to which every partition of the batch is complete, if all tell."""
    newest = [result.newest_by_partition.get(part.where, -1) for part in batch.ranges]
    if not newest or not 0 <= min(newest) <= LATEST:
        return None
    return datetime.fromtimestamp(min(newest) / 1000, UTC)
