"""A job stops when Kafka is not the one its ledger speaks of."""

from __future__ import annotations

import pytest

from lakeward.errors import JobStopped
from lakeward.job.checks import check_log_ends
from lakeward.model.offsets import Position, TopicPartition

WHERE = TopicPartition("t", 0)


def test_a_log_that_ends_before_the_position_stops_the_job() -> None:
    with pytest.raises(JobStopped, match="cut short: it ends at 7"):
        check_log_ends({WHERE: Position(10)}, {WHERE: 7})


def test_a_log_that_ends_at_or_after_the_position_is_fine() -> None:
    check_log_ends({WHERE: Position(10)}, {WHERE: 10})
    check_log_ends({WHERE: Position(10)}, {})
