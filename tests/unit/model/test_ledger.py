"""The ledger survives its journey through a table property and only ever moves forward."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeward.model.history import Ancestry, SnapshotLink, ancestry
from lakeward.model.ledger import (
    Ledger,
    TopicLedger,
    from_json,
    half_done,
    next_epoch,
    ranges_between,
    to_json,
)
from lakeward.model.offsets import Position, TopicPartition


def ledger(positions: dict[int, int], **changes: object) -> Ledger:
    topic = TopicLedger(
        "id", dict.fromkeys(positions, 0), {p: Position(o) for p, o in positions.items()}
    )
    made = Ledger(
        job="j", table_uuid="u", generation=0, epoch=1, batch=1, commit_id="c", revision="r",
        as_of=0, cluster_id="k", snapshot_id=10, sequence=5, schema_id=0, topics={"t": topic},
        anchor_uuid="u", tables=("a.b",), written_at=0,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


@given(st.dictionaries(st.integers(0, 300), st.integers(0, 2**62)), st.integers(0, 2**40))
def test_a_ledger_reads_back_as_it_was_written(positions: dict[int, int], epoch: int) -> None:
    written = ledger(positions, epoch=epoch)
    assert from_json(to_json(written)) == written


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"version":2}', '{"version":1,"topics":3}', "null"]
)
def test_anything_else_is_not_a_ledger(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(text)


def test_positions_never_move_back() -> None:
    where = TopicPartition("t", 0)
    moved = ledger({0: 10}).advanced({where: Position(7)}).advanced({where: Position(12)})
    assert moved.positions()[where].offset == 12
    assert ledger({0: 10}).advanced({where: Position(7)}).positions()[where].offset == 10


def test_a_partition_that_appears_starts_where_it_was_found() -> None:
    grown = ledger({0: 10}).with_partitions({TopicPartition("t", 1): 3, TopicPartition("t", 0): 0})
    assert grown.positions() == {
        TopicPartition("t", 0): Position(10),
        TopicPartition("t", 1): Position(3),
    }
    assert grown.topics["t"].starts == {0: 0, 1: 3}


def test_a_table_ahead_of_the_anchor_shows_a_half_done_batch() -> None:
    anchor, ahead = ledger({0: 10, 1: 5}), ledger({0: 15, 1: 5}, batch=2)
    assert half_done(anchor, [ahead]) == ahead
    assert [str(part) for part in ranges_between(anchor, ahead)] == ["t-0[10,15)"]


def test_a_table_behind_the_anchor_is_nothing_special() -> None:
    assert half_done(ledger({0: 10}), [ledger({0: 4})]) is None


def test_a_table_of_an_older_generation_is_not_ahead() -> None:
    assert half_done(ledger({0: 10}, generation=1), [ledger({0: 50}, generation=0)]) is None


def test_a_half_done_batch_may_hold_a_partition_the_anchor_does_not_know() -> None:
    ahead = ledger({0: 10, 1: 4})
    assert [str(part) for part in ranges_between(ledger({0: 10}), ahead)] == ["t-1[0,4)"]


def test_a_new_epoch_is_above_every_epoch_seen() -> None:
    assert next_epoch([ledger({}, epoch=3), ledger({}, epoch=7)]) == 8
    assert next_epoch([]) == 1


LINKS = {
    12: SnapshotLink(11, 7),
    11: SnapshotLink(10, 6),
    10: SnapshotLink(9, 5),
    9: SnapshotLink(None, 4),
}


@pytest.mark.parametrize(
    ("head", "links", "found"),
    [
        (12, LINKS, Ancestry.PROVEN),
        (10, LINKS, Ancestry.PROVEN),
        (12, {12: LINKS[12], 11: LINKS[11]}, Ancestry.PROVEN),
        (9, LINKS, Ancestry.ROLLED_BACK),
        (20, {20: SnapshotLink(9, 8), 9: LINKS[9]}, Ancestry.ROLLED_BACK),
        (12, {12: LINKS[12]}, Ancestry.AMBIGUOUS),
        (12, {12: SnapshotLink(None, 7)}, Ancestry.AMBIGUOUS),
        (None, {}, Ancestry.AMBIGUOUS),
    ],
    ids=[
        "two commits on top of ours",
        "ours is the head",
        "ours has expired but is still named as parent",
        "rolled back to before ours",
        "rolled back and then written",
        "an unknown snapshot in between has expired",
        "a head without parent",
        "an empty table",
    ],
)
def test_history_tells_whether_our_snapshot_is_still_part_of_it(
    head: int | None, links: dict[int, SnapshotLink], found: Ancestry
) -> None:
    assert ancestry(ledger({}), head, links) is found
