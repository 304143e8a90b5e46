"""The calls of the API log: which there are, how common each is, and the record each leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lakeward.produce.cluster import Bucket, Client, Node, claims
from lakeward.produce.templates import without_empty


@dataclass(frozen=True, slots=True)
class Call:
    """One kind of call: which way its bytes flow, and how it may end."""

    name: str
    weights: tuple[float, float, float]
    """How common it is in buckets that are mostly read, mostly written, or both."""
    flow: str
    """Where the bytes go: `up`, `down` or `none`."""
    good: int = 200
    bad: tuple[int, ...] = (403, 404, 503)
    kind: str = "object"
    query: Mapping[str, str] = field(default_factory=dict)
    sends: Mapping[str, str] = field(default_factory=dict)
    """Request headers."""
    gets: Mapping[str, str] = field(default_factory=dict)
    """Response headers when it ends well."""


_TAGGED = {"ETag": '"{etag}"'}

CALLS = (
    Call("s3.GetObject", (60, 14, 38), "down"),
    Call("s3.GetObject", (3, 1, 6), "down", 206, (416, 503), sends={"Range": "bytes={#from}-"},
         gets={"Content-Length": "{#size}"} | _TAGGED),
    Call("s3.GetObject", (6, 0, 1), "none", 304, sends={"If-None-Match": '"{etag}"'}),
    Call("s3.PutObject", (4, 52, 20), "up", bad=(403, 412, 503)),
    Call("s3.PutObjectPart", (0, 9, 3), "up", bad=(404, 503), gets=_TAGGED,
         query={"partNumber": "{#part}", "uploadId": "{etag}"}),
    Call("s3.CopyObject", (1, 1, 3), "none", gets=_TAGGED,
         sends={"X-Amz-Copy-Source": "/staging/{object}"}),
    Call("s3.HeadObject", (22, 12, 18), "none", bad=(403, 404), gets=_TAGGED),
    Call("s3.DeleteObject", (1, 5, 4), "none", 204, (403,)),
    Call("s3.ListObjectsV2", (3, 6, 9), "down", 200, (403, 503), "bucket",
         query={"list-type": "2", "prefix": "{folder}/", "max-keys": "1000"}),
    Call("s3.GetBucketLocation", (1, 1, 1), "down", 200, (403, 404), "bucket", {"location": ""}),
    Call("table.LoadTable", (0, 0, 1.5), "down", 200, (404,), "table"),
    Call("sts.AssumeRoleWithWebIdentity", (0.5, 0.5, 0.5), "down", 200, (403,), "auth"),
    Call("admin.ServerInfo", (0.3, 0.3, 0.3), "down", 200, (403,), "admin"),
)  # fmt: skip

INTERNAL = (
    ("ilm", "ilm.ExpireObject"),
    ("replicate", "replicate.PutObject"),
    ("heal", "heal.HealObject"),
    ("batch", "batch.ReplicateObject"),
    ("site-replication", "replicate.DeleteObject"),
)
"""Work the servers do by themselves: origin and name."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that is fixed in one template of a call."""

    node: Node
    bucket: Bucket
    call: Call
    client: Client
    status: int
    expires: int
    """When the client's login ends, in seconds since the epoch."""

    @property
    def failed(self) -> bool:
        return self.status >= 400

    @property
    def bucket_name(self) -> str:
        return self.bucket.name if self.call.kind in ("object", "bucket") else ""

    @property
    def object_key(self) -> str:
        if self.call.kind != "object":
            return ""
        return "{folder}/{serial}" + self.bucket.suffix if self.call.flow == "up" else "{object}"


def call_record(rng: np.random.Generator, situation: Situation) -> dict[str, Any]:
    """Return the template of what one call leaves in the log."""
    versioned = situation.bucket.versioned and situation.object_key and not situation.failed
    return without_empty(
        {
            "version": "1",
            "time": "{time}",
            "node": situation.node.name,
            "origin": "client",
            "type": situation.call.kind,
            "name": situation.call.name,
            "bucket": situation.bucket_name,
            "object": situation.object_key,
            "versionId": "{version}" if versioned else "",
            "tags": {"project": situation.bucket.name.partition("-")[0]} if versioned else {},
            "callInfo": _call_info(rng, situation),
        }
    )


def internal_record(rng: np.random.Generator, node: Node, bucket: Bucket) -> dict[str, Any]:
    """Return the template of what a server's own work leaves: there is no `callInfo`."""
    origin, name = INTERNAL[rng.integers(len(INTERNAL))]
    return without_empty(
        {
            "version": "1",
            "time": "{time}",
            "node": node.name,
            "origin": origin,
            "type": "object",
            "name": name,
            "bucket": bucket.name,
            "object": "{object}",
            "versionId": "{version}" if bucket.versioned else "",
            "tags": {"rule": f"{origin}-{rng.integers(1, 9)}", "pool": str(rng.integers(1, 3))},
        }
    )


def _call_info(rng: np.random.Generator, situation: Situation) -> dict[str, Any]:
    call, client, failed = situation.call, situation.client, situation.failed
    answer = "{=size}" if call.flow == "down" else 0
    if failed:
        answer = 0 if call.name == "s3.HeadObject" else int(rng.integers(260, 420))
    path = "/".join(filter(None, (situation.bucket_name, situation.object_key)))
    return without_empty(
        {
            "httpStatusCode": situation.status,
            "rx": "{=size}" if call.flow == "up" and not failed else 0,
            "tx": answer,
            "txHeaders": int(rng.integers(280, 620)),
            **_timing(rng, situation),
            "sourceHost": f"10.{rng.integers(0, 9)}.{rng.integers(256)}.{rng.integers(1, 255)}",
            "requestID": "{request}",
            "userAgent": client.agent,
            "requestPath": f"/{path}",
            "requestHost": "s3.lake:9000",
            "requestClaims": claims(client, situation.expires, situation.node.old),
            "requestQuery": dict(call.query),
            "requestHeader": dict(call.sends),
            "responseHeader": {"Content-Type": "application/xml"} if failed else dict(call.gets),
            "accessKey": client.access_key,
            "parentUser": client.parent,
        }
    )


def _timing(rng: np.random.Generator, situation: Situation) -> dict[str, str]:
    if situation.node.old:
        return {"timeToFirstByte": "{#first_ns}ns", "timeToResponse": "{#total_ns}ns"}
    up = situation.call.flow == "up"
    blocked = rng.random() < 0.1
    return {
        "timeToFirstByte": "{first}",
        "requestReadTime": "{transfer}" if up else "{short}",
        "responseWriteTime": "{short}" if up else "{transfer}",
        "requestTime": "{total}",
        "timeToResponse": "{total}",
        "readBlocked": "{short}" if blocked and up else "",
        "writeBlocked": "{short}" if blocked and not up else "",
    }
