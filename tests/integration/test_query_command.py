"""`lakeward query` as a user runs it: a process of its own over a table of 300,000 rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.tables import create_table
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.model.spec import TableName
from lakeward.schemas.minio_api import API_LOG
from lakeward.settings import load_settings

pytestmark = pytest.mark.integration

FILES = 30
ROWS_PER_FILE = 10_000
PROGRAM = [sys.executable, "-c", "from lakeward.cli.main import main; main()"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation whose `apilogs` has 300,000 rows in 30 files, and 100 tables beside it."""
    folder = tmp_path_factory.mktemp("big")
    settings = load_settings({"LAKEWARD_HOME": str(folder)})
    create_warehouse(settings.catalog_file, settings.warehouse)
    spec = embedded_catalog(settings.warehouse_name, settings.catalog_file, settings.warehouse)
    catalog = open_catalog(spec)
    shape = API_LOG.with_metadata_columns()
    table, _ = create_table(catalog, TableName(("streaming",), "apilogs"), shape)
    for number in range(FILES):
        table.append(_rows(table.schema().as_arrow(), number * ROWS_PER_FILE))
    for number in range(100):
        create_table(catalog, TableName(("many",), f"table_{number:03}"), shape)
    return folder


def _rows(schema: pa.Schema, start: int) -> pa.Table:
    offsets = pa.array(range(start, start + ROWS_PER_FILE), pa.int64())
    times = pa.array([1_793_534_400_000_000 + n * 100_000 for n in offsets.to_pylist()])
    known = {
        "_offset": offsets,
        "time": times.cast(pa.timestamp("us", tz="UTC")),
        "_timestamp": times.cast(pa.timestamp("us", tz="UTC")),
        "bucket": pa.array(["b"] * ROWS_PER_FILE),
    }
    columns = [
        known[field.name].cast(field.type) if field.name in known
        else pa.nulls(ROWS_PER_FILE, field.type)
        for field in schema
    ]  # fmt: skip
    return pa.Table.from_arrays(columns, schema=schema)


def lakeward(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        env={**os.environ, "LAKEWARD_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_newest_rows_of_a_big_table_come_first(home: Path) -> None:
    shown = lakeward(home, "query", "apilogs", "--json")
    assert shown.returncode == 0, shown.stderr
    newest = FILES * ROWS_PER_FILE - 1
    assert [row["_offset"] for row in json.loads(shown.stdout)] == [newest - n for n in range(20)]


def test_a_hundred_tables_are_listed(home: Path) -> None:
    shown = lakeward(home, "query", "--json")
    assert len(json.loads(shown.stdout)) == 101


def test_a_failure_is_one_line_and_exit_code_one(home: Path) -> None:
    failed = lakeward(home, "query", "SELECT nothing FROM apilogs")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert len(failed.stderr.splitlines()) == 1
    assert "line 1, column 8, at nothing" in failed.stderr


def test_a_failure_is_json_when_json_is_wanted(home: Path) -> None:
    failed = lakeward(home, "query", "DROP TABLE apilogs", "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stderr)["error"] == "QueryFailed"


def test_wrong_usage_has_exit_code_two(home: Path) -> None:
    assert lakeward(home, "query", "apilogs", "--limit", "0").returncode == 2
    assert lakeward(home, "query", "apilogs", "--engine", "abacus").returncode == 2
    assert lakeward(home, "query", ";").returncode == 2


def test_an_installation_without_tables_says_what_to_do(tmp_path: Path) -> None:
    failed = lakeward(tmp_path, "query", "apilogs")
    assert failed.returncode == 1
    assert "lakeward demo" in failed.stderr
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_stops_a_long_query_at_once(home: Path) -> None:
    sql = "SELECT count(*) FROM apilogs a, apilogs b WHERE hash(a._offset + b._offset) = 1"
    asking = subprocess.Popen(
        [*PROGRAM, "query", sql],
        env={**os.environ, "LAKEWARD_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3)
    assert asking.poll() is None
    asking.send_signal(signal.SIGINT)
    _, said = asking.communicate(timeout=5)
    assert asking.returncode == 130
    assert said.strip() == "Interrupted"


def test_a_reader_that_goes_away_is_no_failure(home: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "query", "SELECT * FROM range(50000)", "--json"],
        env={**os.environ, "LAKEWARD_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "[\n"
        asking.stdout.close()
        assert asking.wait(timeout=20) == 0
