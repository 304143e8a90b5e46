"""A job's tables in an Iceberg catalog: found, claimed, read and committed to."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile

from lakeward.clock import now_millis
from lakeward.errors import DestinationUnavailable, Fenced, JobStopped, TableMissing
from lakeward.failpoints import reach
from lakeward.model.decisions import job_command, latest_decision
from lakeward.model.ledger import Ledger, half_done, next_epoch
from lakeward.model.offsets import Batch, Position
from lakeward.model.outcome import Applied, Outcome, TaskResult
from lakeward.model.protocol import (
    Discarded,
    Landed,
    Pin,
    Stamp,
    after_commit,
    claimed,
    covering,
    overtaken,
)
from lakeward.model.spec import JobSpec
from lakeward.schemas.dead_letter import DEAD_LETTER, SUFFIX
from lakeward.sinks.iceberg.commit import Change, commit, create_with_ledger
from lakeward.sinks.iceberg.files import FileTarget
from lakeward.sinks.iceberg.founding import Origin, check_suitable, first_ledger
from lakeward.sinks.iceberg.notes import summary
from lakeward.sinks.iceberg.parquet import parquet_options
from lakeward.sinks.iceberg.state import TableState, read_state

CLAIM_ATTEMPTS = 20
COMMIT_ATTEMPTS = 50
FILES_STAY_FRESH = 3600.0
"""Seconds after which files are written anew: orphan removal might be after the old ones."""


KEEP_OR_ADOPT = "Rename or drop it, the job then creates its own; or add to it as it is: `{}`"


@dataclass(frozen=True, slots=True)
class JobState:
    """Both tables of a job, read at one moment. The anchor's ledger is the job's position."""

    anchor: TableState
    letters: TableState

    @property
    def ledger(self) -> Ledger:
        return self.anchor.known()

    @property
    def half_done(self) -> Ledger | None:
        """The ledger of a batch whose dead letters are committed and whose rows are not."""
        return half_done(self.ledger, [self.letters.known()])


def same_generation(state: JobState) -> JobState:
    """Stop if an operator's decision has reached only one of the tables."""
    ledgers = (state.ledger, state.letters.known())
    if ledgers[0].generation == ledgers[1].generation:
        return state
    decision = latest_decision(ledgers)
    job = state.ledger.job
    command = f"lakeward job {decision.command}" if decision else None
    raise JobStopped(
        f"A decision about job {job} has reached only one of its tables",
        where=f"{state.anchor.name}: generation {ledgers[0].generation},"
        f" {state.letters.name}: {ledgers[1].generation}",
        next_step=f"Make it again: `{command or job_command('resume-from', job, 'table')}`",
    )


class IcebergSink:
    """Commits a job's batches; holds the epoch it claimed."""

    def __init__(self, spec: JobSpec, catalog: Catalog, pause: Callable[[float], object]) -> None:
        self._spec = spec
        self._catalog = catalog
        self._pause = pause
        self._letters_name = spec.table.beside(SUFFIX)
        self.epoch = 0

    def start(self, origin: Callable[[], Origin], check: Callable[[Ledger], None]) -> JobState:
        """Find the job's tables, give them a ledger if this is a first start, and claim them.

        `check` raises if the ledger does not belong to this job's source; a coordinator that must
        not run must not take the job from one that may.
        """
        for attempt in range(CLAIM_ATTEMPTS):
            state = self._find_or_found(origin)
            if state is not None:
                check(state.ledger)
                epoch = next_epoch([state.letters.known(), state.ledger])
                if self._claim(state, epoch):
                    self.epoch = epoch
                    return self.read()
            self._back_off(attempt)
        raise self._unclaimed()

    def reclaim(self) -> JobState:
        """Claim the tables once more after a batch was given up, with the epoch we have.

        A commit of that batch may still be on its way, and the batch may be judged otherwise when
        it runs again. A successor's claim stays: then reading raises.
        """
        for attempt in range(CLAIM_ATTEMPTS):
            if self._claim(self.read(), self.epoch):
                return self.read()
            self._back_off(attempt)
        raise self._unclaimed()

    def read(self) -> JobState:
        """Read both tables, check them, and make sure that we still own them."""
        anchor = read_state(self._catalog, self._spec.table, self._spec.name)
        letters = read_state(self._catalog, self._letters_name, self._spec.name)
        if anchor is None or letters is None:
            gone = self._spec.table if anchor is None else self._letters_name
            raise JobStopped(
                f"The table {gone} was dropped while the job ran",
                next_step="Bring it back and start the worker again; without it, see what a start"
                f" needs: `{job_command('show', self._spec.name)}`",
            )
        later = overtaken(self.epoch, (anchor.known(), letters.known()))
        if later is not None:
            raise Fenced(
                f"Job {self._spec.name} was taken over by another coordinator",
                where=f"table {self._spec.table}: epoch {later.epoch}, ours {self.epoch}",
                next_step="Nothing to do if that was intended; else stop the other one and start"
                " the worker again.",
            )
        return same_generation(JobState(anchor, letters))

    def targets(self, state: JobState, schema_id: int) -> tuple[FileTarget, FileTarget]:
        """Describe both tables to the tasks that write their files."""
        return (
            self._target(state.anchor, schema_id),
            self._target(state.letters, state.letters.table.metadata.current_schema_id),
        )

    def commit(
        self, state: JobState, batch: Batch, result: TaskResult, pin: Pin
    ) -> JobState | Discarded:
        """Commit a batch, dead letters first, the anchor last; return the tables as they are."""
        commit_id = str(uuid.uuid4())
        number = state.ledger.batch + 1
        written = time.monotonic()
        ends = {
            part.where: Position(part.end, result.ends[part.where].leader_epoch)
            for part in batch.ranges
        }

        def advanced(ledger: Ledger) -> Ledger:
            return covering(
                ledger, batch, ends, pin, Stamp(self.epoch, number, commit_id, now_millis())
            )

        notes = summary(self._spec.name, commit_id, batch, result)
        if result.letter_files:
            outcome = self._settle(state.letters, advanced, result.letter_files, notes, written)
            if isinstance(outcome, Discarded):
                return outcome
            reach("between-tables")
        return self._settle(state.anchor, advanced, result.data_files, notes, written)

    def _settle(
        self,
        before: TableState,
        advanced: Callable[[Ledger], Ledger],
        files: Sequence[object],
        notes: Mapping[str, str],
        written: float,
    ) -> JobState | Discarded:
        """Commit to one table; on anything but a yes, read again and decide from what it says."""
        current = before
        data_files = [file for file in files if isinstance(file, DataFile)]
        for attempt in range(COMMIT_ATTEMPTS):
            change = Change(advanced(current.known()), data_files, notes)
            reach("before-commit")
            outcome = self._send(current, change)
            reach("commit-sent")
            state = self.read()
            current = state.anchor if before.name == self._spec.table else state.letters
            decision = after_commit(before.seen(), current.seen(), change.ledger.commit_id)
            if isinstance(decision, Landed):
                return state
            if isinstance(decision, Discarded):
                return decision
            if time.monotonic() - written > FILES_STAY_FRESH:
                return Discarded("files grew too old")
            self._back_off(attempt)
        return Discarded(f"{COMMIT_ATTEMPTS} attempts, last outcome {outcome}")

    def _send(self, state: TableState, change: Change) -> Outcome:
        return commit(self._catalog, state.table, change, self._spec.limits.commit_timeout)

    def _find_or_found(self, origin: Callable[[], Origin]) -> JobState | None:
        """Return both tables with their ledgers; None if one was just made and must be re-read."""
        anchor = read_state(self._catalog, self._spec.table, self._spec.name)
        if anchor is None:
            raise TableMissing(
                f"The table {self._spec.table} does not exist",
                where=f"catalog {self._catalog.name}, job {self._spec.name}",
                next_step="Create it with: lakeward init.",
            )
        check_suitable(anchor.table, self._spec)
        if anchor.ledger is None:
            ledger = first_ledger(anchor, self._spec, origin(), (str(self._letters_name),))
            self._send(anchor, Change(ledger))
            reach("genesis")
            return None
        if anchor.ledger.tables is None:
            raise JobStopped(
                f"The table {self._spec.table} holds the dead letters of job {self._spec.name}",
                next_step="Name the table the records belong to, in the connector's"
                " iceberg.tables, and start the worker again.",
            )
        letters = read_state(self._catalog, self._letters_name, self._spec.name)
        if letters is not None and letters.ledger is not None:
            self._check_letters(letters, letters.ledger, anchor)
            return same_generation(JobState(anchor, letters))
        beginning = replace(anchor.ledger, tables=None, commit_id=str(uuid.uuid4()))
        if letters is None:
            timeout = self._spec.limits.commit_timeout
            create_with_ledger(self._catalog, self._letters_name, DEAD_LETTER, beginning, timeout)
        elif letters.empty:
            self._send(letters, Change(beginning))
        else:
            raise JobStopped(
                f"The table {self._letters_name} has rows but no ledger of job {self._spec.name}",
                next_step=KEEP_OR_ADOPT.format(self._adoption),
            )
        return None

    @property
    def _adoption(self) -> str:
        return job_command("adopt", self._spec.name, "--from", "table")

    def _check_letters(self, letters: TableState, ledger: Ledger, anchor: TableState) -> None:
        parquet_options(letters.table.metadata.properties, str(letters.name))
        if ledger.anchor_uuid != str(anchor.table.metadata.table_uuid):
            raise JobStopped(
                f"The table {letters.name} holds dead letters of another table {anchor.name}",
                where=f"uuid {ledger.anchor_uuid}",
                next_step=KEEP_OR_ADOPT.format(self._adoption),
            )

    def _claim(self, state: JobState, epoch: int) -> bool:
        """Write the epoch on every table, the anchor last.

        That dooms whatever a predecessor, or we, have in flight on any of them.
        """
        for table in (state.letters, state.anchor):
            ledger = claimed(table.known(), epoch, str(uuid.uuid4()), now_millis())
            if not isinstance(self._send(table, Change(ledger)), Applied):
                return False
            if table is state.letters:
                reach("claim")
        return True

    def _unclaimed(self) -> DestinationUnavailable:
        return DestinationUnavailable(
            f"The tables of job {self._spec.name} could not be claimed",
            where=f"table {self._spec.table}, {CLAIM_ATTEMPTS} attempts",
            next_step="Check that no other coordinator keeps claiming the same job.",
        )

    def _target(self, state: TableState, schema_id: int) -> FileTarget:
        metadata = state.table.metadata
        return FileTarget(
            str(state.name),
            state.table.location(),
            state.table.schemas()[schema_id],
            metadata.spec(),
            metadata.properties,
            state.table.io.properties,
        )

    def _back_off(self, attempt: int) -> None:
        self._pause(min(5.0, 0.02 * 2**attempt) * random.uniform(0.5, 1.5))  # noqa: S311
