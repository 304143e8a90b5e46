"""The verbs of `lakeward job` that move a job: what each of them means. No effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lakeward.errors import JobStopped, UsageError
from lakeward.job.checks import check_log_ends, check_same_cluster, check_same_topics
from lakeward.job.operate_facts import Held, Source
from lakeward.model.decisions import Standing, Verdict, decided, job_command
from lakeward.model.ledger import Ledger
from lakeward.model.offsets import TopicPartition
from lakeward.model.spec import JobSpec

EARLIEST, LATEST, TABLE, GROUP, SAME = "earliest", "latest", "table", "group", "same-offsets"


def accept_gap(standing: Standing, source: Source, generation: int) -> Ledger:
    """Go on after offsets that Kafka has lost, where it has lost some."""
    ledger = standing.ledger
    _same_source(ledger, source)
    check_log_ends(ledger, source.ends)
    lost = {
        where: source.starts[where]
        for where, position in ledger.positions().items()
        if source.starts.get(where, 0) > position.offset
    }
    if not lost:
        raise UsageError(
            f"Kafka has everything that job {ledger.job} is still to read: there is no gap",
            where=", ".join(sorted(ledger.topics)),
            next_step=f"See what stops it: `{job_command('show', ledger.job)}`",
        )
    return decided(standing, Verdict(lost), generation)


def accept_topic(
    standing: Standing,
    source: Source,
    generation: int,
    spec: JobSpec,
    choice: tuple[Sequence[str], str],
) -> Ledger:
    """Take topics under the same names for new ones, and those that are gone for closed."""
    names, start = choice
    ledger = standing.ledger
    other_cluster = ledger.cluster_id != source.cluster_id
    changed = {
        name
        for name, topic in ledger.topics.items()
        if name in spec.source.topics
        and name in source.topics
        and (other_cluster or source.topics[name].id != topic.id)
    }
    closable = {
        name
        for name, topic in ledger.topics.items()
        if name not in spec.source.topics
        and not topic.closed
        and (other_cluster or name not in source.topics or source.topics[name].id != topic.id)
    }
    _refuse_names(ledger, source, spec, set(names), changed | closable)
    wanted = set(names) or changed | closable
    if other_cluster and changed - wanted:
        raise UsageError(
            "The whole cluster is another one, not only some topics",
            where=f"also {', '.join(sorted(changed - wanted))}",
            next_step=f"Accept all of them: `{job_command('accept-topic', ledger.job)}`",
        )
    renewed = {name: source.topics[name].id for name in sorted(changed & wanted)}
    if start == SAME:
        _refuse_other_bounds(ledger, source, renewed)
    places = source.starts if start == EARLIEST else source.ends
    verdict = Verdict(
        {} if start == SAME else {where: places[where] for where in source.partitions(renewed)},
        renewed,
        same_records=start == SAME,
        closed=frozenset(closable & wanted),
    )
    return replace(decided(standing, verdict, generation), cluster_id=source.cluster_id)


def _refuse_names(
    ledger: Ledger, source: Source, spec: JobSpec, named: set[str], acceptable: set[str]
) -> None:
    missing = [name for name in spec.source.topics if name not in source.topics]
    for name in sorted(named - acceptable) or ([] if acceptable else sorted(ledger.topics)):
        if name in missing:
            raise UsageError(
                f"The topic {name} does not exist, and the connector reads it",
                where=f"job {ledger.job}",
                next_step=f"Create it: lakeward topics create {name} --partitions N, or take it out"
                " of the connector's topics.",
            )
    if not acceptable or named - acceptable:
        same = sorted(named - acceptable) or sorted(ledger.topics)
        raise UsageError(
            f"Nothing to accept: {', '.join(same)} is what the job has always read",
            where=f"job {ledger.job}",
            next_step=f"See what stops it: `{job_command('show', ledger.job)}`",
        )


def _refuse_other_bounds(ledger: Ledger, source: Source, renewed: Mapping[str, str]) -> None:
    for where, position in sorted(ledger.positions().items()):
        if where.topic not in renewed:
            continue
        start, end = source.starts.get(where), source.ends.get(where)
        if start is None or end is None or not start <= position.offset <= end:
            there = "it does not exist" if start is None else f"it has [{start}, {end})"
            raise UsageError(
                f"{where} cannot hold the same offsets: the job is at {position.offset}, {there}",
                where=f"job {ledger.job}",
                next_step=f"`{job_command('accept-topic', ledger.job, '--from', EARLIEST)}`",
            )


def resume_from(
    held: Held,
    source: Source,
    generation: int,
    spec: JobSpec,
    targets: Sequence[str],
    *,
    log_was_cut: bool,
) -> Ledger:
    """Go on from the start, the end, given offsets, or where the tables really stand."""
    standing, ledger = held.standing, held.standing.ledger
    if list(targets) == [TABLE]:
        if not held.sure:
            raise JobStopped(
                f"The table of job {ledger.job} does not tell what it holds",
                where="snapshots have expired, and rows do not say where they came from, or were"
                " read twice",
                next_step="Name the offsets to go on from:"
                f" {job_command('resume-from', ledger.job)} TOPIC:PARTITION:OFFSET...",
            )
        return decided(standing, Verdict(), generation)
    _same_source(ledger, source)
    if list(targets) in ([EARLIEST], [LATEST]):
        places = source.starts if targets[0] == EARLIEST else source.ends
        positions = {where: places[where] for where in source.partitions(spec.source.topics)}
    else:
        positions = parse_places(targets, source)
    cuts = {
        where: source.ends[where]
        for where, position in ledger.positions().items()
        if source.ends.get(where, position.offset) < position.offset
    }
    cuts |= positions if log_was_cut else {}
    topic_ids = {
        where.topic: source.topics[where.topic].id
        for where in positions
        if where.topic not in ledger.topics
    }
    return decided(standing, Verdict(positions, topic_ids, cuts=cuts), generation)


def parse_places(targets: Sequence[str], source: Source) -> dict[TopicPartition, int]:
    """Read `TOPIC:PARTITION:OFFSET`s; each must lie within what Kafka has."""
    places = {}
    for text in targets:
        topic, _, rest = text.partition(":")
        partition, _, offset = rest.partition(":")
        if not (partition.isascii() and partition.isdigit() and offset.isdigit()):
            raise UsageError(
                f"{text!r} is no place to go on from",
                next_step="Write earliest, latest, table, or TOPIC:PARTITION:OFFSET, as in t:0:42.",
            )
        where = TopicPartition(topic, int(partition))
        check_within(where, int(offset), source)
        places[where] = int(offset)
    return places


def check_within(where: TopicPartition, offset: int, source: Source) -> None:
    """Refuse an offset that the log does not have."""
    start, end = source.starts.get(where), source.ends.get(where)
    if start is None or end is None:
        raise UsageError(f"{where} does not exist, or the job does not read it")
    if not start <= offset <= end:
        raise UsageError(
            f"{where} has no offset {offset}",
            where=f"it begins at {start} and ends at {end}",
            next_step="Name an offset in between.",
        )


def _same_source(ledger: Ledger, source: Source) -> None:
    check_same_cluster(ledger, source.cluster_id)
    check_same_topics(ledger, source.topics)
