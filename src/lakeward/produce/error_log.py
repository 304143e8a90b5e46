"""Error log records: what went wrong inside a server, where in its code, with which values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lakeward.produce.cluster import (
    BUCKET_NAMES,
    BUCKET_SHARES,
    NODE_SHARES,
    NODES,
    TICKS,
    ZONES,
    shares,
)
from lakeward.produce.columns import (
    Column,
    durations,
    hexadecimal,
    logged,
    popular,
    request_ids,
    timestamps,
)
from lakeward.produce.templates import Templates, without_empty

TEMPLATES = 384

GET = ("object-handlers.go:462:cmd.objectAPIHandlers.getObjectHandler()",
       "object-handlers.go:742:cmd.objectAPIHandlers.GetObjectHandler()")  # fmt: skip
PUT = ("erasure-object.go:1304:cmd.erasureObjects.putObject()",
       "object-handlers.go:2034:cmd.objectAPIHandlers.PutObjectHandler()")  # fmt: skip
HEAL = ("erasure-healing.go:371:cmd.(*erasureObjects).healObject()",
        "background-heal-ops.go:142:cmd.healRoutine()")  # fmt: skip
PEER = ("notification.go:211:cmd.(*NotificationSys).GetPeerOnlineCount()",)


@dataclass(frozen=True, slots=True)
class Cause:
    """One way to fail: the message, the call it happened in, and the stack above it."""

    weight: float
    message: str
    api: str
    source: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


_OBJECT = {"bucket": "{bucket}", "object": "{folder}/{serial}", "requestID": "{request}"}

CAUSES = (
    Cause(9, "file is corrupted (cmd.StorageErr)", "s3.GetObject", GET,
          {"GetObject": "name={folder}/{serial},pool=1,set={#set}"}, _OBJECT),
    Cause(8, "Read failed. Insufficient number of drives online (cmd.InsufficientReadQuorum)",
          "s3.GetObject", GET, _OBJECT, {"drive": "/data/d{#drive}"}),
    Cause(7, "Write failed. Insufficient number of drives online (cmd.InsufficientWriteQuorum)",
          "s3.PutObject", PUT, _OBJECT, {"drive": "/data/d{#drive}"}),
    Cause(14, "drive /data/d{#drive}: context deadline exceeded after {delay}", "s3.PutObject",
          PUT, {"drive": "/data/d{#drive}", "requestID": "{request}"}),
    Cause(12, 'Post "http://minio-{#set}.fra:9000/minio/peer/v39": dial tcp 10.0.4.{#drive}:9000: '
          "connect: connection refused", "", PEER, {}, {"peer": "minio-{#set}.fra:9000"}),
    Cause(10, "msgp: too few bytes left to read object (msgp.errShort)", "s3.GetObject", GET),
    Cause(6, "Unable to heal {bucket}/{folder}/{serial}: volume not found", "", HEAL,
          {"healSequence": "{serial}"}),
    Cause(5, "The request signature we calculated does not match the signature you provided",
          "s3.ListObjectsV2", (), {"accessKey": "etl", "requestID": "{request}"}),
    Cause(5, "kms: key <{serial}> does not exist", "s3.PutObject", PUT, {"keyId": "{serial}"}),
    Cause(4, "Unable to send replication of {bucket}/{folder}/{serial} after {delay}: 503 Slow "
          "Down & retry", "", ("bucket-replication.go:1290:cmd.replicateObjectToTarget()",)),
    Cause(3, "unexpected EOF", "s3.PutObjectPart", PUT, {}, {"client": "10.1.{#set}.{#drive}"}),
    Cause(2, "LDAP login failed: dial tcp: lookup ldap.example.org: i/o timeout",
          "sts.AssumeRoleWithLDAPIdentity", ()),
)  # fmt: skip

_CAUSE_SHARES = shares([cause.weight for cause in CAUSES])


class ErrorLog:
    """Makes error log records; holds the templates they are drawn from."""

    def __init__(self, rng: np.random.Generator, date: str) -> None:
        self._folder = date.encode()
        self._node = rng.choice(len(NODES), TEMPLATES, p=NODE_SHARES)
        causes = rng.choice(len(CAUSES), TEMPLATES, p=_CAUSE_SHARES)
        self._templates = Templates(
            [
                _record(CAUSES[cause], NODES[node].name)
                for cause, node in zip(causes, self._node, strict=True)
            ]
        )

    def records(self, rng: np.random.Generator, moments: Column) -> list[bytes]:
        """Return one record per moment."""
        count = len(moments)
        picks = rng.integers(0, len(self._templates), count)
        node = self._node[picks]
        columns = {
            "time": timestamps(logged(rng, moments, TICKS[node]), ZONES[node]),
            "bucket": rng.choice(BUCKET_NAMES, count, p=BUCKET_SHARES),
            "folder": np.full(count, self._folder),
            "serial": hexadecimal(rng, 12, count),
            "request": request_ids(moments),
            "delay": durations(2e9 * rng.lognormal(0, 1, count)),
            "drive": 1 + popular(rng, 16, count),
            "set": rng.integers(1, 8, count),
        }
        return self._templates.fill(picks, columns)


def _record(cause: Cause, node: str) -> dict[str, Any]:
    frames = [f"github.com/minio/minio/cmd/{frame}" for frame in cause.source]
    if frames:
        frames.append("net/http/server.go:2286:http.HandlerFunc.ServeHTTP()")
    trace = without_empty({"source": frames, "variables": dict(cause.variables)})
    always = {
        "version": "1",
        "node": node,
        "time": "{time}",
        "message": cause.message,
        "apiName": cause.api,
    }
    return always | without_empty({"tags": dict(cause.tags), "trace": trace})
