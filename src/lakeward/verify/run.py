"""`verify_jobs`: compare everything jobs left behind with what Kafka holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from pyiceberg.catalog import Catalog

from lakeward.verify.history import read_history
from lakeward.verify.jobs import KEY_COLUMNS
from lakeward.verify.judge import make_rules
from lakeward.verify.partition import Bench, PartitionCheck
from lakeward.verify.plain_sql import letter_sql, row_sql
from lakeward.verify.plan import Check, Options, Plan, plan_checks
from lakeward.verify.readback import Reading, stored_rows
from lakeward.verify.report import Category, Report, Tally, Tell
from lakeward.verify.sent import checks_within
from lakeward.verify.shelf import Shelf
from lakeward.verify.topics import Topics, open_topics

Progress = Callable[[int], None]
"""Takes how many rows and offsets are done so far, of `Plan.work`."""

LETTER_KEY = ("topic", "partition", "offset")


def verify_jobs(
    catalog: Catalog,
    bootstrap_servers: str,
    jobs: Sequence[str] | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Report:
    """Verify the named jobs, or all in the catalog, against Kafka."""
    with open_topics(bootstrap_servers) as topics:
        plan = plan_checks(catalog, topics, jobs or (), options or Options())
        return run_checks(plan, topics, progress)


def run_checks(plan: Plan, topics: Topics, progress: Progress | None = None) -> Report:
    """Carry out a plan, job by job, partition by partition."""
    steps = _Steps(progress)
    done = [_run(check, plan, topics, steps) for check in plan.checks]
    return Report(
        tuple(check.job.name for check in plan.checks),
        tuple(tally for tallies, _strangers in done for tally in tallies),
        dict(plan.findings.counts),
        tuple(plan.findings.kept),
        sum(strangers for _tallies, strangers in done),
    )


class _Steps:
    """Adds up steps for a progress bar that wants their sum."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0

    def add(self, steps: int) -> None:
        self._done += steps
        if self._progress is not None:
            self._progress(self._done)


def _run(check: Check, plan: Plan, topics: Topics, steps: _Steps) -> tuple[list[Tally], int]:
    """Verify one job; return its tallies, and how many adopted rows no partition of it has."""
    job = check.job
    history = read_history(job.table, job.ledger, plan.tell(job, Category.LEDGER))
    rules = make_rules(job, history, check.files, plan.options.max_record_bytes)
    tell = plan.tell(job, Category.FILES)
    rows, letters = _shelves(check, tell, steps)
    adopted = {"row": "rows", "dead letter": "letters"}
    budget = Counter({kind: job.ledger.adopted.get(name, 0) for kind, name in adopted.items()})
    bench = Bench(rules, rows, letters, plan.findings, check.ignored_topics, budget)
    tallies = []
    for covered in check.ranges:
        sent = checks_within(plan.sent, job.ledger.topics[covered.topic].id, covered)
        tallies.append(PartitionCheck(bench, covered, sent).run(topics, steps.add))
    bench.pass_over()
    return tallies, bench.strangers.total()


def _shelves(check: Check, tell: Tell, steps: _Steps) -> tuple[Shelf, Shelf]:
    table, letters = check.job.table, check.job.letters
    row = partial(row_sql, table.schema().fields)
    rows = Reading(table, check.files, KEY_COLUMNS, row, tell, steps.add)
    if letters is None:
        return Shelf(stored_rows(rows)), Shelf(iter(()))
    letter = partial(letter_sql, letters.schema().fields)
    kept = Reading(letters, check.letter_files, LETTER_KEY, letter, tell, steps.add)
    return Shelf(stored_rows(rows)), Shelf(stored_rows(kept))
