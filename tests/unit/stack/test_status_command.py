"""`lakeward status` and `stop` without any service: jobs from their progress files."""

from __future__ import annotations

import json
import time

import pytest
from click.testing import CliRunner

from lakeward.cli.main import lakeward
from lakeward.cli.stack import duration
from lakeward.settings import Settings


@pytest.fixture
def runner(settings: Settings) -> CliRunner:
    return CliRunner(env={"LAKEWARD_HOME": str(settings.home)})


def test_status_shows_stopped_services_and_the_jobs_last_words(
    runner: CliRunner, settings: Settings
) -> None:
    settings.progress.mkdir(parents=True)
    job = {"name": "iceberg-sink-apilogs", "state": "RUNNING", "committed_records": 1234}
    job |= {"dead_letters": 5, "lag": 67, "freshness_seconds": 1.5}
    job |= {"updated_at": int(time.time() * 1000) - 3_000}
    (settings.progress / "a.json").write_text(json.dumps(job))
    shown = runner.invoke(lakeward, ["status"])
    assert shown.exit_code == 0, shown.output
    for text in ("kafka", "stopped", "iceberg-sink-apilogs", "1234", "67", "1.5", "3 s ago"):
        assert text in shown.output
    listed = json.loads(runner.invoke(lakeward, ["status", "--json"]).output)
    assert listed["jobs"] == [job]
    assert listed["services"][0]["state"] == "stopped"


def test_a_progress_file_that_cannot_be_read_is_shown_as_such(
    runner: CliRunner, settings: Settings
) -> None:
    settings.progress.mkdir(parents=True)
    (settings.progress / "half.json").write_text('{"name": ')
    shown = runner.invoke(lakeward, ["status"])
    assert shown.exit_code == 0
    assert "half" in shown.output
    assert "unreadable" in shown.output


def test_stop_says_so_when_nothing_runs(runner: CliRunner) -> None:
    assert runner.invoke(lakeward, ["stop"]).output == "Nothing was running.\n"
    assert json.loads(runner.invoke(lakeward, ["stop", "--json"]).output) == {"stopped": []}


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (42, "42 s"), (7505, "2 h 5 min"), (90061, "1 d 1 h")]
)
def test_a_time_span_is_written_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text
