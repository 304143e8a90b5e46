"""Records that kill the process decoding them, on real Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.spark import finish, start_worker
from faults.world import LETTERS, World, record

POISON = {"PYTHONPATH": str(Path(__file__).parent / "poison")}


@pytest.mark.fault(
    "tasks",
    "a record that crashes the decoder every time",
    injected="two records that make the decoder die of SIGSEGV, among 2,000 others",
    must="both are found by halving and become dead letters; every other record is a row, once",
)
def test_records_that_crash_the_decoder_become_dead_letters(world: World) -> None:
    world.numbers(0, 700)
    world.send(b'{"id": 700, "kind": "poison"}')
    world.numbers(700, 1000)
    world.numbers(1000, 1500, partition=1)
    world.send(b'{"id": 1, "kind": "also poison"}', partition=1)
    world.numbers(1500, 2000, partition=1)
    worker = start_worker(world, extra=POISON)
    worker.until(world.caught_up, "the worker has read everything", 180)
    # The job goes on as if nothing had been.
    world.send(record(2000))
    worker.until(world.caught_up, "the worker has read everything", 60)
    worker.end()
    world.assert_exact(2001, 2)
    letters = world.table(LETTERS).scan().to_arrow().to_pylist()
    found = {(row["partition"], row["offset"], row["reason"]) for row in letters}
    assert found == {(0, 700, "crashes-decoder"), (1, 500, "crashes-decoder")}


@pytest.mark.slow
@pytest.mark.fault(
    "tasks",
    "a crashing record, and the driver dies before the rows are committed",
    injected="SIGSEGV in the decoder, then SIGKILL between the tables' commits",
    must="the batch is finished with the same dead letter, though it no longer crashes",
)
def test_a_half_done_batch_keeps_its_crashing_record_in_the_dead_letters(world: World) -> None:
    world.numbers(0, 100)
    world.send(b'{"id": 100, "kind": "poison"}')
    start_worker(world, "between-tables:kill", extra=POISON).until_dead(-9)
    finish(world)
    world.assert_exact(100, 1)
