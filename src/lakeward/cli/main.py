"""The `lakeward` command: names every command, imports one only when it runs."""

from __future__ import annotations

import importlib
from typing import NoReturn

import click

from lakeward import __version__
from lakeward.cli.failures import run_reporting_failures

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("lakeward.cli.demo:demo", "Run the whole pipeline once on this machine."),
    "doctor": ("lakeward.cli.doctor:doctor", "Check what Lakeward needs, say what to do."),
    "start": ("lakeward.cli.stack:start", "Start the Kafka broker of this installation."),
    "stop": ("lakeward.cli.stack:stop", "Stop what start or demo --keep left running."),
    "status": ("lakeward.cli.stack:status", "Show services and jobs."),
    "init": ("lakeward.cli.init:init", "Create the topics and tables of the MinIO logs."),
    "produce": ("lakeward.cli.produce:produce", "Send realistic log records to Kafka."),
    "worker": ("lakeward.cli.worker:worker", "Run connectors in one Spark application."),
    "job": ("lakeward.cli.job:job", "Show a job, and help one that stopped to go on."),
    "query": ("lakeward.cli.query:query", "Ask the tables, by name or in SQL."),
    "verify": ("lakeward.cli.verify:verify", "Prove that no record is lost or doubled."),
    "topics": ("lakeward.cli.topics:topics", "List, show, create and read topics."),
    "groups": ("lakeward.cli.topics:groups", "Show consumer groups and their lag."),
    "tables": ("lakeward.cli.tables:tables", "List and show tables."),
}
"""Name -> (where it lives, one line of help). Keeps `lakeward --help` free of heavy imports."""


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: lakeward demo",
)
@click.version_option(__version__, prog_name="lakeward")
def lakeward() -> None:
    """Kafka topics into Apache Iceberg tables, exactly once, on Spark."""


def main() -> NoReturn:
    """Run the command line; every failure ends in one line and an exit code."""
    run_reporting_failures(lakeward)
