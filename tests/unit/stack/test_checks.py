"""Judgements of the doctor: where ok ends and warn and fail begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakeward.stack.checks import (
    GIGABYTE,
    check_disk,
    check_memory,
    check_python,
    check_writable,
    nearest,
    total_memory,
)


def test_python_before_3_11_fails() -> None:
    assert check_python((3, 11, 0)).state == "ok"
    old = check_python((3, 10, 14))
    assert (old.state, "3.11" in old.next_step) == ("fail", True)


def test_little_memory_is_a_warning() -> None:
    assert check_memory(4 * GIGABYTE).state == "ok"
    assert check_memory(4 * GIGABYTE - 1).state == "warn"
    assert total_memory() > 0


@pytest.mark.parametrize(
    ("free", "state"), [(5 * GIGABYTE, "ok"), (5 * GIGABYTE - 1, "warn"), (GIGABYTE - 1, "fail")]
)
def test_a_disk_getting_full_warns_and_then_fails(tmp_path: Path, free: int, state: str) -> None:
    check = check_disk("disk of cache", tmp_path, free)
    assert check.state == state
    assert ("LAKEWARD_CACHE" in check.next_step) == (state != "ok")


def test_a_folder_that_is_not_there_yet_is_judged_by_the_one_above(tmp_path: Path) -> None:
    assert nearest(tmp_path / "a" / "b") == tmp_path
    assert check_writable("home", tmp_path / "a" / "b").state == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_fails(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    check = check_writable("home", blocked / "home")
    assert (check.state, "LAKEWARD_HOME" in check.next_step) == ("fail", True)
