"""A connector's configuration becomes a job, or one clear complaint that names the key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakeward.connect.minio import connector_config, minio_logs
from lakeward.connect.properties import idle_keys
from lakeward.connect.translate import read_connector, translate
from lakeward.errors import UsageError
from lakeward.settings import load_settings

SETTINGS = load_settings({"LAKEWARD_HOME": "/data/lake home"})
GIVEN = connector_config(minio_logs(SETTINGS)[0], SETTINGS)


def job(**changes: str) -> dict[str, str]:
    named = {key.replace("__", "-").replace("_", "."): value for key, value in changes.items()}
    return {**GIVEN, **named}


def test_the_connectors_of_the_minio_logs_have_the_settings_of_their_design() -> None:
    names = [connector_config(log, SETTINGS)["name"] for log in minio_logs(SETTINGS)]
    assert names == ["iceberg-sink-apilogs", "iceberg-sink-errorlogs", "iceberg-sink-auditlogs"]
    wanted = {
        "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "iceberg.tables.auto-create-enabled": "false",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.control.topic": "control-iceberg",
        "iceberg.control.commit.interval-ms": "10000",
        "iceberg.control.commit.timeout-ms": "60000",
        "value.converter.schemas.enable": "false",
    }
    assert wanted.items() <= GIVEN.items()


def test_a_configuration_becomes_a_job() -> None:
    spec = translate(GIVEN, "kafka:9092", "here")
    assert spec.name == "iceberg-sink-apilogs"
    assert spec.source.topics == ("apilogs",)
    assert spec.source.bootstrap_servers == "kafka:9092"
    assert str(spec.table) == "streaming.apilogs"
    assert spec.limits.commit_interval == 10.0
    assert spec.limits.commit_timeout == 60.0
    assert spec.group == "connect-iceberg-sink-apilogs"
    assert spec.catalog.name == "kafkawarehouse"
    assert spec.catalog.properties["warehouse"] == "file:///data/lake home/warehouse/kafkawarehouse"


def test_both_spellings_of_a_warehouse_mean_the_same_folder() -> None:
    plain = translate(job(iceberg_catalog_warehouse="/data/a b"), "k", "here")
    escaped = translate(job(iceberg_catalog_warehouse="file:///data/a%20b"), "k", "here")
    assert plain.catalog == escaped.catalog


def test_limits_do_not_change_a_jobs_revision_but_its_table_does() -> None:
    revision = translate(GIVEN, "k", "here").revision
    faster = translate(job(iceberg_control_commit_interval__ms="1"), "other", "here")
    assert faster.revision == revision
    assert translate(job(iceberg_tables="a.b"), "k", "here").revision != revision
    assert translate(job(max_record_bytes="5"), "k", "here").revision != revision


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"connector_class": "com.example.Evil"}, "connector.class"),
        ({"topics": ""}, "topics is missing"),
        ({"iceberg_tables": ""}, "iceberg.tables is missing"),
        ({"iceberg_tables": "a.b,c.d"}, "names 2 tables"),
        ({"iceberg_tables": "nodots"}, "write namespace.table"),
        ({"iceberg_tables": "a..b"}, "write namespace.table"),
        ({"tasks_max": "many"}, "tasks.max must be a whole number"),
        ({"iceberg_control_commit_interval__ms": "-5"}, "interval-ms must be a whole number"),
        ({"lakeward_metadata__columns": "maybe"}, "must be true or false"),
        ({"value_converter": "org.example.Avro"}, "value.converter"),
        ({"iceberg_catalog_uri": "http://somewhere"}, "iceberg.catalog.uri"),
        ({"iceberg_catalog_uri": "jdbc:sqlite:relative.db"}, "absolute paths"),
        ({"consumer_override_auto_offset_reset": "middle"}, "auto.offset.reset"),
        ({"lakeward_batch_records": "0"}, "must be at least 1"),
        ({"transforms": "mask"}, "changes what is written"),
        ({"iceberg_tables_upsert__mode__enabled": "true"}, "changes what is written"),
        ({"iceberg_tables_route__field": "kind"}, "changes what is written"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key_and_place(
    change: dict[str, str], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint) as refused:
        translate(job(**change), "k", "orders.json")
    assert "orders.json" in str(refused.value)


def test_keys_without_effect_are_named() -> None:
    given = {**GIVEN, "iceberg.tabels": "typo", "iceberg.catalog.io-impl": "S3FileIO"}
    notes = idle_keys(given)
    assert "iceberg.catalog.io-impl (not known)" in notes
    assert "iceberg.tabels (not known)" in notes
    assert "tasks.max" in notes
    assert not any("iceberg.catalog.uri" in note for note in notes)


@pytest.mark.parametrize(
    "content",
    [GIVEN, {"name": GIVEN["name"], "config": {k: v for k, v in GIVEN.items() if k != "name"}}],
    ids=["flat", "as POSTed"],
)
def test_a_connector_file_has_either_of_two_forms(
    content: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "connector.json"
    path.write_text(json.dumps(content))
    assert read_connector(path) == GIVEN


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"name": {"a": 1}}', '"x"'])
def test_a_file_that_is_no_connector_is_refused_with_its_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"broken\.json"):
        read_connector(path)


def test_a_missing_file_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.json"):
        read_connector(tmp_path / "nowhere.json")
