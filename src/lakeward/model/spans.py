"""Keep account of what was read when an operator moves a job. Pure.

A partition's readings are a chain of spans. Moving the job closes the current one; a roll-back of
a table takes from the latest spans what that table no longer holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lakeward.model.ledger import BOTH, LETTERS, ROWS, Span
from lakeward.model.offsets import Slice

CUT = "/cut"
"""Marks the id of a topic whose log was cut: what was read past the cut, Kafka no longer has."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Everything that was read of one partition."""

    former: tuple[Span, ...]
    current: Span
    ahead: tuple[Span, ...] = ()
    """Dead letters of a batch whose rows are not committed."""

    def without(self, table: str, gone: Iterable[Slice]) -> Readings:
        """Take out what a table lost by a roll-back; `gone` begins with the newest."""
        chain = [*self.former, self.current, *self.ahead]
        pieces = [[span] for span in chain]
        for part in gone:
            left = [(part.start, part.end)]
            for index in range(len(chain) - 1, -1, -1):
                pieces[index], left = _take(pieces[index], table, left)
        former = [piece for group in pieces[: len(self.former)] for piece in group]
        head, *rest = _headed(pieces[len(self.former)], self.current)
        ahead = [piece for group in pieces[len(self.former) + 1 :] for piece in group]
        return Readings((*former,), head, (*rest, *ahead))

    def cut_at(self, end: int) -> Readings:
        """Mark what was read past a log's new end: other records stand there now, or will."""
        id_ = self.current.topic_id
        former = [piece for span in self.former for piece in _cut(span, id_, end)]
        head, *rest = _headed(_cut(self.current, id_, end), self.current)
        ahead = [piece for span in self.ahead for piece in _cut(span, id_, end)]
        return Readings((*former,), head, (*rest, *ahead))

    def moved_to(self, offset: int, topic_id: str | None = None) -> Readings:
        """Go on at an offset; the current span is closed unless it ends just there."""
        id_ = topic_id or self.current.topic_id
        whole = all(span.holds == LETTERS for span in self.ahead)
        if whole and self.current.end == offset and id_ == self.current.topic_id:
            return replace(self, former=_tidy([*self.former, *self.ahead]), ahead=())
        former = _tidy([*self.former, self.current, *self.ahead])
        return Readings(former, replace(self.current, start=offset, end=offset, topic_id=id_))

    def overlapping(self) -> bool:
        """Whether some offset of the current span was read before."""
        mine = self.current
        return any(
            span.start < mine.end and mine.start < span.end and span.topic_id == mine.topic_id
            for span in self.former
        )


def _take(
    spans: Sequence[Span], table: str, left: list[tuple[int, int]]
) -> tuple[list[Span], list[tuple[int, int]]]:
    """Take ranges out of spans that hold them; return the spans, and what was not found."""
    kept: list[Span] = []
    for span in spans:
        if span.holds not in (BOTH, table):
            kept.append(span)
            continue
        rest: list[tuple[int, int]] = []
        pieces = [span]
        for start, end in left:
            low, high = max(start, span.start), min(end, span.end)
            if low >= high:
                rest.append((start, end))
                continue
            rest += [(a, b) for a, b in ((start, low), (high, end)) if a < b]
            pieces = [part for piece in pieces for part in _split(piece, table, low, high)]
        kept += pieces
        left = rest
    return kept, left


def _split(span: Span, table: str, low: int, high: int) -> list[Span]:
    low, high = max(low, span.start), min(high, span.end)
    if low >= high:
        return [span]
    parts = [replace(span, end=low)]
    if span.holds == BOTH:
        other = LETTERS if table == ROWS else ROWS
        parts.append(replace(span, start=low, end=high, holds=other))
    parts.append(replace(span, start=high))
    return [part for part in parts if part]


def _cut(span: Span, topic_id: str, end: int) -> list[Span]:
    if span.topic_id != topic_id or span.end <= end:
        return [span]
    past = replace(span, start=max(span.start, end), topic_id=topic_id + CUT)
    return [part for part in (replace(span, end=end), past) if part]


def _headed(pieces: Sequence[Span], current: Span) -> list[Span]:
    """Put the piece the job can go on from first: it starts where the span did, and is whole."""
    empty = replace(current, end=current.start)
    if (
        pieces
        and pieces[0].start == current.start
        and (pieces[0].holds == BOTH and pieces[0].topic_id == current.topic_id)
    ):
        return list(pieces)
    return [empty, *pieces]


def _tidy(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Leave out what is empty and join what is one."""
    tidy: list[Span] = []
    for span in spans:
        if not span:
            continue
        last = tidy[-1] if tidy else None
        if (
            last
            and last.end == span.start
            and replace(last, start=0, end=0) == replace(span, start=0, end=0)
        ):
            tidy[-1] = replace(last, end=span.end)
        else:
            tidy.append(span)
    # A decision that is made again after it was cut short finds what it noted the first time.
    return tuple(dict.fromkeys(tidy))
