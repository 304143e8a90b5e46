"""Plan a verification: which jobs, which files, which offsets; pinned to the tables' state now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from lakeward.verify.files import StoredFile, stored_files
from lakeward.verify.jobs import Job, Ledger, TopicPosition, find_jobs
from lakeward.verify.report import Category, Finding, Findings, Tell
from lakeward.verify.sent import SentRange, load_sent
from lakeward.verify.span import Range
from lakeward.verify.topics import Topics


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
        topic = topics.describe(name)
        if topic.id != known.id:
            tell(f"topic {name} was re-created: the ledger knows {known.id}, Kafka {topic.id}")
            ignored.add(name)
            continue
        ranges += _ranges(job, name, known, topics, topic.partitions, tell)
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


def _check_uuid(table: Table, ledger: Ledger, tell: Tell) -> None:
    if ledger.table_uuid != str(table.metadata.table_uuid):
        name = ".".join(table.name())
        tell(f"{name} is not the table its ledger was written for: its uuid differs")


def _ranges(
    job: Job,
    name: str,
    known: TopicPosition,
    topics: Topics,
    partitions: frozenset[int],
    tell: Tell,
) -> list[Range]:
    ranges = []
    for partition, end in sorted(known.positions.items()):
        if partition not in partitions:
            tell(f"{name}-{partition} does not exist in Kafka")
            continue
        low, high = topics.bounds(name, partition)
        if end > high:
            tell(f"{name}-{partition}: the ledger stands at {end}, Kafka ends at {high}")
        start = known.starts.get(partition, 0)
        ahead = job.letters_ledger.position(name, partition) if job.letters_ledger else -1
        readable = min(max(start, low), end)
        waiting = max(0, high - end)
        ranges.append(Range(name, partition, start, readable, end, max(end, ahead), waiting))
    for partition in sorted(partitions - set(known.positions)):
        low, high = topics.bounds(name, partition)
        ranges.append(Range(name, partition, low, low, low, low, high - low))
    return ranges
