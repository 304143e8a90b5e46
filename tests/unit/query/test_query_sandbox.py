"""A confined DuckDB can read the folders it was given and do nothing else, whatever it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from lakeward.errors import SetupError
from lakeward.query import sandbox
from lakeward.query.sandbox import confine, load_iceberg, opened


@pytest.fixture
def confined(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "a.csv").write_text("x\n1\n")
    (tmp_path / "secret.csv").write_text("x\n2\n")
    with opened() as connection:
        confine(connection, [f"{tmp_path}/allowed/"])
        yield connection


def test_a_folder_that_was_named_can_be_read(
    confined: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    assert confined.execute(f"FROM read_csv('{tmp_path}/allowed/a.csv')").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "statement",
    [
        "FROM read_csv('{here}/secret.csv')",
        "FROM read_text('{here}/allowed/../secret.csv')",
        "FROM glob('{here}/*')",
        "COPY (SELECT 1) TO '{here}/out.csv'",
        "ATTACH '{here}/other.db'",
        "SET allowed_directories = ['/']",
        "SET enable_external_access = true",
        "SET threads = 1",
        "SET lock_configuration = false",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD '{extension}'",
        "LOAD '{here}/allowed/a.csv'",
        "FROM read_text('https://example.com/')",
    ],
)
def test_nothing_else_is_possible(
    confined: duckdb.DuckDBPyConnection, tmp_path: Path, statement: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    package = find_spec("duckdb_extension_avro")
    assert package is not None
    folder = Path(next(iter(package.submodule_search_locations or [])))
    extension = next(folder.rglob("*.duckdb_extension"))
    with pytest.raises(duckdb.Error):
        confined.execute(statement.format(here=tmp_path, extension=extension))
    assert sorted(tmp_path.rglob("*")) == before


def test_python_variables_are_not_tables() -> None:
    secret = pa.table({"x": [1]})
    with opened() as connection, pytest.raises(duckdb.Error):
        connection.execute("SELECT * FROM secret")
    assert secret.num_rows


def test_the_session_is_in_utc_wherever_the_machine_is() -> None:
    with opened() as connection:
        zone = connection.execute("SELECT current_setting('TimeZone')").fetchall()
    assert zone == [("UTC",)]


def test_a_query_larger_than_memory_spills_into_a_folder_that_goes_away() -> None:
    with opened() as connection:
        connection.execute("SET memory_limit = '25MB'")
        folder = Path(
            connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
        )
        connection.execute(
            "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY hash(range)) AS n "
            "FROM range(700000))"
        )
        assert connection.fetchall() == [(700_000,)]
    assert not folder.exists()


def test_a_missing_extension_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "find_spec", lambda _name: None)
    with (
        opened() as connection,
        pytest.raises(SetupError, match=r"avro extension v[\d.]+ .* uv sync"),
    ):
        load_iceberg(connection)
