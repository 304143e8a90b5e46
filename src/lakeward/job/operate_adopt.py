"""`adopt`: begin on tables that somebody has written, or that have lost their ledger."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakeward.clock import now_millis
from lakeward.errors import JobStopped, UsageError
from lakeward.job.operate_facts import (
    FOREIGN,
    Source,
    foreign_letters,
    found_anchor,
    what_is_held,
)
from lakeward.job.operate_verbs import (
    EARLIEST,
    GROUP,
    LATEST,
    TABLE,
    check_within,
    parse_places,
    resume_from,
)
from lakeward.model.decisions import job_command
from lakeward.model.ledger import ADOPTED, Decision, Ledger, Span, TopicLedger
from lakeward.model.offsets import Position, TopicPartition
from lakeward.model.spec import JobSpec
from lakeward.schemas.dead_letter import SUFFIX
from lakeward.sinks.iceberg.decide import Tables
from lakeward.sinks.iceberg.founding import check_suitable
from lakeward.sinks.iceberg.origins import (
    LETTER_KEY,
    ROW_KEY,
    Key,
    count_rows,
    has_columns,
    held_offsets,
    told_positions,
)
from lakeward.sinks.iceberg.state import TableState


@dataclass(frozen=True, slots=True)
class Adoption:
    """What `adopt` is told and finds."""

    spec: JobSpec
    tables: Tables
    source: Source
    group: Mapping[TopicPartition, int]
    """What the job's consumer group has committed."""
    targets: Sequence[str]


def adopt(asked: Adoption, generation: int) -> Ledger:
    """Return a ledger for tables as they are; what they hold already is set apart as adopted."""
    anchor = found_anchor(asked.tables, asked.spec)
    check_suitable(anchor.table, asked.spec)
    ownerless = anchor.ledger is None or anchor.fault in FOREIGN
    strangers = foreign_letters(asked.tables)
    if not ownerless and not strangers and _agree(asked.tables):
        raise UsageError(
            f"Job {asked.spec.name} has its ledger: there is nothing to adopt",
            where=f"table {asked.spec.table}",
            next_step=f"To move it: {job_command('resume-from', asked.spec.name)} WHERE",
        )
    if ownerless:
        ledger = _with_adopted(_founded(asked, anchor, generation), "rows", anchor, ROW_KEY)
    else:
        own = replace(asked.tables, letters=None) if strangers else asked.tables
        held = what_is_held(own, asked.spec)
        targets = asked.targets
        if list(targets) == [GROUP]:
            targets = [f"{at.topic}:{at.partition}:{offset}" for at, offset in asked.group.items()]
        ledger = resume_from(held, asked.source, generation, asked.spec, targets, log_was_cut=False)
    letters = asked.tables.letters
    if letters is not None and (ownerless or strangers):
        if not has_columns(letters.table, LETTER_KEY):
            raise JobStopped(
                f"The table {letters.name} is no table of dead letters",
                where=f"job {asked.spec.name}",
                next_step="Rename or drop it; the job creates its own.",
            )
        ledger = _with_adopted(ledger, "letters", letters, LETTER_KEY)
    return ledger


def _agree(tables: Tables) -> bool:
    return len({ledger.generation for ledger in tables.ledgers}) == 1


def _founded(asked: Adoption, anchor: TableState, generation: int) -> Ledger:
    spec, source, now = asked.spec, asked.source, now_millis()
    missing = [name for name in spec.source.topics if name not in source.topics]
    if missing:
        raise UsageError(
            f"The topic {missing[0]} does not exist",
            where=f"job {spec.name}",
            next_step=f"Create it: lakeward topics create {missing[0]} --partitions N.",
        )
    starts = _starts(asked, anchor)
    return Ledger(
        job=spec.name,
        table_uuid=str(anchor.table.metadata.table_uuid),
        generation=generation,
        epoch=0,
        batch=0,
        commit_id=str(uuid.uuid4()),
        revision=spec.revision,
        as_of=now,
        cluster_id=source.cluster_id,
        snapshot_id=-1,
        sequence=-1,
        schema_id=anchor.table.metadata.current_schema_id,
        topics={name: _topic(name, source, starts) for name in spec.source.topics},
        anchor_uuid=str(anchor.table.metadata.table_uuid),
        tables=(str(spec.table.beside(SUFFIX)),),
        written_at=now,
        decisions=_remembered(asked.tables),
    )


def _remembered(tables: Tables) -> tuple[Decision, ...]:
    """Keep what earlier decisions are known of, from whichever table still tells."""
    return max((ledger.decisions for ledger in tables.ledgers), key=len, default=())


def _topic(name: str, source: Source, starts: Mapping[TopicPartition, int]) -> TopicLedger:
    mine = {where.partition: offset for where, offset in starts.items() if where.topic == name}
    return TopicLedger(
        source.topics[name].id, mine, {partition: Position(at) for partition, at in mine.items()}
    )


def _starts(asked: Adoption, anchor: TableState) -> dict[TopicPartition, int]:
    source, targets = asked.source, list(asked.targets)
    partitions = source.partitions(asked.spec.source.topics)
    if targets == [EARLIEST]:
        return {where: source.starts[where] for where in partitions}
    if targets == [LATEST]:
        return {where: source.ends[where] for where in partitions}
    if targets == [GROUP]:
        found = dict(asked.group)
    elif targets == [TABLE]:
        found = _told(asked, anchor)
    else:
        found = parse_places(targets, source)
        unnamed = [str(where) for where in partitions if where not in found]
        if unnamed:
            raise UsageError(
                f"No offset is given for {', '.join(unnamed)}",
                where=f"job {asked.spec.name}",
                next_step="Name every partition, or use earliest, latest, group or table.",
            )
    for where in partitions:
        check_within(where, found.setdefault(where, source.starts[where]), source)
    return {where: found[where] for where in partitions}


def _told(asked: Adoption, anchor: TableState) -> dict[TopicPartition, int]:
    """Return where the table's snapshots or rows say that its writer stood."""
    if not anchor.empty and not has_columns(anchor.table, ROW_KEY):
        raise UsageError(
            f"The rows of {asked.spec.table} do not say where they came from",
            where=f"it lacks one of {', '.join(ROW_KEY)}",
            next_step="Use --from group, earliest, latest or TOPIC:PARTITION:OFFSET.",
        )
    rows = {} if anchor.empty else held_offsets(anchor.table, ROW_KEY)
    # Dead letters are committed before rows: going by theirs could skip a batch's rows.
    return {where: held.end for where, held in rows.items()} | told_positions(anchor)


def _with_adopted(ledger: Ledger, kind: str, state: TableState, key: Key) -> Ledger:
    """Note what a table holds already: of which offsets, and how many rows do not say so."""
    if state.empty:
        return ledger
    held = held_offsets(state.table, key) if has_columns(state.table, key) else {}
    topics, strangers = dict(ledger.topics), count_rows(state.table)
    for where, (first, end, rows) in sorted(held.items()):
        if where.topic in topics:
            topic = topics[where.topic]
            span = Span(where.partition, first, end, "", ledger.generation, ADOPTED)
            topics[where.topic] = replace(topic, former=(*topic.former, span))
            strangers -= rows
    counts = {**(ledger.adopted or {}), kind: strangers}
    if kind == "rows":
        counts["since"] = ledger.generation
    return replace(ledger, topics=topics, adopted=counts)
