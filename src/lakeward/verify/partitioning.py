"""Whether a row sits in the right file: its partition values against those of the file."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, StructType

from lakeward.verify.scalars import decimal_text
from lakeward.verify.transforms import Transform, transform

Way = tuple[str, ...]
"""The column ids that lead to a value, from the outermost in."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One field of a partition spec, ready to be computed."""

    index: int
    name: str
    source: Way
    apply: Transform


def partition_fields(spec: PartitionSpec, schema: Schema) -> tuple[PartitionField, ...]:
    """Prepare a spec for rows of a schema; fields whose column was dropped are left out."""
    ways = _ways(schema.as_struct(), ())
    return tuple(
        PartitionField(index, field.name, way, transform(str(field.transform), kind))
        for index, field in enumerate(spec.fields)
        if field.source_id in ways
        for way, kind in [ways[field.source_id]]
    )


def _ways(struct: StructType, above: Way) -> dict[int, tuple[Way, IcebergType]]:
    found: dict[int, tuple[Way, IcebergType]] = {}
    for field in struct.fields:
        way = (*above, str(field.field_id))
        found[field.field_id] = (way, field.field_type)
        if isinstance(field.field_type, StructType):
            found |= _ways(field.field_type, way)
    return found


def misplacement(
    fields: tuple[PartitionField, ...], row: dict[str, Any], values: tuple[Any, ...]
) -> str | None:
    """Say which partition value of the file is not the row's own, or nothing."""
    for field in fields:
        own: Any = row
        for step in field.source:
            own = None if own is None else own[step]
        own = field.apply(own)
        if own != values[field.index]:
            return (
                f"partition {field.name}: the row gives {own!r}, its file {values[field.index]!r}"
            )
    return None


def plain_values(partition: Record) -> tuple[Any, ...]:
    """Return the partition values of a manifest entry in the plain form rows have."""
    return tuple(_plain(partition[index]) for index in range(len(partition)))


def _plain(value: Any) -> Any:
    match value:
        case Decimal():
            exponent = value.as_tuple().exponent
            return decimal_text(value, -exponent if isinstance(exponent, int) else 0)
        case UUID():
            return value.hex.upper()
        case bytes():
            return value.hex().upper()
    return value
