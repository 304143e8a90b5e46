"""`lakeward demo`: the whole pipeline, once, on this machine, with proof at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from lakeward.cli.demo_pipeline import Pipeline, Run
from lakeward.cli.output import Output, json_option
from lakeward.errors import LakewardError
from lakeward.settings import Settings, load_settings

INTERVAL_MS = 1000
QUERIES = (
    "SHOW CATALOGS",
    "SHOW SCHEMAS FROM {catalog}",
    "SHOW TABLES FROM {catalog}.{namespace}",
    "SELECT * FROM {catalog}.{namespace}.apilogs LIMIT 10",
    """SELECT bucket, name, time, "callInfo"."httpStatusCode" as status,
              "callInfo"."sourceHost" as client_ip
       FROM {catalog}.{namespace}.apilogs
       WHERE bucket IS NOT NULL ORDER BY time DESC LIMIT 20""",
    """SELECT name, COUNT(*) as count FROM {catalog}.{namespace}.apilogs
       GROUP BY name ORDER BY count DESC""",
    """SELECT time, message, "apiName" FROM {catalog}.{namespace}.errorlogs
       ORDER BY time DESC LIMIT 10""",
    """SELECT category, action, time, "accessKey" FROM {catalog}.{namespace}.auditlogs
       WHERE category = 'bucket' ORDER BY time DESC LIMIT 10""",
    'SELECT * FROM {catalog}.{namespace}."apilogs$snapshots"',
    'SELECT * FROM {catalog}.{namespace}."apilogs$history"',
)
SHOWN = 5
"""The query whose answer is shown in full; of the others the demo tells only how many rows."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One example query: what came of it and how long it took."""

    sql: str
    rows: int
    seconds: float


@click.command(epilog="Example: lakeward demo --records 30000 --keep")
@click.option(
    "--records",
    type=click.IntRange(3, 30_000_000),
    default=300_000,
    show_default=True,
    help="Records to send, over the three topics.",
)
@click.option(
    "--faults",
    type=click.FloatRange(0, 1),
    default=0.001,
    show_default=True,
    help="Share of records that are broken on purpose.",
)
@click.option("--seed", type=int, default=None, help="Same seed, same records.")
@click.option("--keep", is_flag=True, help="Leave broker and worker running.")
@json_option
def demo(records: int, faults: float, seed: int | None, keep: bool, out: Output) -> None:
    """Run the whole pipeline once: Kafka, Spark, Iceberg, verification, queries.

    Starts a real broker and a worker with three connectors, sends MinIO-shaped log records, waits
    until every one is committed, verifies them one by one, and stops what it started.
    """  # fmt: skip
    settings = load_settings()
    pipeline = Pipeline(settings, out, keep=keep)
    with _stopped_at_the_end(pipeline, keep=keep):
        pipeline.start(INTERVAL_MS)
        out.say(f"Connectors commit every {INTERVAL_MS / 1000:g} s here; their default is 10 s.")
        run = pipeline.send(records, faults, seed)
        verdict = _verify(pipeline.settings, out)
        asked = _ask_examples(settings, out)
        _summarise(run, verdict, asked, settings, out)
    if keep:
        out.say("Left running: lakeward status, lakeward produce; end it with: lakeward stop")


@contextmanager
def _stopped_at_the_end(pipeline: Pipeline, *, keep: bool) -> Iterator[None]:
    try:
        yield
    except BaseException:
        pipeline.stop()
        raise
    if not keep:
        pipeline.stop()


def _verify(settings: Settings, out: Output) -> str:
    from lakeward.cli.verify import open_installed, verify_showing_progress
    from lakeward.verify.plan import Options

    options = Options(manifests=settings.manifests)
    report = verify_showing_progress(
        open_installed(settings), settings.bootstrap_servers, (), options, out
    )
    if not report.clean:
        first = report.findings[0]
        raise LakewardError(
            f"Verification failed: {report.verdict()}",
            where=f"{first.category}: {first.where}: {first.what}",
            next_step="See all findings with: lakeward verify.",
        )
    return report.verdict()


def _ask_examples(settings: Settings, out: Output) -> list[Asked]:
    from lakeward.cli.query import open_engine, show_answer

    engine = open_engine("auto", settings)
    names = {"catalog": settings.warehouse_name, "namespace": settings.namespace}
    asked = []
    for index, template in enumerate(QUERIES):
        sql = template.format(**names)
        began = time.monotonic()
        answer = engine.run(sql, 10)
        asked.append(Asked(sql, answer.total, round(time.monotonic() - began, 3)))
        if index == SHOWN and not out.as_json:
            out.say(" ".join(sql.split()))
            show_answer(answer, out)
    return asked


def _summarise(run: Run, verdict: str, asked: list[Asked], settings: Settings, out: Output) -> None:
    summary = {
        "records": run.records,
        "seconds_to_first_commit": round(run.first_commit, 1),
        "records_per_second": round(run.records / run.seconds),
        "freshness_seconds": run.freshness,
        "rows": run.rows,
        "dead_letters": run.dead_letters,
        "files": run.files,
        "queries_run": len(asked),
        "slowest_query_seconds": max(each.seconds for each in asked),
        "verdict": verdict,
    }
    if out.as_json:
        statements = [{"sql": a.sql, "rows": a.rows, "seconds": a.seconds} for a in asked]
        out.value({**summary, "queries": statements, "home": str(settings.home)})
        return
    out.say()
    out.value({name.replace("_", " "): value for name, value in summary.items()})
    out.say()
    out.say("Look around:")
    out.say("  lakeward query apilogs        the newest rows")
    out.say("  lakeward tables show apilogs  schema, partitioning, positions")
    out.say("  lakeward query apilogs__dead_letters")
    out.say(f"Everything is in {settings.home}; logs in {settings.logs}.")
