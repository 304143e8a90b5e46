"""What the retained snapshots say: which offsets each took, under which schema, without a gap."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from lakeward.verify.jobs import Ledger
from lakeward.verify.span import Place


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """Offsets `[start, end)` taken by one snapshot under one schema."""

    start: int
    end: int
    schema_id: int | None


@dataclass(slots=True)
class History:
    """The stretches of each partition, oldest first, gathered while walking the snapshots."""

    stretches: dict[Place, list[Stretch]] = field(default_factory=lambda: defaultdict(list))

    def schema_id(self, place: Place, offset: int) -> int | None:
        """Return the schema an offset was judged by, if its snapshot is still there."""
        stretches = self.stretches.get(place, [])
        index = bisect_right(stretches, offset, key=lambda stretch: stretch.start) - 1
        if index < 0 or offset >= stretches[index].end:
            return None
        return stretches[index].schema_id


def read_history(table: Table, ledger: Ledger, report: Callable[[str], None]) -> History:
    """Walk a job's snapshots from the oldest on; report every gap, overlap and contradiction."""
    snapshots = list(ancestors_of(table.current_snapshot(), table.metadata))[::-1]
    # A first snapshot without parent may also be one whose elders were expired (Nessie).
    complete = bool(snapshots) and (snapshots[0].sequence_number or 0) <= 1
    walk = _Walk(ledger, report, complete)
    for snapshot in snapshots:
        if _summary(snapshot).get("lakeward.job") == ledger.job:
            walk.take(snapshot)
    walk.finish()
    return walk.history


class _Walk:
    """Holds, per partition, the offset the next range must start at."""

    def __init__(self, ledger: Ledger, report: Callable[[str], None], complete: bool) -> None:
        self.history = History()
        self._ledger = ledger
        self._report = report
        self._batch: int | None = None
        self._next: dict[Place, int] = {}
        if complete:
            for name, topic in ledger.topics.items():
                self._next |= {(name, part): start for part, start in topic.starts.items()}

    def take(self, snapshot: Snapshot) -> None:
        summary = _summary(snapshot)
        ranges = summary.get("lakeward.ranges")
        if ranges is None:
            self._take_without_ranges(summary)
        else:
            for topic, partitions in json.loads(ranges).items():
                for partition, (start, end) in partitions.items():
                    self._take_range((topic, int(partition)), start, end, snapshot)
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
            self._report(
                f"{kind} in {place[0]}-{place[1]}: snapshot {snapshot.snapshot_id} "
                f"takes [{start}, {end}) after {due}"
            )
        self._next[place] = end
        self.history.stretches[place].append(Stretch(start, end, snapshot.schema_id))

    def finish(self) -> None:
        for (topic, partition), reached in self._next.items():
            position = self._ledger.position(topic, partition)
            if position != reached:
                self._report(
                    f"{topic}-{partition}: the ledger stands at {position}, "
                    f"its snapshots end at {reached}"
                )


def _summary(snapshot: Snapshot) -> Mapping[str, str]:
    return snapshot.summary.additional_properties if snapshot.summary else {}
