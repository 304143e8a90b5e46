"""MinIO's API log: one record per S3 or admin call."""

from __future__ import annotations

from lakeward.model.fields import STRING_MAP, Kind, Struct, optional, required
from lakeward.schemas.shape import PartitionBy, TableShape

CALL_INFO = Struct(
    (
        optional("httpStatusCode", Kind.INT, "HTTP response status"),
        optional("rx", Kind.LONG, "Input bytes received"),
        optional("tx", Kind.LONG, "Output bytes sent"),
        optional("txHeaders", Kind.LONG, "Header bytes sent"),
        optional("timeToFirstByte", Kind.STRING, "Go duration"),
        optional("requestReadTime", Kind.STRING, "Go duration"),
        optional("responseWriteTime", Kind.STRING, "Go duration"),
        optional("requestTime", Kind.STRING, "Go duration"),
        optional("timeToResponse", Kind.STRING, "Go duration"),
        optional("readBlocked", Kind.STRING, "Go duration"),
        optional("writeBlocked", Kind.STRING, "Go duration"),
        optional("sourceHost", Kind.STRING, "Client IP address"),
        optional("requestID", Kind.STRING, "Unique request identifier"),
        optional("userAgent", Kind.STRING, "Client user agent"),
        optional("requestPath", Kind.STRING, "Request URL path"),
        optional("requestHost", Kind.STRING, "Request host header"),
        optional("requestClaims", STRING_MAP, "JWT claims"),
        optional("requestQuery", STRING_MAP, "Query parameters"),
        optional("requestHeader", STRING_MAP, "Request headers"),
        optional("responseHeader", STRING_MAP, "Response headers"),
        optional("accessKey", Kind.STRING, "Access key used"),
        optional("parentUser", Kind.STRING, "Parent user of a service account"),
    )
)

API_LOG = TableShape(
    Struct(
        (
            optional("version", Kind.STRING, "Log format version"),
            required("time", Kind.TIMESTAMPTZ, "Event timestamp"),
            optional("node", Kind.STRING, "MinIO node identifier"),
            optional("origin", Kind.STRING, "Request origin: client, ilm, batch, ..."),
            optional("type", Kind.STRING, "API type: object, bucket, admin, auth, table"),
            optional("name", Kind.STRING, "API name, such as s3.GetObject"),
            optional("bucket", Kind.STRING, "Target bucket"),
            optional("object", Kind.STRING, "Target object key"),
            optional("versionId", Kind.STRING, "Object version"),
            optional("tags", STRING_MAP, "Custom tags"),
            optional("callInfo", CALL_INFO, "Details of the call; absent for internal events"),
        )
    ),
    (PartitionBy("time", "day"), PartitionBy("bucket")),
    "MinIO API log",
)
