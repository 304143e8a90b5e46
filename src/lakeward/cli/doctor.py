"""`lakeward doctor`: checks what Lakeward needs, and says what to do for each failure."""

from __future__ import annotations

from dataclasses import asdict

import click

from lakeward.cli.output import Output, json_option
from lakeward.settings import load_settings


@click.command(epilog="Example: lakeward doctor")
@click.option(
    "--fetch", is_flag=True, help="Fetch missing or damaged jars, then check only Java and jars."
)
@click.pass_context
@json_option
def doctor(ctx: click.Context, fetch: bool, out: Output) -> None:
    """Check Python, Java, jars, ports, memory, disk and folders.

    Every finding is ok, warn or fail; the exit code is 1 if one is fail.
    """
    from lakeward.cli.stack import fetch_jars
    from lakeward.stack.checks import State, check_machine, check_programs
    from lakeward.stack.jars import JAR_SETS

    settings = load_settings()
    if fetch:
        fetch_jars(JAR_SETS, settings, out, recheck=True)
    checks = list(check_programs(settings) if fetch else check_machine(settings))
    if out.as_json:
        out.value([asdict(check) for check in checks])
    else:
        rows = [(check.name, check.state.value, check.found) for check in checks]
        out.table(["check", "state", "found"], rows)
    for check in checks:
        if check.next_step:
            out.say(f"{check.state.value}: {check.name}: {check.next_step}")
    if any(check.state is State.FAIL for check in checks):
        ctx.exit(1)
