"""API log records: who called what on which object, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakeward.produce.api_calls import CALLS, Situation, call_record, internal_record
from lakeward.produce.cluster import (
    BUCKET_SHARES,
    BUCKETS,
    CLIENT_SHARES,
    CLIENTS,
    NODE_SHARES,
    NODES,
    TICKS,
    ZONES,
    Bucket,
    Node,
    shares,
)
from lakeward.produce.columns import (
    Column,
    durations,
    hexadecimal,
    logged,
    objects,
    popular,
    request_ids,
    timestamps,
    uuids,
)
from lakeward.produce.go_json import escape
from lakeward.produce.templates import Templates

TEMPLATES = 1_024
KEYS = 1_024
"""Existing objects per bucket; the popular ones are read again and again."""
FOLDERS = 128

_CALL_SHARES = {
    habit: shares([call.weights[place] for call in CALLS])
    for place, habit in enumerate(("read", "written", "mixed"))
}


@dataclass(frozen=True, slots=True)
class Event:
    """One kind of event: its template, and what the values in the slots depend on."""

    record: dict[str, Any]
    size: float
    """Median number of bytes that flow."""
    wait: float = 3e6
    """Median nanoseconds until the first byte."""


class ApiLog:
    """Makes API log records; holds the pools they are drawn from."""

    def __init__(self, rng: np.random.Generator, date: str, expires: int) -> None:
        nodes = rng.choice(len(NODES), TEMPLATES, p=NODE_SHARES)
        buckets = rng.choice(len(BUCKETS), TEMPLATES, p=BUCKET_SHARES)
        events = [
            _event(rng, NODES[node], BUCKETS[bucket], expires)
            for node, bucket in zip(nodes, buckets, strict=True)
        ]
        self._templates = Templates([event.record for event in events])
        self._size = np.array([event.size for event in events])
        self._wait = np.array([event.wait for event in events])
        self._node, self._bucket = nodes, buckets
        self._keys = np.concatenate(
            [_paths(rng, f"{bucket.folder}/{bucket.file}", date, KEYS) for bucket in BUCKETS]
        )
        self._folders = np.concatenate(
            [_paths(rng, bucket.folder, date, FOLDERS) for bucket in BUCKETS]
        )

    def records(self, rng: np.random.Generator, moments: Column) -> list[bytes]:
        """Return one record per moment, each with its own ids, key, sizes and durations."""
        count = len(moments)
        picks = rng.integers(0, len(self._templates), count)
        node, bucket = self._node[picks], self._bucket[picks]
        size = (self._size[picks] * rng.lognormal(0, 1.1, count)).astype(np.int64) + 1
        first = (self._wait[picks] * rng.lognormal(0, 0.7, count)).astype(np.int64)
        transfer = (20_000 + size * rng.uniform(2, 20, count)).astype(np.int64)
        total = first + transfer
        columns = {
            "time": timestamps(logged(rng, moments, TICKS[node]), ZONES[node]),
            "object": self._keys[bucket * KEYS + popular(rng, KEYS, count)],
            "folder": self._folders[bucket * FOLDERS + popular(rng, FOLDERS, count)],
            "size": size,
            "from": size // 2,
            "part": rng.integers(1, 200, count),
            "first": durations(first),
            "first_ns": first,
            "short": durations(first // 16),
            "transfer": durations(transfer),
            "total": durations(total),
            "total_ns": total,
            "request": request_ids(moments),
            "serial": hexadecimal(rng, 10, count),
            "etag": hexadecimal(rng, 32, count),
            "version": uuids(rng, count),
        }
        return self._templates.fill(picks, columns)


def _event(rng: np.random.Generator, node: Node, bucket: Bucket, expires: int) -> Event:
    if rng.random() < 0.03:
        return Event(internal_record(rng, node, bucket), size=1)
    call = CALLS[rng.choice(len(CALLS), p=_CALL_SHARES[bucket.habit])]
    client = CLIENTS[rng.choice(len(CLIENTS), p=CLIENT_SHARES)]
    status = int(rng.choice(call.bad)) if rng.random() < 0.04 else call.good
    record = call_record(rng, Situation(node, bucket, call, client, status, expires))
    if call.kind == "object":
        return Event(record, bucket.kilobytes * 1024)
    return Event(record, size=9_000, wait=2e7)


def _paths(rng: np.random.Generator, pattern: str, date: str, count: int) -> Column:
    numbers = rng.integers(0, 1_000, count).tolist()
    codes = hexadecimal(rng, 8, count).tolist()
    return objects(
        [
            escape(pattern.format(date=date, n=number, hex=code.decode()))
            for number, code in zip(numbers, codes, strict=True)
        ]
    )
