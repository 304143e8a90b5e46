"""`lakeward topics` and `lakeward groups`: what Kafka's shell tools do, without a JVM."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from lakeward.cli.output import Output, json_option
from lakeward.errors import SourceUnavailable
from lakeward.settings import load_settings

if TYPE_CHECKING:
    from confluent_kafka import Message
    from confluent_kafka.admin import AdminClient

    from lakeward.kafka.topics import Topic


def _brokers_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--bootstrap-servers",
        metavar="HOST:PORT",
        help="Kafka brokers; else KAFKA_BOOTSTRAP_SERVERS, else this installation's own.",
        callback=lambda _ctx, _param, value: value or load_settings().bootstrap_servers,
    )(command)


@click.group(epilog="Example: lakeward topics list")
def topics() -> None:
    """List, show, create and read topics."""


@topics.command("list", epilog="Example: lakeward topics list --bootstrap-servers 127.0.0.1:9092")
@click.option("--internal", is_flag=True, help="Show Kafka's own topics too.")
@_brokers_option
@json_option
def list_command(internal: bool, bootstrap_servers: str, out: Output) -> None:
    """List topics with their partitions and records."""
    from lakeward.kafka.topics import list_topics

    with _connected(bootstrap_servers) as admin:
        found = list_topics(admin)
    rows = [
        (topic.name, len(topic.partitions), topic.records, topic.id)
        for topic in found
        if internal or not (topic.internal or topic.name.startswith("__"))
    ]
    out.table(["topic", "partitions", "records", "id"], rows)


@topics.command(epilog="Example: lakeward topics show apilogs")
@click.argument("name")
@_brokers_option
@json_option
def show(name: str, bootstrap_servers: str, out: Output) -> None:
    """Show one topic: its partitions, offsets and settings."""
    from lakeward.kafka.topics import describe_topics, topic_settings

    with _connected(bootstrap_servers) as admin:
        (topic,) = describe_topics(admin, [name])
        settings = topic_settings(admin, name)
    columns = ["partition", "leader", "replicas", "in_sync", "first", "end", "records"]
    rows = _partition_rows(topic)
    if out.as_json:
        partitions = [dict(zip(columns, row, strict=True)) for row in rows]
        value = {"topic": topic.name, "id": topic.id, "records": topic.records}
        out.value({**value, "settings": settings, "partitions": partitions})
        return
    out.table(columns, rows, title=f"{topic.name}  {topic.records} records  id {topic.id}")
    for key, setting in settings.items():
        out.say(f"{key}={setting}")


def _partition_rows(topic: Topic) -> list[tuple[object, ...]]:
    return [
        (
            *(each.number, each.leader, list(each.replicas), list(each.in_sync)),
            *(each.first, each.end, each.records),
        )
        for each in topic.partitions
    ]


def _parse_settings(_ctx: click.Context, _param: object, pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if not pair.partition("=")[0] or "=" not in pair:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE")
    return {pair.partition("=")[0]: pair.partition("=")[2] for pair in pairs}


@topics.command(
    epilog="Example: lakeward topics create apilogs --partitions 3 --config retention.ms=86400000"
)
@click.argument("name")
@click.option(
    "--partitions", type=click.IntRange(1, 100_000), default=3, show_default=True, metavar="N"
)
@click.option(
    "--config",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_parse_settings,
    help="A setting of the topic; may be given several times.",
)
@_brokers_option
@json_option
def create(
    name: str, partitions: int, settings: Mapping[str, str], bootstrap_servers: str, out: Output
) -> None:
    """Create a topic."""
    from lakeward.kafka.topics import create_topic

    with _connected(bootstrap_servers) as admin:
        create_topic(admin, name, partitions, settings)
    out.value(
        {"topic": name, "partitions": partitions, "settings": dict(settings)},
        text=f"Created topic {name} with {partitions} partitions.",
    )


@topics.command(
    epilog="Example: lakeward topics consume apilogs --from-beginning --max-messages 10"
)
@click.argument("name")
@click.option(
    "--from-beginning", is_flag=True, help="Start at the oldest message, not at new ones."
)
@click.option("--max-messages", type=click.IntRange(1), metavar="N", help="Stop after N messages.")
@click.option("--partition", type=click.IntRange(0), metavar="P", help="Read this partition only.")
@_brokers_option
@json_option
def consume(
    name: str,
    from_beginning: bool,
    max_messages: int | None,
    partition: int | None,
    bootstrap_servers: str,
    out: Output,
) -> None:
    """Print messages as they come, until --max-messages or Ctrl-C.

    A line is PARTITION:OFFSET, key and value. What is not UTF-8 is shown as base64:...; with
    --json every message is one object on one line.
    """
    from lakeward.kafka.client import open_consumer
    from lakeward.kafka.topics import describe_topics, follow

    with _connected(bootstrap_servers) as admin:
        (topic,) = describe_topics(admin, [name])
    starts = _starts(topic, partition, from_beginning)
    consumer = open_consumer(bootstrap_servers, group="lakeward-topics")
    shown = 0
    try:
        for message in follow(consumer, starts):
            if message is not None:
                _print_message(message, out)
                shown += 1
            if shown == max_messages:
                break
    except KeyboardInterrupt:
        # The usual way to end this command; nothing is lost by it.
        return
    finally:
        consumer.close()


def _starts(
    topic: Topic, partition: int | None, from_beginning: bool
) -> dict[tuple[str, int], int]:
    wanted = [each for each in topic.partitions if partition in (None, each.number)]
    if not wanted:
        raise click.BadParameter(
            f"topic {topic.name} has partitions 0 to {len(topic.partitions) - 1}",
            param_hint="'--partition'",
        )
    starts = {}
    for each in wanted:
        start = each.first if from_beginning else each.end
        if start is None:
            raise SourceUnavailable(
                "A partition has no leader", where=f"topic {topic.name}, partition {each.number}"
            )
        starts[topic.name, each.number] = start
    return starts


def _print_message(message: Message, out: Output) -> None:
    facts = message_facts(message)
    if out.as_json:
        # One object per line, so that a reader need not wait for the end.
        click.echo(json.dumps(facts))
        return
    mark = {"base64": "base64:"}
    key = mark.get(facts["key_encoding"], "") + ("-" if facts["key"] is None else facts["key"])
    value = "(no value)" if facts["value"] is None else facts["value"]
    value = mark.get(facts["value_encoding"], "") + value
    out.say(f"{facts['partition']}:{facts['offset']}  {printable(key)}  {printable(value)}")


def message_facts(message: Message) -> dict[str, Any]:
    """Return what a message carries; bytes as text if they are UTF-8, else as base64."""
    milliseconds = message.timestamp()[1]
    key, key_encoding = _text(message.key())
    value, value_encoding = _text(message.value())
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(
            "T", "milliseconds"
        ),
        "key": key,
        "key_encoding": key_encoding,
        "value": value,
        "value_encoding": value_encoding,
        "headers": {name: _text(content)[0] for name, content in message.headers() or []},
    }


def _text(content: str | bytes | None) -> tuple[str | None, str | None]:
    if content is None:
        return None, None
    raw = content.encode() if isinstance(content, str) else content
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(raw).decode(), "base64"


def printable(text: str) -> str:
    r"""Write control characters as \x1b and the like: raw, they could take over the terminal."""
    return "".join(
        each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode()
        for each in text
    )


@click.group(epilog="Example: lakeward groups show")
def groups() -> None:
    """Show consumer groups and their lag."""


@groups.command("show", epilog="Example: lakeward groups show connect-iceberg-sink-apilogs")
@click.argument("group", required=False)
@_brokers_option
@json_option
def show_groups(group: str | None, bootstrap_servers: str, out: Output) -> None:
    """Show how far GROUP is in each partition, or every group if none is named."""
    from lakeward.kafka.groups import describe_group, list_groups

    with _connected(bootstrap_servers) as admin:
        found = [describe_group(admin, group)] if group else list_groups(admin)
    rows: list[tuple[object, ...]] = []
    for each in found:
        about = (each.name, each.state, each.members)
        rows += [
            (*about, at.topic, at.partition, at.committed, at.end, at.lag) for at in each.positions
        ] or [(*about, None, None, None, None, None)]
    columns = ["group", "state", "members", "topic", "partition", "committed", "end", "lag"]
    out.table(columns, rows)


@contextmanager
def _connected(bootstrap_servers: str) -> Iterator[AdminClient]:
    from lakeward.kafka.client import open_admin

    try:
        yield open_admin(bootstrap_servers)
    except SourceUnavailable as failure:
        where = f"brokers {bootstrap_servers}"
        raise SourceUnavailable(failure.what, where=where, next_step=failure.next_step) from failure
