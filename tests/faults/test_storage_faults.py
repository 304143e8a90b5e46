"""The warehouse has no space: the job waits and writes no dead letters; with space it goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.world import LETTERS, World, make_world, record
from lakeward.stack.kafka import KafkaBroker

SIZE = 8 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted by root")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.fault(
    "storage",
    "disk full: {what}",
    injected="a tmpfs of 8 MB holds {what} and is filled up while the job runs",
    must="the job waits, says so, writes no dead letters, and goes on when there is space",
)
@pytest.mark.parametrize("what", ["the warehouse", "warehouse and catalog"])
def test_a_full_disk_is_waited_for(
    broker: KafkaBroker, small_disk: Path, tmp_path: Path, what: str
) -> None:
    folder = small_disk if what == "warehouse and catalog" else tmp_path
    with make_world(folder, broker.bootstrap_servers, warehouse=small_disk / "warehouse") as world:
        world.folder = tmp_path
        big(world, 0, 100)
        child = world.child()
        child.until(world.caught_up, "the job has read everything")
        ballast = fill(small_disk)
        big(world, 100, 300)
        child.until_state("WAITING")
        assert child.progress["reason"].startswith(("StorageFull: ", "DestinationUnavailable: "))
        ballast.unlink()
        child.until(world.caught_up, "the job has read everything")
        child.until_state("RUNNING")
        child.end()
        world.assert_exact(300)
        assert world.table(LETTERS).scan().count() == 0


def big(world: World, start: int, end: int) -> None:
    """Send records that do not compress away."""
    noise = ({"noise": os.urandom(2000).hex()} for _ in range(start, end))
    world.send(*(record(n, tags=tags) for n, tags in zip(range(start, end), noise, strict=True)))


def fill(disk: Path) -> Path:
    """Use up what space there is, to the last byte."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        while (free := shutil.disk_usage(disk).free) > 0:
            file.write(b"\0" * min(free, 65536))
    return ballast
