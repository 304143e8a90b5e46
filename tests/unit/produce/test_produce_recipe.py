from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from lakeward.errors import UsageError
from lakeward.produce.recipe import Recipe
from lakeward.produce.send import allowed_by, check_counts, shares_between
from lakeward.settings import load_settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"fault_share": 1.1},
        {"fault_share": -0.1},
        {"fault_share": float("nan")},
        {"rate": 0},
        {"rate": float("inf")},
        {"rate": float("nan")},
        {"partitions": 0},
        {"start": datetime(9999, 1, 1, tzinfo=UTC)},
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be"):
        Recipe(**wrong)


def test_what_a_recipe_leaves_open_is_settled_anew_each_time() -> None:
    first, second = Recipe().settle(), Recipe().settle()
    assert first.seed != second.seed
    assert abs(datetime.now(UTC) - first.start) < timedelta(seconds=5)


def test_a_start_without_a_zone_is_utc_and_one_with_a_zone_is_moved_there() -> None:
    local = datetime(2026, 1, 15, 10, 30)
    zoned = local.replace(tzinfo=timezone(timedelta(hours=2)))
    assert Recipe(start=local).settle().start == datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    assert Recipe(start=zoned).settle().start == datetime(2026, 1, 15, 8, 30, tzinfo=UTC)


def test_without_a_rate_everything_may_be_sent_at_once() -> None:
    assert allowed_by(None, 0, 500) == 500


def test_a_rate_allows_as_many_records_as_time_has_passed() -> None:
    assert [allowed_by(100, elapsed, 500) for elapsed in (0, 0.5, 4.99, 60)] == [0, 50, 499, 500]


def test_topics_are_mixed_in_proportion_and_end_together() -> None:
    counts = {"a": 900, "b": 99, "c": 1}
    total, sent = dict.fromkeys(counts, 0), 0
    for upto in (7, 8, 500, 501, 999, 1_000):
        step = shares_between(counts, sent, upto)
        assert min(step.values()) >= 0
        total = {topic: total[topic] + step[topic] for topic in counts}
        sent = upto
        assert abs(total["a"] - 0.9 * upto) <= 1
    assert total == counts


def test_an_unknown_topic_is_answered_with_the_three_that_exist() -> None:
    with pytest.raises(UsageError, match="apilogs, errorlogs, auditlogs"):
        check_counts(load_settings({}), {"clicks": 1})


@pytest.mark.parametrize("counts", [{}, {"apilogs": 0}, {"apilogs": 5, "errorlogs": -1}])
def test_nothing_to_send_is_a_mistake(counts: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="nothing to send"):
        check_counts(load_settings({}), counts)
