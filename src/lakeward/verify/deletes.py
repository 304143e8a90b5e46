"""Position deletes: rows a table no longer shows although their file still holds them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from lakeward.verify.files import StoredFile


def deleted_positions(io: FileIO, files: list[StoredFile]) -> dict[str, set[int]]:
    """Map each data file to the row positions deleted from it."""
    meant: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for delete in file.deletes:
            meant[delete].add(file.path)
    positions: dict[str, set[int]] = defaultdict(set)
    for delete, paths in sorted(meant.items()):
        with pq.ParquetFile(io.new_input(delete).open()) as content:
            for batch in content.iter_batches(columns=["file_path", "pos"]):
                for path, position in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                    if path in paths:
                        positions[path].add(position)
    return positions


def keep_rows(batch: Any, first: int, deleted: set[int] | None) -> Any:
    """Drop deleted rows from a batch whose first row is at position `first` of its file."""
    if not deleted:
        return batch
    keep = np.array([position not in deleted for position in range(first, first + len(batch))])
    return batch.filter(pa.array(keep))
