"""Find jobs by what they leave behind: a ledger in the properties of each table they write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakeward.errors import DestinationError, TableUnsuitable
from lakeward.schemas.dead_letter import SUFFIX
from lakeward.verify.span import BOTH, Span

PREFIX = "lakeward.ledger."
KEY_COLUMNS = ("_topic", "_kafka_partition", "_offset")


@dataclass(frozen=True, slots=True)
class TopicPosition:
    """What a ledger says about one topic: its id, and per partition the first and next offset."""

    id: str
    starts: Mapping[int, int]
    positions: Mapping[int, int]
    former: tuple[Span, ...] = ()
    """What was read before an operator moved the job, in the order of reading."""
    closed: bool = False
    """Whether an operator has said that the topic is gone for good."""

    def partitions(self) -> list[int]:
        return sorted({*self.positions, *(span.partition for span in self.former)})

    def spans(self, partition: int) -> list[Span]:
        """Return every reading of a partition, the current one last."""
        found = [span for span in self.former if span.partition == partition]
        if partition in self.positions:
            end = self.positions[partition]
            found.append(Span(partition, self.starts.get(partition, 0), end, self.id))
        return found


@dataclass(frozen=True, slots=True)
class Ledger:
    """The parts of a ledger that can be checked from outside."""

    job: str
    table_uuid: str
    cluster_id: str
    topics: Mapping[str, TopicPosition]
    tables: tuple[str, ...] | None
    generation: int = 0
    """How often operators have moved the job."""
    adopted: Mapping[str, int] = field(default_factory=dict)
    """How many `rows` and `letters` of others say of no offset of ours, and `since` when."""

    def position(self, topic: str, partition: int) -> int:
        known = self.topics.get(topic)
        return known.positions.get(partition, -1) if known else -1


@dataclass(frozen=True, slots=True)
class Job:
    """One job: its data table, its dead letters, and the ledgers in both."""

    name: str
    table: Table
    ledger: Ledger
    letters_name: str | None
    letters: Table | None
    """None if the job lists no dead letters, or lists a table that does not exist."""
    letters_ledger: Ledger | None
    foreign_topics: frozenset[str]
    """Topics other jobs bring into the same table."""

    @property
    def table_name(self) -> str:
        return ".".join(self.table.name())


def find_jobs(catalog: Catalog, wanted: Sequence[str] = ()) -> list[Job]:
    """Find all jobs, or those wanted; an error names what there is."""
    anchors = [
        (table, ledger)
        for table in _tables(catalog)
        for ledger in ledgers_of(table)
        if ledger.tables is not None
    ]
    known = sorted({ledger.job for _table, ledger in anchors})
    missing = sorted(set(wanted) - set(known))
    if missing or not known:
        raise DestinationError(
            f"No job named {missing[0]}" if missing else "No job has written to this catalog yet",
            where=f"catalog {catalog.name}",
            next_step=f"There are: {', '.join(known)}." if known else "Run one: lakeward demo.",
        )
    # The anchor commits last: dead letters loaded after it hold all that its position covers.
    return [
        _job(catalog, table, ledger)
        for table, ledger in sorted(anchors, key=lambda found: found[1].job)
        if not wanted or ledger.job in wanted
    ]


def _tables(catalog: Catalog, namespace: tuple[str, ...] = ()) -> Iterator[Table]:
    for below in sorted(catalog.list_namespaces(namespace)):
        for name in sorted(catalog.list_tables(below)):
            try:
                yield catalog.load_table(name)
            except NoSuchTableError:
                continue
            except OSError as failure:
                raise DestinationError(
                    f"The table's metadata cannot be read: {failure}", where=".".join(name)
                ) from failure
        yield from _tables(catalog, below)


def _job(catalog: Catalog, table: Table, ledger: Ledger) -> Job:
    _refuse_without_key(table)
    assert ledger.tables is not None
    beside = [name for name in ledger.tables if name.endswith(SUFFIX)]
    if len(beside) != len(ledger.tables) or len(beside) > 1:
        raise TableUnsuitable(
            f"Job {ledger.job} writes several tables, which cannot be verified",
            where=".".join(table.name()),
            next_step="Name the jobs to verify: lakeward verify JOB.",
        )
    letters = _load(catalog, beside[0]) if beside else None
    of_letters = [found for found in ledgers_of(letters) if found.job == ledger.job]
    foreign = {
        topic for other in ledgers_of(table) if other.job != ledger.job for topic in other.topics
    }
    return Job(
        ledger.job,
        table,
        ledger,
        beside[0] if beside else None,
        letters,
        of_letters[0] if of_letters else None,
        frozenset(foreign - set(ledger.topics)),
    )


def _refuse_without_key(table: Table) -> None:
    columns = {field.name for field in table.schema().fields}
    if not columns.issuperset(KEY_COLUMNS):
        raise TableUnsuitable(
            f"The table lacks {', '.join(KEY_COLUMNS)}: its rows cannot be told apart",
            where=".".join(table.name()),
            next_step="Name the jobs to verify: lakeward verify JOB.",
        )


def _load(catalog: Catalog, name: str) -> Table | None:
    try:
        return catalog.load_table(name)
    except NoSuchTableError:
        return None


def ledgers_of(table: Table | None) -> list[Ledger]:
    """Read every job's ledger in a table's properties."""
    if table is None:
        return []
    return [
        _read(text, f"{'.'.join(table.name())}, property {name}")
        for name, text in sorted(table.properties.items())
        if name.startswith(PREFIX)
    ]


def _read(text: str, where: str) -> Ledger:
    try:
        raw: dict[str, Any] = json.loads(text)
        if raw["version"] != 1:
            raise ValueError(f"version {raw['version']}")
        tables = raw["tables"]
        return Ledger(
            raw["job"],
            raw["table_uuid"],
            raw["cluster_id"],
            {name: _topic(topic) for name, topic in raw["topics"].items()},
            None if tables is None else tuple(tables),
            int(raw.get("generation", 0)),
            {kind: int(count) for kind, count in (raw.get("adopted") or {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as broken:
        raise DestinationError(
            f"A ledger cannot be read: {broken!r}",
            where=where,
            next_step="It was written by another version of Lakeward, or changed by hand.",
        ) from broken


def _topic(raw: Any) -> TopicPosition:
    return TopicPosition(
        raw["id"],
        {int(partition): int(start) for partition, start in raw["starts"].items()},
        {int(partition): int(position[0]) for partition, position in raw["positions"].items()},
        tuple(_span(*span) for span in raw.get("former", ())),
        bool(raw.get("closed", False)),
    )


def _span(
    partition: int, start: int, end: int, topic_id: str, _generation: int, holds: str = BOTH
) -> Span:
    return Span(partition, start, end, topic_id, holds)
