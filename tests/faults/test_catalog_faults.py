"""The catalog lies, loses answers, or carries a request out when its sender is long gone."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import pytest
from pyiceberg.exceptions import CommitFailedException

from faults.child import eventually
from faults.rest_catalog import Fault
from faults.world import World
from lakeward.job.run import InlineRunner
from lakeward.job.worker import build_job

LIES = {
    "500 although it landed": Fault.LAND_THEN_FAIL,
    "500 and it did not land": Fault.FAIL,
    "409 although it landed": Fault.LAND_THEN_REFUSE,
    "503 with Retry-After although it landed": Fault.LAND_THEN_BUSY,
    "answer lost": Fault.LAND_THEN_HANG_UP,
}
AT = {"dead letters": 0, "rows": 1}
"""Which of a batch's two commits is meant, by its place in their order."""


@pytest.mark.fault(
    "catalog",
    "{lie}: {table}",
    injected="a REST catalog treats the commit of the {table} so",
    must="the table is read again and decides; no file is deleted, no row doubled",
)
@pytest.mark.parametrize("table", AT)
@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_is_not_true_changes_nothing(
    rest_world: World, lie: str, table: str
) -> None:
    world = rest_world
    world.mixed(0, 60)
    job = world.started()
    world.drain(job)
    world.mixed(60, 160)
    world.rest.treat_next(*[Fault.NONE] * AT[table], LIES[lie])
    (done,) = world.drain(job)
    assert done.result.rows == 100
    assert LIES[lie] in [seen.fault for seen in world.rest.seen]
    world.assert_exact(160, 4)


@pytest.mark.fault(
    "catalog",
    "{lie}: first start and claim",
    injected="a REST catalog treats every second commit of a first start so",
    must="there is one ledger and one start",
)
@pytest.mark.parametrize("lie", LIES)
def test_a_first_start_whose_answers_are_not_true_happens_once(rest_world: World, lie: str) -> None:
    world = rest_world
    world.mixed(0, 60)
    fault = LIES[lie]
    world.rest.treat_next(fault, Fault.NONE, fault, Fault.NONE, fault, Fault.NONE, fault)
    world.drain()
    world.assert_exact(60, 2)


@pytest.mark.fault(
    "catalog",
    "lands after its writer died and the next one has {done}: {table}",
    injected="request held, writer killed, new coordinator has {done}, request released",
    must="the late request is refused",
)
@pytest.mark.parametrize("table", AT)
@pytest.mark.parametrize("done", ["claimed", "committed"])
def test_a_request_that_lands_after_the_next_claim_is_refused(
    rest_world: World, table: str, done: str
) -> None:
    world = rest_world
    held_from_a_dead_writer(world, table)
    fresh = world.started()
    if done == "committed":
        world.drain(fresh)
    world.rest.release()
    assert not held_request(world)
    world.drain(fresh)
    world.assert_exact(160, 4)


@pytest.mark.fault(
    "catalog",
    "lands after its writer died, before the next one starts: {table}",
    injected="request held, writer killed, request released, new coordinator",
    must="the new coordinator finds it and does not do it again",
)
@pytest.mark.parametrize("table", AT)
def test_a_request_that_lands_before_the_next_claim_counts(rest_world: World, table: str) -> None:
    world = rest_world
    held_from_a_dead_writer(world, table)
    world.rest.release()
    assert held_request(world)
    world.drain()
    world.assert_exact(160, 4)


@pytest.mark.fault(
    "catalog",
    "a dead writer's claim lands late",
    injected="claim held, writer killed, new coordinator claims, claim released",
    must="the late claim is refused, the new coordinator keeps the job",
)
def test_a_claim_that_lands_late_takes_nothing_away(rest_world: World) -> None:
    world = rest_world
    world.mixed(0, 60)
    world.drain()
    world.rest.treat_next(Fault.NONE, Fault.HOLD)
    writer = world.child()
    writer.until(world.rest.holding.is_set, "the claim is held")
    writer.kill()
    job = world.started()
    world.rest.release()
    assert not held_request(world)
    world.mixed(60, 100)
    world.drain(job)
    world.assert_exact(100, 4)


@pytest.mark.fault(
    "catalog",
    "answer comes after the deadline: {table}",
    injected="request held past the commit time-out, sent again, then released",
    must="the batch is in the table once",
)
@pytest.mark.parametrize("table", AT)
def test_a_request_slower_than_its_deadline_is_not_done_twice(
    rest_world: World, table: str
) -> None:
    world = rest_world
    world.mixed(0, 100)
    job = world.started(limits=replace(world.spec.limits, commit_timeout=1.0))
    world.rest.treat_next(*[Fault.NONE] * AT[table], Fault.HOLD)
    world.drain(job)
    world.rest.release()
    assert not held_request(world)
    world.assert_exact(100, 2)
    world.mixed(100, 120)
    world.drain(job)
    world.assert_exact(120, 4)


@pytest.mark.fault(
    "catalog",
    "twenty conflicts in a row",
    injected="a REST catalog answers 409 twenty times",
    must="the same files are offered again until they are taken",
)
def test_twenty_conflicts_in_a_row_are_outlasted(rest_world: World) -> None:
    world = rest_world
    world.mixed(0, 100)
    # The waits between attempts grow to seconds; a stop that is never set passes them at once.
    job = build_job(world.spec, InlineRunner(), Hurried())
    job.start()
    world.rest.treat_next(*[Fault.REFUSE] * 20)
    (done,) = world.drain(job)
    assert done.result.rows == 100
    world.assert_exact(100, 2)


class Hurried(threading.Event):
    """An event whose waits take no time."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(0)


@pytest.mark.fault(
    "catalog",
    "conflict storm",
    injected="a second committer changes the table ten times a second",
    must="batches get through, and so do the other's commits",
)
def test_a_busy_second_committer_delays_but_does_not_disturb(world: World) -> None:
    world.mixed(0, 60)
    job = world.started()
    calm, commits = threading.Event(), []

    def storm() -> None:
        # Ten or so a second: with no pause at all nobody else would ever be quick enough.
        while not calm.wait(0.08):
            try:
                with world.table().transaction() as change:
                    change.update_snapshot().fast_append().commit()
                commits.append(1)
            except CommitFailedException:
                continue

    other = threading.Thread(target=storm)
    other.start()
    try:
        world.drain(job)
        for start in range(60, 160, 20):
            world.mixed(start, start + 20)
            world.drain(job)
    finally:
        calm.set()
        other.join(30)
    assert len(commits) > 10
    world.assert_exact(160, 12)


@pytest.mark.fault(
    "catalog",
    "unreachable for a while",
    injected="the REST catalog is stopped and started again",
    must="the job waits, says so, and goes on",
)
def test_a_catalog_that_is_away_is_waited_for(rest_world: World) -> None:
    world = rest_world
    world.mixed(0, 60)
    child = world.child()
    child.until(world.caught_up, "the job has read everything")
    child.until_state("RUNNING")
    world.rest.stop()
    world.mixed(60, 120)
    child.until_state("WAITING")
    assert child.progress["reason"].startswith("DestinationUnavailable: ")
    world.rest.start_again()
    child.until(world.caught_up, "the job has read everything")
    child.until_state("RUNNING")
    child.end()
    world.assert_exact(120, 4)


def held_from_a_dead_writer(world: World, table: str) -> None:
    """Let a coordinator send one batch, hold one of its requests, and kill it."""
    world.mixed(0, 60)
    world.drain()
    world.mixed(60, 160)
    claims = [Fault.NONE, Fault.NONE]
    world.rest.treat_next(*claims, *[Fault.NONE] * AT[table], Fault.HOLD)
    writer = world.child()
    writer.until(world.rest.holding.is_set, "the request is held")
    writer.signal(signal.SIGKILL)
    writer.until_dead(-signal.SIGKILL)


def held_request(world: World) -> bool:
    """Wait until the held request is dealt with; say whether the table took it."""

    def done() -> list[bool]:
        return [seen.landed for seen in world.rest.seen if seen.fault is Fault.HOLD]

    eventually(done, "the held request is dealt with")
    return done()[0]
