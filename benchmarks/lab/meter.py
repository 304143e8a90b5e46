"""CPU time and memory of all processes of a session, by kind, also of those that ended meanwhile.

A process that ends takes its CPU time out of the process table; its parent's `cutime` has it only
once it was waited for. So every process is remembered as it was last seen, and what parents have
reaped beyond that was spent by children too short-lived to be seen at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
KINDS = ("jvm", "python", "other")


@dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table."""

    pid: int
    kind: str
    session: int
    own: float
    """CPU seconds of the process itself."""
    reaped: float
    """CPU seconds of its children that ended and were waited for."""
    rss: int


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds by kind of process."""

    jvm: float = 0.0
    python: float = 0.0
    other: float = 0.0

    @property
    def total(self) -> float:
        return self.jvm + self.python + self.other

    def __sub__(self, earlier: Cpu) -> Cpu:
        return Cpu(self.jvm - earlier.jvm, self.python - earlier.python, self.other - earlier.other)


def parse_stat(text: str) -> Process:
    """Read /proc/PID/stat; the name in brackets may itself hold brackets and spaces."""
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition(" (")
    fields = tail.split()
    return Process(
        int(pid),
        kind_of(name),
        int(fields[3]),
        (int(fields[11]) + int(fields[12])) / TICKS,
        (int(fields[13]) + int(fields[14])) / TICKS,
        int(fields[21]) * PAGE,
    )


def kind_of(name: str) -> str:
    """Tell a JVM from Python by the name of the process."""
    if name.startswith("java"):
        return "jvm"
    return "python" if name.startswith(("python", "lakeward")) else "other"


def processes() -> Iterable[Process]:
    """Yield what runs now."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                yield parse_stat(Path(entry.path, "stat").read_text())
            except OSError:
                continue


class Meter:
    """Adds up a session's processes; holds each as it was last seen, and the peak of memory."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._seen: dict[int, Process] = {}
        self._unseen = 0.0
        self.peak_rss = 0
        """Most memory all processes had at one moment; pages they share count for each."""
        self.peak_by_kind = dict.fromkeys(KINDS, 0)

    def sample(self, table: Iterable[Process] | None = None) -> Cpu:
        """Look once; return the CPU time of the session so far."""
        everyone = processes() if table is None else table
        alive = {process.pid: process for process in everyone if process.session == self._session}
        self._seen |= alive
        self._note_memory(alive.values())
        gone = sum(process.own for pid, process in self._seen.items() if pid not in alive)
        reaped = sum(process.reaped for process in alive.values())
        self._unseen = max(self._unseen, reaped - gone)
        spent = dict.fromkeys(KINDS, 0.0)
        for process in self._seen.values():
            spent[process.kind] += process.own
        spent["other"] += self._unseen
        return Cpu(**spent)

    def _note_memory(self, alive: Iterable[Process]) -> None:
        rss = dict.fromkeys(KINDS, 0)
        for process in alive:
            rss[process.kind] += process.rss
        self.peak_rss = max(self.peak_rss, sum(rss.values()))
        for kind in KINDS:
            self.peak_by_kind[kind] = max(self.peak_by_kind[kind], rss[kind])

    def pids(self) -> list[int]:
        """Return the processes of the session that run now."""
        return [process.pid for process in processes() if process.session == self._session]
