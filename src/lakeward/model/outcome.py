"""What came of it: what tasks bring back, and how commits end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from lakeward.model.offsets import Position, TopicPartition

DRIFT_KEPT = 200


@dataclass(slots=True)
class TaskResult:
    """What one task read, wrote and set aside. Small: files by name and metrics, never rows."""

    data_files: list[object] = field(default_factory=list)
    """Files of the data table, in the sink's own terms."""
    letter_files: list[object] = field(default_factory=list)
    """Files of the dead-letter table."""
    ends: dict[TopicPartition, Position] = field(default_factory=dict)
    rows: int = 0
    tombstones: int = 0
    bytes_read: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """Dead letters by reason."""
    drift: Counter[str] = field(default_factory=Counter)
    """Fields the table does not have, by path: how many records carried them."""
    condemned: set[tuple[TopicPartition, int]] = field(default_factory=set)
    """Records dead-lettered because decoding them kills the process or fails as nothing should."""
    newest_by_partition: dict[TopicPartition, int] = field(default_factory=dict)
    """Kafka timestamp (ms) of each partition's newest record."""
    seconds: Counter[str] = field(default_factory=Counter)
    """Time by stage, for metrics and benchmarks."""

    @property
    def newest(self) -> int:
        """Kafka timestamp (ms) of the newest record, -1 if there was none."""
        return max(self.newest_by_partition.values(), default=-1)

    @property
    def letters(self) -> int:
        return sum(self.rejected.values())

    @property
    def records(self) -> int:
        return self.rows + self.letters + self.tombstones


def merge(results: Iterable[TaskResult]) -> TaskResult:
    """Add up the results of a batch's tasks."""
    total = TaskResult()
    for result in results:
        total.data_files += result.data_files
        total.letter_files += result.letter_files
        for where, end in result.ends.items():
            if where not in total.ends or end.offset > total.ends[where].offset:
                total.ends[where] = end
        for where, newest in result.newest_by_partition.items():
            total.newest_by_partition[where] = max(newest, total.newest_by_partition.get(where, -1))
        total.rows += result.rows
        total.tombstones += result.tombstones
        total.bytes_read += result.bytes_read
        total.rejected += result.rejected
        total.condemned |= result.condemned
        total.drift = most_seen(total.drift + result.drift)
        total.seconds += result.seconds
    return total


def most_seen(drift: Counter[str]) -> Counter[str]:
    """Keep the fields seen most: records with ids for field names would fill any memory."""
    return drift if len(drift) <= DRIFT_KEPT else Counter(dict(drift.most_common(DRIFT_KEPT)))


@dataclass(frozen=True, slots=True)
class Applied:
    """The commit is in the table."""

    snapshot_id: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """The catalog said clearly that the table has moved; nothing was applied."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything else: the commit may have landed, or may land yet. Files are kept."""

    reason: str


Outcome = Applied | Conflict | Unknown
