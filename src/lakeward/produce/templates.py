"""Records written as templates with slots, filled a block at a time.

A template is a record as a dictionary. `{name}` inside a string is a slot for text, `{#name}` one
for the digits of a number, and the string `{=name}` stands for a number as such. What seldom
changes is fixed in a template, of which there are many; what is a record's own comes through the
slots. Filling is one `%` per record, which leaves a producer fast enough to load a broker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import mod
from typing import Any

import numpy as np

from lakeward.produce.columns import Column, objects
from lakeward.produce.go_json import encode

_SLOT = re.compile(rb'"\{=(\w+)\}"|\{#(\w+)\}|\{(\w+)\}')


class Templates:
    """A pool of templates, grouped by the slots they have."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        compiled = [_compile(record) for record in records]
        self._texts = objects([text for text, _ in compiled])
        self._slots = sorted({slots for _, slots in compiled})
        self._group = np.array([self._slots.index(slots) for _, slots in compiled])

    def __len__(self) -> int:
        return len(self._texts)

    def fill(self, picks: Column, columns: Mapping[str, Column]) -> list[bytes]:
        """Return one record per pick; row i of every column belongs to pick i."""
        groups = self._group[picks]
        order = np.argsort(groups, kind="stable")
        texts = self._texts[picks[order]].tolist()
        sorted_columns = {name: column[order].tolist() for name, column in columns.items()}
        ends = np.searchsorted(groups[order], np.arange(1, len(self._slots) + 1)).tolist()
        filled: list[bytes] = []
        for slots, end in zip(self._slots, ends, strict=True):
            rows = slice(len(filled), end)
            values = zip(*(sorted_columns[slot][rows] for slot in slots), strict=True)
            filled.extend(map(mod, texts[rows], values))
        records = np.empty(len(filled), dtype=object)
        records[order] = filled
        return list(records)


def without_empty(record: Mapping[str, Any]) -> dict[str, Any]:
    """Drop what Go's `omitempty` drops: empty text, zero, nothing, empty maps and lists."""
    return {name: value for name, value in record.items() if value}


def _compile(record: Mapping[str, Any]) -> tuple[bytes, tuple[str, ...]]:
    text = encode(record).replace(b"%", b"%%")
    slots = tuple(found[found.lastindex or 0].decode() for found in _SLOT.finditer(text))
    return _SLOT.sub(lambda found: b"%b" if found[3] else b"%d", text), slots
