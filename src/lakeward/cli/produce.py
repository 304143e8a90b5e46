"""`lakeward produce`: send realistic log records to Kafka."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from lakeward.cli.output import Output, json_option
from lakeward.settings import load_settings

if TYPE_CHECKING:
    from lakeward.produce.manifest import Manifest, SentTopic


def share(text: str) -> float:
    """Read a part of the whole, such as 0.05."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a share such as 0.05; a topic goes first"
        ) from None


def instant(text: str) -> datetime:
    """Read a moment in ISO form."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a time such as 2026-01-15T10:30:00Z") from None


@click.command(
    epilog="Example: lakeward produce apilogs -n 500 --rate 100 --faults 0.05",
    short_help="Send realistic log records to Kafka.",
)
@click.argument("topic", required=False)
@click.option(
    "-n",
    "--count",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Records to send, to each topic.",
)
@click.option(
    "--rate",
    type=float,
    metavar="R",
    help="Records per second over all topics. Without it: as fast as Kafka takes them.",
)
@click.option(
    "--partitions",
    type=int,
    default=3,
    show_default=True,
    metavar="P",
    help="Partitions of a topic that is created; an existing topic keeps its own.",
)
@click.option(
    "--faults",
    "fault_share",
    type=share,
    is_flag=False,
    flag_value=0.001,
    default=0.0,
    metavar="[SHARE]",
    help="Spoil a share of the records (malformed, wrong type, unknown field, late, duplicate, "
    "huge, not UTF-8). Without a number: 0.001.",
)
@click.option(
    "--seed",
    type=int,
    metavar="S",
    help="With the same start time and other options it gives the same records again, byte for "
    "byte. Without it: a new one.",
)
@click.option(
    "--start-time",
    "start",
    type=instant,
    metavar="TIME",
    help="When the first event happens. Without it: now.",
)
@click.option("--bootstrap-servers", metavar="B", help="Kafka brokers, HOST:PORT.")
@json_option
def produce(
    out: Output, topic: str | None, count: int, bootstrap_servers: str | None, **recipe: Any
) -> None:
    """Send N realistic MinIO log records to TOPIC.

    Without TOPIC the API, error and audit logs are all sent, N records to each of their three
    topics. What was sent is written to a manifest, which `lakeward verify` checks against.
    """
    from lakeward.produce.recipe import Recipe
    from lakeward.produce.send import check_counts, send_records

    settings = load_settings()
    if bootstrap_servers:
        settings = replace(settings, bootstrap_servers=bootstrap_servers)
    counts = dict.fromkeys([topic] if topic else settings.topics, count)
    wanted = Recipe(**recipe)
    check_counts(settings, counts)
    label = f"Sending {sum(counts.values()):,} records to {', '.join(counts)}"
    with stopped_by_interrupt() as stop, out.progress(label, sum(counts.values())) as progress:
        manifest = send_records(settings, counts, wanted, progress=progress, stop=stop)
    path = settings.manifests / manifest.file_name
    out.value(summary(manifest, path), text="\n".join(summary_lines(manifest, path)))
    if manifest.interrupted:
        raise click.Abort


@contextmanager
def stopped_by_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a polite question; a second one interrupts as usual."""
    asked = False

    def ask(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def summary(manifest: Manifest, path: Path) -> dict[str, object]:
    """Return what `--json` prints."""
    return {
        "records": manifest.records,
        "bytes": manifest.bytes,
        "seconds": manifest.seconds,
        "records_per_second": round(manifest.records_per_second),
        "seed": manifest.seed,
        "start": manifest.start,
        "interrupted": manifest.interrupted,
        "topics": {
            topic.name: {
                "records": topic.records,
                "bytes": topic.bytes,
                "partitions": _per_partition(manifest, topic),
                "faults": dict(topic.faults),
            }
            for topic in manifest.topics
        },
        "manifest": str(path),
    }


def summary_lines(manifest: Manifest, path: Path) -> Iterator[str]:
    """Yield what people read."""
    yield (
        f"Sent {manifest.records:,} records ({manifest.bytes / 1e6:,.1f} MB) in "
        f"{manifest.seconds:,.1f} s: {manifest.records_per_second:,.0f} records/s"
    )
    width = max(len(topic.name) for topic in manifest.topics)
    for topic in manifest.topics:
        counts = _named(_per_partition(manifest, topic))
        yield f"  {topic.name.ljust(width)}  {topic.records:>9,}  by partition {counts}"
        if topic.faults:
            yield f"  {' ' * width}  faults {_named(topic.faults)}"
    yield f"Seed {manifest.seed}, events from {manifest.start}"
    yield f"Manifest {path}"


def _per_partition(manifest: Manifest, topic: SentTopic) -> dict[str, int]:
    return {str(sent.partition): sent.count for sent in manifest.ranges if sent.topic == topic.name}


def _named(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items())
