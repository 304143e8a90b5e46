"""One cycle of one job: the way of a record, from Kafka into the tables.

1. position    what the tables say is committed
2. plan        which offsets come next
3. run         tasks read, decode and write files
4. check again the topics are still the ones we planned with
5. commit      dead letters first, the data table with the position last
6. publish     show the position to Kafka's tools
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lakeward.clock import now_millis
from lakeward.errors import LakewardError
from lakeward.failpoints import reach
from lakeward.job.checks import (
    check_log_ends,
    check_same_cluster,
    check_same_condemned,
    check_same_revision,
    check_same_topics,
)
from lakeward.job.run import Runner
from lakeward.job.task import Work
from lakeward.kafka.offsets import KafkaOffsets
from lakeward.model.ledger import Ledger, ranges_between
from lakeward.model.offsets import Batch, TopicPartition
from lakeward.model.outcome import TaskResult, merge
from lakeward.model.plan import cut, plan_batch
from lakeward.model.protocol import Discarded, Pin
from lakeward.model.spec import JobSpec
from lakeward.sinks.iceberg.founding import Origin
from lakeward.sinks.iceberg.sink import IcebergSink, JobState

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Committed:
    """A batch that is in the tables."""

    batch: Batch
    result: TaskResult
    ledger: Ledger
    lag: int
    """Records that wait in Kafka now."""
    more: bool
    """Whether more waited when the batch was planned than it could take."""


@dataclass(slots=True)
class Job:
    """One job's coordinator: its parts, and what it knows from its last cycle."""

    spec: JobSpec
    kafka: KafkaOffsets
    sink: IcebergSink
    runner: Runner
    clock: Callable[[], int] = now_millis
    _state: JobState | None = None
    _unsettled: bool = False
    """Whether a batch was given up whose commit may still be on its way."""
    _record_bytes: float = 0.0
    _starts: dict[TopicPartition, int] = field(default_factory=dict)
    """Where partitions begin that the ledger does not know yet."""
    _ends: dict[TopicPartition, int] = field(default_factory=dict)

    def start(self) -> None:
        """Claim the job's tables; on a first start give them their ledger."""
        self._state = self.sink.start(self._origin, self._check_kafka)
        self._unsettled = False

    def cycle(self) -> Committed | None:
        """Move one batch into the tables; None if nothing waits or the table went another way."""
        self.kafka.tend()
        state = self._position()
        batch, pin = self._plan(state)
        if batch is None:
            return None
        reach("after-plan")
        work = self._work(state, pin)
        result = merge(self.runner.run(work, batch))
        reach("after-write")
        check_same_topics(state.ledger, self.kafka.topics(self.spec.source.topics))
        if state.half_done is not None:
            check_same_condemned(state.half_done, result.condemned)
        pin = replace(pin, condemned=frozenset(result.condemned))
        self._unsettled, self._state = True, None
        outcome = self.sink.commit(state, batch, result, pin)
        if isinstance(outcome, Discarded):
            log.info("job %s: batch planned again: %s", self.spec.name, outcome.reason)
            return None
        self._unsettled, self._state = False, outcome
        reach("after-commit")
        return self._publish(batch, result)

    def lag(self) -> int:
        """Return how many records wait in Kafka, as last seen."""
        positions = self._position().ledger.positions()
        reached = self._starts | {where: at.offset for where, at in positions.items()}
        return sum(max(0, end - reached.get(where, end)) for where, end in self._ends.items())

    def forget(self) -> None:
        """Read the tables again before the next cycle: something went wrong."""
        self._state = None

    def _position(self) -> JobState:
        if self._state is None:
            self._state = self.sink.reclaim() if self._unsettled else self.sink.read()
            self._unsettled = False
            check_same_cluster(self._state.ledger, self.kafka.cluster_id())
        return self._state

    def _plan(self, state: JobState) -> tuple[Batch | None, Pin]:
        half_done = state.half_done
        if half_done is not None:
            return self._finish(state, half_done)
        topics = self.kafka.topics(self.spec.source.topics)
        check_same_topics(state.ledger, topics)
        ids = {name: topic.id for name, topic in topics.items()}
        partitions = [TopicPartition(name, p) for name in topics for p in topics[name].partitions]
        known = state.ledger.positions()
        self._starts = self.kafka.starts(where for where in partitions if where not in known)
        self._ends = self.kafka.ends(partitions)
        check_log_ends(state.ledger, self._ends)
        positions = state.ledger.with_topics(ids).with_partitions(self._starts).positions()
        limits = self.spec.limits
        batch = plan_batch(positions, self._ends, limits, self.runner.cores, self._record_bytes)
        schema_id = state.anchor.table.metadata.current_schema_id
        return batch, Pin(self.spec.revision, self.clock(), schema_id, ids)

    def _finish(self, state: JobState, half_done: Ledger) -> tuple[Batch, Pin]:
        """Plan exactly the batch whose dead letters are in and whose rows are not."""
        check_same_revision(half_done, self.spec.revision)
        batch = cut(ranges_between(state.ledger, half_done), self.spec.limits, self.runner.cores)
        ids = {name: topic.id for name, topic in half_done.topics.items()}
        condemned = frozenset(
            (TopicPartition(t, p), offset) for t, p, offset in half_done.condemned
        )
        return batch, Pin(half_done.revision, half_done.as_of, half_done.schema_id, ids, condemned)

    def _work(self, state: JobState, pin: Pin) -> Work:
        rows, letters = self.sink.targets(state, pin.schema_id)
        positions = state.letters.known().positions()
        return Work(
            self.spec.source,
            rows,
            letters,
            {where: position.offset for where, position in positions.items()},
            self.spec.max_record_bytes,
            self.spec.metadata_columns,
            self.spec.limits.buffer_bytes,
            pin.condemned,
        )

    def _check_kafka(self, ledger: Ledger) -> None:
        """Make sure, before the job is claimed, that this is the Kafka the ledger speaks of."""
        check_same_cluster(ledger, self.kafka.cluster_id())
        check_same_topics(ledger, self.kafka.topics(self.spec.source.topics))

    def _publish(self, batch: Batch, result: TaskResult) -> Committed:
        ledger = self._position().ledger
        if result.records:
            self._record_bytes = max(1.0, result.bytes_read / result.records)
        more = self.lag() > 0
        try:
            self.kafka.publish(ledger.positions())
            self._ends = self.kafka.ends(self._ends)
        except LakewardError as failure:
            # The table has the truth; the next cycle shows it to Kafka again.
            log.warning("job %s: position not shown to Kafka: %s", self.spec.name, failure)
        return Committed(batch, result, ledger, self.lag(), more)

    def _origin(self) -> Origin:
        topics = self.kafka.topics(self.spec.source.topics)
        partitions = [TopicPartition(name, p) for name in topics for p in topics[name].partitions]
        from_end = self.spec.source.start == "latest"
        return Origin(
            self.kafka.cluster_id(),
            {name: topic.id for name, topic in topics.items()},
            self.kafka.ends(partitions) if from_end else self.kafka.starts(partitions),
            self.kafka.group_positions(partitions),
        )
