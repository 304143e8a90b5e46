"""`lakeward query` and `lakeward tables`, in this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakeward.cli.main import lakeward
from lakeward.errors import LakewardError
from lakeward.query.on_duckdb import DuckDbEngine
from lakeward.settings import Settings

Ask = Callable[..., str]


@pytest.fixture
def ask(settings: Settings) -> Ask:
    """Run a command that must succeed; return what it printed."""
    runner = CliRunner(env={"LAKEWARD_HOME": str(settings.home)})

    def run(*arguments: str) -> str:
        result: Result = runner.invoke(lakeward, arguments)
        if isinstance(result.exception, LakewardError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_without_argument_every_table_is_listed(ask: Ask) -> None:
    text = ask("query")
    for name in ("streaming.apilogs", "streaming.apilogs__dead_letters", "other.types"):
        assert name in text
    listed = {table["table"]: table for table in json.loads(ask("query", "--json"))}
    api = listed["streaming.apilogs"]
    assert (api["rows"], api["files"], api["problem"]) == (6, 4, None)
    assert api["columns"][:2] == ["version", "time"]
    assert listed["streaming.errorlogs__dead_letters"]["last_commit"] is None


def test_a_table_shows_its_newest_rows_first(ask: Ask) -> None:
    rows = json.loads(ask("query", "streaming.apilogs", "--limit", "2", "--json"))
    assert [row["_offset"] for row in rows] == [5, 4]
    assert rows[0]["time"] == "2026-11-01T12:00:05Z"
    assert rows[0]["callInfo"]["requestHeader"]["X-Long"] == "x" * 500


def test_wide_values_are_shortened_for_people(ask: Ask) -> None:
    text = ask("query", "apilogs")
    assert "x" * 100 not in text
    assert "…" in text
    assert "6 rows" in text


def test_dead_letters_show_bytes_as_text_or_marked(ask: Ask) -> None:
    rows = json.loads(ask("query", "apilogs__dead_letters", "--json"))
    assert [row["value"] for row in rows] == ["base64://4=", "{oops"]


def test_a_bare_name_finds_a_table_of_another_namespace(ask: Ask) -> None:
    assert len(json.loads(ask("query", "types", "--json"))) == 2


def test_a_metadata_table_can_be_named(ask: Ask) -> None:
    newest, _ = json.loads(ask("query", "apilogs$snapshots", "--json"))
    assert newest["summary"]["lakeward.batch"] == "2"


def test_text_shows_a_hundred_rows_and_counts_the_rest(ask: Ask) -> None:
    text = ask("query", "SELECT range AS n FROM range(300)")
    assert "100 rows shown, 200 more" in text
    assert "│ 99 " in text
    assert "│ 100 " not in text


def test_json_gives_all_rows_or_as_many_as_asked(ask: Ask) -> None:
    assert len(json.loads(ask("query", "FROM range(300)", "--json"))) == 300
    assert len(json.loads(ask("query", "FROM range(300)", "--json", "--limit", "7"))) == 7


def test_several_statements_are_answered_in_order(ask: Ask) -> None:
    sql = "-- a comment first\nSHOW SCHEMAS; SELECT 1 AS one;"
    assert json.loads(ask("query", sql, "--json")) == [
        {"statement": "SHOW SCHEMAS", "rows": [{"Schema": "other"}, {"Schema": "streaming"}]},
        {"statement": "SELECT 1 AS one", "rows": [{"one": 1}]},
    ]
    assert "SELECT 1 AS one" in ask("query", sql)


def test_the_failing_one_of_several_statements_is_named(ask: Ask) -> None:
    with pytest.raises(LakewardError, match="statement 2, line 1, column 8, at foo"):
        ask("query", "SELECT 1; SELECT foo FROM apilogs")


def test_show_create_table_is_printed_as_it_is(ask: Ask) -> None:
    assert ask("query", "SHOW CREATE TABLE apilogs").startswith("CREATE TABLE `kafkawarehouse`")


@pytest.mark.parametrize("text", ["", ";", "-- nothing at all"])
def test_an_empty_query_is_wrong_usage(ask: Ask, text: str) -> None:
    with pytest.raises(LakewardError, match="empty") as failure:
        ask("query", text)
    assert failure.value.exit_code == 2


def test_escape_sequences_in_data_stay_text(ask: Ask) -> None:
    text = ask("query", "SELECT message FROM errorlogs")
    assert "\x1b" not in text
    assert "boom\\x1b[31m" in text


def test_tables_list_tells_sizes(ask: Ask) -> None:
    listed = json.loads(ask("tables", "list", "--json"))
    (api,) = [each for each in listed if each["table"] == "apilogs"]
    assert (api["namespace"], api["format"], api["rows"], api["snapshots"]) == (
        "streaming",
        2,
        6,
        2,
    )
    assert "apilogs__dead_letters" in ask("tables", "list")


def test_tables_show_tells_columns_partitioning_and_jobs(ask: Ask) -> None:
    shown: dict[str, Any] = json.loads(ask("tables", "show", "apilogs", "--json"))
    columns = {column["name"]: column for column in shown["columns"]}
    assert columns["time"] == {
        "id": 2, "name": "time", "type": "timestamptz", "required": True, "doc": "Event timestamp",
    }  # fmt: skip
    assert columns["callInfo.httpStatusCode"]["type"] == "int"
    assert shown["partitioning"][0] == {"name": "time_day", "transform": "day", "column": "time"}
    job = shown["jobs"]["iceberg-sink-apilogs"]
    assert job["positions"] == {"apilogs": {"0": 6, "1": 4}}
    assert (job["epoch"], job["batch"], job["written_at"]) == (3, 2, "2026-11-01T12:00:00Z")
    assert not any(key.startswith("lakeward.ledger") for key in shown["properties"])


def test_tables_show_reads_well(ask: Ask) -> None:
    text = ask("tables", "show", "apilogs")
    for part in ("partitioned by day(time), bucket", "apilogs 0:6, 1:4", "  httpStatusCode"):
        assert part in text


def test_tables_history_tells_batches_newest_first(ask: Ask) -> None:
    newest, oldest = json.loads(ask("tables", "history", "apilogs", "--json"))
    assert (newest["batch"], newest["commit_id"], newest["added_rows"]) == (2, "commit-2", 3)
    assert oldest["batch"] == 1
    assert "1 older commits" in ask("tables", "history", "apilogs", "--limit", "1")


@pytest.mark.parametrize("command", [("query", "apilog"), ("tables", "show", "apilog")])
def test_an_unknown_table_is_answered_with_those_there_are(
    ask: Ask, command: tuple[str, ...]
) -> None:
    with pytest.raises(LakewardError, match=r"There is: streaming\.apilogs, ") as failure:
        ask(*command)
    assert failure.value.exit_code == 1


def test_a_broken_table_does_not_hide_the_others(
    own: tuple[Settings, DuckDbEngine], folder_of: Callable[[Settings, str], Path]
) -> None:
    settings, _ = own
    shutil.rmtree(folder_of(settings, "streaming.errorlogs") / "metadata")
    runner = CliRunner(env={"LAKEWARD_HOME": str(settings.home)})
    listed = json.loads(runner.invoke(lakeward, ["query", "--json"]).stdout)
    problems = {each["table"]: each["problem"] for each in listed if each["problem"]}
    assert list(problems) == ["streaming.errorlogs"]
    assert "errorlogs cannot be read" in runner.invoke(lakeward, ["tables", "list"]).stdout


@pytest.mark.parametrize(
    "command",
    [["query"], ["tables"], ["tables", "list"], ["tables", "show"], ["tables", "history"]],
)
def test_help_has_an_example(ask: Ask, command: list[str]) -> None:
    assert "lakeward " + " ".join(command) in ask(*command, "--help").split("Example")[1]
