"""Send records to Kafka and write down exactly what was sent."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lakeward.errors import UsageError
from lakeward.kafka.client import open_admin
from lakeward.produce.faults import Fault
from lakeward.produce.manifest import Manifest, SentRange, SentTopic, save_manifest
from lakeward.produce.outbox import Outbox
from lakeward.produce.recipe import Recipe, Settled
from lakeward.produce.shapes import logs_by_topic
from lakeward.produce.stream import BLOCK, Stream
from lakeward.produce.topics import Target, find_ends, prepare_topics
from lakeward.settings import Settings

FULL_SPEED = 250_000
"""Records per second that event times follow when no rate is asked for."""


@dataclass(frozen=True, slots=True)
class Watch:
    """How a run is followed and stopped from outside."""

    progress: Callable[[int], None]
    stop: Callable[[], bool]


def send_records(
    settings: Settings,
    counts: Mapping[str, int],
    recipe: Recipe | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Manifest:
    """Send so many records to each topic and return the manifest, which is also saved.

    1. Find the topics, create those that are missing, note where their partitions end.
    2. Make and send the records, at the rate asked for, until done or told to stop.
    3. Wait until Kafka has confirmed every one, note the ends again, save the manifest.

    `progress` is told how many are delivered so far; `stop` is asked a few times a second.
    """
    check_counts(settings, counts)
    settled = (recipe or Recipe()).settle()
    watch = Watch(progress or (lambda _done: None), stop or (lambda: False))
    settings.manifests.mkdir(parents=True, exist_ok=True)

    admin = open_admin(settings.bootstrap_servers)
    ground = prepare_topics(admin, counts, settled.partitions, settings.bootstrap_servers)
    streams = _open_streams(settings, counts, settled, ground.targets)

    started, begun = time.time(), time.monotonic()
    outbox = Outbox(settings.bootstrap_servers)
    faults = _send_all(outbox, streams, counts, settled.rate, watch)
    outbox.settle(watch.progress, watch.stop)
    seconds = time.monotonic() - begun

    topics = tuple(_topic(target, outbox, faults[target.topic]) for target in ground.targets)
    manifest = Manifest(
        run=secrets.token_hex(4),
        seed=settled.seed,
        start=settled.start.isoformat(),
        rate=settled.rate,
        fault_share=settled.fault_share,
        started_at=round(started * 1000),
        seconds=round(seconds, 3),
        interrupted=sum(topic.records for topic in topics) < sum(counts.values()),
        cluster_id=ground.cluster_id,
        topics=topics,
        ranges=_ranges(outbox, ground.targets, find_ends(admin, ground)),
    )
    save_manifest(manifest, settings.manifests)
    return manifest


def check_counts(settings: Settings, counts: Mapping[str, int]) -> None:
    """Raise UsageError unless every topic carries a log of ours and gets a record or more."""
    for topic in counts:
        if topic not in settings.topics:
            raise UsageError(
                f"There is no log called {topic!r}",
                next_step=f"Choose one of {', '.join(settings.topics)}.",
            )
    if not counts or min(counts.values()) < 1:
        raise UsageError("There is nothing to send", next_step="Ask for one record or more.")


def _open_streams(
    settings: Settings, counts: Mapping[str, int], recipe: Settled, targets: list[Target]
) -> dict[str, Stream]:
    logs = logs_by_topic(settings)
    total = sum(counts.values())
    steps = {topic: total / count / (recipe.rate or FULL_SPEED) for topic, count in counts.items()}
    return {
        target.topic: Stream(logs[target.topic], recipe, steps[target.topic], len(target.ends))
        for target in targets
    }


def _send_all(
    outbox: Outbox,
    streams: Mapping[str, Stream],
    counts: Mapping[str, int],
    rate: float | None,
    watch: Watch,
) -> dict[str, Counter[Fault]]:
    """Send until the counts are reached or somebody asks to stop; return the faults sent."""
    faults: dict[str, Counter[Fault]] = {topic: Counter() for topic in counts}
    total, sent, begun = sum(counts.values()), 0, time.monotonic()
    while sent < total and not watch.stop():
        allowed = allowed_by(rate, time.monotonic() - begun, total)
        upto = min(allowed, sent + BLOCK * len(counts))
        if upto == sent:
            outbox.wait(0.01)
        for topic, many in shares_between(counts, sent, upto).items():
            faults[topic] += _send_some(outbox, topic, streams[topic], many, watch)
        sent = upto
        watch.progress(outbox.delivered)
    return faults


def _send_some(
    outbox: Outbox, topic: str, stream: Stream, many: int, watch: Watch
) -> Counter[Fault]:
    faults: Counter[Fault] = Counter()
    while many:
        outbox.make_room(watch.stop)
        portion = stream.take(many)
        outbox.send(topic, portion)
        faults += portion.faults
        many -= len(portion.values)
    return faults


def allowed_by(rate: float | None, elapsed: float, total: int) -> int:
    """Return how many records may be out after so many seconds."""
    return total if rate is None else min(total, int(rate * elapsed))


def shares_between(counts: Mapping[str, int], sent: int, upto: int) -> dict[str, int]:
    """Return what each topic sends while the whole goes from `sent` to `upto`, evenly mixed."""
    total = sum(counts.values())
    return {topic: count * upto // total - count * sent // total for topic, count in counts.items()}


def _ranges(
    outbox: Outbox, before: list[Target], after: Mapping[str, Mapping[int, int]]
) -> tuple[SentRange, ...]:
    first = {target.topic: target.ends for target in before}
    return tuple(
        SentRange(
            topic=topic,
            partition=partition,
            first_offset=first[topic][partition],
            end_offset=after[topic][partition],
            count=tally.count,
            sha256=tally.sha256,
        )
        for (topic, partition), tally in sorted(outbox.tallies.items())
    )


def _topic(target: Target, outbox: Outbox, faults: Counter[Fault]) -> SentTopic:
    tallies = [tally for (topic, _), tally in outbox.tallies.items() if topic == target.topic]
    return SentTopic(
        name=target.topic,
        id=target.id,
        records=sum(tally.count for tally in tallies),
        bytes=sum(tally.bytes for tally in tallies),
        faults={str(fault): faults[fault] for fault in Fault if faults[fault]},
    )
