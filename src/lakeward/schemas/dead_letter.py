"""The table of dead letters: records kept aside, with their bytes and the reason."""

from __future__ import annotations

from lakeward.model.fields import Kind, Struct, optional, required
from lakeward.schemas.shape import TableShape

DEAD_LETTER = TableShape(
    Struct(
        (
            required("topic", Kind.STRING),
            required("partition", Kind.INT),
            required("offset", Kind.LONG),
            optional("timestamp", Kind.TIMESTAMPTZ, "Kafka timestamp of the record"),
            optional("key", Kind.BINARY, "The record's key, byte for byte"),
            optional("value", Kind.BINARY, "The record's value, byte for byte"),
            required("reason", Kind.STRING, "Code of the reason, such as not-json"),
            optional("field", Kind.STRING, "Path of the field at fault, such as callInfo.rx"),
            required("message", Kind.STRING, "The reason in words"),
        )
    ),
    doc="Records that could not be stored",
)

SUFFIX = "__dead_letters"
"""A table's dead letters live beside it, under its name and this suffix."""
