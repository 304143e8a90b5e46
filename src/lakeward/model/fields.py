"""A small engine-neutral type model: what a record looks like, whoever stores it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Types without parameters."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    UUID = "uuid"
    BINARY = "binary"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact number with `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Fixed:
    """Exactly `length` bytes."""

    length: int

    def __str__(self) -> str:
        return f"fixed({self.length})"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields in order."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{field.name}: {field.type}' for field in self.fields)}>"

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)

    def without(self, names: frozenset[str]) -> Struct:
        return Struct(tuple(field for field in self.fields if field.name not in names))


@dataclass(frozen=True, slots=True)
class List:
    """Any number of elements of one type."""

    element: Field

    def __str__(self) -> str:
        return f"list<{self.element.type}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Keys of one type to values of another."""

    key: Field
    value: Field

    def __str__(self) -> str:
        return f"map<{self.key.type}, {self.value.type}>"


Type = Kind | Decimal | Fixed | Struct | List | Map


@dataclass(frozen=True, slots=True)
class Field:
    """A named value of a type. `id` is the column id of the table it came from, if any."""

    name: str
    type: Type
    required: bool = False
    id: int | None = None
    doc: str = ""


def optional(name: str, kind: Type, doc: str = "") -> Field:
    return Field(name, kind, doc=doc)


def required(name: str, kind: Type, doc: str = "") -> Field:
    return Field(name, kind, required=True, doc=doc)


def list_of(element: Type) -> List:
    return List(optional("element", element))


def map_of(key: Type, value: Type) -> Map:
    return Map(required("key", key), optional("value", value))


STRING_MAP = map_of(Kind.STRING, Kind.STRING)

METADATA_COLUMNS = (
    optional("_topic", Kind.STRING, "Kafka topic the record came from"),
    # Not `_partition`: Iceberg reserves that name, and Spark then refuses to read the table.
    optional("_kafka_partition", Kind.INT, "Kafka partition"),
    optional("_offset", Kind.LONG, "Kafka offset; with topic and partition it names the record"),
    optional("_timestamp", Kind.TIMESTAMPTZ, "Kafka timestamp of the record"),
)
"""Columns that say where a row came from, carried by tables Lakeward creates."""

METADATA_NAMES = frozenset(field.name for field in METADATA_COLUMNS)
