"""A program under measurement: a child in a session of its own, that ends when we end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from lab.meter import Meter
from lakeward.stack.tether import Tether

GRACE = 15.0


class Child:
    """A running program; holds its process, its log and the tie that ends it with us."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        before: Callable[[], None] | None = None,
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, preexec_fn=before,  # noqa: PLW1509
            )  # fmt: skip
        self._tether = Tether(self.process.pid)
        self.meter = Meter(self.process.pid)

    def check(self) -> None:
        """Leave with the child's last words if it ended."""
        if self.process.poll() is not None:
            self.give_up(f"ended with code {self.process.returncode}")

    def give_up(self, why: str) -> None:
        words = self.log.read_text(errors="replace")[-3000:]
        raise SystemExit(f"{self.log.stem} {why}. Its last words:\n{words}")

    def stop(self) -> None:
        """Ask the child to end; after a while end every process of its session, by its id."""
        self._tether.cut()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
        deadline = time.monotonic() + GRACE
        while (left := self.meter.pids()) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.05)
        self.process.wait(GRACE)
