"""What a job has done and how it fares, written down after every cycle for people and tools."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import quote

from lakeward.clock import now_millis
from lakeward.errors import LakewardError
from lakeward.job.cycle import Committed
from lakeward.model.outcome import most_seen


@dataclass(frozen=True, slots=True)
class Progress:
    """One job at one moment. Counters begin anew with each process; positions do not."""

    name: str
    state: str = "STARTING"
    reason: str = ""
    """Why the job waits or has stopped; empty while all is well."""
    committed_records: int = 0
    dead_letters: int = 0
    tombstones: int = 0
    drift: Mapping[str, int] | None = None
    """Fields the table lacks, by path: how many records carried them."""
    batches: int = 0
    epoch: int = 0
    lag: int = 0
    freshness_seconds: float | None = None
    """Age of the newest committed record when it was committed."""
    positions: Mapping[str, Mapping[str, int]] | None = None
    first_commit_at: int | None = None
    last_commit_at: int | None = None
    updated_at: int = 0
    pid: int = 0

    def running(self, lag: int = 0) -> Progress:
        return replace(self, state="RUNNING", reason="", lag=lag)

    def waiting(self, failure: LakewardError) -> Progress:
        return replace(self, state="WAITING", reason=f"{type(failure).__name__}: {failure}")

    def failed(self, failure: BaseException) -> Progress:
        return replace(self, state="FAILED", reason=f"{type(failure).__name__}: {failure}")

    def stopped(self) -> Progress:
        return self if self.state == "FAILED" else replace(self, state="STOPPED")

    def committed(self, done: Committed) -> Progress:
        result, now = done.result, now_millis()
        drift = most_seen(Counter(self.drift or {}) + result.drift)
        return replace(
            self,
            state="RUNNING",
            reason="",
            committed_records=self.committed_records + result.rows,
            dead_letters=self.dead_letters + result.letters,
            tombstones=self.tombstones + result.tombstones,
            drift=dict(drift),
            batches=self.batches + 1,
            epoch=done.ledger.epoch,
            lag=done.lag,
            freshness_seconds=max(0.0, (now - result.newest) / 1000)
            if result.newest >= 0
            else None,
            positions=_positions(done),
            first_commit_at=self.first_commit_at or now,
            last_commit_at=now,
        )


def progress_file(folder: Path, job: str) -> Path:
    """Return where a job's progress is written; any name makes a safe file name."""
    return folder / f"{quote(job, safe='')}.json"


def write_progress(folder: Path, progress: Progress) -> None:
    """Replace the job's progress file in one step."""
    path = progress_file(folder, progress.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = replace(progress, updated_at=now_millis(), pid=os.getpid())
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(asdict(fresh)))
    draft.replace(path)


def _positions(done: Committed) -> dict[str, dict[str, int]]:
    return {
        name: {str(partition): position.offset for partition, position in topic.positions.items()}
        for name, topic in done.ledger.topics.items()
    }
