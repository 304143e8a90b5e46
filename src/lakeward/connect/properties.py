"""THE table of connector properties: what each is called, means, and defaults to.

Parsing and translation come from it. A key that is not here, or that has no
effect yet, is warned about, never passed over in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from lakeward.errors import UsageError


class Kind(StrEnum):
    """How a value is read."""

    TEXT = "string"
    LIST = "list"
    WHOLE = "int"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Property:
    """One key a connector's configuration may have."""

    name: str
    kind: Kind
    doc: str
    default: str | None = None
    required: bool = False
    effective: bool = True
    """False if the key is understood but does nothing here yet."""
    allowed: tuple[str, ...] = ()
    least: int = 0


CONNECTOR_CLASSES = (
    "org.apache.iceberg.connect.IcebergSinkConnector",
    "io.tabular.iceberg.connect.IcebergSinkConnector",
)
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_STRING = "org.apache.kafka.connect.storage.StringConverter"

PROPERTIES: dict[str, Property] = {
    entry.name: entry
    for entry in (
        Property("name", Kind.TEXT, "Name of the connector and of its job.", required=True),
        Property(
            "connector.class", Kind.TEXT, "Which connector.", required=True,
            allowed=CONNECTOR_CLASSES,
        ),
        Property(
            "tasks.max", Kind.WHOLE, "Tasks run as many as there are cores.", "1", effective=False
        ),
        Property("topics", Kind.LIST, "Topics to read.", required=True),
        Property("iceberg.tables", Kind.LIST, "Table to write: namespace.table.", required=True),
        Property("iceberg.catalog", Kind.TEXT, "Name of the catalog.", "iceberg"),
        Property(
            "iceberg.tables.auto-create-enabled", Kind.BOOLEAN, "Create a missing table.", "false",
            allowed=("false",),
        ),
        Property(
            "iceberg.tables.evolve-schema-enabled", Kind.BOOLEAN,
            "Add columns for new fields. Until then new fields are counted as drift.", "false",
            effective=False,
        ),
        Property(
            "iceberg.control.topic", Kind.TEXT, "Topic of commit events.", "control-iceberg",
            effective=False,
        ),
        Property(
            "iceberg.control.commit.interval-ms", Kind.WHOLE, "Time between commits.", "300000",
            least=1,
        ),
        Property(
            "iceberg.control.commit.timeout-ms", Kind.WHOLE,
            "How long a catalog may take to answer a commit.", "30000", least=100,
        ),
        Property(
            "key.converter", Kind.TEXT, "Keys are kept as bytes, whatever the converter.", _STRING,
            effective=False,
        ),
        Property("value.converter", Kind.TEXT, "Format of values.", _JSON, allowed=(_JSON,)),
        Property(
            "value.converter.schemas.enable", Kind.BOOLEAN, "Values in a schema envelope.", "false",
            allowed=("false",),
        ),
        Property(
            "consumer.override.auto.offset.reset", Kind.TEXT, "Where a new job begins.", "earliest",
            allowed=("earliest", "latest"),
        ),
        Property(
            "max.record.bytes", Kind.WHOLE, "A larger value becomes a dead letter.", "16777216",
            least=1,
        ),
        Property(
            "lakeward.metadata-columns", Kind.BOOLEAN,
            "Fill _topic, _kafka_partition, _offset, _timestamp where the table has them.", "true",
        ),
        Property(
            "lakeward.batch.records", Kind.WHOLE, "Most records one commit covers.", "2000000",
            least=1,
        ),
        Property(
            "lakeward.task.buffer.bytes", Kind.WHOLE,
            "Decoded rows a task holds before it writes them.", "134217728", least=1_048_576,
        ),
    )
}  # fmt: skip

MOST = 2**31 - 1

CATALOG_KEYS = frozenset(
    {"iceberg.catalog.type", "iceberg.catalog.uri", "iceberg.catalog.warehouse"}
    | {"iceberg.catalog.catalog-impl", "iceberg.catalog.jdbc.schema-version"}
)
"""What the embedded catalog is described by."""

DECISIVE = re.compile(
    r"transforms|predicates|topics\.regex|iceberg\.tables\.(route-field|cdc-field|dynamic-enabled"
    r"|upsert-mode-enabled|default-commit-branch)|iceberg\.table\..*\.(route-regex|commit-branch)"
)
"""Keys that change which data is written where; to run without them would write other data."""


class Configuration:
    """A connector's configuration, checked against the table."""

    def __init__(self, given: Mapping[str, str], where: str) -> None:
        self._given = given
        self._where = where
        for key, value in given.items():
            if DECISIVE.fullmatch(key) and str(value).strip().lower() not in ("", "false"):
                raise self.wrong(key, "is not supported yet, and changes what is written")
        for entry in PROPERTIES.values():
            self._check(entry)

    def text(self, name: str) -> str:
        return self._value(PROPERTIES[name])

    def list(self, name: str) -> tuple[str, ...]:
        parts = (part.strip() for part in self.text(name).split(","))
        return tuple(dict.fromkeys(part for part in parts if part))

    def whole(self, name: str) -> int:
        return int(self.text(name))

    def boolean(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def under(self, prefix: str) -> dict[str, str]:
        """Return the keys below a prefix, without it."""
        return {
            key.removeprefix(prefix): value
            for key, value in self._given.items()
            if key.startswith(prefix)
        }

    def wrong(self, name: str, what: str, next_step: str = "") -> UsageError:
        """Return an error about one key."""
        return UsageError(f"{name} {what}", where=self._where, next_step=next_step)

    def _value(self, entry: Property) -> str:
        return str(self._given.get(entry.name) or entry.default or "").strip()

    def _check(self, entry: Property) -> None:
        value = self._value(entry)
        if entry.required and not value:
            raise self.wrong(entry.name, "is missing", f"It means: {entry.doc}")
        if entry.kind is Kind.WHOLE and not (value.isascii() and value.isdigit()):
            raise self.wrong(entry.name, f"must be a whole number, not {value!r}")
        if entry.kind is Kind.WHOLE and int(value) < entry.least:
            raise self.wrong(entry.name, f"must be at least {entry.least}, not {value}")
        if entry.kind is Kind.WHOLE and int(value) > MOST:
            raise self.wrong(entry.name, f"must be at most {MOST}, not {value}")
        if entry.kind is Kind.BOOLEAN and value.lower() not in ("true", "false"):
            raise self.wrong(entry.name, f"must be true or false, not {value!r}")
        if entry.allowed and value not in entry.allowed:
            raise self.wrong(
                entry.name, f"cannot be {value!r} here", f"Use {' or '.join(entry.allowed)}."
            )


def idle_keys(given: Mapping[str, str]) -> list[str]:
    """Name the keys of a configuration that have no effect."""
    notes = []
    for key in given:
        entry = PROPERTIES.get(key)
        if entry is None and key not in CATALOG_KEYS:
            notes.append(f"{key} (not known)")
        elif entry is not None and not entry.effective:
            notes.append(key)
    return notes
