"""Verify one topic-partition: Kafka's records, the rows and the dead letters, side by side."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from lakeward.verify.judge import Rules, judge
from lakeward.verify.readback import StoredRow
from lakeward.verify.report import Category, Finding, Findings, Tally
from lakeward.verify.sent import SentCheck
from lakeward.verify.shelf import Shelf
from lakeward.verify.sorting import Key
from lakeward.verify.span import Place, Range
from lakeward.verify.strict_json import TooDeep
from lakeward.verify.topics import Record, Topics

BEYOND = 1 << 63
"""Past every offset there can be."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a job's partitions are verified with: rules, both shelves, and where findings go."""

    rules: Rules
    rows: Shelf
    letters: Shelf
    findings: Findings
    ignored_topics: frozenset[str]

    def find(
        self, category: Category, what: str, place: Place | None = None, offset: int | None = None
    ) -> None:
        job, (topic, partition) = self.rules.job, place or (None, None)
        self.findings.add(
            Finding(category, job.name, what, job.table_name, topic, partition, offset)
        )

    def strangers(self, before: Key | None = None) -> None:
        """Report rows and dead letters of places the job has no business with."""
        for kind, shelf in (("row", self.rows), ("dead letter", self.letters)):
            for row in shelf.rest() if before is None else shelf.before(before):
                self._stranger(row, kind)

    def _stranger(self, row: StoredRow, kind: str) -> None:
        topic, partition, offset = row.key
        if topic not in self.ignored_topics:
            place = (topic, partition) if topic else None
            what = f"a {kind} of {topic or 'no topic'}, which the job has not read"
            self.find(Category.PHANTOM, what, place, offset)


class PartitionCheck:
    """Walks one partition; holds its tally."""

    def __init__(self, bench: Bench, covered: Range, sent: list[SentCheck]) -> None:
        self._bench = bench
        self._range = covered
        self._sent = sent
        job = bench.rules.job
        self.tally = Tally(
            job.name, job.table_name, *covered.place, start=covered.start, end=covered.end
        )
        self.tally.waiting = covered.waiting

    def run(self, topics: Topics, progress: Callable[[int], None]) -> Tally:
        """Take every record, row and dead letter of the partition, in order of offset."""
        covered, bench = self._range, self._bench
        bench.strangers(before=(*covered.place, -1))
        self._phantoms(covered.start, "before the job's first offset")
        self._compare_without_kafka()
        for record in topics.records(*covered.place, covered.readable, covered.end, progress):
            self._compare(record)
        self._phantoms(covered.end, "for which Kafka shows no record")
        for _pending in bench.letters.before((*covered.place, covered.letters_end)):
            continue
        self._phantoms(BEYOND, "past the job's position")
        self._compare_with_sent()
        return self.tally

    def _phantoms(self, offset: int, why: str) -> None:
        key = (*self._range.place, offset)
        for kind, shelf in (("row", self._bench.rows), ("dead letter", self._bench.letters)):
            for row in shelf.before(key):
                self._find(Category.PHANTOM, f"a {kind} {why}", row.key[2])

    def _compare_without_kafka(self) -> None:
        """Check what can be checked where Kafka has already deleted the records."""
        covered, bench = self._range, self._bench
        self.tally.unverifiable += covered.readable - covered.start
        key = (*covered.place, covered.readable)
        rows = ((row, True) for row in bench.rows.before(key))
        letters = ((letter, False) for letter in bench.letters.before(key))
        stored = heapq.merge(rows, letters, key=lambda pair: pair[0].key)
        for offset, pairs in groupby(stored, key=lambda pair: pair[0].key[2]):
            copies = list(pairs)
            self._count([row for row, is_row in copies if is_row])
            self.tally.dead_letters += sum(not is_row for _row, is_row in copies)
            if len(copies) > 1:
                self._find(Category.DUPLICATED, f"{len(copies)} rows or dead letters", offset)

    def _compare(self, record: Record) -> None:
        self._phantoms(record.offset, "for which Kafka shows no record")
        key = (*self._range.place, record.offset + 1)
        rows, letters = list(self._bench.rows.before(key)), list(self._bench.letters.before(key))
        self.tally.records += 1
        self.tally.tombstones += record.value is None
        self.tally.dead_letters += len(letters)
        self._count(rows)
        for check in self._sent:
            check.take(record.offset, record.value)
        try:
            verdict = judge(self._bench.rules, self._range.place, record, rows, letters)
        except TooDeep:
            # It is there once; whether it had to be a dead letter nobody has laid down.
            self.tally.unverifiable += 1
            return
        if verdict is not None:
            self._find(*verdict, record.offset)

    def _count(self, rows: list[StoredRow]) -> None:
        self.tally.rows += len(rows)
        for row in rows:
            verdict = self._bench.rules.misplaced(row)
            if verdict is not None:
                self._find(*verdict, row.key[2])

    def _compare_with_sent(self) -> None:
        for check in self._sent:
            wrong = check.contradiction()
            if wrong is not None:
                self._find(Category.SENT, wrong)

    def _find(self, category: Category, what: str, offset: int | None = None) -> None:
        self.tally.findings[category] += 1
        self._bench.find(category, what, self._range.place, offset)
