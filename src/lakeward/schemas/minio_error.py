"""MinIO's error log."""

from __future__ import annotations

from lakeward.model.fields import STRING_MAP, Kind, Struct, list_of, optional, required
from lakeward.schemas.shape import PartitionBy, TableShape

TRACE = Struct(
    (
        optional("source", list_of(Kind.STRING), "Stack trace source locations"),
        optional("variables", STRING_MAP, "Context variables"),
    )
)

ERROR_LOG = TableShape(
    Struct(
        (
            optional("version", Kind.STRING, "Log format version"),
            optional("node", Kind.STRING, "MinIO node identifier"),
            required("time", Kind.TIMESTAMPTZ, "Event timestamp"),
            optional("message", Kind.STRING, "Error message"),
            optional("apiName", Kind.STRING, "API that triggered the error"),
            optional("tags", STRING_MAP, "Custom tags"),
            optional("trace", TRACE, "Where the error arose"),
        )
    ),
    (PartitionBy("time", "day"),),
    "MinIO error log",
)
