"""Judge one record at a time: is it where it belongs, once, and unchanged?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from lakeward.verify.difference import first_difference
from lakeward.verify.expectation import Expectation, expect
from lakeward.verify.files import StoredFile
from lakeward.verify.history import History
from lakeward.verify.jobs import Job
from lakeward.verify.partitioning import PartitionField, misplacement, partition_fields
from lakeward.verify.readback import StoredRow
from lakeward.verify.report import Category
from lakeward.verify.span import Place
from lakeward.verify.strict_json import Undecidable, Unfit
from lakeward.verify.topics import Record

CRASHED = "crashes-decoder"
"""The reason of a record that no process survived: what else it might have been, nobody knows."""

Verdict = tuple[Category, str] | None
"""What is wrong, or nothing."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a job's records are judged by."""

    job: Job
    history: History
    files: Sequence[StoredFile]
    expectations: dict[int, Expectation]
    """By schema id; the newest schema comes first."""
    specs: dict[int, tuple[PartitionField, ...]]
    columns: dict[str, str]
    """Column name to column id, of the data table."""

    def expectations_at(self, place: Place, offset: int) -> list[Expectation]:
        """Return what the schemas an offset may have been judged by expect; all if unknown."""
        known = self.history.schema_ids(place, offset)
        expectations = [self.expectations[n] for n in known if n in self.expectations]
        return expectations or list(self.expectations.values())

    def misplaced(self, row: StoredRow) -> Verdict:
        file = self.files[row.file]
        wrong = misplacement(self.specs[file.spec_id], row.values, file.partition)
        return (Category.MISPLACED, f"{wrong} ({file.path})") if wrong else None


def make_rules(
    job: Job, history: History, files: Sequence[StoredFile], max_record_bytes: int
) -> Rules:
    """Prepare everything that depends on the table and not on the record."""
    table, current = job.table, job.table.schema()
    schemas = sorted(
        table.metadata.schemas, key=lambda schema: (schema != current, -schema.schema_id)
    )
    return Rules(
        job,
        history,
        files,
        {schema.schema_id: expect(schema, current, max_record_bytes) for schema in schemas},
        {spec_id: partition_fields(spec, current) for spec_id, spec in table.specs().items()},
        {field.name: str(field.field_id) for field in current.fields},
    )


def judge(
    rules: Rules, place: Place, record: Record, rows: list[StoredRow], letters: list[StoredRow]
) -> Verdict:
    """Decide on one record, given every row and every dead letter with its offset."""
    copies = len(rows) + len(letters)
    if record.value is None:
        return (Category.MISJUDGED, "a tombstone was stored") if copies else None
    if not copies:
        return Category.LOST, f"neither in {rules.job.table_name} nor in its dead letters"
    if copies > 1:
        return Category.DUPLICATED, f"{len(rows)} rows and {len(letters)} dead letters"
    return (
        judge_row(rules, place, record, rows[0])
        if rows
        else (judge_letter(rules, place, record, letters[0]))
    )


def judge_row(rules: Rules, place: Place, record: Record, row: StoredRow) -> Verdict:
    """Decide on one row: is it what one of the schemas it may have been judged by expects?"""
    verdict: Verdict = None
    for expectation in rules.expectations_at(place, record.offset):
        verdict = _judge_row(rules, expectation, place, record, row.values)
        if verdict is None:
            return None
    return verdict


def judge_letter(rules: Rules, place: Place, record: Record, letter: StoredRow) -> Verdict:
    """Decide on one dead letter: does it hold the record, and did that not fit?"""
    changed = _altered_letter(record, letter.values)
    if changed is not None:
        return Category.ALTERED, changed
    if letter.values["reason"] == CRASHED:
        raise Undecidable
    assert record.value is not None
    verdict: Verdict = None
    for expectation in rules.expectations_at(place, record.offset):
        verdict = _judge_letter(expectation, record.value, letter.values)
        if verdict is None:
            return None
    return verdict


def _judge_row(
    rules: Rules, expectation: Expectation, place: Place, record: Record, found: dict[str, Any]
) -> Verdict:
    assert record.value is not None
    try:
        expected = expectation.row(record.value)
    except Unfit as unfit:
        return Category.MISJUDGED, f"stored though it does not fit: {unfit}"
    _add_origin(expected, rules.columns, place, record)
    if expected == found:
        return None
    return Category.ALTERED, first_difference(rules.job.table.schema(), expected, found)


def _add_origin(row: dict[str, Any], columns: dict[str, str], place: Place, record: Record) -> None:
    row[columns["_topic"]], row[columns["_kafka_partition"]] = place
    row[columns["_offset"]] = record.offset
    if "_timestamp" in columns:
        row[columns["_timestamp"]] = _micros(record)


def _judge_letter(expectation: Expectation, value: bytes, letter: dict[str, Any]) -> Verdict:
    try:
        expectation.row(value)
    except Unfit:
        return None
    why = f"{letter['reason']}, {letter['message']}"
    return Category.MISJUDGED, f"a dead letter ({why}) though it fits the table"


def _altered_letter(record: Record, found: dict[str, Any]) -> str | None:
    for name, expected in (("value", record.value), ("key", record.key)):
        if found[name] != (None if expected is None else sha256(expected).hexdigest()):
            return f"the dead letter's {name} is not the record's, byte for byte"
    if found["timestamp"] != _micros(record):
        return f"the dead letter's timestamp is {found['timestamp']}, not {_micros(record)}"
    return None


def _micros(record: Record) -> int | None:
    return None if record.timestamp is None else record.timestamp * 1000
