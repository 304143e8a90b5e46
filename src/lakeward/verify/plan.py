"""Plan a verification: which jobs, which files, which offsets; pinned to the tables' state now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from lakeward.errors import TopicMissing
from lakeward.verify.files import StoredFile, stored_files
from lakeward.verify.jobs import Job, Ledger, TopicPosition, find_jobs
from lakeward.verify.report import Category, Finding, Findings, Tell
from lakeward.verify.sent import SentRange, load_sent
from lakeward.verify.span import Place, Range, segments
from lakeward.verify.topics import Topic, Topics


@dataclass(frozen=True, slots=True)
class Options:
    """How to verify, and how much to tell."""

    max_record_bytes: int = 16 * 1024 * 1024
    """Larger values must be dead letters; as the jobs were told."""
    findings: int = 20
    """How many findings the report lists; all are counted."""
    manifests: Path | None = None
    """Folder of what `lakeward produce` sent."""


@dataclass(frozen=True, slots=True)
class Check:
    """One job, what it must answer for, and the files it left."""

    job: Job
    ranges: tuple[Range, ...]
    files: list[StoredFile]
    letter_files: list[StoredFile]
    ignored_topics: frozenset[str]
    """Topics whose rows cannot be judged: other jobs' own, and those re-created since."""

    @property
    def work(self) -> int:
        """How many rows and offsets there are to look at."""
        stored = sum(file.records for file in (*self.files, *self.letter_files))
        return stored + sum(part.end - part.readable for part in self.ranges)


@dataclass(frozen=True, slots=True)
class Plan:
    """All checks, and what was found wrong while planning them."""

    checks: tuple[Check, ...]
    findings: Findings
    sent: tuple[SentRange, ...]
    options: Options

    @property
    def work(self) -> int:
        return sum(check.work for check in self.checks)

    def tell(self, job: Job, category: Category) -> Tell:
        return teller(self.findings, job, category)


def plan_checks(catalog: Catalog, topics: Topics, jobs: Sequence[str], options: Options) -> Plan:
    """Find jobs, check that their ledgers speak of these tables and topics, list their files."""
    findings = Findings(options.findings)
    cluster_id = topics.cluster_id()
    checks = tuple(_plan(job, cluster_id, topics, findings) for job in find_jobs(catalog, jobs))
    return Plan(checks, findings, load_sent(options.manifests), options)


def teller(findings: Findings, job: Job, category: Category) -> Tell:
    """Return a function that adds findings about a job as a whole."""
    return lambda what: findings.add(Finding(category, job.name, what, job.table_name))


def _plan(job: Job, cluster_id: str, topics: Topics, findings: Findings) -> Check:
    tell = teller(findings, job, Category.LEDGER)
    _check_identity(job, cluster_id, tell)
    ranges: list[Range] = []
    ignored = set(job.foreign_topics)
    for name, known in sorted(job.ledger.topics.items()):
        topic = _described(name, known, topics)
        if topic is not None and topic.id != known.id and not known.closed:
            tell(f"topic {name} was re-created: the ledger knows {known.id}, Kafka {topic.id}")
            ignored.add(name)
            continue
        if topic is None or topic.id != known.id:
            ranges += [_unreadable(name, partition, known) for partition in known.partitions()]
        else:
            ranges += _ranges(job, known, topic, topics, tell)
    list_files = partial(stored_files, tell=teller(findings, job, Category.FILES))
    letter_files = list_files(job.letters) if job.letters else []
    return Check(job, tuple(ranges), list_files(job.table), letter_files, frozenset(ignored))


def _check_identity(job: Job, cluster_id: str, tell: Tell) -> None:
    if job.ledger.cluster_id != cluster_id:
        tell(f"the ledger is of Kafka cluster {job.ledger.cluster_id}, this is {cluster_id}")
    if job.letters_name and job.letters is None:
        tell(f"the ledger lists {job.letters_name}, which does not exist")
    _check_uuid(job.table, job.ledger, tell)
    if job.letters is not None and job.letters_ledger is not None:
        _check_uuid(job.letters, job.letters_ledger, tell)
        if job.letters_ledger.generation != job.ledger.generation:
            tell("an operator's decision has reached only one of the tables")


def _check_uuid(table: Table, ledger: Ledger, tell: Tell) -> None:
    if ledger.table_uuid != str(table.metadata.table_uuid):
        name = ".".join(table.name())
        tell(f"{name} is not the table its ledger was written for: its uuid differs")


def _described(name: str, known: TopicPosition, topics: Topics) -> Topic | None:
    """Describe a topic; None if it is gone and an operator has said so."""
    try:
        return topics.describe(name)
    except TopicMissing:
        if known.closed:
            return None
        raise


def _ranges(
    job: Job, known: TopicPosition, topic: Topic, topics: Topics, tell: Tell
) -> list[Range]:
    ranges = []
    for partition in known.partitions():
        if partition in topic.partitions:
            low, high = topics.bounds(topic.name, partition)
            ranges.append(_range(job, known, (topic.name, partition), (low, high), tell))
        elif partition in known.positions:
            tell(f"{topic.name}-{partition} does not exist in Kafka")
        else:
            ranges.append(_unreadable(topic.name, partition, known))
    for partition in sorted(topic.partitions - set(known.partitions())):
        low, high = topics.bounds(topic.name, partition)
        ranges.append(Range(topic.name, partition, low, low, low, low, high - low))
    return ranges


def _range(
    job: Job, known: TopicPosition, place: Place, bounds: tuple[int, int], tell: Tell
) -> Range:
    (name, partition), (low, high) = place, bounds
    position = known.positions.get(partition, low)
    if position > high:
        tell(f"{name}-{partition}: the ledger stands at {position}, Kafka ends at {high}")
    spans = known.spans(partition)
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    ahead = -1
    if job.letters_ledger and job.letters_ledger.generation == job.ledger.generation:
        ahead = job.letters_ledger.position(name, partition)
    moved = () if len(spans) == 1 else segments(spans, known.id, (position, ahead))
    readable = min(max(start, low), end)
    waiting = max(0, high - end)
    return Range(name, partition, start, readable, end, max(end, ahead), waiting, moved)


def _unreadable(name: str, partition: int, known: TopicPosition) -> Range:
    """Return what was read of a partition that is gone: nothing to compare it with is left."""
    spans = known.spans(partition)
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    return Range(name, partition, start, end, end, end, 0, segments(spans, None, (0, 0)))
