"""The catalog's tables are found by the names people write."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lakeward.catalogs.warehouse import embedded_catalog
from lakeward.errors import DestinationUnavailable, QueryFailed, TableMissing
from lakeward.model.spec import CatalogSpec, TableName
from lakeward.query.directory import Directory, installed_catalog, read_directory
from lakeward.query.on_duckdb import DuckDbEngine
from lakeward.query.table_metadata import folders_of, local_path, read_metadata
from lakeward.settings import Settings, load_settings

SMALL = Directory(
    "w",
    ("a", "a.b", "s"),
    {
        TableName(("s",), "logs"): "",
        TableName(("s",), "Logs"): "",
        TableName(("a", "b"), "deep"): "",
        TableName(("a",), "twice"): "",
        TableName(("s",), "twice"): "",
    },
)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("logs", "s.logs"),
        ("Logs", "s.Logs"),
        ("LOGS", "s.logs"),
        ("w.s.logs", "s.logs"),
        ("a.b.deep", "a.b.deep"),
        ("w.a.b.deep", "a.b.deep"),
        ("twice", "s.twice"),
        ("deep", None),
        ("w.logs", None),
    ],
)
def test_a_name_finds_its_table(written: str, found: str | None) -> None:
    name = SMALL.find(written.split("."), "s")
    assert (None if name is None else str(name)) == found


def test_a_bare_name_that_only_one_namespace_has_is_enough() -> None:
    assert str(SMALL.find_anywhere(["deep"], "s")) == "a.b.deep"
    assert SMALL.find_anywhere(["twice"], "elsewhere") is None


def test_many_tables_are_not_all_listed() -> None:
    many = Directory("w", ("s",), {TableName(("s",), f"t{n}"): "" for n in range(40)})
    assert str(many.missing(["t7x"])).endswith("and 28 more.")
    assert "There is: s.t7, " in str(many.missing(["t7x"]))


def test_an_empty_catalog_says_how_to_fill_it() -> None:
    assert "lakeward init" in str(Directory("w", (), {}).missing(["t"]))


def test_reading_sqlite_and_asking_pyiceberg_give_the_same(settings: Settings) -> None:
    direct = installed_catalog(settings)
    others = {key: text for key, text in direct.properties.items() if key != "schema_version"}
    asked = read_directory(CatalogSpec(direct.name, others))
    assert asked.tables == read_directory(direct).tables
    assert asked.namespaces == read_directory(direct).namespaces == ("other", "streaming")


def test_an_installation_without_catalog_is_left_without(tmp_path: Path) -> None:
    settings = load_settings({"LAKEWARD_HOME": str(tmp_path / "none")})
    with pytest.raises(TableMissing, match="lakeward demo"):
        installed_catalog(settings)
    assert not (tmp_path / "none").exists()


def test_a_file_that_is_no_catalog_is_refused(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("something else entirely")
    with pytest.raises(DestinationUnavailable, match="not a database"):
        read_directory(embedded_catalog("w", tmp_path / "catalog.db", tmp_path))


def test_a_compressed_metadata_file_is_read(
    own: tuple[Settings, DuckDbEngine], folder_of: Callable[[Settings, str], Path]
) -> None:
    settings, engine = own
    for file in folder_of(settings, "streaming.apilogs").rglob("*.metadata.json"):
        file.write_bytes(gzip.compress(file.read_bytes()))
    assert engine.run("SELECT count(name) FROM apilogs").rows == [(6,)]


def test_files_may_lie_outside_the_tables_folder(tmp_path: Path) -> None:
    metadata = tmp_path / "m" / "metadata" / "1.json"
    metadata.parent.mkdir(parents=True)
    properties = {"write.data.path": "file:///elsewhere/data"}
    spec = {"schema": {"fields": []}, "location": "file:/home/t", "properties": properties}
    metadata.write_text(json.dumps(spec))
    name = TableName(("s",), "t")
    folders = folders_of(name, str(metadata), read_metadata(name, str(metadata)))
    assert folders == ("/elsewhere/data/", "/home/t/", f"{metadata.parent}/")


def test_a_table_on_another_machine_is_refused() -> None:
    with pytest.raises(QueryFailed, match="on this machine"):
        local_path(TableName(("s",), "t"), "s3://bucket/t/metadata/1.json")
