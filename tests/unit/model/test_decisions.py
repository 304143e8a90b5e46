"""After any decision the ledger still tells how often each offset was read, and by which table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeward.model.decisions import (
    REMEMBERED,
    Move,
    Standing,
    Verdict,
    decided,
    job_command,
    latest_decision,
    letters_ahead,
    moves,
    signed,
    with_adopted_of,
)
from lakeward.model.ledger import (
    ADOPTED,
    BOTH,
    LETTERS,
    ROWS,
    Decision,
    Ledger,
    Span,
    TopicLedger,
    from_json,
    to_json,
)
from lakeward.model.offsets import Position, Slice, TopicPartition

WHERE = TopicPartition("t", 0)


def ledger(start: int, position: int, **changes: object) -> Ledger:
    topic = TopicLedger("id", {0: start}, {0: Position(position, 7)})
    made = Ledger(
        job="j", table_uuid="u", generation=0, epoch=1, batch=1, commit_id="c", revision="r",
        as_of=0, cluster_id="k", snapshot_id=10, sequence=5, schema_id=0, topics={"t": topic},
        anchor_uuid="u", tables=("a.b",), written_at=0,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def spans(after: Ledger) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.holds) for span in after.topics["t"].former]


def position(after: Ledger) -> int:
    return after.positions()[WHERE].offset


def start(after: Ledger) -> int:
    return after.topics["t"].starts[0]


def slices(*ranges: tuple[int, int]) -> tuple[Slice, ...]:
    return tuple(Slice("t", 0, *each) for each in ranges)


def test_going_ahead_closes_what_was_read_and_leaves_a_gap() -> None:
    after = decided(Standing(ledger(0, 10)), Verdict({WHERE: 30}), 1)
    assert (spans(after), start(after), position(after)) == ([(0, 10, BOTH)], 30, 30)
    assert after.generation == 1


def test_going_back_keeps_what_was_read() -> None:
    after = decided(Standing(ledger(0, 10)), Verdict({WHERE: 4}), 1)
    assert (spans(after), start(after), position(after)) == ([(0, 10, BOTH)], 4, 4)


def test_a_partition_that_stays_is_left_as_it_is() -> None:
    before = ledger(0, 10)
    after = decided(Standing(before), Verdict(), 1)
    assert after == replace(before, generation=1)


def test_nothing_read_yet_leaves_no_span_behind() -> None:
    after = decided(Standing(ledger(5, 5)), Verdict({WHERE: 9}), 1)
    assert (spans(after), start(after)) == ([], 9)


def test_what_a_roll_back_took_is_due_again_and_its_dead_letters_are_remembered() -> None:
    standing = Standing(ledger(0, 30), rows_gone=slices((20, 30), (12, 20)))
    after = decided(standing, Verdict(), 1)
    assert (spans(after), start(after), position(after)) == ([(12, 30, LETTERS)], 0, 12)


def test_rows_stay_where_the_dead_letters_were_rolled_back() -> None:
    standing = Standing(ledger(0, 30), letters_gone=slices((12, 20)))
    after = decided(standing, Verdict(), 1)
    assert spans(after) == [(0, 12, BOTH), (12, 20, ROWS), (20, 30, BOTH)]
    assert (start(after), position(after)) == (12, 12)


def test_a_roll_back_past_an_earlier_decision_reaches_into_it() -> None:
    moved = decided(Standing(ledger(0, 10)), Verdict({WHERE: 30}), 1)
    moved = moved.advanced({WHERE: Position(40)})
    after = decided(Standing(moved, rows_gone=slices((30, 40), (6, 10))), Verdict(), 2)
    assert position(after) == 6
    assert [each for each in spans(after) if each[2] != LETTERS] == [(0, 6, BOTH)]


def test_dead_letters_ahead_of_their_rows_are_remembered() -> None:
    anchor = ledger(0, 10)
    ahead = letters_ahead(anchor, ledger(0, 15, tables=None))
    after = decided(Standing(anchor, letters_ahead=ahead), Verdict(), 1)
    assert (spans(after), start(after), position(after)) == ([(10, 15, LETTERS)], 0, 10)


def test_what_was_read_past_a_cut_is_set_apart() -> None:
    after = decided(Standing(ledger(0, 10)), Verdict({WHERE: 6}, cuts={WHERE: 6}), 1)
    former = after.topics["t"].former
    assert [(each.start, each.end, each.topic_id) for each in former] == [
        (0, 6, "id"),
        (6, 10, "id/cut"),
    ]
    assert position(after) == 6


def test_a_topic_created_again_begins_anew_and_keeps_its_past() -> None:
    there = TopicPartition("t", 3)
    after = decided(Standing(ledger(0, 10)), Verdict({there: 2}, {"t": "new"}), 1)
    topic = after.topics["t"]
    assert (topic.id, topic.starts, topic.positions) == ("new", {3: 2}, {3: Position(2)})
    assert [(each.end, each.topic_id) for each in topic.former] == [(10, "id")]


def test_a_copy_of_a_topic_takes_over_its_past() -> None:
    moved = decided(Standing(ledger(0, 10)), Verdict({WHERE: 30}), 1)
    after = decided(Standing(moved), Verdict({}, {"t": "copy"}, same_records=True), 2)
    topic = after.topics["t"]
    assert (topic.id, topic.positions) == ("copy", {0: Position(30)})
    assert [each.topic_id for each in topic.former] == ["copy"]


def test_a_closed_topic_keeps_its_position() -> None:
    after = decided(Standing(ledger(0, 10)), Verdict(closed=frozenset({"t"})), 1)
    assert after.topics["t"].closed
    assert position(after) == 10
    opened = decided(Standing(after), Verdict({WHERE: 0}, {"t": "new"}), 2)
    assert not opened.topics["t"].closed


def test_a_decision_made_again_after_it_was_cut_short_notes_things_once() -> None:
    anchor = ledger(0, 30)
    gone = slices((20, 30))
    first = decided(Standing(anchor, rows_gone=gone), Verdict(), 1)
    ahead = letters_ahead(anchor, replace(first, tables=None))
    second = decided(Standing(anchor, rows_gone=gone, letters_ahead=ahead), Verdict(), 2)
    assert spans(second) == spans(first) == [(20, 30, LETTERS)]


def test_what_an_adoption_cut_short_has_noted_is_taken_over() -> None:
    span = Span(0, 3, 9, "", 1, ADOPTED)
    topic = TopicLedger("id", {0: 0}, {0: Position(10)}, (span,))
    noted = ledger(0, 10, generation=1, topics={"t": topic}, adopted={"letters": 4})
    taken = with_adopted_of(ledger(0, 10), noted)
    assert (taken.topics["t"].former, taken.adopted) == ((span,), {"letters": 4})
    assert with_adopted_of(noted, noted) is noted


def test_a_roll_back_takes_from_the_latest_reading() -> None:
    again = decided(Standing(ledger(0, 10)), Verdict({WHERE: 0}), 1)
    again = again.advanced({WHERE: Position(10)})
    after = decided(Standing(again, rows_gone=slices((6, 10))), Verdict(), 2)
    assert (spans(after), start(after)) == ([(0, 10, BOTH), (6, 10, LETTERS)], 0)


def test_what_an_older_decision_noted_is_not_noted_again_under_another_name() -> None:
    span = Span(0, 10, 15, "id", 1, LETTERS)
    topic = TopicLedger("id", {0: 0}, {0: Position(10)}, (span,))
    anchor = ledger(0, 10, generation=1, topics={"t": topic})
    copy = replace(topic, id="copy", former=(replace(span, topic_id="copy"),))
    assert letters_ahead(anchor, replace(anchor, generation=2, topics={"t": copy})) == ()


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["read", "half", "move", "rows back", "letters back"]),
        st.integers(0, 12),
    ),
    max_size=12,
)


@settings(max_examples=300)
@given(OPERATIONS)
def test_every_reading_stays_accounted_for(operations: list[tuple[str, int]]) -> None:
    """Play jobs and operators against a list of what each table really holds."""
    held: dict[str, list[tuple[int, int]]] = {ROWS: [], LETTERS: []}
    now = ledger(0, 0)
    for number, (what, size) in enumerate(operations, 1):
        at = position(now)
        if what == "read":
            if size:
                held[ROWS].append((at, at + size))
                held[LETTERS].append((at, at + size))
            now = now.advanced({WHERE: Position(at + size)})
            continue
        gone: dict[str, tuple[Slice, ...]] = {ROWS: (), LETTERS: ()}
        ahead: tuple[tuple[str, Span], ...] = ()
        verdict = Verdict()
        if what == "half" and size:
            held[LETTERS].append((at, at + size))
            ahead = letters_ahead(now, now.advanced({WHERE: Position(at + size)}))
        elif what == "move":
            verdict = Verdict({WHERE: size})
        elif what != "half":
            table = ROWS if what == "rows back" else LETTERS
            count = min(size % 4, len(held[table]))
            taken = held[table][len(held[table]) - count :]
            held[table] = held[table][: len(held[table]) - count]
            gone[table] = slices(*reversed(taken))
        standing = Standing(now, gone[ROWS], gone[LETTERS], ahead)
        now = from_json(to_json(decided(standing, verdict, number)))
    assert counted(now, ROWS) == really(held[ROWS])
    assert counted(now, LETTERS) == really(held[LETTERS])


def counted(after: Ledger, table: str) -> Counter[int]:
    topic = after.topics["t"]
    known = [(span.start, span.end) for span in topic.former if span.holds in (BOTH, table)]
    return really([*known, (topic.starts[0], topic.positions[0].offset)])


def really(ranges: list[tuple[int, int]]) -> Counter[int]:
    return Counter(offset for start, end in ranges for offset in range(start, end))


def test_moves_say_what_is_skipped_and_what_is_read_again() -> None:
    before = ledger(0, 10)
    (ahead,) = moves(before, ledger(30, 30))
    assert (ahead.skipped, ahead.again, str(ahead)) == (20, 0, "t-0: 10 -> 30")
    (back,) = moves(before, ledger(4, 4))
    assert (back.skipped, back.again) == (0, 6)
    (new,) = moves(None, before)
    assert (new.before, new.skipped, str(new)) == (None, 0, "t-0: none -> 10")
    assert Move("t", 0, 5, None).skipped == 0


def decision(number: int, lines: int = 1) -> Decision:
    return Decision(number, "resume-from j table", 0, "me@here", "", ("x",) * lines)


def test_old_decisions_are_forgotten_and_long_ones_shortened() -> None:
    now = ledger(0, 0)
    for number in range(REMEMBERED + 5):
        now = signed(now, decision(number, lines=100))
    assert [each.generation for each in now.decisions] == list(range(5, REMEMBERED + 5))
    assert now.decisions[-1].detail[-1] == "and 80 more"
    assert latest_decision([ledger(0, 0), now]) == now.decisions[-1]
    assert latest_decision([ledger(0, 0)]) is None


def test_a_ledger_with_decisions_reads_back_as_it_was_written() -> None:
    moved = decided(Standing(ledger(0, 10)), Verdict({WHERE: 30}, closed=frozenset({"t"})), 1)
    written = replace(signed(moved, decision(1)), adopted={"rows": 3, "since": 1})
    assert from_json(to_json(written)) == written


def test_a_ledger_nobody_decided_about_looks_as_it_always_did() -> None:
    text = to_json(ledger(0, 10))
    assert not any(word in text for word in ("decisions", "former", "closed", "adopted"))


@pytest.mark.parametrize(
    ("job", "shown"), [("orders", "orders"), ("my job; rm -rf", "'my job; rm -rf'")]
)
def test_a_command_can_be_typed_as_it_is_shown(job: str, shown: str) -> None:
    assert (
        job_command("adopt", job, "--from", "table") == f"lakeward job adopt {shown} --from table"
    )
