"""Count what is in JSON text without parsing it: how many keyed values of which class, per row.

The counts are held against what the decoder accounts for. Where they differ, a field was unknown,
dropped or bent, and the row is taken apart with care. Anything the counting cannot be sure of
makes the row a suspect too; a suspect costs time, never truth.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PADDING = b"\0\0\0\0"
"""Appended to the text, so that looking past the last row stays inside the buffer."""


class Weight(IntEnum):
    """One field of 12 bits per class of value in a packed count."""

    STRING = 1
    NUMBER = 1 << 12
    BOOLEAN = 1 << 24
    OBJECT = 1 << 36
    ARRAY = 1 << 48


MOST_KEYS = 4000
"""More keys than this in one row might overflow a field of the packed count."""

MOST_BLANKS = 16

BLOCK_BYTES = 512 * 1024
"""Text counted at once: what it takes stays in the processor's cache, which halves the cost."""

_KEY = re.compile(rb'"([^"]*)"\s*:')
_QUOTE, _COLON, _BACKSLASH, _COMMA = b'":\\,'
_BLANKS = b" \t\n\r"


def _tables() -> tuple[Counts, Flags]:
    weights = np.zeros(256, np.int64)
    known = np.zeros(256, np.bool_)
    classes = {b'"': Weight.STRING, b"-0123456789": Weight.NUMBER, b"tf": Weight.BOOLEAN}
    for first_bytes, weight in {**classes, b"{": Weight.OBJECT, b"[": Weight.ARRAY}.items():
        weights[list(first_bytes)] = weight
        known[list(first_bytes)] = True
    known[ord("n")] = True
    return weights, known


_WEIGHT, _KNOWN = _tables()
_BLANK = np.isin(np.arange(256), list(_BLANKS))


def scan(text: Bytes, offsets: Counts) -> tuple[Counts, Flags]:
    """Return, per row, the packed count of its keyed values and whether the row is a suspect.

    `text` ends in PADDING; row i is `text[offsets[i]:offsets[i + 1]]` and must be an object.
    """
    rows = len(offsets) - 1
    counts, suspects = np.empty(rows, np.int64), np.empty(rows, np.bool_)
    for first, last in _blocks(offsets):
        begin, end = offsets[first], offsets[last] + len(PADDING)
        block = count_keyed(text[begin:end], offsets[first : last + 1] - begin)
        counts[first:last], suspects[first:last] = block
    empty = np.diff(offsets) == 0
    return counts, suspects | empty | (text[offsets[:-1]] != ord("{"))


def _blocks(offsets: Counts) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows of about BLOCK_BYTES together, one row at least."""
    steps = np.arange(0, offsets[-1] + BLOCK_BYTES, BLOCK_BYTES)
    edges = np.unique(np.minimum(np.searchsorted(offsets, steps), len(offsets) - 1))
    yield from itertools.pairwise(edges.tolist())


def count_keyed(text: Bytes, offsets: Counts) -> tuple[Counts, Flags]:
    """Count the keyed values inside each row, whatever the row is."""
    suspects = np.zeros(len(offsets) - 1, np.bool_)
    colons = np.flatnonzero(text == _COLON)
    after_a_quote = text.take(colons - 1) == _QUOTE
    keys, others = colons[after_a_quote] - 1, colons[~after_a_quote]
    escaped = text.take(keys - 1) == _BACKSLASH
    if escaped.any():
        # After two backslashes nobody can tell at a glance whether the quote is escaped.
        _suspect_rows(suspects, offsets, keys[escaped & (text[keys - 2] == _BACKSLASH)])
        keys = keys[~escaped]
    first = text.take(keys + 2)
    spaced = _BLANK.take(first)
    if spaced.any():
        first = np.where(spaced, text[keys + 3], first)
    doubtful = ~_KNOWN.take(first)
    nulls = first == ord("n")
    if nulls.any():
        doubtful |= nulls & (text[np.minimum(keys + 3 + spaced, len(text) - 1)] != ord("u"))
        _suspect_repeated_nulls(suspects, text, offsets, keys[nulls])
    _suspect_rows(suspects, offsets, keys[doubtful])
    edges = np.searchsorted(keys, offsets)
    suspects |= np.diff(edges) > MOST_KEYS
    running = np.concatenate(([0], np.cumsum(_WEIGHT.take(first))))
    # One bit tells `]` from `}`.
    closers = np.flatnonzero((text | 0x20) == ord("}"))
    _suspect_after(suspects, text, offsets, closers, _COMMA)
    # A blank between a key and its colon hides the key from the count above.
    _suspect_after(suspects, text, offsets, others[_BLANK.take(text.take(others - 1))], _QUOTE)
    return running[edges[1:]] - running[edges[:-1]], suspects


def weight_of(first_bytes: Bytes) -> Counts:
    """Return the weight of the values that begin with these bytes."""
    weights: Counts = _WEIGHT[first_bytes]
    return weights


def has_inexact_number(text: Bytes, offsets: Counts) -> Flags:
    """Return the rows with a number a double may not keep: 16 digits or more, or an exponent."""
    digit = (text >= ord("0")) & (text <= ord("9"))
    run = digit | (text == ord("."))
    for step in (1, 2, 4, 8):
        run = run[:-step] & run[step:]
    exponent = digit[:-1] & ((text[1:] == ord("e")) | (text[1:] == ord("E")))
    rows = np.zeros(len(offsets) - 1, np.bool_)
    _suspect_rows(rows, offsets, np.flatnonzero(run))
    _suspect_rows(rows, offsets, np.flatnonzero(exponent))
    return rows


def _suspect_after(
    suspects: Flags, text: Bytes, offsets: Counts, places: npt.NDArray[np.int64], sign: int
) -> None:
    """Suspect the rows in which one of the places follows a sign, blanks in between or not."""
    before = places - 1
    for _ in range(MOST_BLANKS):
        last = text[before]
        _suspect_rows(suspects, offsets, before[last == sign])
        before = before[_BLANK[last]] - 1
        if not len(before):
            return
    _suspect_rows(suspects, offsets, before)


def _suspect_repeated_nulls(
    suspects: Flags, text: Bytes, offsets: Counts, nulls: npt.NDArray[np.int64]
) -> None:
    """Suspect rows that have a null and some key twice: a null is not counted, so it may hide."""
    rows = np.unique(np.searchsorted(offsets, nulls, side="right") - 1)
    for row in rows.tolist():
        content = text[offsets[row] : offsets[row + 1]].tobytes()
        keys = _KEY.findall(content)
        suspects[row] |= b"\\" in content or len(set(keys)) < len(keys)


def _suspect_rows(suspects: Flags, offsets: Counts, places: npt.NDArray[np.int64]) -> None:
    if len(places):
        rows = np.searchsorted(offsets, places, side="right") - 1
        suspects[np.clip(rows, 0, len(suspects) - 1)] = True
