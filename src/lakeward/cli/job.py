"""`lakeward job`: see why a job stopped, and decide how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lakeward.cli.output import Output, json_option
from lakeward.errors import UsageError
from lakeward.settings import Settings, load_settings

if TYPE_CHECKING:
    from lakeward.job.operate import Desk, Order, Plan
    from lakeward.job.operate_show import Overview

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(epilog="Example: lakeward job show iceberg-sink-apilogs")
def job() -> None:
    """Show a job, and help one that stopped to go on.

    A job that cannot be sure stops, and its message names one of these commands. Each is written
    into the table's ledger with who, when and why. The job's worker must be stopped first.
    """


def finding_the_job(command: Command) -> Command:
    """Add what every verb needs to find its job."""
    for decorate in (
        click.option(
            "--bootstrap-servers", help="Kafka brokers, instead of KAFKA_BOOTSTRAP_SERVERS."
        ),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            help="The connector's file.  [default: the one of that name in the connectors folder]",
        ),
        click.argument("name", metavar="JOB"),
    ):
        command = decorate(command)
    return command


def deciding(command: Command) -> Command:
    """Add what every verb that changes something has."""
    for decorate in (
        json_option,
        click.option("--reason", default="", help="Why, for those who come after."),
        click.option("--dry-run", is_flag=True, help="Show what would change; change nothing."),
        finding_the_job,
    ):
        command = decorate(command)
    return command


@job.command(epilog="Example: lakeward job show iceberg-sink-apilogs --json")
@finding_the_job
@json_option
def show(name: str, config: Path | None, bootstrap_servers: str | None, out: Output) -> None:
    """Show where a job stands, what was decided about it, and what would stop it now.

    Changes nothing, and may be used while the job runs.
    """
    from lakeward.job.operate_show import overview

    found = overview(open_desk(name, config, bootstrap_servers))
    if out.as_json:
        out.value(found.to_json())
    else:
        _say(found, out)


@job.command("accept-gap", epilog="Example: lakeward job accept-gap orders --dry-run")
@deciding
def accept_gap(name: str, **options: Any) -> None:
    """Go on after records that Kafka deleted before the job read them.

    Only forward, and only where Kafka has lost offsets; the gap is recorded.
    """
    from lakeward.job.operate import order_gap

    _carry_out(order_gap(name), name, **options)


@job.command("accept-topic", epilog="Example: lakeward job accept-topic orders --from latest")
@deciding
@click.argument("topics", metavar="[TOPIC]...", nargs=-1)
@click.option(
    "--from",
    "start",
    type=click.Choice(["earliest", "latest", "same-offsets"]),
    default="earliest",
    show_default=True,
    help="Where to begin in them; same-offsets if they hold the same records as before.",
)
def accept_topic(name: str, topics: tuple[str, ...], start: str, **options: Any) -> None:
    """Take topics that were created again, or another cluster's, for what they are now.

    Without a TOPIC, all that have changed. A topic that the connector no longer reads and that is
    gone is closed: what the table has of it can no longer be compared.
    """
    from lakeward.job.operate import order_topic

    _carry_out(order_topic(name, topics, start), name, **options)


@job.command("resume-from", epilog="Example: lakeward job resume-from orders orders:0:1200")
@deciding
@click.argument("places", metavar="WHERE...", nargs=-1)
@click.option(
    "--log-was-cut",
    is_flag=True,
    help="Kafka gave these offsets out a second time: the records read past them are gone.",
)
def resume_from(name: str, places: tuple[str, ...], log_was_cut: bool, **options: Any) -> None:
    """Go on from somewhere else: back, ahead, or where the table really stands.

    WHERE is earliest, latest, table, or TOPIC:PARTITION:OFFSET for one or more partitions.
    `table` is for a table that was rolled back: what it no longer holds is read again. Going back
    reads records again into a table that has them; going ahead leaves a gap. Both are recorded.
    """
    from lakeward.job.operate import order_resume

    if not places:
        raise click.UsageError("Say where: earliest, latest, table or TOPIC:PARTITION:OFFSET.")
    _carry_out(order_resume(name, places, log_was_cut=log_was_cut), name, **options)


@job.command(epilog="Example: lakeward job adopt orders --from table --reason 'was moved here'")
@deciding
@click.option(
    "--from",
    "places",
    metavar="earliest|latest|group|table|TOPIC:PARTITION:OFFSET",
    multiple=True,
    required=True,
    help="Where to begin: Kafka's start or end, where the job's consumer group or the table's own"
    " rows say, or at an offset for each partition.",
)
def adopt(name: str, places: tuple[str, ...], **options: Any) -> None:
    """Begin on tables that have rows but no ledger of this job, or one that does not fit.

    What the tables hold stays; `lakeward verify` counts it and does not judge it.
    """
    from lakeward.job.operate import order_adoption

    _carry_out(order_adoption(name, places), name, **options)


def open_desk(name: str, config: Path | None, bootstrap_servers: str | None) -> Desk:
    """Find the connector of that name and put together what an operator works with."""
    from lakeward.catalogs.open import open_catalog
    from lakeward.connect.translate import translate
    from lakeward.job.operate import Desk
    from lakeward.kafka.offsets import KafkaOffsets

    settings = load_settings()
    path, given = _connector(name, config, settings)
    spec = translate(given, bootstrap_servers or settings.bootstrap_servers, str(path))
    kafka = KafkaOffsets(spec.source, spec.group)
    return Desk(spec, open_catalog(spec.catalog), kafka, settings.progress)


def _connector(name: str, config: Path | None, settings: Settings) -> tuple[Path, dict[str, str]]:
    from lakeward.connect.translate import read_connector

    folder = settings.home / "connectors"
    found = {config: read_connector(config)} if config else {}
    for path in [] if config else sorted(folder.glob("*.json")):
        # Another connector's broken file is not this job's problem.
        with suppress(UsageError):
            found[path] = read_connector(path)
    for path, given in found.items():
        if given.get("name") == name:
            return path, given
    known = sorted({given.get("name", "") for given in found.values()})
    raise UsageError(
        f"No connector is called {name}",
        where=str(config or folder),
        next_step=(f"There are: {', '.join(known)}. " if known else "")
        + "Name its file with --config FILE.",
    )


def _carry_out(
    order: Order,
    name: str,
    config: Path | None,
    bootstrap_servers: str | None,
    dry_run: bool,
    reason: str,
    out: Output,
) -> None:
    from lakeward.job.operate import carry_out

    desk = open_desk(name, config, bootstrap_servers)
    plan = carry_out(desk, order, reason, dry_run=dry_run)
    if out.as_json:
        out.value(_plan_json(plan, dry_run))
        return
    out.table(
        ("partition", "was at", "goes on at", "skipped", "read again"),
        [
            (f"{move.topic}-{move.partition}", move.before, move.after, move.skipped, move.again)
            for move in plan.moves
        ],
    )
    if dry_run:
        out.say("Nothing was changed. Without --dry-run this becomes the job's position.")
    else:
        out.say(f"Recorded as decision {plan.after.generation}. Start the worker again.")


def _plan_json(plan: Plan, dry_run: bool) -> dict[str, object]:
    return {
        "job": plan.after.job,
        "command": f"lakeward job {plan.after.decisions[-1].command}",
        "generation": plan.after.generation,
        "applied": not dry_run,
        "partitions": [
            {
                "topic": move.topic,
                "partition": move.partition,
                "from": move.before,
                "to": move.after,
                "skipped": move.skipped,
                "read_again": move.again,
            }
            for move in plan.moves
        ],
    }


def _say(found: Overview, out: Output) -> None:
    from lakeward.job.operate_show import partitions

    told = found.to_json()
    out.say(f"job {found.job}, {found.state}")
    for table in told["tables"]:
        out.say("  ".join(f"{key} {value}" for key, value in table.items() if value is not None))
    for part in told["half_done"]:
        out.say(f"half done: {part}: dead letters are in, rows are not")
    anchor = found.tables.anchor
    views = partitions(anchor.ledger if anchor else None, found.source)
    out.table(
        ("partition", "position", "lag", "Kafka has", "reads since", "read before"),
        [
            (
                f"{view.topic}-{view.partition}",
                view.position,
                view.lag,
                None if view.kafka_start is None else f"[{view.kafka_start},{view.kafka_end})",
                view.read_from,
                ", ".join(view.earlier),
            )
            for view in views
        ],
    )
    for decision in told["decisions"]:
        why = f": {decision['reason']}" if decision["reason"] else ""
        out.say(
            f"decision {decision['generation']} by {decision['by']}: {decision['command']}{why}"
        )
    for problem in found.problems:
        out.say(f"would stop: {problem}")
    if not found.problems:
        out.say("nothing would stop it")
