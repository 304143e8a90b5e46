"""A coordinator keeps its job going through what can heal and stops it for what cannot."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakeward.errors import DestinationUnavailable, Fenced, JobStopped, LakewardError
from lakeward.job.coordinator import SURPRISES_ALLOWED, Coordinator
from lakeward.job.progress import Progress, progress_file, write_progress
from lakeward.model.retry import BackOff
from lakeward.model.spec import Limits


class Scripted:
    """A job whose cycles follow a script; ends the coordinator when the script is over."""

    def __init__(self, stop: threading.Event, *script: BaseException | None) -> None:
        self.spec = SimpleNamespace(name="job", limits=Limits(commit_interval=0.0))
        self.sink = SimpleNamespace(epoch=1)
        self.starts = 0
        self.forgotten = 0
        self._stop = stop
        self._script = list(script)

    def start(self) -> None:
        self.starts += 1

    def cycle(self) -> None:
        step = self._script.pop(0) if self._script else None
        if not self._script:
            self._stop.set()
        if step is not None:
            raise step

    def lag(self) -> int:
        return 0

    def forget(self) -> None:
        self.forgotten += 1


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Scripted, list[Progress]]]:
    monkeypatch.setattr(BackOff, "seconds", lambda *_: 0.0)

    def running(*script: BaseException | None) -> tuple[Scripted, list[Progress]]:
        stop, told = threading.Event(), []
        job: Any = Scripted(stop, *script, None)
        Coordinator(job, stop, told.append).run()
        return job, told

    return running


def unavailable() -> LakewardError:
    return DestinationUnavailable("the catalog is away", where="here")


def test_an_outage_is_waited_out_and_its_reason_is_shown(run: Any) -> None:
    job, told = run(unavailable(), unavailable(), None)
    assert job.starts == 1
    assert job.forgotten == 2
    assert any("the catalog is away" in progress.reason for progress in told)
    assert told[-1].state == "STOPPED"
    assert all(progress.state != "FAILED" for progress in told)


def test_the_reason_goes_away_when_the_outage_does(run: Any) -> None:
    _, told = run(unavailable(), None, None)
    assert told[-1].reason == ""


@pytest.mark.parametrize("failure", [JobStopped("rolled back"), Fenced("taken over")], ids=str)
def test_what_no_retry_can_heal_ends_the_job_with_its_reason(run: Any, failure: Exception) -> None:
    _, told = run(failure, None, None, None)
    assert told[-1].state == "FAILED"
    assert str(failure) in told[-1].reason


def test_a_surprise_is_survived_but_not_for_ever(run: Any) -> None:
    _, told = run(RuntimeError("boom"), None)
    assert told[-1].state == "STOPPED"
    _, told = run(*[RuntimeError("boom")] * (SURPRISES_ALLOWED + 3))
    assert told[-1].state == "FAILED"
    assert "boom" in told[-1].reason


def test_progress_is_written_whole_and_any_job_name_makes_a_file(tmp_path: Path) -> None:
    name = "../etc/passwd; rm -rf %"
    write_progress(tmp_path / "progress", Progress(name, state="RUNNING", lag=5))
    path = progress_file(tmp_path / "progress", name)
    assert path.parent == tmp_path / "progress"
    told = json.loads(path.read_text())
    assert (told["name"], told["state"], told["lag"]) == (name, "RUNNING", 5)
    assert told["updated_at"] > 0
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_waits_double_up_to_a_limit_and_are_spread() -> None:
    back_off = BackOff(first=1.0, longest=10.0)
    assert [back_off.seconds(failures) for failures in range(6)] == [1, 2, 4, 8, 10, 10]
    assert back_off.seconds(10_000) == 10
    assert back_off.seconds(2, dice=0.0) == 2
