"""The same faults on real Spark, and those only Spark can have: its processes die."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from faults.child import Child
from faults.mortal import MortalBroker
from faults.spark import end_process, executors, finish, python_workers, start_worker
from faults.world import World, make_world

FAST = ("commit-sent@2", "between-tables")
SLOW = (
    "genesis", "claim", "after-plan", "after-write", "before-commit", "before-commit@2",
    "commit-sent", "after-commit",
)  # fmt: skip


@pytest.mark.fault(
    "tasks",
    "Spark, driver killed: {place}",
    injected="`LAKEWARD_FAILPOINT` sends SIGKILL at {place} in `lakeward worker`",
    must="the next worker finishes the batch exactly",
)
@pytest.mark.parametrize(
    "place", [*FAST, *(pytest.param(place, marks=pytest.mark.slow) for place in SLOW)]
)
def test_a_worker_killed_anywhere_leaves_nothing_lost_or_doubled(world: World, place: str) -> None:
    world.mixed(0, 200)
    name, _, turn = place.partition("@")
    start_worker(world, f"{name}:kill@{turn or 1}").until_dead(-signal.SIGKILL)
    world.mixed(200, 300)
    finish(world)
    world.assert_exact(300, 4)


@pytest.mark.fault(
    "tasks",
    "Spark, Python worker killed in a task",
    injected="`LAKEWARD_FAILPOINT` sends SIGKILL mid-write, in the second chunk of each process",
    must="Spark repeats the task elsewhere; the batch is committed once",
)
def test_a_task_whose_process_dies_is_repeated(world: World) -> None:
    worker = start_worker(world, "mid-write:kill@2")
    sent = send_until_it_fires(world, worker)
    worker.end()
    world.assert_exact(sent, sent // 50)


@pytest.mark.slow
@pytest.mark.fault(
    "tasks",
    "Spark, error in a task",
    injected="`LAKEWARD_FAILPOINT` raises mid-write, in the second chunk of each process",
    must="Spark repeats the task; the batch is committed once",
)
def test_a_task_that_raises_is_repeated(world: World) -> None:
    worker = start_worker(world, "mid-write:raise@2")
    sent = send_until_it_fires(world, worker)
    worker.end()
    world.assert_exact(sent, sent // 50)


@pytest.mark.slow
@pytest.mark.fault(
    "tasks",
    "Spark, Python workers killed at random",
    injected="kill -9 of every process that runs tasks, ten times, records flowing",
    must="nothing is lost or doubled, and no good record becomes a dead letter",
)
def test_python_workers_killed_at_random_cost_nothing_but_time(
    world: World, dice: random.Random
) -> None:
    worker = start_worker(world)
    sent = killed = 0
    while killed < 10:
        world.mixed(sent, sent + 2000)
        sent += 2000
        worker.until(lambda: python_workers(worker), "tasks run", 120)
        time.sleep(dice.uniform(0, 0.4))
        victims = python_workers(worker)
        for pid in victims:
            end_process(pid)
        killed += bool(victims)
    worker.until(world.caught_up, "the worker has read everything", 180)
    worker.end()
    world.assert_exact(sent, sent // 1000)


@pytest.mark.slow
@pytest.mark.fault(
    "tasks",
    "Spark, executor killed",
    injected="kill -9 of the executor of a `local-cluster` while batches flow, twice",
    must="another executor takes over; nothing is lost or doubled",
)
def test_a_killed_executor_is_replaced(world: World, dice: random.Random) -> None:
    worker = start_worker(world, master="local-cluster[1,2,1024]")
    sent = 0
    for _ in range(2):
        world.mixed(sent, sent + 2000)
        sent += 2000
        worker.until(lambda: python_workers(worker), "tasks run", 180)
        time.sleep(dice.uniform(0, 0.4))
        victims = executors(worker)
        assert victims
        for pid in victims:
            end_process(pid)
        world.mixed(sent, sent + 2000)
        sent += 2000
        worker.until(world.caught_up, "the worker has read everything", 180)
    worker.end()
    world.assert_exact(sent, sent // 1000)


@pytest.mark.slow
@pytest.mark.fault(
    "tasks",
    "Spark, everything killed at random",
    injected="kill -9 of the worker's process group under load, 20 times",
    must="nothing is lost or doubled",
)
def test_kills_at_random_moments_lose_and_double_nothing(world: World, dice: random.Random) -> None:
    kills = int(os.environ.get("KILLS", "20"))
    sent = 0
    for _ in range(kills):
        world.mixed(sent, sent + 5000)
        sent += 5000
        before = sum(world.positions().values())
        worker = start_worker(world)
        worker.until(lambda at=before: sum(world.positions().values()) > at, "it commits", 120)  # type: ignore[misc]
        world.mixed(sent, sent + 3000)
        sent += 3000
        time.sleep(dice.uniform(0, 1.0))
        worker.kill()
    finish(world)
    world.assert_exact(sent, 4 * kills)


@pytest.mark.slow
@pytest.mark.fault(
    "tasks",
    "Spark, broker killed and restarted",
    injected="kill -9 of the broker while Spark reads, started again after some seconds",
    must="the job waits, says so, and goes on",
)
def test_a_broker_that_dies_under_spark_is_waited_for(
    mortal_broker: MortalBroker, tmp_path: Path
) -> None:
    with make_world(tmp_path, mortal_broker.bootstrap_servers) as world:
        world.mixed(0, 20_000)
        worker = start_worker(world)
        worker.until(lambda: sum(world.positions().values()) > 0, "a batch is committed", 120)
        world.mixed(20_000, 40_000)
        mortal_broker.kill()
        worker.until_state("WAITING", 180)
        mortal_broker.start()
        world.mixed(40_000, 45_000)
        worker.until(world.caught_up, "the worker has read everything", 180)
        worker.end()
        world.assert_exact(45_000, 6)


def send_until_it_fires(world: World, worker: Child) -> int:
    """Send batch after batch until one of the processes that run tasks has had enough of them."""
    for sent in range(100, 3000, 100):
        world.mixed(sent - 100, sent)
        worker.until(world.caught_up, "the worker has read everything", 120)
        if "failpoint mid-write reached" in worker.log:
            return sent
    raise AssertionError(f"the failpoint was never reached\n{worker.log}")
