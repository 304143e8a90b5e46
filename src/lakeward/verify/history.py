"""What the retained snapshots say: which offsets each took, under which schema, without a gap."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from lakeward.verify.jobs import Ledger
from lakeward.verify.report import Tell
from lakeward.verify.span import Place


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """Offsets `[start, end)` taken by one snapshot.

    A batch half done when the schema changes is finished under the older one, so the schema it was
    judged by is any its job has seen since its last batch; nearly always that is one.
    """

    start: int
    end: int
    schema_ids: tuple[int, ...]


@dataclass(slots=True)
class History:
    """The stretches of each partition, oldest first, gathered while walking the snapshots."""

    stretches: dict[Place, list[Stretch]] = field(default_factory=lambda: defaultdict(list))

    def schema_ids(self, place: Place, offset: int) -> tuple[int, ...]:
        """Return the schemas an offset may have been judged by; none if its snapshot is gone."""
        stretches = self.stretches.get(place, [])
        index = bisect_right(stretches, offset, key=lambda stretch: stretch.start) - 1
        if index < 0 or offset >= stretches[index].end:
            return ()
        return stretches[index].schema_ids


def read_history(table: Table, ledger: Ledger, tell: Tell) -> History:
    """Walk a job's snapshots from the oldest on; report every gap, overlap and contradiction."""
    snapshots = list(ancestors_of(table.current_snapshot(), table.metadata))[::-1]
    # A first snapshot without parent may also be one whose elders were expired (Nessie).
    complete = bool(snapshots) and (snapshots[0].sequence_number or 0) <= 1
    walk = _Walk(ledger, tell, complete)
    for snapshot in snapshots:
        if _summary(snapshot).get("lakeward.job") == ledger.job:
            walk.take(snapshot)
    walk.finish()
    return walk.history


class _Walk:
    """Holds where each partition's next range must start, and the schemas since the last batch."""

    def __init__(self, ledger: Ledger, tell: Tell, complete: bool) -> None:
        self.history = History()
        self._ledger = ledger
        self._tell = tell
        self._batch: int | None = None
        self._schemas: dict[int, None] = {}
        self._next: dict[Place, int] = {}
        if complete:
            for name, topic in ledger.topics.items():
                self._next |= {(name, part): start for part, start in topic.starts.items()}

    def take(self, snapshot: Snapshot) -> None:
        summary = _summary(snapshot)
        if snapshot.schema_id is not None:
            self._schemas = {snapshot.schema_id: None} | self._schemas
        ranges = summary.get("lakeward.ranges")
        if ranges is None:
            self._take_without_ranges(summary)
        else:
            for topic, partitions in json.loads(ranges).items():
                for partition, (start, end) in partitions.items():
                    self._take_range((topic, int(partition)), start, end, snapshot)
            self._schemas = dict.fromkeys(list(self._schemas)[:1])
        self._batch = int(summary.get("lakeward.batch", -1))

    def _take_without_ranges(self, summary: Mapping[str, str]) -> None:
        # Claims take nothing. A batch of very many partitions leaves its ranges out; what it took
        # is unknown, so the next range of each partition may start anywhere.
        moved = self._batch is not None and int(summary.get("lakeward.batch", -1)) > self._batch
        if moved or int(summary.get("added-records", 0)):
            self._next.clear()

    def _take_range(self, place: Place, start: int, end: int, snapshot: Snapshot) -> None:
        due = self._next.get(place)
        if due is not None and due != start:
            kind = "a gap" if start > due else "an overlap"
            self._tell(
                f"{kind} in {place[0]}-{place[1]}: snapshot {snapshot.snapshot_id} "
                f"takes [{start}, {end}) after {due}"
            )
        self._next[place] = end
        self.history.stretches[place].append(Stretch(start, end, tuple(self._schemas)))

    def finish(self) -> None:
        for (topic, partition), reached in self._next.items():
            position = self._ledger.position(topic, partition)
            if position != reached:
                self._tell(
                    f"{topic}-{partition}: the ledger stands at {position}, "
                    f"its snapshots end at {reached}"
                )


def _summary(snapshot: Snapshot) -> Mapping[str, str]:
    return snapshot.summary.additional_properties if snapshot.summary else {}
