"""The offsets of one partition that a job answers for, and how often it has read each of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

Place = tuple[str, int]
"""A topic and a partition."""

BOTH, ROWS, LETTERS, ADOPTED = "both", "rows", "letters", "adopted"
"""What a span's readings are still held by."""


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets `[start, end)` of a partition that were read once, as the ledger says."""

    partition: int
    start: int
    end: int
    topic_id: str
    holds: str = BOTH


@dataclass(frozen=True, slots=True)
class Cover:
    """How often an offset was read, and where the results must or may be."""

    rows: int = 0
    """Readings whose rows the table holds."""
    letters: int = 0
    """Readings whose dead letters are held."""
    gone: int = 0
    """Readings of records that Kafka no longer has under this offset: nothing to compare with."""
    pending: int = 0
    """Dead letters of a batch that is not finished yet."""
    adopted: bool = False
    """Whether others had written this offset before the job came."""

    @property
    def once(self) -> bool:
        """Read once, by this job, from this topic: the rule where no operator has decided."""
        return self == ONCE

    @property
    def most(self) -> int:
        """How many copies there may be at most, of either kind."""
        return max(self.rows, self.letters) + self.gone + self.pending

    @property
    def claimed(self) -> bool:
        """Whether the job answers for the record."""
        return bool(self.rows or self.letters)

    @property
    def skipped(self) -> bool:
        return self == NEVER


ONCE, NEVER = Cover(rows=1, letters=1), Cover()


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of offsets `[start, end)` that were all read alike."""

    start: int
    end: int
    cover: Cover

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Range:
    """The offsets of one partition that a job answers for."""

    topic: str
    partition: int
    start: int
    """Where the job began."""
    readable: int
    """The first of them Kafka still has."""
    end: int
    letters_end: int
    """Dead letters commit before the table does, so theirs may go further."""
    waiting: int = 0
    """Offsets past the end that the job has not read yet."""
    segments: tuple[Segment, ...] = ()
    """How often each was read; without any, all of them once."""

    @property
    def place(self) -> Place:
        return self.topic, self.partition

    def cover(self, offset: int) -> Cover:
        """Return how often an offset was read."""
        if not self.segments:
            return ONCE if self.start <= offset < self.end else NEVER
        index = bisect_right(self.segments, offset, key=lambda segment: segment.start) - 1
        if index < 0 or offset >= self.segments[index].end:
            return NEVER
        return self.segments[index].cover

    def parts(self) -> tuple[Segment, ...]:
        return self.segments or (Segment(self.start, self.end, ONCE),)


def segments(
    spans: Iterable[Span], topic_id: str | None, pending: tuple[int, int]
) -> tuple[Segment, ...]:
    """Cut a partition's offsets where the number of readings changes.

    A span of another topic id than Kafka's (None: the topic is gone) cannot be compared.
    """
    spans = tuple(spans)
    ahead = Span(-1, *pending, "") if pending[0] < pending[1] else None
    edges = sorted({edge for span in spans for edge in (span.start, span.end)})
    if ahead is not None:
        inside = [edge for edge in pending if edges and edges[0] < edge < edges[-1]]
        edges = sorted({*edges, *inside})
    return tuple(
        Segment(start, end, _cover(start, spans, topic_id, ahead)) for start, end in pairwise(edges)
    )


def _cover(at: int, spans: tuple[Span, ...], topic_id: str | None, ahead: Span | None) -> Cover:
    here = [span for span in spans if span.start <= at < span.end]
    own = [span for span in here if span.holds != ADOPTED and span.topic_id == topic_id]
    return Cover(
        sum(span.holds in (BOTH, ROWS) for span in own),
        sum(span.holds in (BOTH, LETTERS) for span in own),
        sum(span.holds != ADOPTED and span.topic_id != topic_id for span in here),
        int(ahead is not None and ahead.start <= at < ahead.end),
        any(span.holds == ADOPTED for span in here),
    )
