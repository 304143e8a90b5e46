from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from lakeward.produce.faults import Fault, spoil
from lakeward.produce.shapes import Log, open_shape
from lakeward.records.dead_letters import Unfit
from lakeward.records.parse_json import decode_record
from lakeward.schemas.minio_api import API_LOG
from lakeward.schemas.minio_audit import AUDIT_LOG
from lakeward.schemas.minio_error import ERROR_LOG

START = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
TABLES = {Log.API: API_LOG, Log.ERROR: ERROR_LOG, Log.AUDIT: AUDIT_LOG}


Spoiled = tuple[list[bytes], dict[int, Fault]]


def sound_records(log: Log) -> list[bytes]:
    moments = int(START.timestamp()) * 10**9 + np.arange(1_000) * 4_321
    shape = open_shape(log, np.random.default_rng(1), START)
    return shape.records(np.random.default_rng(2), moments)


@pytest.fixture(scope="module")
def sound() -> dict[Log, list[bytes]]:
    return {log: sound_records(log) for log in Log}


@pytest.fixture(scope="module")
def spoiled(sound: dict[Log, list[bytes]]) -> dict[Log, Spoiled]:
    return {log: spoil(sound[log], 0.5, np.random.default_rng(3)) for log in Log}


def of_kind(spoiled: Spoiled, kind: Fault) -> Iterator[tuple[int, bytes]]:
    values, faults = spoiled
    found = [place for place, fault in faults.items() if fault is kind]
    assert len(found) > 40
    yield from ((place, values[place]) for place in found)


@pytest.mark.parametrize("log", Log)
@pytest.mark.parametrize("kind", [fault for fault in Fault if fault.unfit])
def test_an_unfit_record_has_no_place_in_its_table(
    spoiled: dict[Log, Spoiled], log: Log, kind: Fault
) -> None:
    for _, value in of_kind(spoiled[log], kind):
        with pytest.raises((Unfit, UnicodeDecodeError)):
            decode_record(value.decode(), TABLES[log].fields)


@pytest.mark.parametrize("log", Log)
@pytest.mark.parametrize("kind", [fault for fault in Fault if not fault.unfit])
def test_a_strange_but_sound_record_still_fits_its_table(
    spoiled: dict[Log, Spoiled], log: Log, kind: Fault
) -> None:
    for _, value in of_kind(spoiled[log], kind):
        _, unknown = decode_record(value.decode(), TABLES[log].fields)
        assert bool(unknown) == (kind is Fault.UNKNOWN_FIELD)


@pytest.mark.parametrize("log", Log)
def test_a_wrong_type_is_still_json(spoiled: dict[Log, Spoiled], log: Log) -> None:
    for _, value in of_kind(spoiled[log], Fault.WRONG_TYPE):
        assert isinstance(json.loads(value), dict)


@pytest.mark.parametrize("log", Log)
def test_a_late_record_happened_days_ago(spoiled: dict[Log, Spoiled], log: Log) -> None:
    for _, value in of_kind(spoiled[log], Fault.LATE):
        moment = datetime.fromisoformat(json.loads(value)["time"])
        assert timedelta(days=1, hours=23) < START - moment < timedelta(days=31)


@pytest.mark.parametrize("log", Log)
def test_a_duplicate_repeats_an_earlier_sound_record(
    sound: dict[Log, list[bytes]], spoiled: dict[Log, Spoiled], log: Log
) -> None:
    for place, value in of_kind(spoiled[log], Fault.DUPLICATE):
        assert value in sound[log][:place]


@pytest.mark.parametrize("log", Log)
def test_huge_records_reach_from_a_kilobyte_to_hundreds(
    spoiled: dict[Log, Spoiled], log: Log
) -> None:
    sizes = [len(value) for _, value in of_kind(spoiled[log], Fault.HUGE)]
    assert min(sizes) > 1_024
    assert 100_000 < max(sizes) < 250_000


def test_a_share_of_the_records_is_spoiled_and_the_rest_left_alone(
    sound: dict[Log, list[bytes]],
) -> None:
    after, faults = spoil(sound[Log.API], 0.05, np.random.default_rng(4))
    assert 30 < len(faults) < 75
    assert set(faults.values()) == set(Fault)
    untouched = [place for place in range(len(after)) if place not in faults]
    assert [after[place] for place in untouched] == [sound[Log.API][place] for place in untouched]


def test_no_share_spoils_nothing(sound: dict[Log, list[bytes]]) -> None:
    assert spoil(sound[Log.API], 0, np.random.default_rng(5)) == (sound[Log.API], {})


def test_when_everything_is_spoiled_each_duplicate_still_has_a_sound_twin(
    sound: dict[Log, list[bytes]],
) -> None:
    after, faults = spoil(sound[Log.API], 1, np.random.default_rng(6))
    copies = Counter(after)
    assert all(
        copies[after[place]] > 1 for place, kind in faults.items() if kind is Fault.DUPLICATE
    )
