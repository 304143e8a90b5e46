"""The files a snapshot is made of, and whether they are all there, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntry
from pyiceberg.table import Table

from lakeward.errors import DestinationError, TableUnsuitable
from lakeward.verify.partitioning import plain_values
from lakeward.verify.report import Tell


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One reference to a data file; a file referenced twice is read twice, as by any reader."""

    path: str
    spec_id: int
    partition: tuple[Any, ...]
    records: int
    sequence: int
    deletes: tuple[str, ...] = ()
    """Files of row positions deleted from this one."""


@dataclass(slots=True)
class _Listing:
    """Gathers entries while manifests are read."""

    data: list[ManifestEntry] = field(default_factory=list)
    deletes: list[ManifestEntry] = field(default_factory=list)


def stored_files(table: Table, tell: Tell) -> list[StoredFile]:
    """List the data files of the current snapshot; say what is wrong with them."""
    listing = _list_entries(table, tell)
    _refuse_what_cannot_be_read(table, listing)
    paths = Counter(entry.data_file.file_path for entry in listing.data)
    for path, times in paths.items():
        if times > 1:
            tell(f"data file referenced {times} times: {path}")
    absent = _absent(table.io, paths, tell)
    return [
        _stored(entry, listing.deletes)
        for entry in listing.data
        if entry.data_file.file_path not in absent
    ]


def _list_entries(table: Table, tell: Tell) -> _Listing:
    listing = _Listing()
    snapshot = table.current_snapshot()
    try:
        manifests = [] if snapshot is None else snapshot.manifests(table.io)
    except FileNotFoundError as missing:
        tell(f"manifest list missing: {missing}")
        return listing
    for manifest in manifests:
        try:
            entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        except FileNotFoundError:
            tell(f"manifest missing: {manifest.manifest_path}")
            continue
        for entry in entries:
            is_data = entry.data_file.content == DataFileContent.DATA
            (listing.data if is_data else listing.deletes).append(entry)
    return listing


def _refuse_what_cannot_be_read(table: Table, listing: _Listing) -> None:
    name = ".".join(table.name())
    formats = {entry.data_file.file_format for entry in (*listing.data, *listing.deletes)}
    kinds = {entry.data_file.content for entry in listing.deletes}
    if formats - {FileFormat.PARQUET} or DataFileContent.EQUALITY_DELETES in kinds:
        raise TableUnsuitable(
            "The table holds equality deletes or non-Parquet files, which cannot be verified",
            where=name,
            next_step="Compact the table into Parquet without deletes, then verify again.",
        )


def _absent(io: FileIO, paths: Iterable[str], tell: Tell) -> set[str]:
    absent = set()
    for path in paths:
        try:
            there = io.new_input(path).exists()
        except OSError as failure:
            raise DestinationError(
                f"The storage of a data file does not answer: {failure}", where=path
            ) from failure
        if not there:
            tell(f"data file missing: {path}")
            absent.add(path)
    return absent


def _stored(entry: ManifestEntry, deletes: list[ManifestEntry]) -> StoredFile:
    file = entry.data_file
    sequence = entry.sequence_number or 0
    return StoredFile(
        file.file_path,
        file.spec_id,
        plain_values(file.partition),
        file.record_count,
        sequence,
        # A delete reaches files as old as itself or older; its rows name the files it means.
        tuple(
            delete.data_file.file_path
            for delete in deletes
            if (delete.sequence_number or 0) >= sequence
        ),
    )
