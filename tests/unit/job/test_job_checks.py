"""A job stops when Kafka is not the one its ledger speaks of, and says which command helps."""

from __future__ import annotations

import pytest

from lakeward.errors import JobStopped, OffsetsLost, SourceUnavailable, TopicMissing
from lakeward.job.checks import (
    check_log_ends,
    check_same_cluster,
    check_same_revision,
    check_same_topics,
    with_way_out,
)
from lakeward.kafka.offsets import TopicState
from lakeward.model.ledger import Ledger, TopicLedger
from lakeward.model.offsets import Position, TopicPartition

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
LEDGER = Ledger(
    job="my job", table_uuid="u", generation=0, epoch=1, batch=1, commit_id="c", revision="r",
    as_of=0, cluster_id="k", snapshot_id=10, sequence=5, schema_id=0,
    topics={"t": TopicLedger("id", {0: 0, 1: 0}, {0: Position(10), 1: Position(20)})},
    anchor_uuid="u", tables=("a.b",), written_at=0,
)  # fmt: skip


def test_a_log_that_ends_before_the_position_stops_the_job() -> None:
    with pytest.raises(JobStopped, match="cut short: it ends at 7") as stopped:
        check_log_ends(LEDGER, {FIRST: 7, SECOND: 3})
    command = "`lakeward job resume-from 'my job' t:0:7 t:1:3 --log-was-cut`"
    assert command in str(stopped.value)


def test_a_log_that_ends_at_or_after_the_position_is_fine() -> None:
    check_log_ends(LEDGER, {FIRST: 10, SECOND: 30})
    check_log_ends(LEDGER, {})


def test_another_cluster_stops_the_job() -> None:
    check_same_cluster(LEDGER, "k")
    with pytest.raises(JobStopped, match="`lakeward job accept-topic 'my job'`"):
        check_same_cluster(LEDGER, "other")


def test_a_topic_created_again_stops_the_job() -> None:
    check_same_topics(LEDGER, {"t": TopicState("id", (0,)), "u": TopicState("x", (0,))})
    with pytest.raises(JobStopped, match="`lakeward job accept-topic 'my job' t`"):
        check_same_topics(LEDGER, {"t": TopicState("new", (0,))})


def test_a_batch_begun_under_another_configuration_stops_the_job() -> None:
    check_same_revision(LEDGER, "r")
    with pytest.raises(JobStopped, match="`lakeward job resume-from 'my job' table`"):
        check_same_revision(LEDGER, "changed")


def test_an_error_that_does_not_know_its_job_learns_the_command() -> None:
    lost = with_way_out(OffsetsLost("gone", where="t-0[1,5)"), "j")
    assert isinstance(lost, OffsetsLost)
    assert str(lost).startswith("gone (t-0[1,5)). ")
    assert str(lost).endswith("`lakeward job accept-gap j`")
    missing = with_way_out(TopicMissing("no topic"), "j")
    assert str(missing).endswith("`lakeward job accept-topic j`")
    passing = SourceUnavailable("away")
    assert with_way_out(passing, "j") is passing
