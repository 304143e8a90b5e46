"""The DuckDB engine over a real catalog and real files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from lakeward.errors import DestinationError, LakewardError, QueryFailed, TableMissing
from lakeward.query.on_duckdb import DuckDbEngine
from lakeward.settings import Settings

FolderOf = Callable[[Settings, str], Path]

SEED_STATEMENTS = [
    "SHOW CATALOGS",
    "SHOW SCHEMAS FROM kafkawarehouse",
    "SHOW TABLES FROM kafkawarehouse.streaming",
    "SELECT * FROM kafkawarehouse.streaming.apilogs LIMIT 10",
    """SELECT
    bucket,
    name,
    time,
    "callInfo"."httpStatusCode" as status,
    "callInfo"."sourceHost" as client_ip
FROM kafkawarehouse.streaming.apilogs
WHERE bucket IS NOT NULL
ORDER BY time DESC
LIMIT 20""",
    """SELECT name, COUNT(*) as count
FROM kafkawarehouse.streaming.apilogs
GROUP BY name
ORDER BY count DESC""",
    """SELECT time, message, "apiName"
FROM kafkawarehouse.streaming.errorlogs
ORDER BY time DESC
LIMIT 10""",
    """SELECT category, action, time, "accessKey"
FROM kafkawarehouse.streaming.auditlogs
WHERE category = 'bucket'
ORDER BY time DESC
LIMIT 10""",
    'SELECT * FROM kafkawarehouse.streaming."apilogs$snapshots"',
    'SELECT * FROM kafkawarehouse.streaming."apilogs$history"',
]


@pytest.mark.parametrize("statement", SEED_STATEMENTS)
def test_the_documented_trino_statements_run_unchanged(
    engine: DuckDbEngine, statement: str
) -> None:
    assert engine.run(statement).rows


def test_nested_fields_are_read_by_their_quoted_names(engine: DuckDbEngine) -> None:
    answer = engine.run(SEED_STATEMENTS[4])
    assert answer.columns == ("bucket", "name", "time", "status", "client_ip")
    assert answer.rows[0] == (
        "bucket-1", "s3.GetObject", datetime(2026, 11, 1, 12, 0, 5, tzinfo=UTC), 205, "10.0.0.1",
    )  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["apilogs", "streaming.apilogs", "KafkaWarehouse.Streaming.APILOGS", '"streaming"."apilogs"'],
)
def test_a_table_has_a_short_and_a_full_name(engine: DuckDbEngine, name: str) -> None:
    assert engine.run(f"SELECT count(*) FROM {name}").rows == [(6,)]


def test_every_type_comes_out_as_it_went_in(engine: DuckDbEngine) -> None:
    answer = engine.run("SELECT * FROM other.types ORDER BY id")
    row = dict(zip(answer.columns, answer.rows[0], strict=True))
    ratio = row.pop("ratio")
    assert ratio != ratio  # noqa: PLR0124 - only NaN differs from itself
    assert row == {
        "id": 1,
        "exact": Decimal("1234567890123456.7891"),
        "bytes": b"\x00\xff",
        "day": datetime(2026, 11, 1, tzinfo=UTC).date(),
        "clock": datetime(2026, 11, 1, 12, tzinfo=UTC).time(),
        "local": datetime(2026, 11, 1, 12),
        "instant": datetime(2026, 11, 1, 12, 0, 0, 1, tzinfo=UTC),
        "name": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "list": [1, None],
        "map": {"k": datetime(2026, 11, 1, 12, tzinfo=UTC)},
        "struct": {"inner": {7: b"text"}},
    }
    assert answer.rows[1] == (2, *[None] * 11)


def test_old_files_are_read_under_the_new_schema(engine: DuckDbEngine) -> None:
    answer = engine.run("SELECT b, a, s FROM other.evolved ORDER BY b")
    assert answer.rows == [
        (1, None, {"x": 1, "y": None}),
        (2**40, "new", {"x": 2, "y": "why"}),
    ]


def test_a_table_without_commits_has_no_rows(engine: DuckDbEngine) -> None:
    answer = engine.run("SELECT * FROM errorlogs__dead_letters")
    assert answer.rows == []
    assert answer.columns[:3] == ("topic", "partition", "offset")


def test_rows_past_those_kept_are_counted(engine: DuckDbEngine) -> None:
    answer = engine.run("SELECT * FROM range(5000)", keep=3)
    assert answer.rows == [(0,), (1,), (2,)]
    assert (answer.total, answer.counted) == (5000, True)


def test_counting_stops_somewhere(engine: DuckDbEngine) -> None:
    answer = engine.run("SELECT * FROM range(100000000000)", keep=3)
    assert len(answer.rows) == 3
    assert answer.total >= 1_000_000
    assert not answer.counted


def test_types_that_python_lacks_come_as_text(engine: DuckDbEngine) -> None:
    answer = engine.run(
        "SELECT INTERVAL 3 DAY AS a, TIMETZ '01:00:00+02' AS a, 1 AS a, BITSTRING '01', "
        "TIMESTAMP_NS '2026-01-01 00:00:00.123456789' -- end"
    )
    assert answer.columns[:3] == ("a", "a_1", "a_2")
    assert answer.rows[0][:4] == ("3 days", "01:00:00+02", 1, "01")
    assert str(answer.rows[0][4]).endswith(".123456789")


def test_years_that_python_lacks_come_as_text(engine: DuckDbEngine) -> None:
    answer = engine.run("SELECT TIMESTAMPTZ '20000-01-01 00:00:00+00', DATE '20000-01-01'")
    assert all(str(value).startswith("20000-01-01") for value in answer.rows[0])


def test_common_table_expressions_are_not_taken_for_tables(engine: DuckDbEngine) -> None:
    sql = "WITH new AS (SELECT * FROM apilogs) SELECT count(*) FROM new a JOIN new USING (time)"
    assert engine.run(sql).rows == [(6,)]


def test_information_schema_knows_all_tables(engine: DuckDbEngine) -> None:
    found = engine.run(
        "SELECT table_schema, table_name FROM kafkawarehouse.information_schema.tables ORDER BY ALL"
    )
    assert ("other", "types") in found.rows
    assert ("streaming", "apilogs__dead_letters") in found.rows


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE x (a int)",
        "DROP TABLE apilogs",
        "INSERT INTO apilogs SELECT * FROM apilogs",
        "UPDATE apilogs SET name = 'x'",
        "DELETE FROM apilogs",
        "MERGE INTO apilogs USING errorlogs ON true WHEN MATCHED THEN DELETE",
        "TRUNCATE apilogs",
        "COPY apilogs TO '/tmp/never.csv'",
        "COPY (SELECT 1) TO '/tmp/never.csv'",
        "EXPORT DATABASE '/tmp/never'",
        "IMPORT DATABASE '/tmp/never'",
        "ATTACH '/tmp/never.db'",
        "DETACH kafkawarehouse",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA database_list",
        "SET threads = 1",
        "RESET threads",
        "USE kafkawarehouse",
        "CALL pragma_version()",
        "CHECKPOINT",
        "VACUUM",
        "BEGIN",
        "PREPARE p AS SELECT 1",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/never.csv'",
        "CREATE SECRET s (TYPE s3)",
        "SELECT 1; DROP TABLE apilogs",
        "SELECT 1; SELECT 2",
        "FROM read_csv('/etc/passwd')",
        "SELECT * FROM apilogs WHERE name IN (SELECT content FROM read_text('/etc/passwd'))",
        "WITH x AS (FROM glob('/*')) FROM x",
        "SELECT (SELECT count(*) FROM parquet_scan('/tmp/x.parquet'))",
        "FROM query('COPY (SELECT 1) TO ''/tmp/never.csv''')",
        "FROM sniff_csv('/etc/passwd')",
        "FROM iceberg_scan('/tmp/x')",
        "FROM duckdb_secrets()",
        "FROM json_execute_serialized_sql('{}')",
        "SELECT getenv('HOME')",
        "SHOW ALL TABLES",
    ],
)
def test_whatever_is_not_a_query_of_the_tables_is_refused(
    engine: DuckDbEngine, statement: str
) -> None:
    with pytest.raises(QueryFailed):
        engine.run(statement)
    assert not Path("/tmp/never.csv").exists()


@pytest.mark.parametrize(
    "name", ["'/etc/passwd'", "'data.parquet'", '"/tmp/a.csv"', "duckdb_settings"]
)
def test_a_file_is_not_a_table(engine: DuckDbEngine, name: str) -> None:
    with pytest.raises(TableMissing):
        engine.run(f"SELECT * FROM {name}")


def test_a_file_of_the_warehouse_is_not_a_table_either(
    engine: DuckDbEngine, settings: Settings, folder_of: FolderOf
) -> None:
    file = next(folder_of(settings, "streaming.apilogs").rglob("*.parquet"))
    for sql in (f"FROM '{file}'", f"WITH \"{file}\" AS (SELECT 1) FROM apilogs, '{file}'"):
        with pytest.raises(TableMissing):
            engine.run(sql)


def test_an_unknown_table_is_answered_with_the_nearest_names(engine: DuckDbEngine) -> None:
    with pytest.raises(TableMissing, match=r"'apilog' .* There is: streaming\.apilogs, "):
        engine.run("SELECT * FROM apilog")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT foo FROM apilogs", r'"foo" not found .* \(line 1, column 8, at foo\)'),
        ("SELECT 'é',\n  foo\nFROM apilogs", r"line 2, column 3, at foo"),
        ("SELEC 1", r'syntax error at or near "SELEC" \(line 1, column 1, at SELEC\)'),
        ("SELECT (1", r"syntax error at end of input"),
        ("SELECT CAST('x' AS INT)", r"Could not convert string 'x'"),
        (
            "SELECT CAST(i AS INT) FROM (SELECT repeat('9', range::INT % 20) i FROM range(9999))",
            "onver",
        ),
    ],
)
def test_bad_sql_is_explained_in_one_line_with_its_place(
    engine: DuckDbEngine, statement: str, message: str
) -> None:
    with pytest.raises(QueryFailed, match=message) as failure:
        engine.run(statement)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("condition", ["hash(range) = 5", "range < 3000000 OR hash(range) = 5"])
def test_a_running_query_can_be_interrupted(engine: DuckDbEngine, condition: str) -> None:
    failures: list[LakewardError] = []

    def ask() -> None:
        try:
            engine.run(f"SELECT * FROM range(100000000000) WHERE {condition}")
        except LakewardError as failure:
            failures.append(failure)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    time.sleep(0.3)
    engine.interrupt()
    asking.join(timeout=10)
    assert not asking.is_alive()
    assert "nterrupted" in str(failures[0])


def test_show_columns_tells_types_and_partitioning(engine: DuckDbEngine) -> None:
    answer = engine.run("SHOW COLUMNS FROM apilogs")
    assert answer.columns == ("Column", "Type", "Extra", "Comment")
    rows = {row[0]: row for row in answer.rows}
    assert rows["time"] == ("time", "timestamptz", "not null, partition by day", "Event timestamp")
    assert rows["bucket"][2] == "partition key"
    assert rows["tags"][1] == "map<string, string>"


def test_show_create_table_leaves_the_ledger_out(engine: DuckDbEngine) -> None:
    text = str(engine.run("SHOW CREATE TABLE apilogs").rows[0][0])
    assert text.startswith("CREATE TABLE `kafkawarehouse`.`streaming`.`apilogs` (\n")
    assert "`time` TIMESTAMP NOT NULL COMMENT 'Event timestamp'" in text
    assert "PARTITIONED BY (days(`time`), `bucket`)" in text
    assert "lakeward.ledger" not in text


def test_show_takes_patterns_and_limits(engine: DuckDbEngine) -> None:
    letters = engine.run("SHOW TABLES FROM streaming LIKE '%letters'")
    assert len(letters.rows) == 3
    assert engine.run("SHOW TABLES", keep=1).rows == [("apilogs",)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SHOW SCHEMAS FROM nowhere", "The catalog is kafkawarehouse"),
        ("SHOW TABLES FROM nowhere", "There is: other, streaming"),
        ("DESCRIBE nowhere", "There is no table 'nowhere'"),
        ('SELECT * FROM "apilogs$nothing"', r"There is: \$snapshots"),
    ],
)
def test_show_names_what_there_is_instead(
    engine: DuckDbEngine, statement: str, message: str
) -> None:
    with pytest.raises(LakewardError, match=message):
        engine.run(statement)


def test_a_lost_data_file_is_an_error_not_fewer_rows(
    own: tuple[Settings, DuckDbEngine], folder_of: FolderOf
) -> None:
    settings, engine = own
    next(folder_of(settings, "streaming.apilogs").rglob("*.parquet")).unlink()
    with pytest.raises(QueryFailed, match=r"Cannot open file .* lakeward verify"):
        engine.run("SELECT name FROM apilogs")
    assert engine.run("SELECT count(*) FROM auditlogs").rows == [(1,)]


def test_a_lost_metadata_file_is_named(
    own: tuple[Settings, DuckDbEngine], folder_of: FolderOf
) -> None:
    settings, engine = own
    for file in folder_of(settings, "streaming.errorlogs").rglob("*.metadata.json"):
        file.unlink()
    with pytest.raises(DestinationError, match=r"errorlogs cannot be read: No such file"):
        engine.run("SELECT * FROM errorlogs")
