"""What verification found: findings, counts per partition, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Category(StrEnum):
    """What can be wrong, of a record and of a table as a whole."""

    LOST = "lost"
    """Neither in the table nor in the dead letters."""
    DUPLICATED = "duplicated"
    """More than once in the table, in the dead letters, or in both."""
    ALTERED = "altered"
    """Stored, but not equal to what Kafka holds."""
    MISPLACED = "misplaced"
    """In a file whose partition values are not those of the row."""
    MISJUDGED = "misjudged"
    """A dead letter though it fits, or stored though it does not."""
    PHANTOM = "phantom"
    """A row for which Kafka shows no record."""
    LEDGER = "ledger"
    """The ledger contradicts the table, its history or Kafka."""
    FILES = "files"
    """A file is missing, unreadable, counted wrong or referenced twice."""
    SENT = "sent"
    """Kafka does not hold what `lakeward produce` says it sent."""


Tell = Callable[[str], None]
"""Takes one sentence about what is wrong."""

OF_RECORDS = tuple(Category)[:6]

WORDS = {
    "skipped": "offsets skipped",
    "read_again": "records there more than once",
    "adopted": "rows of others adopted",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, and where."""

    category: Category
    job: str
    what: str
    table: str = ""
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None

    @property
    def where(self) -> str:
        if self.topic is None:
            return self.table
        place = self.topic if self.partition is None else f"{self.topic}-{self.partition}"
        return place if self.offset is None else f"{place} offset {self.offset}"


@dataclass(slots=True)
class Tally:
    """Counts one topic-partition while it is verified; a partition may hold billions of records."""

    job: str
    table: str
    topic: str
    partition: int
    start: int
    end: int
    records: int = 0
    rows: int = 0
    dead_letters: int = 0
    tombstones: int = 0
    unverifiable: int = 0
    """Offsets Kafka no longer has, and records nested too deep to compare."""
    waiting: int = 0
    """Offsets the job has not read yet; nothing is said about them."""
    skipped: int = 0
    """Offsets an operator has decided to leave out."""
    read_again: int = 0
    """Records that are there more than once, because an operator has had them read again."""
    adopted: int = 0
    """Rows and dead letters that others had written before the job came; they are not judged."""
    findings: Counter[str] = field(default_factory=Counter)


class Findings:
    """Counts every finding and keeps the first: a ruined table must not fill the memory.

    At least one of each category is kept, so that a thousand lost records hide no missing file.
    """

    def __init__(self, keep: int = 20) -> None:
        self._keep = keep
        self.kept: list[Finding] = []
        self.counts: Counter[str] = Counter()

    def add(self, finding: Finding) -> None:
        self.counts[finding.category] += 1
        if len(self.kept) < self._keep or self.counts[finding.category] == 1:
            self.kept.append(finding)


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one verification."""

    jobs: tuple[str, ...]
    partitions: tuple[Tally, ...]
    counts: Mapping[str, int]
    """How many findings there are, by category."""
    findings: tuple[Finding, ...]
    """The first findings, as many as were asked for."""
    strangers: int = 0
    """Adopted rows and dead letters of places the jobs do not read."""

    @property
    def clean(self) -> bool:
        return not any(self.counts.values())

    @property
    def records(self) -> int:
        return sum(tally.records for tally in self.partitions)

    @property
    def unverifiable(self) -> int:
        return sum(tally.unverifiable for tally in self.partitions)

    @property
    def waiting(self) -> int:
        return sum(tally.waiting for tally in self.partitions)

    def decided(self) -> dict[str, int]:
        """Return what operators' decisions account for, as far as there is any."""
        kinds = ("skipped", "read_again", "adopted")
        counts = {kind: sum(getattr(tally, kind) for tally in self.partitions) for kind in kinds}
        counts["adopted"] += self.strangers
        return counts

    def verdict(self) -> str:
        """Say in one line whether every record is where it belongs."""
        if not self.clean:
            # Never "N lost, ...": "10 lost, 0 duplicated" would satisfy a search for the good line.
            listed = ", ".join(
                f"{category} {self.counts.get(category, 0)}" for category in Category
            )
            return f"NOT VERIFIED: findings in {self.records:,} records: {listed}"
        line = f"Verified {self.records:,} records: 0 lost, 0 duplicated, 0 altered, 0 misplaced"
        if self.unverifiable:
            line += f" ({self.unverifiable:,} could not be compared)"
        told = [f"{count:,} {WORDS[kind]}" for kind, count in self.decided().items() if count]
        if told:
            line += f"; by decision: {', '.join(told)}"
        if self.waiting:
            line += f"; {self.waiting:,} more are not read yet"
        return line

    def to_json(self) -> dict[str, Any]:
        return {
            "clean": self.clean,
            "verdict": self.verdict(),
            "jobs": list(self.jobs),
            "records": self.records,
            "unverifiable": self.unverifiable,
            "waiting": self.waiting,
            **self.decided(),
            "counts": {category.value: self.counts.get(category, 0) for category in Category},
            "partitions": [_tally_json(tally) for tally in self.partitions],
            "findings": [asdict(finding) for finding in self.findings],
        }


def _tally_json(tally: Tally) -> dict[str, Any]:
    counts = {category.value: tally.findings.get(category, 0) for category in OF_RECORDS}
    return {**asdict(tally), "findings": counts}
