"""Which tables a catalog has, and where their metadata is."""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lakeward.catalogs.warehouse import BUSY_SECONDS, embedded_catalog
from lakeward.errors import DestinationError, DestinationUnavailable, TableMissing
from lakeward.model.spec import CatalogSpec, TableName
from lakeward.settings import Settings

if TYPE_CHECKING:
    from pyiceberg.table import Table

SHOWN_NAMES = 12

_TABLES = """
    SELECT table_namespace, table_name, metadata_location FROM iceberg_tables
    WHERE catalog_name = ? AND coalesce(iceberg_type, 'TABLE') = 'TABLE'
    ORDER BY table_namespace, table_name
"""
_NAMESPACES = """
    SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = :catalog
    UNION SELECT table_namespace FROM iceberg_tables WHERE catalog_name = :catalog
"""


@dataclass(frozen=True, slots=True)
class Directory:
    """The tables of one catalog at one moment."""

    catalog: str
    namespaces: tuple[str, ...]
    """Dotted, as schemas are written in SQL."""
    tables: Mapping[TableName, str]
    """Each table's metadata location: the state it is read in."""
    properties: Mapping[str, str] = field(default_factory=dict)

    def find(self, parts: Sequence[str], namespace: str) -> TableName | None:
        """Find a table by the name people write; `namespace` completes a bare name."""
        if len(parts) > 2 and parts[0].casefold() == self.catalog.casefold():
            parts = parts[1:]
        wanted = parts if len(parts) > 1 else (namespace, *parts)
        text = ".".join(wanted)
        exact = [name for name in self.tables if str(name) == text]
        alike = [name for name in self.tables if str(name).casefold() == text.casefold()]
        return next(iter(exact or alike), None)

    def find_anywhere(self, parts: Sequence[str], namespace: str) -> TableName | None:
        """Find a table as `find` does, or by a bare name that only one namespace has."""
        found = self.find(parts, namespace)
        if found is not None or len(parts) > 1:
            return found
        alike = [name for name in self.tables if name.name.casefold() == parts[0].casefold()]
        return alike[0] if len(alike) == 1 else None

    def missing(self, parts: Sequence[str]) -> TableMissing:
        """Say that a table does not exist, and which do, the nearest first."""
        wanted = ".".join(parts)
        return TableMissing(
            f"There is no table {wanted!r}",
            where=f"catalog {self.catalog}",
            next_step=_suggestion(wanted, [str(name) for name in self.tables]),
        )

    def load(self, name: TableName) -> Table:
        """Load a table's metadata as this directory knows it."""
        from pyiceberg.table import StaticTable

        location = self.tables[name]
        try:
            return StaticTable.from_metadata(location, dict(self.properties))
        except (OSError, ValueError) as failure:
            reason = " ".join(str(failure).split())[:200]
            raise DestinationError(
                f"The metadata of table {name} cannot be read: {reason}",
                where=location,
                next_step="Restore the file, or point the catalog at an older one.",
            ) from failure


def installed_catalog(settings: Settings) -> CatalogSpec:
    """Return this installation's catalog, or say that there is none yet."""
    if not settings.catalog_file.exists():
        raise TableMissing(
            "There are no tables yet",
            where=str(settings.catalog_file),
            next_step="Create them with: lakeward init, or run: lakeward demo.",
        )
    return embedded_catalog(settings.warehouse_name, settings.catalog_file, settings.warehouse)


def read_directory(spec: CatalogSpec) -> Directory:
    """List a catalog's tables."""
    uri = spec.properties.get("uri", "")
    if uri.startswith("sqlite:///") and spec.properties.get("schema_version") == "v1":
        path = uri.removeprefix("sqlite:///").partition("?")[0]
        return _read_sqlite(spec, Path(unquote(path)))
    return _read_catalog(spec)


def _read_sqlite(spec: CatalogSpec, file: Path) -> Directory:
    """Read the catalog's two tables directly: PyIceberg alone takes over a second to import."""
    address = f"{file.as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, BUSY_SECONDS, uri=True)) as database:
            tables = database.execute(_TABLES, (spec.name,)).fetchall()
            namespaces = database.execute(_NAMESPACES, {"catalog": spec.name}).fetchall()
    except sqlite3.Error as failure:
        raise DestinationUnavailable(
            f"The catalog {spec.name!r} cannot be read: {failure}",
            where=str(file),
            next_step="Check that the file is a catalog; lakeward init creates one.",
        ) from failure
    located = {
        TableName(tuple(namespace.split(".")), name): str(location)
        for namespace, name, location in tables
    }
    dotted = tuple(sorted(namespace for (namespace,) in namespaces))
    return Directory(spec.name, dotted, located, spec.properties)


def _read_catalog(spec: CatalogSpec) -> Directory:
    from lakeward.catalogs.open import open_catalog

    catalog = open_catalog(spec)
    namespaces = list(catalog.list_namespaces())
    for namespace in namespaces:
        namespaces.extend(catalog.list_namespaces(namespace))
    names = [
        TableName(identifier[:-1], identifier[-1])
        for namespace in namespaces
        for identifier in catalog.list_tables(namespace)
    ]
    located = {name: catalog.load_table(name.identifier).metadata_location for name in names}
    dotted = tuple(sorted(".".join(namespace) for namespace in namespaces))
    return Directory(spec.name, dotted, located, spec.properties)


def _suggestion(wanted: str, names: Sequence[str]) -> str:
    if not names:
        return "There are none yet; create them with: lakeward init."
    last = wanted.rpartition(".")[2].lower()

    def likeness(name: str) -> float:
        return difflib.SequenceMatcher(None, last, name.rpartition(".")[2].lower()).ratio()

    ordered = sorted(names, key=likeness, reverse=True)
    more = len(ordered) - SHOWN_NAMES
    tail = f" and {more} more" if more > 0 else ""
    return f"There is: {', '.join(ordered[:SHOWN_NAMES])}{tail}."
