"""A DuckDB that reads Iceberg tables in named folders and can do nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from lakeward.errors import SetupError
from lakeward.query.tokens import literal

SETTINGS = {
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "errors_as_json": "true",
    # A name that is no table must not find a Python variable of ours.
    "python_enable_replacements": "false",
    "TimeZone": "UTC",
}


STARTUP = {
    # Checking a signature hashes 70 MB at every LOAD, a third of a second. The two files we load
    # come from locked wheels, like DuckDB itself; `confine` leaves no way to load another.
    "allow_unsigned_extensions": "true",
}


@contextmanager
def opened() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an empty database; what does not fit in memory spills into a private folder."""
    with (
        TemporaryDirectory(prefix="lakeward-query-", ignore_cleanup_errors=True) as spill,
        duckdb.connect(":memory:", config=STARTUP) as connection,
    ):
        connection.execute(f"SET temp_directory = {literal(spill)}")
        for name, value in SETTINGS.items():
            connection.execute(f"SET {name} = {literal(value)}")
        yield connection


def load_iceberg(connection: duckdb.DuckDBPyConnection) -> None:
    """Load the Iceberg extension from its wheel; nothing is fetched."""
    for name in ("avro", "iceberg"):
        connection.execute(f"LOAD {literal(str(_extension(name)))}")


def confine(connection: duckdb.DuckDBPyConnection, folders: Sequence[str]) -> None:
    """From now on only these folders can be read, and no setting can be changed."""
    allowed = ", ".join(literal(folder) for folder in folders)
    connection.execute(f"SET allowed_directories = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _extension(name: str) -> Path:
    package = find_spec(f"duckdb_extension_{name}")
    version = f"v{duckdb.__version__}"
    places = [] if package is None else list(package.submodule_search_locations or [])
    for place in places:
        file = Path(place, "extensions", version, f"{name}.duckdb_extension")
        if file.exists():
            return file
    raise SetupError(
        f"DuckDB's {name} extension {version} is not installed",
        where=f"package duckdb-extension-{name}",
        next_step="Install Lakeward again from its lock file: uv sync.",
    )
