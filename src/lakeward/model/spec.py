"""What a job is told to do: one connector's configuration, in our own words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

RULES = 1
"""Grows whenever the same bytes may be judged otherwise than before: new rules, fixed ones."""


@dataclass(frozen=True, slots=True)
class CatalogSpec:
    """Which Iceberg catalog, and how to reach it. Properties are PyIceberg's."""

    name: str
    properties: Mapping[str, str]

    def __repr__(self) -> str:
        return f"CatalogSpec(name={self.name!r}, uri={self.properties.get('uri')!r})"


@dataclass(frozen=True, slots=True)
class TableName:
    """A table by namespace and name."""

    namespace: tuple[str, ...]
    name: str

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Split `a.b.t` at its dots; the last part is the table."""
        *namespace, name = text.split(".")
        if not namespace or not all([*namespace, name]):
            raise ValueError(f"{text!r} is not a table name; write namespace.table")
        return cls(tuple(namespace), name)

    @property
    def identifier(self) -> tuple[str, ...]:
        return (*self.namespace, self.name)

    def beside(self, suffix: str) -> TableName:
        return TableName(self.namespace, self.name + suffix)

    def __str__(self) -> str:
        return ".".join(self.identifier)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Which topics, from which brokers, from where."""

    bootstrap_servers: str
    topics: tuple[str, ...]
    start: str = "earliest"
    """Where a new job begins: `earliest` or `latest`."""
    client: Mapping[str, str] = field(default_factory=dict)
    """Further librdkafka settings."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a job takes on at a time. Changing a limit never changes a record's fate."""

    commit_interval: float = 300.0
    """Seconds between commits while the job keeps up; a backlog is committed batch by batch."""
    commit_timeout: float = 30.0
    """Seconds a catalog may take to answer a commit before its outcome counts as unknown."""
    batch_records: int = 2_000_000
    batch_bytes: int = 1_500_000_000
    slice_records: int = 350_000
    small_batch_records: int = 30_000
    """Up to this many records a batch is one task: starting two costs more than it saves."""
    buffer_bytes: int = 128 * 1024 * 1024
    """Decoded rows one task holds before it writes them out."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Everything a coordinator and its tasks need to know about one job."""

    name: str
    source: SourceSpec
    catalog: CatalogSpec
    table: TableName
    max_record_bytes: int = 16 * 1024 * 1024
    """A larger value becomes a dead letter."""
    metadata_columns: bool = True
    limits: Limits = field(default_factory=Limits)

    @property
    def group(self) -> str:
        """The consumer group that shows this job's position to Kafka's tools."""
        return f"connect-{self.name}"

    @property
    def revision(self) -> str:
        """A hash of everything that decides what becomes of a record.

        A batch half committed under one revision must be finished under the same one. Limits and
        client settings are left out: they change when a record is read, never where it ends.
        """
        decisive = {
            "rules": RULES,
            "topics": sorted(self.source.topics),
            "table": str(self.table),
            "max_record_bytes": self.max_record_bytes,
            "metadata_columns": self.metadata_columns,
        }
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]
