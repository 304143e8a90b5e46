"""The embedded catalog: one SQLite file and a warehouse folder, shared with Spark's JdbcCatalog."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from urllib.parse import quote

from lakeward.errors import DestinationError, StorageFull, UsageError
from lakeward.model.spec import CatalogSpec

FULL_BELOW = 1024 * 1024
BUSY_SECONDS = 30
"""How long a writer waits for another one's transaction before it gives up."""


def embedded_catalog(name: str, catalog_file: Path, warehouse: Path) -> CatalogSpec:
    """Describe the catalog in `catalog_file`; both paths must be absolute."""
    return CatalogSpec(
        name,
        {
            "type": "sql",
            "uri": f"sqlite:///{quote(str(catalog_file))}?timeout={BUSY_SECONDS}",
            "warehouse": location_of(warehouse),
            # Spark's JdbcCatalog reads the same two tables in this version.
            "schema_version": "v1",
        },
    )


def location_of(folder: Path) -> str:
    """Name a folder as Iceberg does: neither PyIceberg nor Hadoop decodes `%20` in a location."""
    return f"file://{folder}"


def create_warehouse(catalog_file: Path, warehouse: Path) -> None:
    """Make both places exist and be fit for several processes."""
    odd = next((sign for sign in "?#" if sign in f"{warehouse}{catalog_file}"), "")
    if odd:
        raise UsageError(
            f"A warehouse cannot be in a folder with {odd!r} in its name",
            where=str(warehouse),
            next_step="Set LAKEWARD_HOME to another folder.",
        )
    try:
        warehouse.mkdir(parents=True, exist_ok=True)
        catalog_file.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(warehouse, os.W_OK):
            raise PermissionError(13, "Permission denied", str(warehouse))
        with sqlite3.connect(catalog_file, timeout=BUSY_SECONDS) as database:
            # Readers and a writer at the same time; the setting stays in the file.
            database.execute("PRAGMA journal_mode=WAL")
    except OSError as failure:
        kind = StorageFull if failure.errno == 28 else DestinationError
        raise kind(
            f"The warehouse cannot be written: {failure.strerror}",
            where=str(failure.filename or warehouse),
            next_step="Set LAKEWARD_HOME to a folder you can write.",
        ) from failure
    except sqlite3.OperationalError as failure:
        # SQLite says "disk I/O error" for a full disk, too.
        if shutil.disk_usage(catalog_file.parent).free > FULL_BELOW:
            raise _unusable(catalog_file, failure) from failure
        raise StorageFull(
            "No space left for the catalog",
            where=str(catalog_file),
            next_step="Free some space and try again.",
        ) from failure
    except sqlite3.Error as failure:
        raise _unusable(catalog_file, failure) from failure


def _unusable(catalog_file: Path, failure: sqlite3.Error) -> DestinationError:
    return DestinationError(
        f"The catalog file cannot be used: {failure}",
        where=str(catalog_file),
        next_step="Check its permissions, or set LAKEWARD_HOME to another folder.",
    )


def spark_catalog_settings(name: str, catalog_file: Path, warehouse: Path) -> dict[str, str]:
    """Return the Spark settings that open the same catalog under the same name."""
    prefix = f"spark.sql.catalog.{name}"
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "jdbc",
        f"{prefix}.uri": f"jdbc:sqlite:{catalog_file}?busy_timeout={BUSY_SECONDS * 1000}",
        f"{prefix}.jdbc.schema-version": "V1",
        f"{prefix}.warehouse": location_of(warehouse),
    }
