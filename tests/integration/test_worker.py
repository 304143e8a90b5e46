"""A worker on real Spark, driven as a user drives it: started, killed, interrupted, verified."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.tables import load_table
from lakeward.catalogs.warehouse import embedded_catalog, spark_catalog_settings
from lakeward.model.spec import TableName
from lakeward.session import build_session
from lakeward.settings import Settings, load_settings
from lakeward.stack.jars import fetch
from lakeward.stack.java import find_java
from lakeward.stack.kafka import KafkaBroker

pytestmark = pytest.mark.integration

NAMES = ("apilogs", "errorlogs", "auditlogs")
CALL_INFO = (
    "struct<httpStatusCode:int,rx:bigint,tx:bigint,txHeaders:bigint,timeToFirstByte:string,"
    "requestReadTime:string,responseWriteTime:string,requestTime:string,timeToResponse:string,"
    "readBlocked:string,writeBlocked:string,sourceHost:string,requestID:string,userAgent:string,"
    "requestPath:string,requestHost:string,requestClaims:map<string,string>,"
    "requestQuery:map<string,string>,requestHeader:map<string,string>,"
    "responseHeader:map<string,string>,accessKey:string,parentUser:string>"
)
ORIGIN = {
    "_topic": "string",
    "_kafka_partition": "int",
    "_offset": "bigint",
    "_timestamp": "timestamp",
}
TAGS = "map<string,string>"
COLUMNS = {
    "apilogs": {
        "version": "string", "time": "timestamp", "node": "string", "origin": "string",
        "type": "string", "name": "string", "bucket": "string", "object": "string",
        "versionId": "string", "tags": TAGS, "callInfo": CALL_INFO, **ORIGIN,
    },
    "errorlogs": {
        "version": "string", "node": "string", "time": "timestamp", "message": "string",
        "apiName": "string", "tags": TAGS,
        "trace": "struct<source:array<string>,variables:map<string,string>>", **ORIGIN,
    },
    "auditlogs": {
        "version": "string", "time": "timestamp", "node": "string", "apiName": "string",
        "category": "string", "action": "string", "bucket": "string", "tags": TAGS,
        "requestID": "string", "requestClaims": TAGS, "sourceHost": "string",
        "accessKey": "string", "parentUser": "string", "details": "string", "message": "string",
        "metadata": "string", **ORIGIN,
    },
}  # fmt: skip
PARTITIONING = {
    "apilogs": ["days(time)", "bucket"],
    "errorlogs": ["days(time)"],
    "auditlogs": ["days(time)", "category"],
}


class Installation:
    """A home of its own on the shared broker, and the commands a user types in it."""

    def __init__(self, home: Path, broker: KafkaBroker, cache: Path) -> None:
        run = uuid.uuid4().hex[:6]
        self.environment = {
            "LAKEWARD_HOME": str(home),
            "LAKEWARD_CACHE": str(cache),
            "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
            "API_LOGS_TOPIC": f"apilogs-{run}",
            "ERROR_LOGS_TOPIC": f"errorlogs-{run}",
            "AUDIT_LOGS_TOPIC": f"auditlogs-{run}",
            "LAKEWARD_SPARK_MASTER": "local[2,4]",
            "PYTHONFAULTHANDLER": "1",
        }
        self.settings: Settings = load_settings(self.environment)
        self.sent = 0

    def type(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lakeward", *arguments],
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def init(self) -> None:
        done = self.type("init")
        assert done.returncode == 0, done.stderr
        for path in (self.settings.home / "connectors").glob("*.json"):
            connector = json.loads(path.read_text())
            connector["config"]["iceberg.control.commit.interval-ms"] = "300"
            path.write_text(json.dumps(connector))

    def produce(self, count: int) -> None:
        done = self.type("produce", "-n", str(count), "--faults", "0.01")
        assert done.returncode == 0, done.stderr
        self.sent += 3 * count

    def worker(self) -> subprocess.Popen[bytes]:
        connectors = sorted(map(str, (self.settings.home / "connectors").glob("*.json")))
        self.settings.logs.mkdir(parents=True, exist_ok=True)
        with (self.settings.logs / "worker.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "lakeward", "worker", *connectors],
                env=os.environ | self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def committed(self) -> int:
        """Count what the ledgers say is done."""
        total = 0
        for name in NAMES:
            properties = self.table(name).properties
            for key, text in properties.items():
                if key.startswith("lakeward.ledger."):
                    topics = json.loads(text)["topics"].values()
                    total += sum(at for topic in topics for at, _ in topic["positions"].values())
        return total

    def claimed_by(self, pid: int) -> bool:
        """Tell whether that worker is up: one interrupted earlier has no say in how it ends."""
        reports = [json.loads(path.read_text()) for path in self.settings.progress.glob("*.json")]
        return any(report["pid"] == pid for report in reports)

    def table(self, name: str) -> Any:
        settings = self.settings
        catalog = open_catalog(
            embedded_catalog(settings.warehouse_name, settings.catalog_file, settings.warehouse)
        )
        return load_table(catalog, TableName((settings.namespace,), name))

    def drain(self) -> None:
        """Run a worker until everything sent is committed, then interrupt it."""
        worker = self.worker()
        try:
            wait_until(
                lambda: self.claimed_by(worker.pid) and self.committed() >= self.sent, 120, worker
            )
        finally:
            worker.send_signal(signal.SIGINT)
            assert worker.wait(20) == 0

    def assert_verified(self) -> None:
        done = self.type("verify")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "0 lost, 0 duplicated" in done.stdout
        assert f"Verified {self.sent:,} records" in done.stdout


def wait_until(
    happens: Callable[[], bool], seconds: float, worker: subprocess.Popen[bytes]
) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert worker.poll() is None, "the worker ended by itself"
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


@pytest.fixture
def installation(broker: KafkaBroker, settings: Settings, tmp_path: Path) -> Installation:
    made = Installation(tmp_path / "home", broker, settings.cache)
    made.init()
    return made


def test_five_kills_at_random_moments_lose_and_double_nothing(installation: Installation) -> None:
    dice = random.Random(20261115)
    for _ in range(5):
        installation.produce(4000)
        before = installation.committed()
        worker = installation.worker()
        wait_until(lambda at=before: installation.committed() > at, 90, worker)  # type: ignore[misc]
        installation.produce(1000)
        time.sleep(dice.uniform(0, 1.5))
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(10)
    installation.drain()
    installation.assert_verified()


def test_only_warehouse_and_catalog_are_needed_to_go_on(installation: Installation) -> None:
    installation.produce(2000)
    installation.drain()
    home = installation.settings.home
    kept = {"warehouse", "catalog.db", "catalog.db-wal", "catalog.db-shm"}
    for entry in home.iterdir():
        if entry.name not in kept:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    installation.init()
    installation.produce(1000)
    installation.drain()
    installation.assert_verified()


# py4j leaves its sockets to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_three_engines_see_the_same_tables_and_maintenance_does_not_disturb_a_job(
    installation: Installation,
) -> None:
    installation.produce(3000)
    installation.drain()
    settings = installation.settings
    spark = build_session(
        "engines", "local[1]", find_java(settings).home, fetch("spark", settings),
        spark_catalog_settings(settings.warehouse_name, settings.catalog_file, settings.warehouse),
    )  # fmt: skip
    try:
        for name in NAMES:
            full = f"{settings.warehouse_name}.{settings.namespace}.{name}"
            rows = installation.table(name).scan().count()
            assert rows > 2900
            assert spark.table(full).count() == rows
            shown = installation.type("query", f"SELECT count(*) AS n FROM {full}", "--json")
            assert json.loads(shown.stdout) == [{"n": rows}]
            found = {
                field.name: field.dataType.simpleString() for field in spark.table(full).schema
            }
            assert found == COLUMNS[name]
            required = [f.name for f in spark.table(full).schema if not f.nullable]
            assert required == ["time"]
            parts = spark.sql(f"DESCRIBE TABLE EXTENDED {full}").collect()
            where = [row.data_type for row in parts if row.col_name.startswith("Part ")]
            assert where == PARTITIONING[name]
        api = f"{settings.namespace}.apilogs"
        catalog = settings.warehouse_name
        spark.sql(f"CALL {catalog}.system.rewrite_data_files(table => '{api}')")
        spark.sql(
            f"CALL {catalog}.system.expire_snapshots(table => '{api}', retain_last => 1,"
            " older_than => TIMESTAMP '2100-01-01 00:00:00')"
        )
        assert len(installation.table("apilogs").metadata.snapshots) == 1
    finally:
        spark.stop()
    installation.produce(500)
    installation.drain()
    installation.assert_verified()


def test_ctrl_c_ends_a_worker_in_good_order(installation: Installation) -> None:
    installation.produce(2000)
    worker = installation.worker()
    wait_until(lambda: installation.committed() > 0, 60, worker)
    worker.send_signal(signal.SIGINT)
    assert worker.wait(20) == 0


def test_a_connector_that_makes_no_sense_is_refused_before_spark_starts(
    installation: Installation, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"name":"x","config":{"connector.class":"com.example.Loader","topics":"t"}}')
    done = installation.type("worker", str(wrong))
    assert done.returncode == 2
    assert "connector.class" in done.stderr
    assert "Traceback" not in done.stderr
