"""Records spoiled on purpose, as the world spoils them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np

from lakeward.produce.go_json import encode

Record = dict[str, Any]


class Fault(StrEnum):
    """One way in which a record departs from what its table expects."""

    MALFORMED = "malformed"
    WRONG_TYPE = "wrong-type"
    UNKNOWN_FIELD = "unknown-field"
    LATE = "late"
    DUPLICATE = "duplicate"
    HUGE = "huge"
    NOT_UTF8 = "not-utf8"

    @property
    def unfit(self) -> bool:
        """Whether such a record must end among the dead letters; the others belong in the table."""
        return self in (Fault.MALFORMED, Fault.WRONG_TYPE, Fault.NOT_UTF8)


FAULTS = tuple(Fault)


def spoil(
    values: list[bytes], share: float, rng: np.random.Generator
) -> tuple[list[bytes], dict[int, Fault]]:
    """Return the values with a share of them spoiled, and which are spoiled how."""
    chosen = np.flatnonzero(rng.random(len(values)) < share).tolist()
    kinds = rng.integers(0, len(FAULTS), len(chosen)).tolist()
    spoiled = list(values)
    faults: dict[int, Fault] = {}
    for place, kind in zip(chosen, kinds, strict=True):
        fault = FAULTS[kind]
        if fault is Fault.DUPLICATE:
            sound = _sound_before(place, faults)
            if sound is None:
                continue
            spoiled[place] = spoiled[sound]
        else:
            spoiled[place] = _SPOILERS[fault](values[place], rng)
        faults[place] = fault
    return spoiled, faults


def _sound_before(place: int, faults: dict[int, Fault]) -> int | None:
    """Find the record to repeat; a repeated fault would be counted under the wrong name."""
    return next((earlier for earlier in range(place - 1, -1, -1) if earlier not in faults), None)


def _malformed(value: bytes, rng: np.random.Generator) -> bytes:
    cut = int(rng.integers(1, len(value) - 1))
    ways = (
        value[:cut],
        value + value[:cut],
        value[:-1] + b",}",
        value.replace(b'"', b"'"),
        b"Nov 15 10:30:00 minio[811]: API: SYSTEM() Error: unable to reach drive",
        b"[" + value + b"]",
    )
    return ways[rng.integers(len(ways))]


def _wrong_type(value: bytes, rng: np.random.Generator) -> bytes:
    record: Record = json.loads(value)
    possible = [
        (holder, path[-1], wrong)
        for path, wrong in WRONG_VALUES
        if (holder := _holder(record, path)) is not None
    ]
    holder, name, wrong = possible[rng.integers(len(possible))]
    holder[name] = wrong
    return encode(record)


WRONG_VALUES: tuple[tuple[tuple[str, ...], object], ...] = (
    (("time",), "15/Nov/2026:10:30:00 +0000"),
    (("time",), True),
    (("time",), None),
    (("tags",), ["cold", "archive"]),
    (("tags",), "none"),
    (("callInfo", "httpStatusCode"), "OK"),
    (("callInfo", "rx"), 1.5),
    (("callInfo", "tx"), 2**70),
    (("callInfo", "requestQuery"), "list-type=2"),
    (("trace", "source"), "object-handlers.go:462"),
)
"""None of these can become its column's type without a loss, whatever the column tolerates."""


def _holder(record: Record, path: tuple[str, ...]) -> Record | None:
    """Return the object a field belongs in, or None where the record has no such object."""
    found: Record | None = record
    for name in path[:-1]:
        found = found.get(name) if found is not None else None
    return found


def _unknown_field(value: bytes, rng: np.random.Generator) -> bytes:
    record: Record = json.loads(value)
    extra = {"region": "eu-central-1", "retries": int(rng.integers(1, 9))}
    if "callInfo" in record and rng.random() < 0.5:
        record["callInfo"]["tlsVersion"] = "1.3"
    else:
        record |= extra
    return encode(record)


def _late(value: bytes, rng: np.random.Generator) -> bytes:
    record: Record = json.loads(value)
    lateness = timedelta(days=int(rng.integers(2, 30)), seconds=int(rng.integers(86_400)))
    moment = datetime.fromisoformat(record["time"]).astimezone(UTC) - lateness
    record["time"] = moment.strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".") + "Z"
    return encode(record)


def _huge(value: bytes, rng: np.random.Generator) -> bytes:
    record: Record = json.loads(value)
    text = rng.bytes(int(512 * 190 ** rng.random())).hex()
    notes = {f"note-{start:06d}": text[start : start + 200] for start in range(0, len(text), 200)}
    record["tags"] = record.get("tags", {}) | notes
    return encode(record)


def _not_utf8(value: bytes, rng: np.random.Generator) -> bytes:
    ways = (b"M\xfcnchen", b"\xff\xfe", b"\xc3(", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80")
    return value.replace(b'"node":"', b'"node":"' + ways[rng.integers(len(ways))], 1)


_SPOILERS: dict[Fault, Callable[[bytes, np.random.Generator], bytes]] = {
    Fault.MALFORMED: _malformed,
    Fault.WRONG_TYPE: _wrong_type,
    Fault.UNKNOWN_FIELD: _unknown_field,
    Fault.LATE: _late,
    Fault.HUGE: _huge,
    Fault.NOT_UTF8: _not_utf8,
}
