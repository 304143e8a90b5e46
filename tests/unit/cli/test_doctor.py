"""`lakeward doctor` as a user sees it: a table, what to do, an exit code."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from lakeward.cli.main import lakeward
from lakeward.stack.ports import free_ports

VARIABLES = ("KAFKA_EXTERNAL_PORT", "KAFKA_INTERNAL_PORT", "KAFKA_CONTROLLER_PORT")


@pytest.fixture
def runner(tmp_path: Path) -> CliRunner:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="17.0.9"\n')
    ports = dict(zip(VARIABLES, map(str, free_ports(3)), strict=True))
    folders = {"LAKEWARD_HOME": str(tmp_path / "home"), "LAKEWARD_CACHE": str(tmp_path / "cache")}
    return CliRunner(env={**ports, **folders, "JAVA_HOME": str(tmp_path / "jdk")})


def test_jars_not_fetched_yet_are_a_warning_that_says_what_to_do(runner: CliRunner) -> None:
    shown = runner.invoke(lakeward, ["doctor"])
    assert shown.exit_code == 0, shown.output
    assert "46 of 46 not fetched yet" in shown.output
    assert "warn: jars of kafka: Fetch them: lakeward doctor --fetch." in shown.output


def test_a_busy_port_fails_and_names_the_variable(runner: CliRunner) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        shown = runner.invoke(lakeward, ["doctor"], env={"KAFKA_EXTERNAL_PORT": port})
    assert shown.exit_code == 1
    assert f"fail: port {port}: Stop that process, or set KAFKA_EXTERNAL_PORT" in shown.output


def test_ports_that_collide_are_one_finding_and_the_rest_is_still_checked(
    runner: CliRunner,
) -> None:
    port = {"KAFKA_EXTERNAL_PORT": "30001", "KAFKA_INTERNAL_PORT": "30001"}
    shown = runner.invoke(lakeward, ["doctor"], env=port)
    assert shown.exit_code == 1
    assert "fail: ports: Set KAFKA_EXTERNAL_PORT" in shown.output
    assert "memory" in shown.output


def test_a_home_that_cannot_be_written_fails(runner: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shown = runner.invoke(
        lakeward, ["doctor"], env={"LAKEWARD_HOME": str(tmp_path / "file" / "home")}
    )
    assert shown.exit_code == 1
    assert "fail: home: Set LAKEWARD_HOME to a folder you can write." in shown.output


def test_json_lists_every_check(runner: CliRunner) -> None:
    shown = runner.invoke(lakeward, ["doctor", "--json"])
    checks = {check["name"]: check for check in json.loads(shown.output)}
    assert checks["java"]["state"] == "ok"
    assert checks["java"]["found"].startswith("17 in ")
    assert {"python", "memory", "disk of home", "home", "warehouse"} <= checks.keys()


def test_doctor_leaves_nothing_behind(runner: CliRunner, tmp_path: Path) -> None:
    runner.invoke(lakeward, ["doctor"])
    assert [path.name for path in tmp_path.iterdir()] == ["jdk"]
