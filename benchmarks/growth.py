"""What grows with size: the cost of a record over tables, partitions and snapshots.

Tables: one worker, a job per table, the same burst of records for each. Partitions: one topic
drained, the same records spread over more partitions. Snapshots: batches committed to a table
whose history is made longer by copies of its head. Each axis ends with the ratio largest/smallest.
Example: python benchmarks/growth.py --tables 1 5 --partitions 3 30 --snapshots 1 100
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.engines import start_lakeward
from lab.figures import Bar, lines_of, middle, ratio
from lab.ground import Ground, open_ground, say
from lab.machine import describe
from lab.many_snapshots import SnapshotsPoint, measure_snapshots
from lab.many_tables import TablesPoint, measure_tables
from lab.output import write_json
from lab.race import Race, one_line, run_one


def main() -> None:
    options = parse()
    with open_ground() as ground:
        snapshots = (
            measure_snapshots(ground, options.snapshots, options.batch_records, options.batches)
            if options.snapshots
            else []
        )
        partitions = [
            measure_partitions(ground, count, options.n, options.rounds)
            for count in options.partitions
        ]
        tables = [
            measure_tables(ground, count, options.each, max(2, options.bursts // count))
            for count in options.tables
        ]
    bars = bars_of(tables, partitions, snapshots)
    for point in [*tables, *partitions, *snapshots]:
        print(point if isinstance(point, dict) else asdict(point))
    print("\n".join(lines_of(bars)))
    result = {
        "benchmark": "growth",
        "machine": describe(),
        "options": {"records": options.n, "each": options.each, "batch": options.batch_records},
        "tables": [asdict(point) for point in tables],
        "partitions": partitions,
        "snapshots": [asdict(point) for point in snapshots],
        "bars": [bar.as_json() for bar in bars],
    }
    write_json(options.json, result)


def measure_partitions(
    ground: Ground, partitions: int, records: int, rounds: int
) -> dict[str, Any]:
    """Drain one topic of so many partitions; cost and rate after the first commit."""
    topic = f"partitions_{partitions}"
    ground.load(topic, records, partitions)
    race = Race(topic, records, records // 3, rounds)
    runs = []
    for number in range(1, rounds + 1):
        say(f"{partitions} partitions, round {number} of {rounds}")
        runs.append(run_one(ground, race, f"lakeward-{topic}", start_lakeward, number))
        say(f"  {one_line(runs[-1])}")
    steady = middle([run.course.steady for run in runs if run.course.steady])
    return {
        "partitions": partitions,
        "records": records,
        "cpu_us": steady.cpu_us,
        "rate": steady.rate,
        "files": runs[-1].content.files,
    }


def bars_of(
    tables: list[TablesPoint], partitions: list[dict[str, Any]], snapshots: list[SnapshotsPoint]
) -> list[Bar]:
    """Return the ratios of each axis, largest to smallest."""

    def grown(figures: list[float]) -> float | None:
        return ratio(figures[-1], figures[0]) if len(figures) > 1 else None

    return [
        Bar("CPU per record, most to fewest tables", 1.3, grown([p.cpu_us for p in tables])),
        Bar(
            "CPU per record, most to fewest partitions",
            1.3,
            grown([point["cpu_us"] for point in partitions]),
        ),
        Bar("CPU per record, most to fewest snapshots", 1.3, grown([p.cpu_us for p in snapshots])),
        Bar("commit time, most to fewest snapshots", 1.5, grown([p.commit_ms for p in snapshots])),
    ]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, nargs="*", default=[1, 10, 100], metavar="N")
    parser.add_argument("--partitions", type=int, nargs="*", default=[3, 30, 300], metavar="N")
    parser.add_argument(
        "--snapshots", type=int, nargs="*", default=[1, 10, 100, 1000, 5000], metavar="N"
    )
    parser.add_argument("--each", type=int, default=10_000, help="records per table and burst")
    parser.add_argument("--bursts", type=int, default=8, help="bursts at one table; at least 2")
    parser.add_argument("-n", type=int, default=600_000, help="records over all partitions")
    parser.add_argument("--rounds", type=int, default=2, help="drains per number of partitions")
    parser.add_argument("--batch-records", type=int, default=20_000, help="records per commit")
    parser.add_argument("--batches", type=int, default=7, help="commits per length of history")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
