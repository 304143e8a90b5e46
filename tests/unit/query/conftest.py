"""A small warehouse written with PyIceberg: real tables, no broker, no JVM."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.types import LongType, StringType

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.tables import create_table
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.model.fields import Decimal, Kind, Struct, list_of, map_of, optional, required
from lakeward.model.ledger import Ledger, TopicLedger, property_name, to_json
from lakeward.model.offsets import Position
from lakeward.model.spec import TableName
from lakeward.query.directory import installed_catalog, read_directory
from lakeward.query.on_duckdb import DuckDbEngine
from lakeward.schemas.dead_letter import DEAD_LETTER
from lakeward.schemas.minio_api import API_LOG
from lakeward.schemas.minio_audit import AUDIT_LOG
from lakeward.schemas.minio_error import ERROR_LOG
from lakeward.schemas.shape import TableShape
from lakeward.settings import Settings, load_settings

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
JOB = "iceberg-sink-apilogs"

EVERY_TYPE = TableShape(
    Struct(
        (
            required("id", Kind.INT),
            optional("exact", Decimal(20, 4)),
            optional("bytes", Kind.BINARY),
            optional("ratio", Kind.DOUBLE),
            optional("day", Kind.DATE),
            optional("clock", Kind.TIME),
            optional("local", Kind.TIMESTAMP),
            optional("instant", Kind.TIMESTAMPTZ),
            optional("name", Kind.UUID),
            optional("list", list_of(Kind.LONG)),
            optional("map", map_of(Kind.STRING, Kind.TIMESTAMPTZ)),
            optional("struct", Struct((optional("inner", map_of(Kind.INT, Kind.BINARY)),))),
        )
    )
)


def api_row(number: int) -> dict[str, Any]:
    """Return one call; its offset is its age."""
    when = NOON + timedelta(seconds=number)
    call = {"httpStatusCode": 200 + number, "sourceHost": "10.0.0.1", "tx": 2**40}
    call["requestHeader"] = [("Host", "a"), ("X-Long", "x" * 500)]
    return {
        "version": "1",
        "time": when,
        "name": "s3.GetObject" if number % 3 else "s3.PutObject",
        "bucket": f"bucket-{number % 2}",
        "callInfo": call,
        "_topic": "apilogs",
        "_kafka_partition": 0,
        "_offset": number,
        "_timestamp": when,
    }


def append(table: Table, rows: Sequence[dict[str, Any]], **summary: str) -> None:
    """Append rows in one commit."""
    arrow = pa.Table.from_pylist(list(rows), schema=table.schema().as_arrow())
    table.append(arrow, snapshot_properties={k.replace("_", "."): v for k, v in summary.items()})


def ledger(table: Table) -> Ledger:
    """Return the ledger a job would have left."""
    topic = TopicLedger("topic-id", {0: 0}, {0: Position(6), 1: Position(4)})
    return Ledger(
        job=JOB, table_uuid=str(table.metadata.table_uuid), generation=0, epoch=3, batch=2,
        commit_id="commit-2", revision="r", as_of=0, cluster_id="c", snapshot_id=1, sequence=1,
        schema_id=0, topics={"apilogs": topic},
        anchor_uuid=str(table.metadata.table_uuid), tables=("streaming.apilogs__dead_letters",),
        written_at=1_793_534_400_000,
    )  # fmt: skip


def fill(catalog: Catalog) -> None:
    """Create the tables the tests ask about."""
    shapes = {"apilogs": API_LOG, "errorlogs": ERROR_LOG, "auditlogs": AUDIT_LOG}
    for name, shape in shapes.items():
        create_table(catalog, TableName(("streaming",), name), shape.with_metadata_columns())
        create_table(catalog, TableName(("streaming",), f"{name}__dead_letters"), DEAD_LETTER)
    api = catalog.load_table("streaming.apilogs")
    for batch in (1, 2):
        append(
            api,
            [api_row(number) for number in range(batch * 3 - 3, batch * 3)],
            lakeward_job=JOB,
            lakeward_batch=str(batch),
            **{"lakeward_commit-id": f"commit-{batch}"},
        )
    with api.transaction() as changing:
        changing.set_properties({property_name(JOB): to_json(ledger(api))})
    _fill_others(catalog)


def _fill_others(catalog: Catalog) -> None:
    audit = catalog.load_table("streaming.auditlogs")
    append(audit, [{"time": NOON, "category": "bucket", "action": "create", "accessKey": "k"}])
    error = catalog.load_table("streaming.errorlogs")
    trace = {"source": ["a.go:1"], "variables": [("k", "v")]}
    append(error, [{"time": NOON, "message": "boom\x1b[31m", "apiName": "x", "trace": trace}])
    letters = catalog.load_table("streaming.apilogs__dead_letters")
    letter = {"topic": "apilogs", "partition": 0, "reason": "not-json", "message": "no"}
    append(
        letters,
        [
            {**letter, "offset": 1, "timestamp": NOON, "value": b"{oops"},
            {**letter, "offset": 2, "timestamp": NOON + timedelta(1), "value": b"\xff\xfe"},
        ],
    )
    types, _ = create_table(catalog, TableName(("other",), "types"), EVERY_TYPE)
    append(types, [every_type(), {"id": 2}])
    _evolve(catalog)


def every_type() -> dict[str, Any]:
    return {
        "id": 1,
        "exact": decimal.Decimal("1234567890123456.7891"),
        "bytes": b"\x00\xff",
        "ratio": float("nan"),
        "day": NOON.date(),
        "clock": NOON.time(),
        "local": NOON.replace(tzinfo=None),
        "instant": NOON + timedelta(microseconds=1),
        "name": bytes(range(16)),
        "list": [1, None],
        "map": [("k", NOON)],
        "struct": {"inner": [(7, b"text")]},
    }


def _evolve(catalog: Catalog) -> None:
    shape = TableShape(
        Struct((optional("a", Kind.INT), optional("s", Struct((optional("x", Kind.INT),)))))
    )
    table, _ = create_table(catalog, TableName(("other",), "evolved"), shape)
    append(table, [{"a": 1, "s": {"x": 1}}])
    with table.update_schema() as change:
        change.rename_column("a", "b")
    with table.update_schema() as change:
        change.update_column("b", field_type=LongType())
        change.add_column("a", StringType())
        change.add_column(("s", "y"), StringType())
    append(table, [{"b": 2**40, "a": "new", "s": {"x": 2, "y": "why"}}])


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An installation with tables in it; tests only read it."""
    home = tmp_path_factory.mktemp("query home")
    made = load_settings({"LAKEWARD_HOME": str(home)})
    create_warehouse(made.catalog_file, made.warehouse)
    fill(open_catalog(embedded_catalog(made.warehouse_name, made.catalog_file, made.warehouse)))
    return made


@pytest.fixture
def engine(settings: Settings) -> DuckDbEngine:
    spec = embedded_catalog(settings.warehouse_name, settings.catalog_file, settings.warehouse)
    return DuckDbEngine(spec, settings.namespace)


@pytest.fixture
def folder_of() -> Callable[[Settings, str], Path]:
    """A function that finds the folder of a table."""

    def find(settings: Settings, table: str) -> Path:
        location = read_directory(installed_catalog(settings)).tables[TableName.parse(table)]
        return Path(location.removeprefix("file://")).parent.parent

    return find


@pytest.fixture
def own(tmp_path: Path) -> tuple[Settings, DuckDbEngine]:
    """An installation of the test's own, to break."""
    made = load_settings({"LAKEWARD_HOME": str(tmp_path / "own home")})
    create_warehouse(made.catalog_file, made.warehouse)
    spec = embedded_catalog(made.warehouse_name, made.catalog_file, made.warehouse)
    fill(open_catalog(spec))
    return made, DuckDbEngine(spec, made.namespace)
