"""The verifier verified: real Kafka, real tables written by hand, one thing wrong at a time."""

from __future__ import annotations

import hashlib
import json
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestamptzType,
)

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.cli.main import main
from lakeward.settings import load_settings
from lakeward.stack.kafka import KafkaBroker

pytestmark = pytest.mark.integration

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
JOB = "sink"
DATA = Schema(
    NestedField(1, "time", TimestamptzType(), required=True),
    NestedField(2, "bucket", StringType(), required=False),
    NestedField(3, "count", LongType(), required=False),
    NestedField(4, "details", StringType(), required=False),
    NestedField(5, "tags", MapType(10, StringType(), 11, StringType(), False), required=False),
    NestedField(6, "_topic", StringType(), required=False),
    NestedField(7, "_kafka_partition", IntegerType(), required=False),
    NestedField(8, "_offset", LongType(), required=False),
    NestedField(9, "_timestamp", TimestamptzType(), required=False),
)
SPEC = PartitionSpec(
    PartitionField(1, 1000, DayTransform(), "time_day"),
    PartitionField(2, 1001, IdentityTransform(), "bucket"),
    PartitionField(3, 1002, BucketTransform(4), "count_bucket"),
)
LETTERS = Schema(
    NestedField(1, "topic", StringType(), required=True),
    NestedField(2, "partition", IntegerType(), required=True),
    NestedField(3, "offset", LongType(), required=True),
    NestedField(4, "timestamp", TimestamptzType(), required=False),
    NestedField(5, "key", BinaryType(), required=False),
    NestedField(6, "value", BinaryType(), required=False),
    NestedField(7, "reason", StringType(), required=True),
    NestedField(8, "field", StringType(), required=False),
    NestedField(9, "message", StringType(), required=True),
)
Row = dict[str, Any]


@dataclass
class Lake:
    """One topic and what a job would leave of it, open to tampering before it is committed."""

    home: Path
    servers: str
    catalog: Catalog
    admin: AdminClient
    topic: str = field(default_factory=lambda: f"verify-{uuid.uuid4().hex[:8]}")
    sent: int = 0
    stamp: int = field(default_factory=lambda: int(datetime.now(UTC).timestamp() * 1000))
    rows: list[Row] = field(default_factory=list)
    letters: list[Row] = field(default_factory=list)

    @property
    def table(self) -> Table:
        return self.catalog.load_table("db.logs")

    @property
    def letter_table(self) -> Table:
        return self.catalog.load_table("db.logs__dead_letters")

    def create(self) -> None:
        self.admin.create_topics([NewTopic(self.topic, 1)])[self.topic].result(10)
        create = self.catalog.create_table
        create("db.logs", DATA, partition_spec=SPEC, properties={"format-version": "2"})
        create("db.logs__dead_letters", LETTERS, properties={"format-version": "2"})

    def send(self, *values: bytes | None) -> None:
        """Send values without keeping account of where they belong."""
        producer = Producer({"bootstrap.servers": self.servers})
        for value in values:
            producer.produce(self.topic, value, key=b"k", partition=0, timestamp=self.stamp)
        assert producer.flush(10) == 0
        self.sent += len(values)

    def send_good(self, number: int, **more: Any) -> None:
        """Send a record that fits, and note the row it must become."""
        time = EPOCH + timedelta(days=20_000, seconds=number)
        bucket = f"b{number % 2}"
        value = {"time": f"{time:%Y-%m-%dT%H:%M:%S}.123456789Z", "bucket": bucket, "count": number}
        row = {
            "time": time + timedelta(microseconds=123_456),
            "bucket": bucket,
            "count": number,
            "_topic": self.topic,
            "_kafka_partition": 0,
            "_offset": self.sent,
            "_timestamp": EPOCH + timedelta(milliseconds=self.stamp),
        }
        self.rows.append(row)
        self.send(json.dumps(value | more).encode())

    def send_bad(self, value: bytes) -> None:
        """Send a record that does not fit, and note the dead letter it must become."""
        self.letters.append(self.letter(self.sent, value))
        self.send(value)

    def letter(self, offset: int, value: bytes) -> Row:
        return {
            "topic": self.topic, "partition": 0, "offset": offset, "key": b"k", "value": value,
            "timestamp": EPOCH + timedelta(milliseconds=self.stamp),
            "reason": "not-json", "message": "it is not JSON",
        }  # fmt: skip

    def commit(self, end: int | None = None, **changes: Any) -> None:
        """Write dead letters, then rows and the ledger, as a job does."""
        end = self.sent if end is None else end
        if self.letters:
            _append(self.letter_table, self.letters, {})
        ranges = {self.topic: {"0": changes.pop("range", [0, end])}}
        summary = {
            "lakeward.job": JOB,
            "lakeward.batch": "1",
            "lakeward.ranges": json.dumps(ranges),
        }
        _set_ledger(self.letter_table, self.ledger(changes.pop("letters_end", end), None))
        _append(self.table, self.rows, summary)
        _set_ledger(self.table, self.ledger(end, ["db.logs__dead_letters"]) | changes)

    def ledger(self, end: int, tables: list[str] | None) -> Row:
        described = self.admin.describe_topics(TopicCollection([self.topic]))[self.topic].result(10)
        table = self.letter_table if tables is None else self.table
        return {
            "version": 1, "job": JOB, "table_uuid": str(table.metadata.table_uuid),
            "cluster_id": self.admin.list_topics(timeout=10).cluster_id, "tables": tables,
            "topics": {
                self.topic: {
                    "id": str(described.topic_id), "starts": {"0": 0}, "positions": {"0": [end, 0]},
                }
            },
        }  # fmt: skip


def _append(table: Table, rows: list[Row], summary: dict[str, str]) -> None:
    content = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
    table.append(content, snapshot_properties=summary)


def _set_ledger(table: Table, ledger: Row) -> None:
    with table.transaction() as change:
        change.set_properties({f"lakeward.ledger.{JOB}": json.dumps(ledger)})


@dataclass
class Outcome:
    """What a run of the command came to."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def found(self) -> dict[str, int]:
        return {name: count for name, count in self.report["counts"].items() if count}


Verify = Callable[..., Outcome]


@pytest.fixture
def lake(broker: KafkaBroker, tmp_path: Path) -> Iterator[Lake]:
    settings = load_settings({"LAKEWARD_HOME": str(tmp_path)})
    create_warehouse(settings.catalog_file, settings.warehouse)
    catalog = open_catalog(
        embedded_catalog(settings.warehouse_name, settings.catalog_file, settings.warehouse)
    )
    catalog.create_namespace("db")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    made = Lake(tmp_path, broker.bootstrap_servers, catalog, admin)
    made.create()
    yield made
    made.admin.delete_topics([made.topic])[made.topic].result(10)


@pytest.fixture
def verify(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Verify:
    monkeypatch.setenv("LAKEWARD_HOME", str(lake.home))
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", lake.servers)

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["lakeward", "verify", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, shown.out, shown.err)

    return run


@pytest.fixture
def ten(lake: Lake) -> Lake:
    """Eight good records and two bad ones, not committed yet."""
    for number in range(8):
        lake.send_good(number)
    lake.send_bad(b"{not json")
    lake.send_bad(b'{"bucket": "no time"}')
    return lake


def test_what_a_faithful_job_leaves_is_clean(ten: Lake, verify: Verify) -> None:
    ten.send(None)
    ten.send_good(20, details={"b": [1.50], "a": None}, tags={"x": 1.10}, unknown={"y": 1})
    ten.rows[-1] |= {"details": '{"a":null,"b":[1.5]}', "tags": [("x", "1.10")]}
    ten.commit()
    done = verify()
    assert done.code == 0
    assert "Verified 12 records: 0 lost, 0 duplicated, 0 altered, 0 misplaced" in done.out
    (partition,) = verify("--json").report["partitions"]
    counted = [partition[name] for name in ("records", "rows", "dead_letters", "tombstones")]
    assert counted == [12, 9, 2, 1]


def test_aborted_records_and_markers_leave_gaps_that_are_nobodys_fault(
    ten: Lake, verify: Verify
) -> None:
    producer = Producer({"bootstrap.servers": ten.servers, "transactional.id": ten.topic})
    producer.init_transactions(20)
    for ends in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(ten.topic, b'{"time": 0}', partition=0, timestamp=ten.stamp)
        producer.flush(10)
        ends(20)
    # Two records and a marker after each: offsets 10 to 13, of which only 12 is visible.
    row = {"time": EPOCH, "_offset": 12, "_topic": ten.topic, "_kafka_partition": 0}
    ten.rows.append(row | {"_timestamp": EPOCH + timedelta(milliseconds=ten.stamp)})
    ten.commit(end=14)
    done = verify("--json")
    assert done.code == 0, done.out
    assert done.report["records"] == 11


def test_a_deleted_row_is_lost(ten: Lake, verify: Verify) -> None:
    del ten.rows[3]
    ten.commit()
    done = verify()
    assert done.code == 1
    assert f"lost: {JOB}, {ten.topic}-0 offset 3: neither in db.logs" in done.out
    assert "0 lost, 0 duplicated" not in done.out


def test_a_missing_dead_letter_is_lost(ten: Lake, verify: Verify) -> None:
    del ten.letters[0]
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"lost": 1})
    assert done.report["findings"][0]["offset"] == 8


@pytest.mark.parametrize("where", ["rows", "letters", "both"])
def test_a_record_stored_twice_is_duplicated(ten: Lake, verify: Verify, where: str) -> None:
    if where == "rows":
        ten.rows.append(ten.rows[2])
    elif where == "letters":
        ten.letters.append(ten.letters[0])
    else:
        ten.letters.append(ten.letter(2, b"{}"))
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"duplicated": 1})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("details", "{}"),
        ("tags", [("a", "b")]),
        ("_timestamp", EPOCH),
        ("time", EPOCH + timedelta(days=20_000, seconds=4)),
    ],
)
def test_a_changed_value_is_altered(ten: Lake, verify: Verify, column: str, value: Any) -> None:
    ten.rows[4][column] = value
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"altered": 1})
    (finding,) = done.report["findings"]
    assert finding["offset"] == 4
    assert f"column {column}" in finding["what"]


@pytest.mark.parametrize("column", ["value", "key", "timestamp"])
def test_a_changed_dead_letter_is_altered(ten: Lake, verify: Verify, column: str) -> None:
    ten.letters[1][column] = None
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"altered": 1})
    assert column in done.report["findings"][0]["what"]


def test_a_dropped_file_is_missing_and_its_rows_are_lost(ten: Lake, verify: Verify) -> None:
    ten.commit()
    task = next(iter(ten.table.scan().plan_files()))
    Path(task.file.file_path.removeprefix("file://")).unlink()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"files": 1, "lost": task.file.record_count})
    assert "data file missing" in done.report["findings"][0]["what"]


def test_a_row_in_the_wrong_file_is_misplaced(ten: Lake, verify: Verify) -> None:
    moved = ten.rows.pop()
    ten.commit()
    _append_to_partition(ten.table, moved, Record(20_001, moved["bucket"], 0))
    done = verify("--json", "--findings", "1")
    assert (done.code, done.found) == (1, {"misplaced": 1})
    assert "partition time_day: the row gives 20000, its file 20001" in done.out


def _append_to_partition(table: Table, row: Row, partition: Record) -> None:
    path = f"{table.location()}/data/by-hand.parquet"
    content = pa.Table.from_pylist([row], schema=table.schema().as_arrow())
    pq.write_table(content, path.removeprefix("file://"))
    file = DataFile.from_args(
        content=DataFileContent.DATA, file_path=path, file_format=FileFormat.PARQUET,
        partition=partition, record_count=1, file_size_in_bytes=1, column_sizes={},
        value_counts={}, null_value_counts={}, nan_value_counts={}, lower_bounds={},
        upper_bounds={},
    )  # fmt: skip
    file.spec_id = table.spec().spec_id
    with table.transaction() as change, change.update_snapshot().fast_append() as added:
        added.append_data_file(file)


def test_a_good_record_among_the_dead_letters_is_misjudged(ten: Lake, verify: Verify) -> None:
    value = b'{"time": 0, "count": 1.0}'
    ten.send_bad(value)
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"misjudged": 1})
    assert "though it fits" in done.report["findings"][0]["what"]


def test_a_bad_record_among_the_rows_is_misjudged(ten: Lake, verify: Verify) -> None:
    ten.send_good(30, count=1.9)
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"misjudged": 1})
    assert "count: has a fraction" in done.report["findings"][0]["what"]


def test_a_stored_tombstone_is_misjudged(ten: Lake, verify: Verify) -> None:
    ten.letters.append(ten.letter(ten.sent, b""))
    ten.send(None)
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"misjudged": 1})


def test_a_record_over_the_limit_belongs_to_the_dead_letters(ten: Lake, verify: Verify) -> None:
    ten.send_bad(b'{"time": 0, "details": "%s"}' % (b"x" * 2000))
    ten.commit()
    assert verify("--json").found == {"misjudged": 1}
    assert verify("--max-record-bytes", "1000").code == 0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"_offset": 99}, "past the job's position"),
        ({"_kafka_partition": 7}, "which the job has not read"),
        ({"_topic": "elsewhere"}, "which the job has not read"),
        ({"_topic": None, "_kafka_partition": None, "_offset": None}, "a row of no topic"),
    ],
)
def test_a_row_kafka_knows_nothing_of_is_a_phantom(
    ten: Lake, verify: Verify, changes: Row, why: str
) -> None:
    ten.rows.append(ten.rows[0] | changes)
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"phantom": 1})
    assert why in done.report["findings"][0]["what"]


def test_offsets_skipped_by_the_ledger_are_found(ten: Lake, verify: Verify) -> None:
    ten.commit(range=[2, 10])
    done = verify("--json")
    assert (done.code, done.found) == (1, {"ledger": 1})
    assert "a gap in" in done.report["findings"][0]["what"]


@pytest.mark.parametrize("changes", [{"table_uuid": "another"}, {"cluster_id": "another"}])
def test_a_ledger_of_another_table_or_cluster_is_found(
    ten: Lake, verify: Verify, changes: Row
) -> None:
    ten.commit(**changes)
    done = verify("--json")
    assert (done.code, done.found) == (1, {"ledger": 1})


def test_a_topic_created_again_is_found_and_its_rows_are_not_judged(
    ten: Lake, verify: Verify
) -> None:
    ten.commit()
    ledger = ten.ledger(ten.sent, ["db.logs__dead_letters"])
    ledger["topics"][ten.topic]["id"] = "another"
    _set_ledger(ten.table, ledger)
    done = verify("--json")
    assert (done.code, done.found) == (1, {"ledger": 1})


def test_dead_letters_ahead_of_the_table_are_a_batch_not_finished_yet(
    ten: Lake, verify: Verify
) -> None:
    ten.commit(end=8, letters_end=10)
    done = verify("--json")
    assert done.code == 0, done.out
    assert done.report["records"] == 8


def test_records_kafka_has_deleted_are_counted_and_no_failure(ten: Lake, verify: Verify) -> None:
    ten.commit()
    partition = TopicPartition(ten.topic, 0, 6)
    ten.admin.delete_records([partition])[partition].result(10)
    done = verify("--json")
    assert done.code == 0, done.out
    assert (done.report["records"], done.report["unverifiable"]) == (4, 6)


def test_a_row_stored_twice_is_found_also_where_kafka_has_deleted_the_record(
    ten: Lake, verify: Verify
) -> None:
    ten.rows.append(ten.rows[2])
    ten.commit()
    partition = TopicPartition(ten.topic, 0, 6)
    ten.admin.delete_records([partition])[partition].result(10)
    done = verify("--json")
    assert (done.code, done.found) == (1, {"duplicated": 1})


def test_rows_are_judged_by_the_schema_they_were_written_under(ten: Lake, verify: Verify) -> None:
    ten.send_good(40, added_later="x")
    ten.commit()
    with ten.table.update_schema() as change:
        change.add_column("added_later", StringType())
    assert verify().code == 0


def test_a_dead_letter_table_that_is_gone_is_found(ten: Lake, verify: Verify) -> None:
    ten.commit()
    ten.catalog.drop_table("db.logs__dead_letters")
    done = verify("--json")
    assert (done.code, done.found) == (1, {"ledger": 1, "lost": 2})


def test_rows_another_job_brought_are_its_own_affair(ten: Lake, verify: Verify) -> None:
    ten.rows.append(ten.rows[0] | {"_topic": "elsewhere"})
    ten.commit()
    ledger = ten.ledger(0, ["db.logs__dead_letters"]) | {"job": "other"}
    ledger["topics"] = {"elsewhere": ledger["topics"].pop(ten.topic)}
    with ten.table.transaction() as change:
        change.set_properties({"lakeward.ledger.other": json.dumps(ledger)})
    assert verify(JOB).code == 0


def test_a_position_past_the_end_of_the_log_is_found(ten: Lake, verify: Verify) -> None:
    ten.commit(end=50)
    done = verify("--json")
    assert (done.code, done.found) == (1, {"ledger": 1})
    assert "Kafka ends at 10" in done.report["findings"][0]["what"]


def test_a_record_nested_too_deep_to_compare_is_counted(ten: Lake, verify: Verify) -> None:
    ten.send_bad(b'{"time": 0, "details": %s}' % (b"[" * 50_000 + b"]" * 50_000))
    ten.commit()
    done = verify("--json")
    assert done.code == 0, done.out
    assert done.report["unverifiable"] == 1


def test_a_record_no_process_survived_is_counted_and_its_bytes_are_compared(
    ten: Lake, verify: Verify
) -> None:
    ten.send_bad(b'{"time": 0}')
    ten.letters[-1]["reason"] = "crashes-decoder"
    ten.send_bad(b'{"time": 1}')
    ten.letters[-1] |= {"reason": "crashes-decoder", "value": b"other"}
    ten.commit()
    done = verify("--json")
    assert (done.code, done.found) == (1, {"altered": 1})
    assert done.report["unverifiable"] == 1


def test_values_other_than_those_produced_are_found(ten: Lake, verify: Verify) -> None:
    ten.commit()
    ranges = {"topic": ten.topic, "partition": 0, "first_offset": 0, "end_offset": 10, "count": 10}
    known = ten.ledger(10, None)["topics"][ten.topic]
    (ten.home / "manifests").mkdir()
    (ten.home / "manifests" / "1-run.json").write_text(
        json.dumps(
            {
                "topics": [{"name": ten.topic, "id": known["id"]}],
                "ranges": [ranges | {"exclusive": True, "sha256": hashlib.sha256().hexdigest()}],
            }
        )
    )
    done = verify("--json")
    assert (done.code, done.found) == (1, {"sent": 1})


def test_unreachable_brokers_are_one_line(ten: Lake, verify: Verify) -> None:
    ten.commit()
    done = verify("--bootstrap-servers", "127.0.0.1:1")
    assert done.code == 1
    assert done.err.startswith("Error: Kafka cannot be reached")
    assert done.err.count("\n") == 1


def test_a_missing_topic_is_one_line(ten: Lake, verify: Verify) -> None:
    ten.commit()
    ledger = ten.ledger(ten.sent, ["db.logs__dead_letters"])
    ledger["topics"] = {"verify-nowhere": ledger["topics"][ten.topic]}
    _set_ledger(ten.table, ledger)
    done = verify()
    assert done.code == 1
    assert done.err.startswith("Error: The topic does not exist (topic verify-nowhere")


def test_a_job_that_does_not_exist_is_one_line(ten: Lake, verify: Verify) -> None:
    ten.commit()
    done = verify("nobody")
    assert done.code == 1
    assert "No job named nobody" in done.err
    assert f"There are: {JOB}." in done.err
