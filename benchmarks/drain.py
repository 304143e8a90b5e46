"""How fast a backlog drains: Lakeward, a plain Spark job and the floor over the same topic.

Loads N API log records of about 650 bytes into a fresh topic, then lets each engine drain it into
a fresh table of the same layout, alternating, round by round. Rows are counted after every run: a
wrong result has no figures. Example: python benchmarks/drain.py -n 200000 --rounds 1
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lab.engines import ENGINES
from lab.figures import Bar, lines_of
from lab.ground import open_ground
from lab.machine import describe
from lab.output import write_json
from lab.race import Race, ratios, run_race, summarise, table_lines

TOPIC = "drain"


def main() -> None:
    options = parse()
    race = Race(TOPIC, options.n, options.batch, options.rounds)
    with open_ground() as ground:
        ground.load(race.topic, race.records)
        runs = run_race(ground, race, {name: ENGINES[name] for name in options.engines})
    summary = summarise(runs)
    compared = ratios(summary) if "lakeward" in summary else {}
    bars = bars_of(summary, compared)
    print("\n".join(table_lines(summary)))
    print("\n".join(lines_of(bars)))
    result = {
        "benchmark": "drain",
        "machine": describe(),
        "options": {"records": race.records, "batch": race.batch, "rounds": race.rounds},
        "runs": [run.as_json() for run in runs],
        "summary": summary,
        "ratios": compared,
        "bars": [bar.as_json() for bar in bars],
    }
    write_json(options.json, result)


def bars_of(summary: dict[str, Any], compared: dict[str, Any]) -> list[Bar]:
    """Return the figures to reach, all after the first commit."""

    def steady(engine: str, name: str) -> float | None:
        found: float | None = compared.get(engine, {}).get("steady", {}).get(name)
        return found

    ours = summary.get("lakeward", {})
    own_cost = (ours.get("steady") or {}).get("cpu_us")
    return [
        Bar("CPU per record, of the plain Spark job's", 0.28, steady("plain-spark", "cpu")),
        Bar("CPU per record, of the floor's", 1.4, steady("floor", "cpu")),
        Bar("records/s, of the plain Spark job's", 5, steady("plain-spark", "rate"), at_least=True),
        Bar("CPU per record (aim)", 9, own_cost, " µs"),
        Bar("worker peak RSS", 2500, ours.get("peak_rss_mb"), " MB"),
    ]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=3_000_000, help="records (3,000,000)")
    parser.add_argument("--batch", type=int, default=1_000_000, help="most records a commit covers")
    parser.add_argument("--rounds", type=int, default=2, help="how often each engine runs (2)")
    parser.add_argument(
        "--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES), help="who takes part"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
