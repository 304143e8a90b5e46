"""Audit log records: who changed the configuration of what.

Servers of the newer release write `message` and `metadata`, older ones `action` and `details`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakeward.produce.cluster import (
    BUCKET_NAMES,
    CLIENTS,
    NODE_SHARES,
    NODES,
    TICKS,
    ZONES,
    Node,
    claims,
    shares,
)
from lakeward.produce.columns import Column, hexadecimal, logged, request_ids, timestamps
from lakeward.produce.templates import Templates, without_empty

TEMPLATES = 512
REDACTED = "***REDACTED***"
NEVER = "0001-01-01T00:00:00Z"
"""Go's zero time, which older servers write where no expiry is set."""


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change, in the words of newer and of older servers."""

    weight: float
    category: str
    api: str
    action: str
    message: str
    details: Mapping[str, Any]
    on_bucket: bool = False


def _bucket_config(kind: str, old: str, new: str) -> dict[str, Any]:
    return {
        "bucketConfig": {
            "bucketName": "{bucket}",
            "configType": kind,
            "oldConfig": old,
            "newConfig": new,
        }
    }


CHANGES = (
    Change(14, "user", "admin.AddUser", "create", "User {user} created",
           {"user": {"userName": "{user}", "userType": "regular", "policies": ["readonly"]}}),
    Change(6, "user", "admin.SetUserStatus", "disable", "User {user} disabled",
           {"user": {"userName": "{user}", "oldStatus": "enabled", "newStatus": "disabled"}}),
    Change(16, "service-account", "admin.AddServiceAccount", "create",
           "Service account {serial} created for {user}",
           {"serviceAccount": {"accountName": "{serial}", "parentUser": "{user}",
                               "policies": ["ingest", "readwrite"], "expiration": NEVER}}),
    Change(8, "policy", "admin.AttachPolicy", "attach", "Policy readwrite attached to {user}",
           {"policy": {"policyName": "readwrite", "operation": "attach", "user": "{user}",
                       "policiesAttached": ["readwrite"]}}),
    Change(5, "group", "admin.UpdateGroupMembers", "update", "{user} added to analysts",
           {"group": {"groupName": "analysts", "membersAdded": ["{user}"]}}),
    Change(9, "config", "admin.SetConfigKV", "set", "scanner speed changed",
           {"config": {"subSystem": "scanner", "target": "_", "key": "speed",
                       "oldValue": "default", "newValue": "slow"}}),
    Change(4, "config", "admin.SetConfigKV", "set", "notify_webhook token changed",
           {"config": {"subSystem": "notify_webhook", "target": "{serial}", "key": "auth_token",
                       "oldValue": REDACTED, "newValue": REDACTED}}),
    Change(10, "bucket", "s3.PutBucketTagging", "set", "Tags of {bucket} replaced",
           {"bucketConfig": {"bucketName": "{bucket}", "configType": "tagging",
                             "tagKeys": ["team", "cost-center"], "tagCount": 2}}, True),
    Change(6, "bucket", "admin.SetBucketQuota", "set", "Quota of {bucket} set",
           {"bucketQuota": {"bucketName": "{bucket}", "quotaSize": "{=amount}",
                            "quotaType": "hard"}}, True),
    Change(7, "lifecycle", "s3.PutBucketLifecycle", "set", "Lifecycle of {bucket} replaced",
           _bucket_config("lifecycle", "", "<Days>{#days}</Days>"), True),
    Change(5, "versioning", "s3.PutBucketVersioning", "enable", "Versioning of {bucket} enabled",
           _bucket_config("versioning", "Suspended", "Enabled"), True),
    Change(4, "replication", "s3.PutBucketReplication", "set", "{bucket} replicates to ams",
           _bucket_config("replication", "", '{"Role":"arn:{serial}"}'), True),
    Change(3, "encryption", "s3.PutBucketEncryption", "set", "{bucket} is encrypted",
           _bucket_config("encryption", "", "SSE-KMS {serial}"), True),
    Change(3, "kms", "admin.KMSCreateKey", "create", "Key {serial} created",
           {"kms": {"keyId": "{serial}", "operation": "create"}}),
    Change(3, "heal", "admin.Heal", "start", "Heal of {bucket} started",
           {"heal": {"operation": "start", "bucket": "{bucket}", "prefix": "{serial}/"}}, True),
    Change(3, "batch", "admin.StartBatchJob", "start", "Batch job {serial} started",
           {"batch": {"jobID": "{serial}", "jobType": "replicate", "user": "{user}"}}),
    Change(2, "pool", "admin.DecommissionPool", "start", "Decommission of pool 2 started",
           {"pool": {"poolIndex": 1, "endpoints": ["/data/d{1...4}"], "operation": "start"}}),
    Change(2, "idp", "admin.SetIDPConfig", "update", "OpenID client changed",
           {"idp": {"idpName": "_", "idpType": "openid", "configKey": "client_secret",
                    "oldValue": REDACTED, "newValue": REDACTED}}),
    Change(1, "service", "admin.ServiceRestart", "restart", "Cluster restarted",
           {"service": {"serviceName": "minio", "operation": "restart", "legacy": True}}),
)  # fmt: skip

_CHANGE_SHARES = shares([change.weight for change in CHANGES])
_USERS = np.array(
    [
        f"{role}-{number}".encode()
        for role in ("analyst", "device", "intern", "partner")
        for number in range(1, 200)
    ]
)


class AuditLog:
    """Makes audit log records; holds the templates they are drawn from."""

    def __init__(self, rng: np.random.Generator, expires: int) -> None:
        self._node = rng.choice(len(NODES), TEMPLATES, p=NODE_SHARES)
        changes = rng.choice(len(CHANGES), TEMPLATES, p=_CHANGE_SHARES)
        self._templates = Templates(
            [
                _record(rng, CHANGES[change], NODES[node], expires)
                for change, node in zip(changes, self._node, strict=True)
            ]
        )

    def records(self, rng: np.random.Generator, moments: Column) -> list[bytes]:
        """Return one record per moment."""
        count = len(moments)
        picks = rng.integers(0, len(self._templates), count)
        node = self._node[picks]
        columns = {
            "time": timestamps(logged(rng, moments, TICKS[node]), ZONES[node]),
            "request": request_ids(moments),
            "user": rng.choice(_USERS, count),
            "bucket": rng.choice(BUCKET_NAMES, count),
            "serial": hexadecimal(rng, 16, count),
            "amount": rng.integers(1, 4096, count) << 30,
            "days": rng.integers(1, 3650, count),
        }
        return self._templates.fill(picks, columns)


def _record(rng: np.random.Generator, change: Change, node: Node, expires: int) -> dict[str, Any]:
    client = CLIENTS[rng.integers(len(CLIENTS))]
    return without_empty(
        {
            "version": "1",
            "time": "{time}",
            "node": node.name,
            "apiName": change.api,
            "category": change.category,
            "message": "" if node.old else change.message,
            "metadata": {} if node.old else _metadata(change),
            "bucket": "{bucket}" if change.on_bucket else "",
            "tags": {"ticket": f"OPS-{rng.integers(100, 9999)}"} if rng.random() < 0.2 else {},
            "requestID": "{request}",
            "requestClaims": claims(client, expires, old=True),
            "sourceHost": f"10.9.{rng.integers(256)}.{rng.integers(1, 255)}",
            "accessKey": client.access_key,
            "parentUser": client.parent,
            "action": change.action if node.old else "",
            "details": change.details if node.old else {},
        }
    )


def _metadata(change: Change) -> dict[str, Any]:
    """Return the free details of newer servers; a changed text comes as `diff`."""
    ((subject, fields),) = change.details.items()
    rest = {name: value for name, value in fields.items() if not name.startswith(("old", "new"))}
    old = next((value for name, value in fields.items() if name.startswith("old")), None)
    new = next((value for name, value in fields.items() if name.startswith("new")), None)
    return {subject: rest} if new is None else {subject: rest, "diff": {"old": old, "new": new}}
