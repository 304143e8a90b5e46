"""A process under test: started, watched through what it leaves behind, and hurt."""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

PATIENCE = 60.0
"""Seconds after which something that should have happened will not."""


def eventually(
    happens: Callable[[], Any], what: str, seconds: float = PATIENCE, every: float = 0.05
) -> None:
    """Wait until something happens; fail with its name if it does not."""
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(every)


def log_file(folder: Path) -> Path:
    """Return where a process with this folder logs to."""
    return folder / "log"


class Child:
    """A process that leads its own group; holds where it writes its log and progress."""

    def __init__(self, folder: Path, pid: int, ended: Callable[[float], int | None]) -> None:
        self.folder = folder
        self.pid = pid
        self._ended = ended
        """Waits so many seconds for the exit code; None if there is none yet."""

    @property
    def log(self) -> str:
        return log_file(self.folder).read_text()

    @property
    def progress(self) -> dict[str, Any]:
        """What the process last wrote about its job; empty before it did."""
        for path in self.folder.glob("progress/*.json"):
            found: dict[str, Any] = json.loads(path.read_text())
            return found
        return {}

    def until(self, happens: Callable[[], Any], what: str, seconds: float = PATIENCE) -> None:
        """Wait for something while the process lives."""

        def seen() -> bool:
            if happens():
                return True
            assert self._ended(0) is None, f"{what}: the process ended first"
            return False

        try:
            eventually(seen, what, seconds)
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{self.log[-3000:]}") from failure

    def until_it_says(self, text: str) -> None:
        self.until(lambda: text in self.log, f"its log says {text!r}")

    def until_state(self, state: str, seconds: float = PATIENCE) -> None:
        self.until(lambda: self.progress.get("state") == state, f"its state is {state}", seconds)

    def until_dead(self, code: int) -> None:
        """Wait until it ends, with this exit code and no other."""
        assert self._ended(PATIENCE) == code, self.log

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def end(self) -> None:
        """Ask it to stop, as an operator does, and expect good order."""
        self.signal(signal.SIGTERM)
        self.until_dead(0)

    def kill(self) -> None:
        """End it and everything it has started, whatever state it is in."""
        for kill in (os.kill, os.killpg):
            # One that has just started leads no group yet; one that ended has none any more.
            with suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)
        self._ended(10)


def start_command(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Child:
    """Start a program."""
    folder.mkdir(parents=True, exist_ok=True)
    with log_file(folder).open("ab") as log:
        process = subprocess.Popen(
            command, env=os.environ | environment, stdout=log, stderr=log, start_new_session=True
        )

    def ended(seconds: float) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(seconds)
        return None

    return Child(folder, process.pid, ended)


def start_forked(target: Callable[[Path, str], int], folder: Path, failpoint: str) -> Child:
    """Start a function in a process forked from one that has the libraries loaded already."""
    folder.mkdir(parents=True, exist_ok=True)
    log_file(folder).touch()
    nursery = multiprocessing.get_context("forkserver")
    nursery.set_forkserver_preload([target.__module__])
    process = nursery.Process(target=_lead, args=(target, folder, failpoint), daemon=True)
    process.start()
    assert process.pid is not None

    def ended(seconds: float) -> int | None:
        process.join(seconds)
        return process.exitcode

    return Child(folder, process.pid, ended)


def _lead(target: Callable[[Path, str], int], folder: Path, failpoint: str) -> None:
    """Do what a shell does before a program starts: a group and a log of its own."""
    os.setsid()
    log = os.open(log_file(folder), os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # kill -USR1 PID writes where every thread is, into its log.
    faulthandler.register(signal.SIGUSR1)
    sys.exit(target(folder, failpoint))
