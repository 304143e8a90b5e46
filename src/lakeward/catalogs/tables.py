"""Between our type model and Iceberg's: create tables from shapes, read tables as fields."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import parse_transform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from lakeward.errors import TableMissing, TableUnsuitable
from lakeward.model.fields import (
    METADATA_NAMES,
    Decimal,
    Field,
    Fixed,
    Kind,
    List,
    Map,
    Struct,
    Type,
)
from lakeward.model.spec import TableName
from lakeward.schemas.shape import TableShape

TABLE_DEFAULTS = {
    "format-version": "2",
    "write.parquet.compression-codec": "zstd",
    # Without this every commit leaves one more metadata file behind for good.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}

_SIMPLE: dict[Kind, IcebergType] = {
    Kind.BOOLEAN: BooleanType(),
    Kind.INT: IntegerType(),
    Kind.LONG: LongType(),
    Kind.FLOAT: FloatType(),
    Kind.DOUBLE: DoubleType(),
    Kind.STRING: StringType(),
    Kind.UUID: UUIDType(),
    Kind.BINARY: BinaryType(),
    Kind.DATE: DateType(),
    Kind.TIME: TimeType(),
    Kind.TIMESTAMP: TimestampType(),
    Kind.TIMESTAMPTZ: TimestamptzType(),
}
_KINDS: dict[type[IcebergType], Kind] = {type(iceberg): kind for kind, iceberg in _SIMPLE.items()}


def load_table(catalog: Catalog, name: TableName) -> Table:
    """Load a table, or say how to create it."""
    try:
        return catalog.load_table(name.identifier)
    except NoSuchTableError as missing:
        raise TableMissing(
            f"The table {name} does not exist",
            where=f"catalog {catalog.name}",
            next_step="Create it with: lakeward init.",
        ) from missing


def create_table(
    catalog: Catalog,
    name: TableName,
    shape: TableShape,
    properties: dict[str, str] | None = None,
) -> tuple[Table, bool]:
    """Create a table, or return the one that exists; says whether it is new."""
    for depth in range(1, len(name.namespace) + 1):
        catalog.create_namespace_if_not_exists(name.namespace[:depth])
    schema = to_iceberg(shape.fields)
    try:
        table = catalog.create_table(
            name.identifier,
            schema,
            partition_spec=partition_spec(shape, schema),
            properties=TABLE_DEFAULTS | (properties or {}),
        )
    except TableAlreadyExistsError:
        existing = catalog.load_table(name.identifier)
        _check_shape(existing, name, shape)
        return existing, False
    return table, True


def _check_shape(table: Table, name: TableName, shape: TableShape) -> None:
    """Refuse a table that lacks a column of the shape; it may have more, and no origin columns."""
    found = {field.name: field.type for field in _plain(from_iceberg(table.schema())).fields}
    for field in _plain(shape.fields.without(METADATA_NAMES)).fields:
        if found.get(field.name) != field.type:
            raise TableUnsuitable(
                f"The table {name} exists, but its column {field.name} is"
                f" {found.get(field.name, 'missing')}, not {field.type}",
                next_step="Rename or drop it, or choose another NAMESPACE_NAME.",
            )


def _plain(struct: Struct) -> Struct:
    """Return the same fields without ids, documentation and requirements."""
    return Struct(tuple(Field(field.name, _plain_type(field.type)) for field in struct.fields))


def _plain_type(kind: Type) -> Type:
    match kind:
        case Struct():
            return _plain(kind)
        case List(element):
            return List(Field("element", _plain_type(element.type)))
        case Map(key, value):
            return Map(Field("key", _plain_type(key.type)), Field("value", _plain_type(value.type)))
    return kind


def partition_spec(shape: TableShape, schema: Schema) -> PartitionSpec:
    """Build the partition spec a shape asks for."""
    return PartitionSpec(
        *(
            PartitionField(
                source_id=schema.find_field(by.column).field_id,
                field_id=1000 + index,
                transform=parse_transform(by.transform),
                name=re.sub(r"\W", "_", by.name),
            )
            for index, by in enumerate(shape.partitioning)
        )
    )


def to_iceberg(fields: Struct) -> Schema:
    """Turn fields into an Iceberg schema with fresh ids, level by level as Spark numbers them."""
    counter = itertools.count(1)
    struct = _to_struct(fields, counter)
    return Schema(*struct.fields)


def _to_struct(struct: Struct, counter: Iterator[int]) -> StructType:
    ids = [next(counter) for _ in struct.fields]
    return StructType(
        *(
            NestedField(
                field_id=field_id,
                name=field.name,
                field_type=_to_type(field.type, counter),
                required=field.required,
                doc=field.doc or None,
            )
            for field_id, field in zip(ids, struct.fields, strict=True)
        )
    )


def _to_type(kind: Type, counter: Iterator[int]) -> IcebergType:
    match kind:
        case Kind():
            return _SIMPLE[kind]
        case Decimal(precision, scale):
            return DecimalType(precision, scale)
        case Fixed(length):
            return FixedType(length)
        case Struct():
            return _to_struct(kind, counter)
        case List(element):
            element_id = next(counter)
            return ListType(element_id, _to_type(element.type, counter), element.required)
        case Map(key, value):
            key_id, value_id = next(counter), next(counter)
            return MapType(
                key_id,
                _to_type(key.type, counter),
                value_id,
                _to_type(value.type, counter),
                value.required,
            )


def from_iceberg(schema: Schema) -> Struct:
    """Turn an Iceberg schema into fields, keeping its column ids."""
    return Struct(tuple(_from_field(field) for field in schema.fields))


def _from_field(field: NestedField) -> Field:
    return Field(
        field.name,
        _from_type(field.field_type, field.name),
        field.required,
        field.field_id,
        field.doc or "",
    )


def _from_type(kind: IcebergType, column: str) -> Type:
    match kind:
        case DecimalType():
            return Decimal(kind.precision, kind.scale)
        case FixedType():
            return Fixed(len(kind))
        case StructType():
            return Struct(tuple(_from_field(field) for field in kind.fields))
        case ListType():
            return List(_from_field(kind.element_field))
        case MapType():
            return Map(_from_field(kind.key_field), _from_field(kind.value_field))
        case _ if type(kind) in _KINDS:
            return _KINDS[type(kind)]
    raise TableUnsuitable(
        f"Column {column!r} has type {kind}, which Lakeward cannot write",
        next_step="Use a format version 2 type; docs/types.md lists them.",
    )
