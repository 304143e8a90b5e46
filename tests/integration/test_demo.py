"""`lakeward demo` as a newcomer runs it: in some folder, without any setting."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lakeward.settings import Settings
from lakeward.stack.ports import free_ports

pytestmark = pytest.mark.integration

DEMO = [sys.executable, "-m", "lakeward", "demo"]


@pytest.fixture
def newcomer(settings: Settings) -> dict[str, str]:
    """The user's environment but for ports, which tests must not share, and without a home."""
    names = ("KAFKA_EXTERNAL_PORT", "KAFKA_INTERNAL_PORT", "KAFKA_CONTROLLER_PORT")
    ports = dict(zip(names, map(str, free_ports(3)), strict=True))
    kept = {name: value for name, value in os.environ.items() if name != "LAKEWARD_HOME"}
    return {**kept, **ports, "LAKEWARD_CACHE": str(settings.cache)}


def left_running(home: Path) -> list[str]:
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = command.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(home) in text and "pytest" not in text:
            found.append(text)
    return found


def test_the_demo_proves_itself_and_leaves_nothing_running(
    newcomer: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [*DEMO, "--records", "6000", "--faults", "0.01", "--seed", "5", "--json"],
        env=newcomer, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["records"] == 6000
    assert told["rows"] + told["dead_letters"] == 6000
    assert told["dead_letters"] > 10
    assert "0 lost, 0 duplicated" in told["verdict"]
    assert len(told["queries"]) == 10
    assert Path(told["home"]) == tmp_path / ".lakeward"
    assert left_running(tmp_path) == []


def test_ctrl_c_ends_the_demo_and_all_it_started(newcomer: dict[str, str], tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [*DEMO, "--records", "3000000"], env=newcomer, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    progress = tmp_path / ".lakeward" / "progress"
    deadline = time.monotonic() + 120
    while not list(progress.glob("*.json")) and time.monotonic() < deadline:
        assert demo.poll() is None
        time.sleep(0.2)
    demo.send_signal(signal.SIGINT)
    shown, _ = demo.communicate(timeout=30)
    assert demo.returncode == 130, shown
    assert b"Traceback" not in shown
    assert left_running(tmp_path) == []


def test_a_busy_port_is_named_before_anything_starts(
    newcomer: dict[str, str], tmp_path: Path
) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            DEMO, env={**newcomer, "KAFKA_EXTERNAL_PORT": port}, cwd=tmp_path,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert port in done.stderr
    assert "KAFKA_EXTERNAL_PORT" in done.stderr
    assert "Traceback" not in done.stderr
