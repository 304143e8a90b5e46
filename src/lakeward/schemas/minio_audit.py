"""MinIO's audit log: administrative changes.

Servers since madmin-go 4.7.3 fill `message` and `metadata`; older ones `action` and `details`.
`details` and `metadata` are objects on the wire and JSON text in the table.
"""

from __future__ import annotations

from lakeward.model.fields import STRING_MAP, Kind, Struct, optional, required
from lakeward.schemas.shape import PartitionBy, TableShape

AUDIT_LOG = TableShape(
    Struct(
        (
            optional("version", Kind.STRING, "Log format version"),
            required("time", Kind.TIMESTAMPTZ, "Event timestamp"),
            optional("node", Kind.STRING, "MinIO node identifier"),
            optional("apiName", Kind.STRING, "Admin API name"),
            optional("category", Kind.STRING, "Audit category: user, policy, config, ..."),
            optional("action", Kind.STRING, "Action performed: create, update, delete, ..."),
            optional("bucket", Kind.STRING, "Target bucket, if any"),
            optional("tags", STRING_MAP, "Custom tags"),
            optional("requestID", Kind.STRING, "Unique request identifier"),
            optional("requestClaims", STRING_MAP, "JWT claims"),
            optional("sourceHost", Kind.STRING, "Client IP address"),
            optional("accessKey", Kind.STRING, "Access key used"),
            optional("parentUser", Kind.STRING, "Parent user of a service account"),
            optional("details", Kind.STRING, "JSON text of the category's details"),
            optional("message", Kind.STRING, "What happened, in words"),
            optional("metadata", Kind.STRING, "JSON text of free details"),
        )
    ),
    (PartitionBy("time", "day"), PartitionBy("category")),
    "MinIO audit log",
)
