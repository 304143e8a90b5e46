"""A table's rows as a queue in Kafka's order, to be taken from as records pass by."""

from __future__ import annotations

from collections.abc import Iterator

from lakeward.verify.readback import StoredRow
from lakeward.verify.sorting import Key


class Shelf:
    """Holds the rows not taken yet, of which only the next one is in memory."""

    def __init__(self, rows: Iterator[StoredRow]) -> None:
        self._rows = rows
        self._head = next(rows, None)

    def before(self, key: Key) -> Iterator[StoredRow]:
        """Take every row whose key is smaller."""
        while self._head is not None and self._head.key < key:
            row = self._head
            self._head = next(self._rows, None)
            yield row

    def rest(self) -> Iterator[StoredRow]:
        """Take whatever is left."""
        while self._head is not None:
            row = self._head
            self._head = next(self._rows, None)
            yield row
