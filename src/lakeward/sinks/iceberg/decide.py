"""Write an operator's decision into a job's tables: dead letters first, the anchor last.

Each table gets one empty snapshot that carries the new ledger, decided on the very head it
replaces. It has a higher epoch, so it is a claim as well: a coordinator that still runs is fenced,
and what it has in flight is refused. There is no claim before it, because a claim would make a
ledger that contradicts its table look sound before anything was decided.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog

from lakeward.clock import now_millis
from lakeward.model.ledger import Ledger, next_epoch
from lakeward.model.spec import JobSpec
from lakeward.schemas.dead_letter import SUFFIX
from lakeward.sinks.iceberg.commit import Change, commit
from lakeward.sinks.iceberg.notes import LONGEST
from lakeward.sinks.iceberg.origins import DECISION, POSITIONS
from lakeward.sinks.iceberg.state import TableState, view_state


@dataclass(frozen=True, slots=True)
class Tables:
    """Both tables of a job as they are, sound or not."""

    anchor: TableState | None
    letters: TableState | None

    @property
    def ledgers(self) -> tuple[Ledger, ...]:
        found = [state.ledger for state in (self.anchor, self.letters) if state is not None]
        return tuple(ledger for ledger in found if ledger is not None)


def view_tables(catalog: Catalog, spec: JobSpec) -> Tables:
    """Read both tables without judging them."""
    return Tables(
        view_state(catalog, spec.table, spec.name),
        view_state(catalog, spec.table.beside(SUFFIX), spec.name),
    )


def write_decision(catalog: Catalog, tables: Tables, ledger: Ledger, timeout: float) -> bool:
    """Put a decided ledger into both tables; False if one of them moved meanwhile.

    Cut short in between, it leaves the tables with different generations; the job then stops and
    asks for the same decision again.
    """
    assert tables.anchor is not None
    epoch = next_epoch(tables.ledgers)
    anchor_uuid = str(tables.anchor.table.metadata.table_uuid)
    decided = replace(ledger, epoch=epoch, anchor_uuid=anchor_uuid)
    if tables.letters is not None:
        beside = replace(decided, tables=None)
        if not _write(catalog, tables.letters, beside, timeout):
            return False
    return _write(catalog, tables.anchor, decided, timeout)


def _write(catalog: Catalog, state: TableState, ledger: Ledger, timeout: float) -> bool:
    fresh = replace(ledger, commit_id=str(uuid.uuid4()), written_at=now_millis())
    commit(catalog, state.table, Change(fresh, summary=_notes(fresh)), timeout)
    now = view_state(catalog, state.name, state.job)
    # Whatever the answer was: only what the table says now counts.
    return now is not None and now.ledger is not None and now.ledger.commit_id == fresh.commit_id


def _notes(ledger: Ledger) -> dict[str, str]:
    notes = {DECISION: ledger.decisions[-1].command, "lakeward.generation": str(ledger.generation)}
    positions: dict[str, dict[str, int]] = {}
    for (topic, partition), position in ledger.positions().items():
        positions.setdefault(topic, {})[str(partition)] = position.offset
    text = json.dumps(positions, separators=(",", ":"))
    return notes | ({POSITIONS: text} if len(text) <= LONGEST else {})


def generations(ledgers: Sequence[Ledger]) -> int:
    """Return the highest generation any table knows."""
    return max((ledger.generation for ledger in ledgers), default=0)
