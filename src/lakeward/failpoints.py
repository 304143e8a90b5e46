"""Places where a test can make Lakeward die, fail or dawdle: `LAKEWARD_FAILPOINT=NAME:ACTION`.

ACTION is `kill` (as kill -9 does), `raise` or `sleep[=SECONDS]`; `@N` after it means the N-th time
the place is passed instead of the first. Several are separated by commas. Each fires once per
process, so that a job that survived goes on; Spark's Python workers are processes of their own.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass

from lakeward.errors import UsageError

log = logging.getLogger(__name__)

VARIABLE = "LAKEWARD_FAILPOINT"
SYNTAX = re.compile(
    r"(?P<name>[a-z-]+):(?P<action>kill|raise|sleep)(=(?P<seconds>\d+(\.\d+)?))?(@(?P<turn>[1-9]\d*))?"
)

PLACES = {
    "after-plan": "a batch is planned, nothing is read",
    "mid-write": "a task has written some of its rows",
    "after-write": "every file of the batch is written",
    "before-commit": "a commit is about to be sent",
    "commit-sent": "a commit has landed, its answer is not seen",
    "between-tables": "dead letters are committed, rows are not",
    "after-commit": "the batch is committed, Kafka's tools do not know yet",
    "claim": "dead letters are claimed, the data table is not",
    "genesis": "the data table has its first ledger, dead letters have none",
}


class FailpointReached(Exception):
    """Raised by `raise`: stands for any error nobody thought of."""


@dataclass(frozen=True, slots=True)
class Failpoint:
    """What happens at one place, and at which pass."""

    name: str
    action: str
    seconds: float
    turn: int


def parse(text: str) -> tuple[Failpoint, ...]:
    """Read the variable; a name or action that does not exist is an error, never ignored."""
    points = []
    for part in filter(None, text.split(",")):
        found = SYNTAX.fullmatch(part.strip())
        if (
            not found
            or found["name"] not in PLACES
            or (found["seconds"] and found["action"] != "sleep")
        ):
            raise UsageError(
                f"{VARIABLE} has {part!r}, which is not a failpoint",
                next_step=f"Write NAME:kill, NAME:raise or NAME:sleep=SECONDS, NAME one of:"
                f" {', '.join(PLACES)}.",
            )
        seconds = float(found["seconds"] or 30)
        points.append(Failpoint(found["name"], found["action"], seconds, int(found["turn"] or 1)))
    return tuple(points)


_armed: tuple[Failpoint, ...] | None = None
_passed: Counter[str] = Counter()


def arm(text: str | None = None) -> None:
    """Arm this process anew with the given failpoints, by default the environment's.

    Entry points call it first, so that a value that makes no sense is refused before work begins.
    """
    global _armed  # noqa: PLW0603 - what is armed holds for the whole process
    _armed = parse(os.environ.get(VARIABLE, "") if text is None else text)
    _passed.clear()


def reach(name: str) -> None:
    """Do what was asked for at this place; nothing, as a rule."""
    if _armed is None:
        # Nobody calls an entry point of ours in the processes Spark starts.
        arm()
    if not _armed:
        return
    _passed[name] += 1
    for point in _armed:
        if point.name == name and point.turn == _passed[name]:
            _fire(point)


def _fire(point: Failpoint) -> None:
    log.warning("failpoint %s reached: %s", point.name, point.action)
    if point.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if point.action == "raise":
        raise FailpointReached(f"failpoint {point.name}")
    time.sleep(point.seconds)
