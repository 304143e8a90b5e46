from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from lakeward.produce.faults import Fault
from lakeward.produce.recipe import Settled
from lakeward.produce.shapes import Log
from lakeward.produce.stream import Portion, Stream

START = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)


def stream(seed: int = 7, partitions: int = 3, faults: float = 0.0, step: float = 1e-5) -> Stream:
    return Stream(Log.ERROR, Settled(seed, START, faults, None, 3), step, partitions)


def take(source: Stream, total: int, most: int = 10_000) -> list[Portion]:
    portions = []
    while total:
        portions.append(source.take(min(total, most)))
        total -= len(portions[-1].values)
    return portions


def values(portions: list[Portion]) -> list[bytes]:
    return [value for portion in portions for value in portion.values]


def targets(portions: list[Portion]) -> list[int]:
    return [target for portion in portions for target in portion.partitions.tolist()]


def test_how_records_are_taken_changes_none_of_them() -> None:
    whole, bits = take(stream(faults=0.05), 9_000), take(stream(faults=0.05), 9_000, most=700)
    assert values(whole) == values(bits)
    assert targets(whole) == targets(bits)


def test_a_short_run_is_the_beginning_of_a_long_one() -> None:
    assert values(take(stream(), 100)) == values(take(stream(), 6_000))[:100]


def test_another_seed_makes_other_records() -> None:
    assert values(take(stream(seed=8), 10)) != values(take(stream(seed=7), 10))


def test_faults_are_counted_with_the_portion_that_has_them() -> None:
    source = stream(faults=0.1)
    counted: Counter[Fault] = Counter()
    for portion in take(source, 4_096, most=300):
        counted += portion.faults
    assert counted == stream(faults=0.1).take(4_096).faults
    assert stream(faults=0.1).take(1).faults.total() <= 1


def test_records_go_round_the_partitions_without_being_strictly_in_turn() -> None:
    chosen = targets(take(stream(partitions=4), 8_000))
    assert all(1_900 < count < 2_100 for count in Counter(chosen).values())
    assert set(chosen) == {0, 1, 2, 3}
    in_turn = sum(after == (before + 1) % 4 for before, after in pairwise(chosen))
    assert 0.8 * 8_000 < in_turn < 0.95 * 8_000


def test_event_times_advance_from_the_start_at_the_pace_asked_for() -> None:
    records = [json.loads(value) for value in values(take(stream(step=1.0), 5_000))]
    times = [datetime.fromisoformat(record["time"]) for record in records]
    assert min(times) >= START
    assert timedelta(seconds=4_998) < max(times) - START < timedelta(seconds=5_001)
    assert abs(times[2_500] - START - timedelta(seconds=2_500)) < timedelta(seconds=2)


def test_the_seed_says_where_the_round_begins() -> None:
    begins = set()
    for seed in range(3):
        shifts = (
            (target - place) % 3 for place, target in enumerate(targets(take(stream(seed), 99)))
        )
        begins.add(Counter(shifts).most_common(1)[0][0])
    assert begins == {0, 1, 2}
