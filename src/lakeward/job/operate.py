"""The operator's way out: decide where a job that stopped goes on, and write that down."""

from __future__ import annotations

import getpass
import json
import logging
import os
import shlex
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog import Catalog

from lakeward.clock import now_millis
from lakeward.errors import DestinationUnavailable, JobStopped, LakewardError
from lakeward.job.operate_adopt import Adoption, adopt
from lakeward.job.operate_facts import (
    Source,
    found_anchor,
    look_at_kafka,
    refuse_unsound,
    what_is_held,
)
from lakeward.job.operate_verbs import accept_gap, accept_topic, resume_from
from lakeward.job.progress import progress_file
from lakeward.kafka.offsets import KafkaOffsets
from lakeward.model.decisions import Move, Standing, letters_ahead, moves, signed
from lakeward.model.ledger import Decision, Ledger
from lakeward.model.spec import JobSpec
from lakeward.sinks.iceberg.decide import Tables, generations, view_tables, write_decision

log = logging.getLogger(__name__)

ATTEMPTS = 10
ACTIVE = {"STARTING", "RUNNING", "WAITING"}


@dataclass(frozen=True, slots=True)
class Desk:
    """What an operator works with: a job's specification, its catalog, its Kafka."""

    spec: JobSpec
    catalog: Catalog
    kafka: KafkaOffsets
    progress: Path
    """Folder of what jobs last said about themselves."""

    def source(self, tables: Tables) -> Source:
        """Look at the topics the job reads, and those it has read."""
        known = {name for ledger in tables.ledgers for name in ledger.topics}
        return look_at_kafka(self.kafka, known | set(self.spec.source.topics))

    def standing(self, tables: Tables) -> Standing:
        """Return where the job stands, if its tables agree with its ledger."""
        ledger = refuse_unsound(tables, self.spec)
        letters = tables.letters.ledger if tables.letters else None
        return Standing(ledger, letters_ahead=letters_ahead(ledger, letters) if letters else ())


@dataclass(frozen=True, slots=True)
class Order:
    """One decision: the command as typed, why, and how it is worked out from the tables."""

    arguments: tuple[str, ...]
    """What is typed after `lakeward job`."""
    decide: Callable[[Desk, Tables, int], Ledger]
    """Takes the desk, the tables and the new generation."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a decision changes; `--dry-run` shows it and nothing happens."""

    before: Ledger | None
    after: Ledger
    moves: tuple[Move, ...]


def order_gap(job: str) -> Order:
    return Order(
        ("accept-gap", job),
        lambda desk, tables, generation: accept_gap(
            desk.standing(tables), desk.source(tables), generation
        ),
    )


def order_topic(job: str, topics: Sequence[str], start: str) -> Order:
    return Order(
        ("accept-topic", job, *topics, "--from", start),
        lambda desk, tables, generation: accept_topic(
            desk.standing(tables), desk.source(tables), generation, desk.spec, (topics, start)
        ),
    )


def order_resume(job: str, targets: Sequence[str], *, log_was_cut: bool) -> Order:
    flags = ("--log-was-cut",) if log_was_cut else ()
    return Order(
        ("resume-from", job, *targets, *flags),
        lambda desk, tables, generation: resume_from(
            what_is_held(tables, desk.spec),
            desk.source(tables),
            generation,
            desk.spec,
            targets,
            log_was_cut=log_was_cut,
        ),
    )


def order_adoption(job: str, targets: Sequence[str]) -> Order:
    def decide(desk: Desk, tables: Tables, generation: int) -> Ledger:
        found_anchor(tables, desk.spec)
        source = desk.source(tables)
        group = desk.kafka.group_positions(source.partitions(desk.spec.source.topics))
        return adopt(Adoption(desk.spec, tables, source, group, targets), generation)

    flags = [part for target in targets for part in ("--from", target)]
    return Order(("adopt", job, *flags), decide)


def carry_out(desk: Desk, order: Order, reason: str, *, dry_run: bool) -> Plan:
    """Work out a decision and write it into the tables.

    1. the job must not run
    2. decide on the tables as they are read now
    3. dead letters first, the anchor last; if a table moved meanwhile, decide again
    4. show the new positions to Kafka's tools
    """
    refuse_running(desk)
    for attempt in range(ATTEMPTS):
        tables = view_tables(desk.catalog, desk.spec)
        plan = _planned(desk, tables, order, reason)
        if dry_run:
            return plan
        if write_decision(desk.catalog, tables, plan.after, desk.spec.limits.commit_timeout):
            _publish(desk, plan.after)
            return plan
        time.sleep(min(2.0, 0.05 * 2**attempt))
    raise DestinationUnavailable(
        f"The tables of job {desk.spec.name} keep changing or do not answer",
        where=f"table {desk.spec.table}, {ATTEMPTS} attempts",
        next_step="Make sure that no worker runs the job, and try again.",
    )


def refuse_running(desk: Desk) -> None:
    """Stop if the job's worker is alive: it would be fenced in the middle of its work."""
    path = progress_file(desk.progress, desk.spec.name)
    try:
        told = json.loads(path.read_text())
    except (OSError, ValueError):
        return
    if told.get("state") in ACTIVE and _alive(int(told.get("pid", 0))):
        raise JobStopped(
            f"Job {desk.spec.name} is running",
            where=f"process {told['pid']}, state {told['state']}",
            next_step=f"Stop its worker first; if that process is none, remove {path}.",
        )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0


def _planned(desk: Desk, tables: Tables, order: Order, reason: str) -> Plan:
    generation = generations(tables.ledgers) + 1
    after = order.decide(desk, tables, generation)
    before = tables.anchor.ledger if tables.anchor else None
    found = tuple(moves(before, after))
    changed = tuple(str(move) for move in found if move.before != move.after)
    closed = tuple(f"{name}: closed" for name, topic in after.topics.items() if topic.closed)
    decision = Decision(
        generation,
        shlex.join(order.arguments),
        now_millis(),
        f"{getpass.getuser()}@{socket.gethostname()}",
        reason,
        (*changed, *closed),
    )
    return Plan(before, signed(after, decision), found)


def _publish(desk: Desk, ledger: Ledger) -> None:
    positions = {
        where: at
        for where, at in ledger.positions().items()
        if where.topic in desk.spec.source.topics
    }
    try:
        desk.kafka.publish(positions)
    except LakewardError as failure:
        # The table has the truth; the job shows it to Kafka with its next batch.
        log.warning("job %s: position not shown to Kafka: %s", desk.spec.name, failure)
