from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lakeward.produce.shapes import Log, logs_by_topic, open_shape
from lakeward.records.parse_json import decode_record
from lakeward.schemas.minio_api import API_LOG
from lakeward.schemas.minio_audit import AUDIT_LOG
from lakeward.schemas.minio_error import ERROR_LOG
from lakeward.settings import load_settings

START = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
COUNT = 3_000
SHAPES = {Log.API: API_LOG, Log.ERROR: ERROR_LOG, Log.AUDIT: AUDIT_LOG}
REAL = Path(__file__).parents[2] / "data" / "minio-audit-sample.jsonl"

TIME = re.compile(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
REQUEST_ID = re.compile(r"[0-9A-F]{16}")
DURATION = re.compile(r"(\d+h)?(\d+m)?\d+(\.\d{1,9})?(s|ms|µs|ns)|\d+ns")
DURATIONS = ("timeToFirstByte", "requestReadTime", "responseWriteTime", "requestTime",
             "timeToResponse", "readBlocked", "writeBlocked")  # fmt: skip


def make(log: Log) -> list[bytes]:
    moments = int(START.timestamp()) * 10**9 + np.arange(COUNT) * 4_321
    shape = open_shape(log, np.random.default_rng(1), START)
    return shape.records(np.random.default_rng(2), moments)


@pytest.fixture(scope="module")
def values() -> dict[Log, list[bytes]]:
    return {log: make(log) for log in Log}


@pytest.fixture(scope="module")
def parsed(values: dict[Log, list[bytes]]) -> dict[Log, list[dict[str, Any]]]:
    return {log: [json.loads(value) for value in values[log]] for log in Log}


@pytest.fixture(scope="module")
def calls(parsed: dict[Log, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [record["callInfo"] for record in parsed[Log.API] if "callInfo" in record]


def milliseconds(duration: str) -> float:
    sizes = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1, "µs": 1e-3, "ns": 1e-6}
    return sum(
        float(amount) * sizes[unit]
        for amount, unit in re.findall(r"([0-9.]+)(h|ms|m|s|µs|ns)", duration)
    )


@pytest.mark.parametrize("log", Log)
def test_every_sound_record_fits_its_table(values: dict[Log, list[bytes]], log: Log) -> None:
    for value in values[log]:
        row, unknown = decode_record(value.decode(), SHAPES[log].fields)
        assert row["time"] is not None
        assert not unknown


@pytest.mark.parametrize("log", Log)
def test_the_same_seed_makes_the_same_bytes(values: dict[Log, list[bytes]], log: Log) -> None:
    assert make(log) == values[log]


@pytest.mark.parametrize("log", Log)
def test_times_are_as_go_writes_them_mostly_utc_with_any_number_of_digits(
    parsed: dict[Log, list[dict[str, Any]]], log: Log
) -> None:
    times = [record["time"] for record in parsed[log]]
    assert all(TIME.fullmatch(time) for time in times)
    digits = Counter(len(re.sub(r"^[^.]*\.?|Z$|[+-]\d\d:\d\d$", "", time)) for time in times)
    assert digits[9] > digits[6] > 0
    assert {0, 3, 8} <= digits.keys()
    assert 0.9 < sum(time.endswith("Z") for time in times) / COUNT < 1


def test_an_api_record_is_about_650_bytes_long(values: dict[Log, list[bytes]]) -> None:
    assert 600 < sum(map(len, values[Log.API])) / COUNT < 700


def test_ten_buckets_are_used_some_far_more_than_others(
    parsed: dict[Log, list[dict[str, Any]]],
) -> None:
    buckets = Counter(record.get("bucket") for record in parsed[Log.API])
    assert len(buckets.keys() - {None}) == 10
    assert buckets["telemetry-raw"] > 4 * buckets["finance-reports"] > 0


def test_popular_objects_are_read_again_and_new_ones_have_their_own_key(
    parsed: dict[Log, list[dict[str, Any]]],
) -> None:
    read = [each["object"] for each in parsed[Log.API] if each["name"] == "s3.GetObject"]
    written = [each["object"] for each in parsed[Log.API] if each["name"] == "s3.PutObject"]
    assert max(Counter(read).values()) > 10
    assert len(set(written)) == len(written) > 500


def test_every_call_has_its_own_request_id_and_sizes(calls: list[dict[str, Any]]) -> None:
    assert len({call["requestID"] for call in calls}) == len(calls)
    sizes = [call["tx"] for call in calls if call.get("tx") and call["httpStatusCode"] == 200]
    assert len(set(sizes)) > 0.9 * len(sizes)
    assert all(type(size) is int for size in sizes)


def test_durations_are_go_durations_and_the_first_byte_comes_before_the_end(
    calls: list[dict[str, Any]],
) -> None:
    for call in calls:
        assert all(DURATION.fullmatch(call[name]) for name in DURATIONS if name in call)
        first, last = milliseconds(call["timeToFirstByte"]), milliseconds(call["timeToResponse"])
        assert 0 < first <= last
    assert len({call["timeToResponse"] for call in calls}) > COUNT / 3


def test_some_calls_fail_and_most_do_not(calls: list[dict[str, Any]]) -> None:
    statuses = Counter(call["httpStatusCode"] for call in calls)
    failed = sum(count for status, count in statuses.items() if status >= 400)
    assert {200, 204, 206, 304, 403, 404, 503} <= statuses.keys()
    assert 0.01 < failed / len(calls) < 0.1


def test_empty_fields_are_left_out_as_go_leaves_them_out(
    parsed: dict[Log, list[dict[str, Any]]], calls: list[dict[str, Any]]
) -> None:
    assert all(all(record.values()) for record in [*parsed[Log.API], *parsed[Log.AUDIT], *calls])
    assert any("rx" in call for call in calls)
    assert any("rx" not in call for call in calls)


def test_an_error_record_always_has_its_five_fields(
    parsed: dict[Log, list[dict[str, Any]]],
) -> None:
    always = {"version", "node", "time", "message", "apiName"}
    assert all(always <= record.keys() for record in parsed[Log.ERROR])
    assert any(record["apiName"] == "" for record in parsed[Log.ERROR])


def test_internal_events_have_no_call(parsed: dict[Log, list[dict[str, Any]]]) -> None:
    internal = [record for record in parsed[Log.API] if record["origin"] != "client"]
    assert internal
    assert all("callInfo" not in record for record in internal)


def test_older_servers_send_claims_that_are_not_text(calls: list[dict[str, Any]]) -> None:
    claims = [call["requestClaims"] for call in calls if "requestClaims" in call]
    assert {type(claim["exp"]) for claim in claims} == {int, str}
    assert {type(claim["aud"]) for claim in claims} == {list, str}


def test_audit_records_come_from_older_and_newer_servers(
    parsed: dict[Log, list[dict[str, Any]]],
) -> None:
    older = [record for record in parsed[Log.AUDIT] if "action" in record]
    newer = [record for record in parsed[Log.AUDIT] if "message" in record]
    assert len(older) + len(newer) == COUNT
    assert min(len(older), len(newer)) > COUNT / 10
    assert all(isinstance(record["details"], dict) for record in older)
    assert all(isinstance(record["metadata"], dict) for record in newer)


def test_records_look_like_what_a_real_server_sends(calls: list[dict[str, Any]]) -> None:
    for line in REAL.read_text().splitlines():
        real = json.loads(line)
        assert TIME.fullmatch(real["time"])
        assert REQUEST_ID.fullmatch(real["requestID"])
        assert DURATION.fullmatch(real["api"]["timeToResponse"])
    assert all(REQUEST_ID.fullmatch(call["requestID"]) for call in calls)


def test_each_topic_carries_its_log() -> None:
    settings = load_settings({"AUDIT_LOGS_TOPIC": "changes"})
    assert logs_by_topic(settings) == {
        "apilogs": Log.API,
        "errorlogs": Log.ERROR,
        "changes": Log.AUDIT,
    }
