from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakeward.cli.main import main


@dataclass(frozen=True)
class Answer:
    code: object
    output: str
    errors: str


Produce = Callable[..., Answer]


@pytest.fixture
def produce(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Produce:
    monkeypatch.setenv("LAKEWARD_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")

    def run(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["lakeward", "produce", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        return Answer(stopped.value.code, *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["clicks"],
            "There is no log called 'clicks'. Choose one of apilogs, errorlogs, auditlogs",
        ),
        (["--faults", "apilogs"], "'apilogs' is not a share such as 0.05; a topic goes first"),
        (["--faults", "1.5"], "The share of faults must be from 0 to 1"),
        (["--rate", "nan"], "The rate must be 0.01 records per second or more"),
        (["--start-time", "soon"], "'soon' is not a time such as 2026-01-15T10:30:00Z"),
        (["-n", "0"], "0 is not in the range"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(
    produce: Produce, tmp_path: Path, arguments: list[str], message: str
) -> None:
    answer = produce(*arguments)
    assert answer.code == 2
    assert message in answer.errors
    assert len(answer.errors.strip().splitlines()) == 1
    assert answer.output == ""
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_argument_is_json_when_json_is_wanted(produce: Produce) -> None:
    answer = produce("clicks", "--json")
    assert json.loads(answer.errors)["error"] == "UsageError"


def test_help_shows_an_example_and_what_n_means(produce: Produce) -> None:
    answer = produce("--help")
    assert "Example: lakeward produce apilogs -n 500" in answer.output
    assert "N records to each" in answer.output
