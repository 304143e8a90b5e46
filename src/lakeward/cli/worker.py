"""`lakeward worker`: connectors in one Spark application."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import click

from lakeward.cli.output import Output, json_option
from lakeward.errors import JobStopped
from lakeward.settings import load_settings


@click.command(epilog="Example: lakeward worker .lakeward/connectors/*.json")
@click.argument("connectors", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--bootstrap-servers", help="Kafka brokers, instead of KAFKA_BOOTSTRAP_SERVERS.")
@click.option("--master", help="Spark master, instead of LAKEWARD_SPARK_MASTER.")
@json_option
def worker(
    connectors: tuple[Path, ...], bootstrap_servers: str | None, master: str | None, out: Output
) -> None:
    """Run connectors in one Spark application until Ctrl-C.

    Each CONNECTOR is a JSON file: a connector's configuration, as Kafka Connect takes it.
    """
    from lakeward import failpoints
    from lakeward.connect.properties import idle_keys
    from lakeward.connect.translate import read_connector, translate
    from lakeward.job.worker import run_worker
    from lakeward.logs import set_up_logging
    from lakeward.stack.java import find_java

    failpoints.arm()
    settings = load_settings()
    brokers = bootstrap_servers or settings.bootstrap_servers
    specs = []
    for path in connectors:
        given = read_connector(path)
        specs.append(translate(given, brokers, str(path)))
        idle = idle_keys(given)
        if idle:
            click.secho(f"{path.name}: no effect here: {', '.join(idle)}", err=True, fg="yellow")
    _refuse_namesakes([spec.name for spec in specs])
    java = find_java(settings)
    set_up_logging()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    ended = run_worker(specs, master or settings.spark_master, java.home, settings.progress, stop)
    out.table(
        ("job", "state", "rows", "dead_letters", "reason"),
        [(p.name, p.state, p.committed_records, p.dead_letters, p.reason) for p in ended],
    )
    failed = [progress for progress in ended if progress.state == "FAILED"]
    if failed:
        raise JobStopped(
            f"Job {failed[0].name} stopped: {failed[0].reason}",
            where=f"{len(failed)} of {len(ended)} jobs failed",
        )


def _refuse_namesakes(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"Two connectors are called {name!r}.")
