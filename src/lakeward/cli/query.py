"""`lakeward query`: ask the tables, by name or in SQL."""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import click

from lakeward.cli.output import Output, json_option
from lakeward.errors import QueryFailed, UsageError
from lakeward.settings import Settings, load_settings

if TYPE_CHECKING:
    from lakeward.query.engine import Answer, Engine

ENGINES = ("auto", "duckdb")
TABLE_ROWS = 20
STATEMENT_ROWS = 100
PATIENCE_SECONDS = 2.0
PIPE_WIDTH = 200

EXAMPLES = """\b
Examples:
  lakeward query
  lakeward query apilogs --limit 5
  lakeward query "SELECT name, count(*) FROM apilogs GROUP BY name"
  lakeward query 'SELECT * FROM "apilogs$snapshots"' --json
"""


class _SqlCommand(click.Command):
    """A command whose argument may be SQL that opens with a `--` comment."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # No option has a space in it; a space in front makes click see an argument.
        return super().parse_args(
            ctx,
            [f" {arg}" if arg.startswith("-") and len(arg.split()) > 1 else arg for arg in args],
        )


@click.command(cls=_SqlCommand, epilog=EXAMPLES)
@click.argument("what", required=False, metavar="[TABLE|SQL]")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Rows to show. A table shows 20; SQL shows 100, and with --json all.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="auto",
    show_default=True,
    help="What runs the query; auto takes DuckDB, which needs no server.",
)
@json_option
def query(what: str | None, limit: int | None, engine: str, out: Output) -> None:
    """Ask the tables: all of them, the newest rows of one, or SQL.

    SQL is DuckDB's, with Trino's SHOW forms and metadata tables such as "apilogs$snapshots".
    Nothing can be changed. Several statements are separated by semicolons.
    """
    settings = load_settings()
    if what is None:
        _show_tables(settings, limit, out)
        return
    from lakeward.query.statement import table_argument

    parts = table_argument(what)
    if parts is not None:
        _show_newest(settings, parts, limit or TABLE_ROWS, engine, out)
    else:
        _show_statements(open_engine(engine, settings), what, limit, out)


def _show_tables(settings: Settings, limit: int | None, out: Output) -> None:
    from lakeward.cli.tables import read_facts, say_problems
    from lakeward.query.values import count_text, plain, shown, size_text

    facts = read_facts(settings, out)[:limit]
    columns = ["table", "rows", "files", "bytes", "last_commit", "columns"]
    rows: list[tuple[object, ...]] = []
    for each in facts:
        when = plain(each.last_commit)
        if out.as_json:
            sizes = (each.rows, each.files, each.bytes)
            rows.append((str(each.name), *sizes, when, list(each.columns), each.problem or None))
        else:
            counts = (count_text(each.rows), count_text(each.files), size_text(each.bytes))
            rows.append((str(each.name), *counts, when, shown(", ".join(each.columns), 50)))
    out.table([*columns, "problem"] if out.as_json else columns, rows)
    say_problems(facts, out)


def _show_newest(
    settings: Settings, parts: tuple[str, ...], limit: int, engine: str, out: Output
) -> None:
    from lakeward.query.directory import installed_catalog, read_directory
    from lakeward.query.newest import newest_rows

    directory = read_directory(installed_catalog(settings))
    sql = newest_rows(directory, parts, settings.namespace, limit)
    show_answer(_ask(open_engine(engine, settings), sql, None, out), out)


def _show_statements(engine: Engine, sql: str, limit: int | None, out: Output) -> None:
    from lakeward.query.tokens import split

    statements = split(sql)
    if not statements:
        raise UsageError("The query is empty", next_step="Try: lakeward query --help.")
    keep = limit if out.as_json else limit or STATEMENT_ROWS
    if len(statements) == 1:
        show_answer(_ask(engine, statements[0], keep, out), out)
        return
    results: list[dict[str, object]] = []
    for number, statement in enumerate(statements, start=1):
        answer = _ask_one_of_several(engine, statement, number, keep, out)
        if out.as_json:
            results.append({"statement": statement, "rows": _objects(answer)})
        else:
            if number > 1:
                out.say()
            out.say(" ".join(statement.split()))
            show_answer(answer, out)
    if out.as_json:
        out.value(results)


def _ask_one_of_several(
    engine: Engine, statement: str, number: int, keep: int | None, out: Output
) -> Answer:
    try:
        return _ask(engine, statement, keep, out)
    except QueryFailed as failure:
        where = ", ".join(filter(None, [f"statement {number}", failure.where]))
        raise QueryFailed(failure.what, where=where, next_step=failure.next_step) from failure


def open_engine(engine: str, settings: Settings) -> Engine:
    """Open a query engine by name over the installed catalog."""
    from lakeward.query.directory import installed_catalog
    from lakeward.query.on_duckdb import DuckDbEngine

    assert engine in ENGINES
    return DuckDbEngine(installed_catalog(settings), settings.namespace)


def _ask(engine: Engine, sql: str, keep: int | None, out: Output) -> Answer:
    """Run a statement in a thread, so that Ctrl-C can interrupt it and waiting can be shown."""
    with ThreadPoolExecutor(1) as pool:
        running: Future[Answer] = pool.submit(engine.run, sql, keep)
        try:
            wait([running], PATIENCE_SECONDS)
            if running.done() or out.as_json or not sys.stderr.isatty():
                return running.result()
            with out.progress("Running the query"):
                return running.result()
        except KeyboardInterrupt:
            engine.interrupt()
            raise


def show_answer(answer: Answer, out: Output) -> None:
    """Show the rows of an answer, as wide as the terminal allows."""
    from lakeward.query.values import fit

    if out.as_json:
        out.value(_objects(answer))
        return
    match answer.rows:
        case [(str() as text,)] if "\n" in text:
            out.say(text)
            return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    columns, rows, hidden = fit(answer.columns, answer.rows, width)
    out.table(columns, rows)
    out.say(_footer(answer))
    if hidden:
        out.say(f"Not shown for lack of width: {', '.join(hidden)}. Name columns, or use --json.")


def _objects(answer: Answer) -> list[dict[str, object]]:
    from lakeward.query.values import plain

    return [
        {name: plain(value) for name, value in zip(answer.columns, row, strict=True)}
        for row in answer.rows
    ]


def _footer(answer: Answer) -> str:
    shown = len(answer.rows)
    if shown == answer.total:
        return f"{shown:,} row{'' if shown == 1 else 's'}"
    more = answer.total - shown
    about = f"{more:,} more" if answer.counted else f"more than {more - 1:,} more"
    return f"{shown:,} rows shown, {about}; see them with --limit or --json"
