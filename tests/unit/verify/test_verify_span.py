"""How often an offset was read decides how many copies of it there may be."""

from __future__ import annotations

import pytest

from lakeward.verify.span import (
    ADOPTED,
    LETTERS,
    NEVER,
    ONCE,
    ROWS,
    Cover,
    Range,
    Segment,
    Span,
    segments,
)


def span(start: int, end: int, topic_id: str = "id", holds: str = "both") -> Span:
    return Span(0, start, end, topic_id, holds)


def test_one_reading_is_one_segment() -> None:
    assert segments([span(0, 10)], "id", (10, -1)) == (Segment(0, 10, ONCE),)


def test_a_gap_and_a_second_reading_make_segments_of_their_own() -> None:
    found = segments([span(0, 10), span(30, 40), span(35, 50)], "id", (50, -1))
    assert [(part.start, part.end, part.cover) for part in found] == [
        (0, 10, ONCE),
        (10, 30, NEVER),
        (30, 35, ONCE),
        (35, 40, Cover(rows=2, letters=2)),
        (40, 50, ONCE),
    ]


def test_readings_of_a_topic_that_is_gone_cannot_be_compared() -> None:
    (old, new) = segments([span(0, 10, "old"), span(0, 4)], "id", (4, -1))[::-1]
    assert old.cover == Cover(gone=1)
    assert new.cover == Cover(rows=1, letters=1, gone=1)
    (gone,) = segments([span(0, 10)], None, (0, 0))
    assert gone.cover == Cover(gone=1)


def test_a_table_that_was_rolled_back_holds_less_than_the_other() -> None:
    found = segments(
        [span(0, 10, holds=LETTERS), span(0, 10), span(10, 20, holds=ROWS)], "id", (0, 0)
    )
    assert [part.cover for part in found] == [Cover(rows=1, letters=2), Cover(rows=1)]


def test_what_others_wrote_is_no_reading() -> None:
    (only, both) = segments([span(0, 10, "", ADOPTED), span(5, 10)], "id", (10, -1))
    assert only.cover == Cover(adopted=True)
    assert both.cover == Cover(rows=1, letters=1, adopted=True)


def test_dead_letters_of_an_unfinished_batch_count_where_offsets_are_read_again() -> None:
    found = segments([span(0, 10), span(0, 3)], "id", (3, 6))
    assert [(part.start, part.cover.pending) for part in found] == [(0, 0), (3, 1), (6, 0)]


@pytest.mark.parametrize(
    ("cover", "most"),
    [(ONCE, 1), (Cover(rows=1, letters=2), 2), (Cover(rows=1, letters=1, gone=2), 3), (NEVER, 0)],
)
def test_there_may_be_as_many_copies_as_readings(cover: Cover, most: int) -> None:
    assert cover.most == most


def test_a_range_knows_the_cover_of_each_offset() -> None:
    plain = Range("t", 0, 5, 5, 10, 10)
    assert [plain.cover(offset) for offset in (4, 5, 9, 10)] == [NEVER, ONCE, ONCE, NEVER]
    found = segments([span(0, 10), span(30, 40)], "id", (40, -1))
    moved = Range("t", 0, 0, 0, 40, 40, segments=found)
    assert [moved.cover(n) for n in (0, 9, 10, 29, 30, 39, 40)] == [
        ONCE, ONCE, NEVER, NEVER, ONCE, ONCE, NEVER,
    ]  # fmt: skip
