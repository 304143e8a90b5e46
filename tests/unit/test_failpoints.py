"""Failpoints: what the variable may say, and what happens at a place that was named."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakeward.errors import UsageError
from lakeward.failpoints import PLACES, VARIABLE, Failpoint, FailpointReached, arm, parse, reach

SOURCE = Path(__file__).parents[2] / "src" / "lakeward"


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    arm("")


def test_a_place_an_action_a_time_and_a_turn_are_read() -> None:
    assert parse("claim:kill, mid-write:raise@3,after-plan:sleep=0.5@2") == (
        Failpoint("claim", "kill", 30, 1),
        Failpoint("mid-write", "raise", 30, 3),
        Failpoint("after-plan", "sleep", 0.5, 2),
    )
    assert parse("") == ()


@pytest.mark.parametrize(
    "text",
    [
        "nowhere:kill", "claim", "claim:explode", "claim:kill=3", "claim:kill@0", "claim:sleep=x",
        "claim:kill@1x", " ", "claim:kill;genesis:kill",
    ],
)  # fmt: skip
def test_what_is_not_a_failpoint_is_refused_and_the_places_are_named(text: str) -> None:
    with pytest.raises(UsageError, match="is not a failpoint") as refused:
        parse(text)
    assert all(place in refused.value.next_step for place in PLACES)


def test_nothing_happens_at_a_place_nobody_named() -> None:
    arm("claim:raise")
    reach("genesis")
    arm("")
    reach("claim")


def test_a_failpoint_fires_at_its_turn_and_only_then() -> None:
    arm("claim:raise@2")
    reach("claim")
    with pytest.raises(FailpointReached, match="claim"):
        reach("claim")
    reach("claim")


def test_arming_again_counts_from_the_start() -> None:
    arm("claim:raise@2")
    reach("claim")
    arm("claim:raise@2")
    reach("claim")
    with pytest.raises(FailpointReached):
        reach("claim")


def test_the_environment_arms_a_process_that_was_not_armed() -> None:
    script = "from lakeward.failpoints import reach\nreach('genesis')\nreach('claim')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {VARIABLE: "claim:kill"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert "failpoint claim reached: kill" in done.stderr


def test_a_worker_refuses_a_failpoint_that_does_not_exist(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lakeward", "worker", str(tmp_path / "none.json")],
        env=os.environ | {VARIABLE: "clam:kill"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "LAKEWARD_FAILPOINT has 'clam:kill', which is not a failpoint" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_place_is_in_the_code_and_every_place_in_the_code_has_a_name() -> None:
    found = {
        node.args[0].value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "reach"
        and isinstance(node.args[0], ast.Constant)
    }
    assert found == set(PLACES)
