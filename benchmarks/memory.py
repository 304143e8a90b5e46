"""How much memory a worker takes: a drain in usual batches, then in one batch ten times larger.

The second run's processes may each use only so much address space: one that asks for more is
refused, and the run would fail. It must finish, with every row in the table once.
Example: python benchmarks/memory.py --batch 20000
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.figures import Bar, lines_of, ratio
from lab.ground import Ground, open_ground, say
from lab.machine import describe
from lab.measure import follow
from lab.output import write_json

from lakeward.model.plan import UNSEEN_RECORD_BYTES
from lakeward.model.spec import Limits

TOPIC = "memory"
GIGABYTE = 1_000_000_000


@dataclass(frozen=True)
class Memory:
    """What one run took, in megabytes; pages that processes share count for each."""

    batch: int
    cap_gb: float | None
    largest_batch: int
    peak_mb: int
    jvm_mb: int
    python_mb: int
    rate: float
    rows: int


def main() -> None:
    options = parse()
    records = first_batch() + 10 * options.batch
    with open_ground() as ground:
        ground.load(TOPIC, records)
        usual = run(ground, records, options.batch, None)
        capped = run(ground, records, 10 * options.batch, options.cap)
    bars = [
        Bar("worker peak RSS, usual batches", 2500, usual.peak_mb, " MB"),
        Bar("worker peak RSS, batch ten times larger, capped", 2500, capped.peak_mb, " MB"),
    ]
    for each in (usual, capped):
        print(one_line(each))
    print(f"  ratio {ratio(capped.peak_mb, usual.peak_mb):.2f}")
    print("\n".join(lines_of(bars)))
    result = {
        "benchmark": "memory",
        "machine": describe(),
        "options": {"records": records, "batch": options.batch, "cap_gb": options.cap},
        "results": [asdict(usual), asdict(capped)],
        "bars": [bar.as_json() for bar in bars],
    }
    write_json(options.json, result)


def first_batch() -> int:
    """Return how many records a new job takes first, before it knows how large they are."""
    return int(Limits().batch_bytes / UNSEEN_RECORD_BYTES)


def run(ground: Ground, records: int, batch: int, cap: float | None) -> Memory:
    """Drain the topic with batches of a size, its processes capped or not."""
    name = f"memory-{batch}"
    say(f"batches of {batch:,} records" + (f", each process capped at {cap:g} GB" if cap else ""))
    site = ground.site(name, TOPIC)
    changes = {
        "iceberg.control.commit.interval-ms": 1000,
        "lakeward.batch.records": batch,
    }
    child = site.worker(site.connector(name, changes), before=capped_at(cap))
    watch = site.watch()
    try:
        course = follow(child, watch.records, records, ground.broker_meter)
    finally:
        child.stop()
    content = site.content()
    if content.rows != records or content.distinct != records:
        raise SystemExit(f"{content.rows:,} rows in the table, {records:,} records in the topic")
    added = [int(s["summary"].get("added-records", 0)) for s in watch.metadata["snapshots"]]
    if max(added) < batch:
        raise SystemExit(f"no commit covered {batch:,} records, the largest had {max(added):,}")
    site.clear()
    peaks = child.meter.peak_by_kind
    result = Memory(
        batch, cap, max(added), course.peak_rss // 1_000_000,
        peaks["jvm"] // 1_000_000, peaks["python"] // 1_000_000, course.whole.rate, content.rows,
    )  # fmt: skip
    say(f"  {one_line(result)}")
    return result


def capped_at(gigabytes: float | None) -> Callable[[], None] | None:
    """Return what a child does before it starts: limit its address space and its children's."""
    if gigabytes is None:
        return None
    most = round(gigabytes * GIGABYTE)
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))


def one_line(result: Memory) -> str:
    cap = f", capped at {result.cap_gb:g} GB a process" if result.cap_gb else ""
    return (
        f"batches up to {result.largest_batch:,} records{cap}: peak {result.peak_mb:,} MB "
        f"(JVM {result.jvm_mb:,}, Python {result.python_mb:,}), {result.rate:,.0f} records/s"
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=200_000, help="records of a usual batch")
    parser.add_argument(
        "--cap", type=float, default=4.5, help="address space of each process in GB (4.5)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
