"""Messages become chunks of the slices asked for: all of them, nothing else, each once."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Message

from lakeward.errors import OffsetsLost
from lakeward.kafka.read import CHUNK_RECORDS, _Pending, _without_twins
from lakeward.model.offsets import Slice


def message(partition: int, offset: int, topic: str = "t") -> Message:
    value = f"{topic}{partition}@{offset}".encode()
    return Message(topic=topic, partition=partition, offset=offset, value=value)


def event(code: int, partition: int, offset: int) -> Message:
    return Message(topic="t", partition=partition, offset=offset, error=KafkaError(code))


def end_of_log(partition: int, offset: int) -> Message:
    return event(KafkaError._PARTITION_EOF, partition, offset)


def taken(pending: _Pending) -> list[bytes | None]:
    return [value for chunk in pending.chunks() for value in chunk.values]


def test_records_that_come_together_with_the_end_of_their_log_are_kept() -> None:
    pending = _Pending([Slice("t", 0, 0, 4), Slice("t", 1, 7, 8)])
    pending.take([end_of_log(0, 4), message(0, 2), message(1, 7), message(0, 3)])
    assert pending.done
    assert taken(pending) == [b"t0@2", b"t0@3", b"t1@7"]


def test_one_slice_is_complete_at_its_end_and_takes_nothing_past_it() -> None:
    pending = _Pending([Slice("t", 0, 1, 3)])
    pending.take([message(0, 0), message(0, 1)])
    assert not pending.done
    assert pending.at == 2
    # Offset 2 is a transaction's marker: nobody sees it.
    pending.take([message(0, 3), message(0, 4)])
    assert pending.done
    assert taken(pending) == [b"t0@1"]


def test_slices_of_many_partitions_and_topics_are_told_apart() -> None:
    slices = [Slice("t", 0, 0, 2), Slice("t", 5, 10, 12), Slice("u", 0, 0, 1)]
    pending = _Pending(slices)
    pending.take([message(5, 10), message(0, 0), message(0, 0, "u")])
    assert not pending.done
    pending.take([message(0, 1), message(5, 11), message(5, 12), message(0, 2)])
    assert pending.done
    chunks = {chunk.topic: chunk for chunk in pending.chunks()}
    assert chunks["u"].values == [b"u0@0"]
    found = zip(chunks["t"].partitions.tolist(), chunks["t"].offsets.tolist(), strict=True)
    assert sorted(found) == [(0, 0), (0, 1), (5, 10), (5, 11)]
    assert chunks["t"].leader_epochs == {0: -1, 5: -1}


def test_a_log_that_ends_before_the_slice_does_not_complete_it() -> None:
    pending = _Pending([Slice("t", 0, 0, 10)])
    pending.take([message(0, 0), end_of_log(0, 9)])
    assert not pending.done
    pending.take([end_of_log(0, 10)])
    assert pending.done


def test_lost_offsets_are_an_error_that_names_the_slice() -> None:
    pending = _Pending([Slice("t", 0, 0, 10), Slice("t", 3, 5, 9)])
    with pytest.raises(OffsetsLost, match=r"t-3\[5,9\)"):
        pending.take([event(KafkaError.OFFSET_OUT_OF_RANGE, 3, 5)])


def test_a_chunk_is_full_by_records_of_all_slices_together() -> None:
    half = CHUNK_RECORDS // 2
    pending = _Pending([Slice("t", 0, 0, half), Slice("t", 1, 0, half + 1)])
    pending.take([message(0, offset) for offset in range(half)])
    assert not pending.full
    pending.take([message(1, offset) for offset in range(half)])
    assert pending.full
    assert len(taken(pending)) == CHUNK_RECORDS
    assert not pending.full


def test_two_slices_of_one_partition_are_read_one_after_the_other() -> None:
    first, second, other = Slice("t", 0, 0, 5), Slice("t", 0, 9, 12), Slice("t", 1, 0, 3)
    assert list(_without_twins([first, second, other])) == [[first, other], [second]]
