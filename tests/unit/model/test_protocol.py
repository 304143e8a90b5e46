"""Each decision of the commit protocol, alone. How they work together: `tests/model`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakeward.model.ledger import Ledger, TopicLedger
from lakeward.model.offsets import Batch, Position, Slice, TopicPartition
from lakeward.model.protocol import (
    Discarded,
    Landed,
    Pin,
    Rebase,
    Seen,
    Stamp,
    after_commit,
    claimed,
    covering,
    overtaken,
)

PIN = Pin(revision="new", as_of=700, schema_id=4, topic_ids={"t": "id", "u": "id-u"})
STAMP = Stamp(epoch=9, batch=6, commit_id="mine", at=800)


def ledger(offset: int = 10, **changes: object) -> Ledger:
    topic = TopicLedger("id", {0: 0}, {0: Position(offset, 3)})
    made = Ledger(
        job="j", table_uuid="u", generation=2, epoch=8, batch=5, commit_id="theirs", revision="old",
        as_of=100, cluster_id="k", snapshot_id=10, sequence=5, schema_id=1, topics={"t": topic},
        anchor_uuid="u", tables=("a.b",), written_at=200,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def batch(*ranges: Slice) -> Batch:
    return Batch(ranges, (ranges,))


def ends(*ranges: Slice) -> dict[TopicPartition, Position]:
    return {part.where: Position(part.end, 7) for part in ranges}


def seen(schema_id: int = 1, spec_id: int = 0, **changes: object) -> Seen:
    return Seen(ledger(**changes), schema_id, spec_id)


def test_a_claim_takes_the_epoch_and_leaves_position_and_pin_alone() -> None:
    before = ledger()
    after = claimed(before, 9, "claim", 300)
    assert after == replace(before, epoch=9, commit_id="claim", written_at=300)


def test_a_batch_moves_the_position_to_its_end_and_keeps_the_leader_epoch() -> None:
    part = Slice("t", 0, 10, 15)
    covered = covering(ledger(), batch(part), ends(part), PIN, STAMP)
    assert covered.positions() == {TopicPartition("t", 0): Position(15, 7)}


def test_a_batch_that_ends_behind_the_position_does_not_move_it_back() -> None:
    part = Slice("t", 0, 0, 4)
    covered = covering(ledger(), batch(part), ends(part), PIN, STAMP)
    assert covered.positions() == {TopicPartition("t", 0): Position(10, 3)}


def test_a_batch_records_what_its_verdicts_depend_on() -> None:
    part = Slice("t", 0, 10, 15)
    covered = covering(ledger(), batch(part), ends(part), PIN, STAMP)
    assert (covered.revision, covered.as_of, covered.schema_id) == ("new", 700, 4)


def test_a_batch_names_the_records_that_kill_their_process() -> None:
    part = Slice("t", 0, 10, 15)
    where = TopicPartition("t", 0)
    pin = replace(PIN, condemned=frozenset({(where, 13), (where, 11)}))
    covered = covering(ledger(), batch(part), ends(part), pin, STAMP)
    assert covered.condemned == (("t", 0, 11), ("t", 0, 13))


def test_a_batch_records_who_committed_it_and_when() -> None:
    part = Slice("t", 0, 10, 15)
    covered = covering(ledger(), batch(part), ends(part), PIN, STAMP)
    assert (covered.epoch, covered.batch, covered.commit_id) == (9, 6, "mine")
    assert covered.written_at == 800


def test_a_batch_leaves_alone_what_it_is_not_about() -> None:
    part = Slice("t", 0, 10, 15)
    before = ledger()
    covered = covering(before, batch(part), ends(part), PIN, STAMP)
    same = ("job", "table_uuid", "generation", "cluster_id", "anchor_uuid", "tables", "ref")
    assert [getattr(covered, name) for name in same] == [getattr(before, name) for name in same]


def test_a_table_that_does_not_know_a_partition_learns_it_from_the_batch() -> None:
    part = Slice("t", 1, 30, 33)
    covered = covering(ledger(), batch(part), ends(part), PIN, STAMP)
    assert covered.topics["t"].starts == {0: 0, 1: 30}
    assert covered.positions()[TopicPartition("t", 1)] == Position(33, 7)
    assert covered.positions()[TopicPartition("t", 0)] == Position(10, 3)


def test_a_table_that_does_not_know_a_topic_learns_it_with_its_id() -> None:
    part = Slice("u", 0, 5, 6)
    covered = covering(ledger(), batch(part), ends(part), PIN, STAMP)
    assert covered.topics["u"].id == "id-u"
    assert covered.positions()[TopicPartition("u", 0)] == Position(6, 7)


def test_a_known_topic_keeps_the_id_it_was_read_under() -> None:
    other = replace(PIN, topic_ids={"t": "another"})
    part = Slice("t", 0, 10, 15)
    assert covering(ledger(), batch(part), ends(part), other, STAMP).topics["t"].id == "id"


@pytest.mark.parametrize("epochs", [(9, 8), (8, 9)], ids=["on the anchor", "on the letters"])
def test_a_later_epoch_on_any_table_fences(epochs: tuple[int, int]) -> None:
    later = overtaken(8, [ledger(epoch=epoch) for epoch in epochs])
    assert later is not None
    assert later.epoch == 9


def test_our_own_and_earlier_epochs_do_not_fence() -> None:
    assert overtaken(8, [ledger(epoch=8), ledger(epoch=3)]) is None


def test_a_ledger_with_our_commit_id_means_that_it_landed() -> None:
    assert after_commit(seen(), seen(commit_id="mine"), "mine") == Landed()


def test_our_commit_counts_as_landed_although_the_schema_has_changed_since() -> None:
    assert after_commit(seen(), seen(schema_id=2, commit_id="mine"), "mine") == Landed()


def test_an_unchanged_ledger_means_that_the_files_are_sent_again() -> None:
    assert after_commit(seen(), seen(), "mine") == Rebase()


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (seen(commit_id="somebody's"), "the ledger moved"),
        (seen(schema_id=2), "the schema changed"),
        (seen(spec_id=1), "the partitioning changed"),
    ],
    ids=["ledger", "schema", "partitioning"],
)
def test_a_batch_is_planned_again_if_what_it_stands_on_has_changed(now: Seen, reason: str) -> None:
    assert after_commit(seen(), now, "mine") == Discarded(reason)


def test_a_commit_of_ours_from_an_earlier_batch_is_not_taken_for_this_one() -> None:
    earlier = seen(commit_id="mine, given up before")
    assert after_commit(seen(), earlier, "mine") == Discarded("the ledger moved")
