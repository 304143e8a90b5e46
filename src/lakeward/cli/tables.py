"""`lakeward tables`: what tables there are, their shape, and what was committed to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lakeward.cli.output import Output, json_option
from lakeward.errors import LakewardError
from lakeward.settings import Settings, load_settings

if TYPE_CHECKING:
    from lakeward.model.ledger import Ledger
    from lakeward.model.spec import TableName
    from lakeward.query.directory import Directory
    from lakeward.query.table_facts import Column, TableFacts
    from lakeward.query.table_metadata import TableMetadata

MANY_TABLES = 100
"""From here on, reading them all may take over two seconds."""
HISTORY_ROWS = 50


@click.group(epilog="Example: lakeward tables list")
def tables() -> None:
    """List and show tables."""


@tables.command("list", epilog="Example: lakeward tables list --json")
@json_option
def list_command(out: Output) -> None:
    """List the tables with their size and last commit."""
    from lakeward.query.values import count_text, plain, size_text

    facts = read_facts(load_settings(), out)
    rows: list[tuple[object, ...]] = []
    for each in facts:
        counts: tuple[object, ...] = (each.rows, each.files, each.bytes, each.snapshots)
        if not out.as_json:
            texts = (count_text(each.rows), count_text(each.files), size_text(each.bytes))
            counts = (*texts, count_text(each.snapshots))
        name = (".".join(each.name.namespace), each.name.name)
        problem = (each.problem or None,) if out.as_json else ()
        rows.append((*name, each.format_version, *counts, plain(each.last_commit), *problem))
    columns = ["namespace", "table", "format", "rows", "files", "bytes", "snapshots"]
    out.table([*columns, "last_commit", *(["problem"] if out.as_json else [])], rows)
    say_problems(facts, out)


@tables.command(epilog="Example: lakeward tables show streaming.apilogs")
@click.argument("name")
@json_option
def show(name: str, out: Output) -> None:
    """Show a table's columns, partitioning, properties and the jobs that write it."""
    found, metadata = _load(name)
    described = _described(found, metadata)
    if out.as_json:
        out.value(described)
        return
    _say_table(found, metadata, out)
    _say_columns(metadata, out)
    _say_jobs(described["jobs"], out)
    for key, text in described["properties"].items():
        out.say(f"{key}={text}")


@tables.command(epilog="Example: lakeward tables history apilogs --limit 10")
@click.argument("name")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=HISTORY_ROWS,
    show_default=True,
    help="Commits to show, the newest first.",
)
@json_option
def history(name: str, limit: int, out: Output) -> None:
    """Show what was committed to a table, the newest first."""
    from lakeward.query.table_facts import commits_of
    from lakeward.query.values import plain

    _, metadata = _load(name)
    commits = commits_of(metadata)
    columns = [
        *("committed_at", "snapshot_id", "operation", "added_rows", "added_files"),
        *("removed_files", "job", "batch", "commit_id"),
    ]
    rows = [[plain(getattr(each, column)) for column in columns] for each in commits[:limit]]
    if out.as_json:
        columns.append("summary")
        rows = [[*row, each.summary] for row, each in zip(rows, commits, strict=False)]
    out.table(columns, rows)
    if len(commits) > limit:
        out.say(f"{len(commits) - limit:,} older commits; see them with --limit.")


def read_facts(settings: Settings, out: Output) -> list[TableFacts]:
    """Read the facts of all tables; one that cannot be read does not hide the others."""
    from lakeward.query.directory import installed_catalog, read_directory

    directory = read_directory(installed_catalog(settings))
    names = list(directory.tables)
    if len(names) < MANY_TABLES:
        return [_facts(directory, name) for name in names]
    facts: list[TableFacts] = []
    with out.progress("Reading tables", len(names)) as done:
        for name in names:
            facts.append(_facts(directory, name))
            done(len(facts))
    return facts


def _facts(directory: Directory, name: TableName) -> TableFacts:
    from lakeward.query.table_facts import TableFacts, facts_of
    from lakeward.query.table_metadata import read_metadata

    try:
        return facts_of(name, read_metadata(name, directory.tables[name]))
    except LakewardError as failure:
        return TableFacts(name, problem=str(failure))


def say_problems(facts: Sequence[TableFacts], out: Output) -> None:
    """Tell people about tables that could not be read."""
    for each in facts:
        if each.problem:
            out.say(each.problem)


def _load(text: str) -> tuple[TableName, TableMetadata]:
    from lakeward.query.directory import installed_catalog, read_directory
    from lakeward.query.statement import table_argument
    from lakeward.query.table_metadata import read_metadata

    settings = load_settings()
    directory = read_directory(installed_catalog(settings))
    parts = table_argument(text) or (text,)
    name = directory.find_anywhere(parts, settings.namespace)
    if name is None:
        raise directory.missing(parts)
    return name, read_metadata(name, directory.tables[name])


def _described(name: TableName, metadata: TableMetadata) -> dict[str, Any]:
    from lakeward.model.ledger import PREFIX
    from lakeward.query.table_facts import columns_of, facts_of, ledgers_of, partitioning
    from lakeward.query.values import plain

    facts = facts_of(name, metadata)
    own = {key: text for key, text in metadata.properties.items() if not key.startswith(PREFIX)}
    return {
        "table": str(name),
        "uuid": metadata.document.get("table-uuid"),
        "location": metadata.document["location"],
        "format_version": facts.format_version,
        "rows": facts.rows,
        "files": facts.files,
        "bytes": facts.bytes,
        "snapshots": facts.snapshots,
        "last_commit": plain(facts.last_commit),
        "columns": [_column(column) for column in columns_of(metadata)],
        "partitioning": [
            {"name": by.name, "transform": by.transform, "column": by.column}
            for by in partitioning(metadata)
        ],
        "jobs": {job: _job(ledger) for job, ledger in ledgers_of(metadata).items()},
        "properties": dict(sorted(own.items())),
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "id": column.id,
        "name": column.path,
        "type": column.type,
        "required": column.required,
        "doc": column.doc,
    }


def _job(ledger: Ledger | str) -> dict[str, Any]:
    from lakeward.query.table_facts import instant
    from lakeward.query.values import plain

    if isinstance(ledger, str):
        return {"unreadable": ledger}
    return {
        "positions": {
            name: {str(number): at.offset for number, at in sorted(topic.positions.items())}
            for name, topic in sorted(ledger.topics.items())
        },
        "epoch": ledger.epoch,
        "batch": ledger.batch,
        "commit_id": ledger.commit_id,
        "written_at": plain(instant(ledger.written_at)),
    }


def _say_table(name: TableName, metadata: TableMetadata, out: Output) -> None:
    from lakeward.query.table_facts import facts_of, partitioning
    from lakeward.query.values import count_text, plain, size_text

    facts = facts_of(name, metadata)
    by = ", ".join(map(str, partitioning(metadata)))
    out.say(f"{name}, format version {facts.format_version}")
    out.say(
        f"rows {count_text(facts.rows)}, files {count_text(facts.files)}, "
        f"size {size_text(facts.bytes)}, snapshots {count_text(facts.snapshots)}, "
        f"last commit {plain(facts.last_commit) or 'never'}"
    )
    out.say(f"partitioned by {by}" if by else "not partitioned")
    out.say(f"location {metadata.document['location']}")


def _say_columns(metadata: TableMetadata, out: Output) -> None:
    from lakeward.query.table_facts import columns_of

    rows = [
        (
            column.id,
            "  " * column.depth + column.name,
            column.type,
            "required" if column.required else "",
            column.doc,
        )
        for column in columns_of(metadata)
    ]
    out.table(["id", "column", "type", "", "comment"], rows)


def _say_jobs(jobs: dict[str, dict[str, Any]], out: Output) -> None:
    rows = [
        (
            job,
            "; ".join(
                f"{topic} {', '.join(f'{number}:{at}' for number, at in positions.items())}"
                for topic, positions in facts.get("positions", {}).items()
            ),
            *(facts.get(key, "?") for key in ("epoch", "batch", "written_at")),
        )
        for job, facts in jobs.items()
    ]
    if rows:
        out.table(["job", "next offsets", "epoch", "batch", "written_at"], rows)
