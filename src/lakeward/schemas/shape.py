"""The shape of a table: its columns and how it is partitioned."""

from __future__ import annotations

from dataclasses import dataclass

from lakeward.model.fields import METADATA_COLUMNS, Struct


@dataclass(frozen=True, slots=True)
class PartitionBy:
    """One partition field: a transform over a column, written as Iceberg writes it."""

    column: str
    transform: str = "identity"

    @property
    def name(self) -> str:
        return self.column if self.transform == "identity" else f"{self.column}_{self.transform}"


@dataclass(frozen=True, slots=True)
class TableShape:
    """What a new table looks like."""

    fields: Struct
    partitioning: tuple[PartitionBy, ...] = ()
    doc: str = ""

    def with_metadata_columns(self) -> TableShape:
        return TableShape(
            Struct(self.fields.fields + METADATA_COLUMNS), self.partitioning, self.doc
        )
