"""Is Kafka still the one the ledger speaks of? Pure checks that stop a job (invariant 4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from lakeward.errors import JobStopped, LakewardError, OffsetsLost, TopicMissing
from lakeward.kafka.offsets import TopicState
from lakeward.model.decisions import job_command
from lakeward.model.ledger import Ledger
from lakeward.model.offsets import TopicPartition


def check_same_cluster(ledger: Ledger, cluster_id: str) -> None:
    """Stop if the brokers belong to another cluster than the position."""
    if ledger.cluster_id != cluster_id:
        raise JobStopped(
            f"Job {ledger.job} is connected to another Kafka cluster",
            where=f"cluster {cluster_id}, the table was written from {ledger.cluster_id}",
            next_step="Connect to the old cluster, or read this one's topics from their start:"
            f" `{job_command('accept-topic', ledger.job)}`",
        )


def check_same_topics(ledger: Ledger, topics: Mapping[str, TopicState]) -> None:
    """Stop if a topic was deleted and created again: its offsets mean other records now."""
    for name, topic in ledger.topics.items():
        if name in topics and topics[name].id != topic.id:
            raise JobStopped(
                f"The topic {name} was deleted and created again",
                where=f"topic id {topics[name].id}, the table was written from {topic.id}",
                next_step="Read the new one from its start:"
                f" `{job_command('accept-topic', ledger.job, name)}`",
            )


def check_log_ends(ledger: Ledger, ends: Mapping[TopicPartition, int]) -> None:
    """Stop if a log ends before what was read of it: offsets were given out a second time."""
    cut = {
        where: position.offset
        for where, position in sorted(ledger.positions().items())
        if ends.get(where, position.offset) < position.offset
    }
    if not cut:
        return
    where, offset = next(iter(cut.items()))
    targets = [f"{each.topic}:{each.partition}:{ends[each]}" for each in cut]
    raise JobStopped(
        f"The log of {where} was cut short: it ends at {ends[where]}, and the table has"
        f" records up to {offset}",
        where=f"{len(cut)} of {len(ledger.positions())} partitions of job {ledger.job}",
        next_step="Restore the partition, or go on with what is written there from now on:"
        f" `{job_command('resume-from', ledger.job, *targets, '--log-was-cut')}`",
    )


def check_same_revision(half_done: Ledger, revision: str) -> None:
    """Stop if a batch was begun under another configuration: its verdicts might differ."""
    if half_done.revision != revision:
        raise JobStopped(
            f"Job {half_done.job} changed while a batch was half committed",
            where=f"its dead letters were judged under revision {half_done.revision}",
            next_step="Restore the connector's configuration and change it once the job runs, or"
            " read the batch again under the new one:"
            f" `{job_command('resume-from', half_done.job, 'table')}`",
        )


def check_same_condemned(
    half_done: Ledger, condemned: Collection[tuple[TopicPartition, int]]
) -> None:
    """Stop if other records kill their process than when the dead letters were committed."""
    if sorted((*where, offset) for where, offset in condemned) != sorted(half_done.condemned):
        raise JobStopped(
            f"Job {half_done.job} cannot finish a batch that is half committed: other records kill"
            " the process that decodes them than the first time",
            where=f"first time {len(half_done.condemned)} records, now {len(condemned)}",
            next_step="Look for what kills the worker's processes, then read the batch again:"
            f" `{job_command('resume-from', half_done.job, 'table')}`",
        )


def with_way_out(failure: LakewardError, job: str) -> LakewardError:
    """Name the operator's command in an error from a place that does not know the job."""
    match failure:
        case OffsetsLost():
            step = (
                "Retention has overtaken the job. Go on after what is lost, and keep a record of"
                f" it: `{job_command('accept-gap', job)}`"
            )
        case TopicMissing():
            step = (
                "Create it (lakeward topics create NAME --partitions N) or take it out of the"
                " connector's topics; if the job has read it before, then also:"
                f" `{job_command('accept-topic', job)}`"
            )
        case _:
            return failure
    return type(failure)(failure.what, where=failure.where, next_step=step)
