"""Commands do not print: they hand values to an Output, as text for people or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

Row = Sequence[object]
Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(command: Command) -> Command:
    """Add `--json`, which every command has; the command receives an Output as `out`."""
    return click.option(
        "--json", "out", flag_value=True, default=False, is_flag=True,
        help="Print JSON instead of text.", callback=lambda _ctx, _param, value: Output(value),
    )(command)  # fmt: skip


class Output:
    """Where a command's results go; holds whether they are wanted as JSON."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json

    def say(self, line: str = "") -> None:
        """Show a line to people; JSON readers do not see it."""
        if not self.as_json:
            click.echo(line)

    def value(
        self, value: Mapping[str, object] | Sequence[object], text: str | None = None
    ) -> None:
        """Show one result: as JSON, or as the given text, or as `key: value` lines."""
        if self.as_json:
            click.echo(json.dumps(value, indent=2, default=str))
        elif text is not None:
            click.echo(text)
        elif isinstance(value, Mapping):
            width = max((len(key) for key in value), default=0)
            for key, item in value.items():
                click.echo(f"{key.ljust(width)}  {item}")
        else:
            for item in value:
                click.echo(str(item))

    def table(self, columns: Sequence[str], rows: Sequence[Row], title: str = "") -> None:
        """Show rows: a table for people, a list of objects as JSON."""
        if self.as_json:
            click.echo(
                json.dumps(
                    [dict(zip(columns, row, strict=True)) for row in rows], indent=2, default=str
                )
            )
            return
        from rich.table import Table

        drawn = Table(*columns, title=title or None, title_justify="left", header_style="bold")
        for row in rows:
            drawn.add_row(*("" if cell is None else str(cell) for cell in row))
        self._console().print(drawn)

    @contextmanager
    def progress(self, label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show a progress bar on a terminal; yields a function that takes what was done so far."""
        if self.as_json or not sys.stderr.isatty():
            if not self.as_json:
                click.echo(f"{label} ...", err=True)
            yield lambda _done: None
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._console(stderr=True)) as bar:
            task = bar.add_task(label, total=total)
            yield lambda done: bar.update(task, completed=done)

    def _console(self, stderr: bool = False) -> Console:
        from rich.console import Console

        # Without a terminal, rich would wrap at 80 columns and cut cells people grep for.
        width = None if sys.stdout.isatty() else 200
        return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)
