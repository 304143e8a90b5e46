"""`show`: where a job stands, what was decided about it, and what would stop it now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from lakeward.errors import LakewardError, OffsetsLost, TopicMissing
from lakeward.job.checks import (
    check_log_ends,
    check_same_cluster,
    check_same_revision,
    check_same_topics,
    with_way_out,
)
from lakeward.job.operate import Desk
from lakeward.job.operate_facts import Source, found_anchor, refuse_unsound
from lakeward.job.progress import progress_file
from lakeward.model.ledger import Ledger, Span, half_done, ranges_between
from lakeward.model.offsets import Slice
from lakeward.sinks.iceberg.decide import Tables, view_tables
from lakeward.sinks.iceberg.founding import Origin, check_suitable, first_ledger
from lakeward.sinks.iceberg.sink import JobState, same_generation
from lakeward.sinks.iceberg.state import TableState


@dataclass(frozen=True, slots=True)
class Overview:
    """A job at one moment."""

    job: str
    state: str
    """What the job's worker last said: RUNNING, FAILED, ... or UNKNOWN."""
    tables: Tables
    source: Source | None
    """None if Kafka does not answer."""
    problems: tuple[LakewardError, ...]
    """What would stop the job now, each with its way out."""

    def to_json(self) -> dict[str, Any]:
        ledger = self.tables.anchor.ledger if self.tables.anchor else None
        unfinished = half_done_batch(self.tables)
        return {
            "job": self.job,
            "state": self.state,
            "tables": [
                _table(state)
                for state in (self.tables.anchor, self.tables.letters)
                if state is not None
            ],
            "half_done": [str(part) for part in unfinished[1]] if unfinished else [],
            "partitions": [asdict(part) for part in partitions(ledger, self.source)],
            "decisions": [asdict(each) for each in ledger.decisions] if ledger else [],
            "problems": [
                {"error": type(each).__name__, "message": str(each)} for each in self.problems
            ],
        }


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition, in the ledger and in Kafka."""

    topic: str
    partition: int
    read_from: int | None
    position: int | None
    kafka_start: int | None
    kafka_end: int | None
    earlier: tuple[str, ...]
    """What was read before operators moved the job."""

    @property
    def lag(self) -> int | None:
        known = self.position is not None and self.kafka_end is not None
        return max(0, self.kafka_end - self.position) if known else None  # type: ignore[operator]


def overview(desk: Desk) -> Overview:
    """Look at tables and Kafka and run the checks a starting job would run; changes nothing."""
    tables = view_tables(desk.catalog, desk.spec)
    source, unreachable = None, []
    try:
        source = desk.source(tables)
    except LakewardError as failure:
        unreachable.append(failure)
    problems = list(_problems(desk, tables, source))
    return Overview(desk.spec.name, _state(desk), tables, source, (*unreachable, *problems))


def partitions(ledger: Ledger | None, source: Source | None) -> list[PartitionView]:
    """Put the ledger's positions and Kafka's bounds side by side."""
    positions = ledger.positions() if ledger else {}
    starts, ends = (source.starts, source.ends) if source else ({}, {})
    views = []
    for where in sorted({*positions, *ends}):
        topic = ledger.topics.get(where.topic) if ledger else None
        former = topic.former if topic else ()
        views.append(
            PartitionView(
                *where,
                topic.starts.get(where.partition) if topic else None,
                positions[where].offset if where in positions else None,
                starts.get(where),
                ends.get(where),
                tuple(_span(span) for span in former if span.partition == where.partition),
            )
        )
    return views


def _span(span: Span) -> str:
    return f"[{span.start},{span.end}) {span.holds}"


def _table(state: TableState) -> dict[str, Any]:
    ledger = state.ledger
    return {
        "name": str(state.name),
        "fault": state.fault.value if state.fault else None,
        "head": state.head,
        "generation": ledger.generation if ledger else None,
        "epoch": ledger.epoch if ledger else None,
        "batch": ledger.batch if ledger else None,
        "revision": ledger.revision if ledger else None,
    }


def half_done_batch(tables: Tables) -> tuple[Ledger, tuple[Slice, ...]] | None:
    """Return the ledger and ranges of a batch whose dead letters are in and whose rows are not."""
    anchor = tables.anchor.ledger if tables.anchor else None
    letters = tables.letters.ledger if tables.letters else None
    if anchor is None or letters is None or half_done(anchor, [letters]) is None:
        return None
    return letters, ranges_between(anchor, letters)


def _state(desk: Desk) -> str:
    with suppress(OSError, ValueError):
        text = progress_file(desk.progress, desk.spec.name).read_text()
        return str(json.loads(text).get("state", "UNKNOWN"))
    return "UNKNOWN"


def _problems(desk: Desk, tables: Tables, source: Source | None) -> Iterator[LakewardError]:
    checks: list[Callable[[], object]] = [lambda: _check_tables(desk, tables, source)]
    if source is not None:
        checks += [lambda: _check_topics(desk, source), lambda: _check_source(tables, source)]
    for check in checks:
        try:
            check()
        except LakewardError as failure:
            yield with_way_out(failure, desk.spec.name)


def _check_tables(desk: Desk, tables: Tables, source: Source | None) -> None:
    anchor = found_anchor(tables, desk.spec)
    check_suitable(anchor.table, desk.spec)
    if anchor.ledger is None and anchor.fault is None and source is not None:
        topics = {name: topic.id for name, topic in source.topics.items()}
        places = source.partitions(desk.spec.source.topics)
        group = desk.kafka.group_positions(places)
        first_ledger(anchor, desk.spec, Origin(source.cluster_id, topics, source.starts, group), ())
        return
    refuse_unsound(tables, desk.spec)
    if tables.letters is not None and tables.letters.ledger is not None:
        same_generation(JobState(anchor, tables.letters))
    unfinished = half_done_batch(tables)
    if unfinished is not None:
        check_same_revision(unfinished[0], desk.spec.revision)


def _check_topics(desk: Desk, source: Source) -> None:
    for name in desk.spec.source.topics:
        if name not in source.topics:
            raise TopicMissing(f"The topic {name} does not exist", where=f"job {desk.spec.name}")


def _check_source(tables: Tables, source: Source) -> None:
    ledger = tables.anchor.ledger if tables.anchor else None
    if ledger is None:
        return
    check_same_cluster(ledger, source.cluster_id)
    check_same_topics(ledger, source.topics)
    check_log_ends(ledger, source.ends)
    for where, position in sorted(ledger.positions().items()):
        start = source.starts.get(where, 0)
        if start > position.offset:
            lost = Slice(*where, position.offset, start)
            raise OffsetsLost("Kafka no longer has these offsets", where=str(lost))
