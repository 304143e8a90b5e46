"""What the retained snapshots say: which offsets each took, under which schema, without a gap."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from lakeward.verify.jobs import Ledger
from lakeward.verify.report import Tell
from lakeward.verify.span import BOTH, ROWS, Place, Span


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

    def flatten(self) -> None:
        """Cut stretches that overlap, where offsets were read again, into ones that do not."""
        for place, stretches in self.stretches.items():
            if any(after.start < before.end for before, after in pairwise(stretches)):
                self.stretches[place] = _flat(stretches)


def _flat(stretches: list[Stretch]) -> list[Stretch]:
    edges = sorted({edge for each in stretches for edge in (each.start, each.end)})
    newest_first = stretches[::-1]
    flat = []
    for start, end in pairwise(edges):
        here = [each.schema_ids for each in newest_first if each.start <= start < each.end]
        if here:
            flat.append(Stretch(start, end, tuple(dict.fromkeys(n for ids in here for n in ids))))
    return flat


def read_history(table: Table, ledger: Ledger, tell: Tell) -> History:
    """Walk a job's snapshots from the oldest on; report every gap, overlap and contradiction."""
    snapshots = list(ancestors_of(table.current_snapshot(), table.metadata))[::-1]
    # A first snapshot without parent may also be one whose elders were expired (Nessie).
    complete = bool(snapshots) and (snapshots[0].sequence_number or 0) <= 1
    founded = _founded(snapshots, ledger)
    if founded is not None:
        # What was there before the job took the table over is nobody's history.
        snapshots, complete = snapshots[founded:], True
    walk = _Walk(ledger, tell, complete)
    for snapshot in snapshots:
        if _summary(snapshot).get("lakeward.job") == ledger.job:
            walk.take(snapshot)
    walk.finish()
    walk.history.flatten()
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
        self._chains: dict[Place, list[Span]] = {
            (name, partition): _rows_of(topic.spans(partition))
            for name, topic in ledger.topics.items()
            for partition in topic.partitions()
        }
        self._link: dict[Place, int] = dict.fromkeys(self._chains, 0)
        """Which span of its chain each partition has come to."""
        if complete:
            self._next = {place: chain[0].start for place, chain in self._chains.items() if chain}

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
        due = self._follow(place, start)
        if due is not None and due != start:
            kind = "a gap" if start > due else "an overlap"
            self._tell(
                f"{kind} in {place[0]}-{place[1]}: snapshot {snapshot.snapshot_id} "
                f"takes [{start}, {end}) after {due}"
            )
        self._next[place] = end
        if self._is_readable(place):
            self.history.stretches[place].append(Stretch(start, end, tuple(self._schemas)))

    def _follow(self, place: Place, start: int | None) -> int | None:
        """Return where the next range is due, past the decisions of operators up to `start`."""
        due, chain = self._next.get(place), self._chains.get(place, [])
        if due is None and start is not None:
            # Older snapshots have expired; the first range seen tells which span it belongs to.
            fitting = (n for n, span in enumerate(chain) if span.start <= start < span.end)
            self._link[place] = next(fitting, 0)
        for number in range(self._link.get(place, 0), len(chain) - 1):
            if due is None or due == start:
                break
            if chain[number].end == due:
                self._link[place] = number + 1
                due = chain[number + 1].start
        return due

    def _is_readable(self, place: Place) -> bool:
        """Whether the range just taken is of the topic Kafka has now."""
        topic, chain = self._ledger.topics.get(place[0]), self._chains.get(place)
        return not topic or not chain or chain[self._link[place]].topic_id == topic.id

    def finish(self) -> None:
        for place in self._next:
            topic, partition = place
            reached = self._follow(place, None)
            known = self._ledger.topics.get(topic)
            if known and partition not in known.positions and self._chains.get(place):
                # The topic was created again with fewer partitions.
                continue
            position = self._ledger.position(topic, partition)
            if position != reached:
                self._tell(
                    f"{topic}-{partition}: the ledger stands at {position}, "
                    f"its snapshots end at {reached}"
                )


def _rows_of(spans: list[Span]) -> list[Span]:
    """Return the readings a data table's own snapshots tell of, and the current one."""
    return [span for span in spans[:-1] if span.holds in (BOTH, ROWS)] + spans[-1:]


def _founded(snapshots: list[Snapshot], ledger: Ledger) -> int | None:
    """Return which snapshot began the job's life on a table it adopted."""
    since = ledger.adopted.get("since")
    for index, snapshot in enumerate(snapshots if since is not None else ()):
        summary = _summary(snapshot)
        mine = summary.get("lakeward.job") == ledger.job
        if mine and summary.get("lakeward.generation") == str(since):
            return index
    return None


def _summary(snapshot: Snapshot) -> Mapping[str, str]:
    return snapshot.summary.additional_properties if snapshot.summary else {}
