"""Watch an engine until it is done: when, how far, at what cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from lab.child import Child
from lab.figures import Moment, Span, span
from lab.ground import say
from lab.meter import Cpu, Meter

LOOK = 0.02
SAMPLE = 0.2
"""Seconds between two looks at the table and at the process table; both cost the engine CPU."""

PATIENCE = 120.0
"""Seconds without a commit before an engine counts as stuck."""


@dataclass(frozen=True, slots=True)
class Course:
    """One run: the whole, and what came after its first commit."""

    whole: Span
    steady: Span | None
    peak_rss: int
    commits: int


def follow(
    child: Child,
    done: Callable[[], int],
    records: int,
    broker: Meter,
    *,
    by_time: bool = False,
) -> Course:
    """Watch a child from its start until `done` says so many records; leave if it ends or dawdles.

    The child must have been started just before.
    """
    begun = Moment(time.monotonic(), 0, Cpu(), broker.sample().total)
    moments = [begun]
    sampled = told = begun.at
    while moments[-1].records < records:
        child.check()
        now, reached = time.monotonic(), done()
        if reached > moments[-1].records:
            moments.append(Moment(now, reached, child.meter.sample(), broker.sample().total))
            sampled = now
        elif now - sampled > SAMPLE:
            child.meter.sample()
            sampled = now
        if now - told > 10:
            say(f"    {reached:,} of {records:,} records after {now - begun.at:.0f} s")
            told = now
        if now - moments[-1].at > PATIENCE:
            child.give_up(f"stayed at {reached:,} of {records:,} records for {PATIENCE:.0f} s")
        time.sleep(LOOK)
    if moments[-1].records > records:
        child.give_up(f"wrote {moments[-1].records:,} records where there are {records:,}")
    whole = span(begun, moments[-1])
    assert whole is not None
    steady = span(moments[1], last_full(moments, by_time))
    return Course(whole, steady, child.meter.peak_rss, len(moments) - 1)


def last_full(moments: list[Moment], by_time: bool) -> Moment:
    """Return the last commit that came after uninterrupted work.

    An engine that commits by the clock has finished reading some seconds before its last commit.
    """
    return moments[-2] if by_time and len(moments) > 3 else moments[-1]
