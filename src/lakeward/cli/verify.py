"""`lakeward verify`: prove that every record is in its table, once and unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lakeward.cli.output import Output, json_option
from lakeward.settings import Settings, load_settings

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from lakeward.verify.plan import Options
    from lakeward.verify.report import Report


@click.command(
    epilog="Example: lakeward verify iceberg-sink-apilogs --findings 50",
    context_settings={"show_default": True},
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@click.option(
    "--bootstrap-servers", metavar="HOST:PORT", help="Kafka brokers.  [default: as configured]"
)
@click.option(
    "--max-record-bytes",
    type=click.IntRange(min=1),
    default=16 * 1024 * 1024,
    help="The jobs' max.record.bytes: larger records must be dead letters.",
)
@click.option(
    "--findings", type=click.IntRange(min=0), default=20, help="How many findings to list."
)
@json_option
def verify(
    jobs: tuple[str, ...],
    bootstrap_servers: str | None,
    max_record_bytes: int,
    findings: int,
    out: Output,
) -> int:
    """Compare tables and dead letters with what Kafka holds.

    Reads every record again, read-committed, and looks for it in the table and its dead letters:
    there once, equal, in the right partition. Checks the ledger and the table's files as well.
    Without a JOB all jobs in the catalog are verified. Exit code 1 if anything is wrong.
    """
    from lakeward.verify.plan import Options

    settings = load_settings()
    options = Options(max_record_bytes, findings, settings.manifests)
    servers = bootstrap_servers or settings.bootstrap_servers
    report = verify_showing_progress(open_installed(settings), servers, jobs, options, out)
    _show(report, out)
    return 0 if report.clean else 1


def open_installed(settings: Settings) -> Catalog:
    """Open the catalog of this installation."""
    from lakeward.catalogs.open import open_catalog
    from lakeward.query.directory import installed_catalog

    return open_catalog(installed_catalog(settings))


def verify_showing_progress(
    catalog: Catalog, servers: str, jobs: tuple[str, ...], options: Options, out: Output
) -> Report:
    """Verify jobs, all of them if none is named, behind a progress bar."""
    from lakeward.verify.plan import plan_checks
    from lakeward.verify.run import run_checks
    from lakeward.verify.topics import open_topics

    with open_topics(servers) as topics:
        plan = plan_checks(catalog, topics, jobs, options)
        names = ", ".join(check.job.name for check in plan.checks)
        with out.progress(f"Verifying {names}", total=plan.work) as progress:
            return run_checks(plan, topics, progress)


def _show(report: Report, out: Output) -> None:
    from lakeward.verify.report import OF_RECORDS

    if out.as_json:
        out.value(report.to_json())
        return
    counted = ("records", "rows", "dead_letters", "tombstones", "unverifiable", "waiting")
    out.table(
        ("job", "partition", *(name.replace("_", " ") for name in counted), *OF_RECORDS),
        [
            (
                tally.job,
                f"{tally.topic}-{tally.partition}",
                *(f"{getattr(tally, name):,}" for name in counted),
                *(f"{tally.findings[category]:,}" for category in OF_RECORDS),
            )
            for tally in report.partitions
        ],
    )
    for finding in report.findings:
        out.say(f"{finding.category}: {finding.job}, {finding.where}: {finding.what}")
    untold = sum(report.counts.values()) - len(report.findings)
    if untold:
        out.say(f"... and {untold:,} more (--findings N lists more)")
    out.say(report.verdict())
