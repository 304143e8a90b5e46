"""How a table wants its Parquet files: table properties as options of the writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakeward.errors import TableUnsuitable

_BLOOM = "write.parquet.bloom-filter-enabled.column."
_CODECS = frozenset({"zstd", "gzip", "snappy", "lz4", "brotli", "uncompressed"})


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """What a table's properties say about its files."""

    target_file_bytes: int
    row_group_bytes: int
    row_group_rows: int
    writer: Mapping[str, Any]
    """Arguments of pyarrow's ParquetWriter."""


def parquet_options(properties: Mapping[str, str], table: str) -> ParquetOptions:
    """Read the options; TableUnsuitable if one asks for what we cannot do."""
    file_format = properties.get("write.format.default", "parquet").lower()
    if file_format != "parquet":
        raise TableUnsuitable(
            f"write.format.default is {file_format}; Lakeward writes Parquet",
            where=f"table {table}",
            next_step="Set the table property write.format.default to parquet.",
        )
    codec = properties.get("write.parquet.compression-codec", "zstd").lower()
    if codec not in _CODECS:
        raise TableUnsuitable(
            f"write.parquet.compression-codec is {codec}, which Parquet does not have",
            where=f"table {table}",
            next_step=f"Use one of: {', '.join(sorted(_CODECS))}.",
        )

    def number(name: str, default: int) -> int:
        return _number(properties, name, default, table)

    level = properties.get("write.parquet.compression-level")
    blooms = {
        name.removeprefix(_BLOOM): True
        for name, value in properties.items()
        if name.startswith(_BLOOM) and value.lower() == "true"
    }
    writer = {
        "compression": "none" if codec == "uncompressed" else codec,
        "compression_level": number("write.parquet.compression-level", 0) if level else None,
        "data_page_size": number("write.parquet.page-size-bytes", 1024 * 1024),
        "dictionary_pagesize_limit": number("write.parquet.dict-size-bytes", 2 * 1024 * 1024),
        "max_rows_per_page": number("write.parquet.page-row-limit", 20_000),
        "bloom_filter_options": blooms or None,
        "write_batch_size": 1024,
        "store_schema": False,
    }
    return ParquetOptions(
        number("write.target-file-size-bytes", 512 * 1024 * 1024),
        number("write.parquet.row-group-size-bytes", 128 * 1024 * 1024),
        number("write.parquet.row-group-limit", 1024 * 1024),
        writer,
    )


def _number(properties: Mapping[str, str], name: str, default: int, table: str) -> int:
    text = properties.get(name, str(default)).strip()
    least = 0 if name.endswith("-level") else 1
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise TableUnsuitable(
            f"{name} is {text!r}, not a whole number from {least}",
            where=f"table {table}",
            next_step="Correct or remove the table property.",
        )
    return int(text)
