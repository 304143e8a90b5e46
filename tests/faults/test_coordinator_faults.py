"""The coordinator dies, stalls, or is not alone; the next one goes on where the table says."""

from __future__ import annotations

import random
import shutil
import signal
import time

import pytest

from faults.child import eventually
from faults.world import World

PLACES = [
    "genesis", "claim", "after-plan", "mid-write", "after-write", "before-commit",
    "before-commit@2", "commit-sent", "commit-sent@2", "between-tables", "after-commit",
]  # fmt: skip
"""Where a coordinator is caught. `@2` is the data table's commit, the first the dead letters'."""


def prepare(world: World, place: str) -> int:
    """Give the job a past, unless its first start is the test; return how many ids were sent."""
    world.mixed(0, 60)
    if place == "genesis":
        return 60
    world.drain()
    world.mixed(60, 160)
    return 160


def letters_of(sent: int) -> int:
    return 2 if sent == 60 else 4


@pytest.mark.fault(
    "coordinator",
    "killed: {place}",
    injected="`LAKEWARD_FAILPOINT` sends SIGKILL at {place}",
    must="the next coordinator finishes the batch exactly",
)
@pytest.mark.parametrize("place", PLACES)
def test_a_coordinator_killed_anywhere_leaves_nothing_lost_or_doubled(
    world: World, place: str
) -> None:
    sent = prepare(world, place)
    name, _, turn = place.partition("@")
    world.child(f"{name}:kill@{turn or 1}").until_dead(-signal.SIGKILL)
    world.drain()
    world.assert_exact(sent, letters_of(sent))


@pytest.mark.fault(
    "coordinator",
    "unforeseen error: {place}",
    injected="`LAKEWARD_FAILPOINT` raises at {place}",
    must="the same coordinator tries again and finishes",
)
@pytest.mark.parametrize("place", PLACES)
def test_an_error_anywhere_is_survived(
    world: World, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    sent = prepare(world, place)
    name, _, turn = place.partition("@")
    with world.coordinated(f"{name}:raise@{turn or 1}") as coordinator:
        eventually(world.caught_up, "the job has read everything")
        eventually(lambda: coordinator.progress.state == "RUNNING", "all is well again")
    assert f"failpoint {name} reached" in caplog.text
    world.assert_exact(sent, letters_of(sent))


@pytest.mark.fault(
    "coordinator",
    "zombie: {place}",
    injected="SIGSTOP at {place}, a new coordinator does the work, SIGCONT",
    must="the old one changes nothing and stops, or takes over properly if it was still starting",
)
@pytest.mark.parametrize("place", PLACES)
def test_a_coordinator_that_wakes_up_late_does_no_harm(world: World, place: str) -> None:
    sent = prepare(world, place)
    name, _, turn = place.partition("@")
    zombie = world.child(f"{name}:sleep=0.5@{turn or 1}")
    zombie.until_it_says(f"failpoint {name} reached")
    zombie.signal(signal.SIGSTOP)
    world.drain()
    world.mixed(sent, sent + 40)
    world.drain()
    zombie.signal(signal.SIGCONT)
    if name in {"genesis", "claim"}:
        zombie.until_state("RUNNING")
        zombie.end()
    else:
        zombie.until_dead(1)
        assert zombie.progress["reason"].startswith("Fenced: ")
    world.assert_exact(sent + 40, letters_of(sent) + 2)


@pytest.mark.fault(
    "coordinator",
    "zombie: any moment under load",
    injected="SIGSTOP while batches flow, a new coordinator takes over, SIGCONT",
    must="the old one is fenced and stops",
)
def test_a_coordinator_stopped_at_any_moment_is_fenced(
    rest_world: World, dice: random.Random
) -> None:
    world = rest_world
    zombie = world.child()
    sent = 0
    for _ in range(dice.randint(2, 8)):
        world.mixed(sent, sent + 50)
        sent += 50
    zombie.until(lambda: sum(world.positions().values()) > 0, "a batch is committed")
    zombie.signal(signal.SIGSTOP)
    fresh = world.child()
    fresh.until_it_says("claimed with epoch 2")
    fresh.until(world.caught_up, "the new coordinator has read everything")
    zombie.signal(signal.SIGCONT)
    world.mixed(sent, sent + 50)
    sent += 50
    zombie.until_dead(1)
    assert zombie.progress["reason"].startswith("Fenced: ")
    fresh.until(world.caught_up, "the new coordinator has read everything")
    fresh.end()
    world.assert_exact(sent, 2 * sent // 50)


@pytest.mark.fault(
    "coordinator",
    "two started at once on a new table",
    injected="two processes of one job, records flowing",
    must="one of them is fenced, the other loads everything",
)
def test_of_two_coordinators_started_together_one_remains(world: World) -> None:
    world.mixed(0, 100)
    pair = [world.child(), world.child()]
    sent = 100

    def one_is_fenced() -> bool:
        nonlocal sent
        world.mixed(sent, sent + 20)
        sent += 20
        return any(child.progress.get("state") == "FAILED" for child in pair)

    eventually(one_is_fenced, "one of them is fenced", every=0.2)
    loser, winner = sorted(pair, key=lambda child: child.progress.get("state") != "FAILED")
    loser.until_dead(1)
    assert loser.progress["reason"].startswith("Fenced: ")
    winner.until(world.caught_up, "the other has read everything")
    winner.end()
    world.assert_exact(sent, 2 + 2 * (sent - 100) // 20)


@pytest.mark.fault(
    "coordinator",
    "all local state deleted",
    injected="progress and consumer group removed between two runs",
    must="the job continues where the table says",
)
def test_without_any_local_state_the_job_goes_on(world: World) -> None:
    world.mixed(0, 100)
    first = world.child()
    first.until(world.caught_up, "the job has read everything")
    first.end()
    shutil.rmtree(first.folder)
    world.admin.delete_consumer_groups([world.spec.group])[world.spec.group].result(10)
    world.mixed(100, 150)
    second = world.child()
    second.until(world.caught_up, "the job has read everything")
    second.end()
    assert second.progress["committed_records"] == 50
    world.assert_exact(150, 4)


@pytest.mark.fault(
    "coordinator",
    "killed again and again",
    injected="SIGKILL at random moments, five times, records flowing",
    must="nothing is lost or doubled",
)
def test_kills_at_random_moments_lose_and_double_nothing(world: World, dice: random.Random) -> None:
    sent = 0
    for _ in range(5):
        world.mixed(sent, sent + 200)
        sent += 200
        child = world.child()
        child.until_it_says("claimed with epoch")
        time.sleep(dice.uniform(0, 0.6))
        child.kill()
    world.drain()
    world.assert_exact(sent, 10)
