"""Sort more rows than memory holds: keys in DuckDB, which spills, texts in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import accumulate
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

MEMORY_LIMIT = "512MB"
"""What sorting keys may hold; the rest goes to the temporary folder."""

Key = tuple[str, int, int]
"""Topic, partition, offset: the order of everything here. Nulls come first as ("", -1, -1)."""


class RowSorter:
    """Holds rows on disk until all are there, then gives them back in order of their keys."""

    def __init__(self, resources: ExitStack) -> None:
        folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="lakeward-verify-"))
        self._session = resources.enter_context(duckdb.connect())
        # DuckDB draws a bar of its own on terminals.
        self._session.execute("SET enable_progress_bar = false")
        self._session.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        self._session.execute("SET temp_directory = '" + folder.replace("'", "''") + "'")
        self._session.execute(
            "CREATE TABLE keys "
            "(topic TEXT, part INT, pos BIGINT, file INT, start BIGINT, size BIGINT)"
        )
        self._texts = resources.enter_context((Path(folder) / "texts").open("w+b"))
        self._resources = resources
        self._end = 0

    def add(self, batch: Any, select: str, file: int) -> None:
        """Add rows of an Arrow batch; `select` names topic, partition, offset and text."""
        # DuckDB gets whole batches: fed by a Python generator, it crashes when a query fails.
        found = self._query(batch, f"SELECT {select} FROM given")
        texts = [text.encode() for text in found.column(3).to_pylist()]
        sizes = [len(text) for text in texts]
        starts = list(accumulate(sizes, initial=self._end))
        self._texts.write(b"".join(texts))
        keys = pa.table(
            [*found.columns[:3], pa.array(starts[:-1], pa.int64()), pa.array(sizes, pa.int64())],
            names=["topic", "part", "pos", "start", "size"],
        )
        self._query(
            keys, f"INSERT INTO keys SELECT topic, part, pos, {file}, start, size FROM given"
        )
        self._end = starts[-1]

    def _query(self, given: Any, sql: str) -> Any:
        self._session.register("given", given)
        try:
            return self._session.execute(sql).to_arrow_table()
        finally:
            self._session.unregister("given")

    def sorted(self) -> Iterator[tuple[Key, int, bytes]]:
        """Yield key, file and text of every row."""
        if not self._end:
            return
        self._texts.flush()
        texts = self._resources.enter_context(mmap(self._texts.fileno(), 0, access=ACCESS_READ))
        order = ", ".join(f"{column} NULLS FIRST" for column in ("topic", "part", "pos"))
        found = self._session.execute(f"SELECT * FROM keys ORDER BY {order}")
        for batch in found.to_arrow_reader(10_240):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            for topic, part, pos, file, start, size in rows:
                key = (topic or "", -1 if part is None else part, -1 if pos is None else pos)
                yield key, file, texts[start : start + size]
