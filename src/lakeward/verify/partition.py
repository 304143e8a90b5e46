"""Verify one topic-partition: Kafka's records, the rows and the dead letters, side by side."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from lakeward.verify.judge import Rules, Verdict, judge
from lakeward.verify.judge_decided import judge_decided
from lakeward.verify.readback import StoredRow
from lakeward.verify.report import Category, Finding, Findings, Tally
from lakeward.verify.sent import SentCheck
from lakeward.verify.shelf import Shelf
from lakeward.verify.sorting import Key
from lakeward.verify.span import Cover, Place, Range, Segment
from lakeward.verify.strict_json import Undecidable
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
    adopted: Counter[str] = field(default_factory=Counter)
    """How many rows and dead letters of others may still turn up, by kind."""
    strangers: Counter[str] = field(default_factory=Counter)
    """How many of them turned up in places the job does not read."""

    def find(
        self, category: Category, what: str, place: Place | None = None, offset: int | None = None
    ) -> None:
        job, (topic, partition) = self.rules.job, place or (None, None)
        self.findings.add(
            Finding(category, job.name, what, job.table_name, topic, partition, offset)
        )

    def pass_over(self, before: Key | None = None) -> None:
        """Report rows and dead letters of places the job has no business with."""
        for kind, shelf in (("row", self.rows), ("dead letter", self.letters)):
            for row in shelf.rest() if before is None else shelf.before(before):
                self._stranger(row, kind)

    def forgiven(self, kind: str) -> bool:
        """Whether others had left so many rows or dead letters that this may be one of them."""
        if not self.adopted.get(kind):
            return False
        self.adopted[kind] -= 1
        return True

    def _stranger(self, row: StoredRow, kind: str) -> None:
        topic, partition, offset = row.key
        if topic in self.ignored_topics:
            return
        if self.forgiven(kind):
            self.strangers[kind] += 1
        else:
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
        bench.pass_over(before=(*covered.place, -1))
        self._without_record(covered.start, "before the job's first offset")
        for part in covered.parts():
            self._compare_without_kafka(part)
        for record in topics.records(*covered.place, covered.readable, covered.end, progress):
            self._compare(record)
        self._without_record(covered.end, "for which Kafka shows no record")
        for _pending in bench.letters.before((*covered.place, covered.letters_end)):
            continue
        self._without_record(BEYOND, "past the job's position")
        self._compare_with_sent()
        return self.tally

    def _stored(self, offset: int) -> Iterator[tuple[int, list[StoredRow], list[StoredRow]]]:
        """Take what is stored below an offset: each offset with its rows and dead letters."""
        key = (*self._range.place, offset)
        rows = ((row, True) for row in self._bench.rows.before(key))
        letters = ((letter, False) for letter in self._bench.letters.before(key))
        stored = heapq.merge(rows, letters, key=lambda pair: pair[0].key)
        for at, pairs in groupby(stored, key=lambda pair: pair[0].key[2]):
            copies = list(pairs)
            yield (
                at,
                [row for row, is_row in copies if is_row],
                [letter for letter, is_row in copies if not is_row],
            )

    def _without_record(self, offset: int, why: str) -> None:
        """Judge what is stored below an offset where Kafka shows no record."""
        for at, rows, letters in self._stored(offset):
            cover = self._range.cover(at)
            if cover.adopted:
                self.tally.adopted += len(rows) + len(letters)
                continue
            # Kafka may have shown records here before: of a topic since created again, say.
            excused = cover.gone
            self.tally.unverifiable += min(excused, len(rows) + len(letters))
            for kind, row in [
                *(("row", row) for row in rows),
                *(("dead letter", x) for x in letters),
            ]:
                if excused:
                    excused -= 1
                elif cover.skipped and self._bench.forgiven(kind):
                    self.tally.adopted += 1
                elif not (kind == "dead letter" and cover.pending):
                    self._find(Category.PHANTOM, f"a {kind} {why}", row.key[2])

    def _compare_without_kafka(self, part: Segment) -> None:
        """Check what can be checked where Kafka has already deleted the records."""
        cover, end = part.cover, min(part.end, self._range.readable)
        if cover.skipped:
            self.tally.skipped += len(part)
        if end <= part.start:
            return
        if cover.skipped:
            self._without_record(end, "of an offset the job has skipped")
            return
        if cover.claimed or cover.gone:
            self.tally.unverifiable += end - part.start
        for offset, rows, letters in self._stored(end):
            self._count(rows, cover)
            self.tally.dead_letters += len(letters)
            copies = len(rows) + len(letters)
            if cover.adopted:
                self.tally.adopted += copies - min(copies, cover.claimed)
            elif copies > cover.most:
                self._find(Category.DUPLICATED, f"{copies} rows or dead letters", offset)

    def _compare(self, record: Record) -> None:
        self._without_record(record.offset, "for which Kafka shows no record")
        key = (*self._range.place, record.offset + 1)
        rows, letters = list(self._bench.rows.before(key)), list(self._bench.letters.before(key))
        cover = self._range.cover(record.offset)
        self.tally.records += cover.claimed
        self.tally.tombstones += record.value is None
        self.tally.dead_letters += len(letters)
        self._count(rows, cover)
        for check in self._sent:
            check.take(record.offset, record.value)
        try:
            if cover.once:
                verdict = judge(self._bench.rules, self._range.place, record, rows, letters)
            else:
                verdict = self._judge_decided(cover, record, rows, letters)
        except Undecidable:
            # It is there; whether it had to be a dead letter nobody has laid down.
            self.tally.unverifiable += 1
            return
        if verdict is not None:
            self._find(*verdict, record.offset)

    def _judge_decided(
        self, cover: Cover, record: Record, rows: list[StoredRow], letters: list[StoredRow]
    ) -> Verdict:
        """Judge a record of an offset that an operator's decision concerns."""
        found = judge_decided(self._bench.rules, self._range.place, record, (rows, letters), cover)
        self.tally.read_again += found.read_again
        self.tally.unverifiable += found.unverifiable
        self.tally.adopted += found.adopted
        return found.verdict

    def _count(self, rows: list[StoredRow], cover: Cover) -> None:
        self.tally.rows += len(rows)
        # Where others have written before, a row in the wrong place may be theirs.
        for row in rows if not cover.adopted else ():
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
