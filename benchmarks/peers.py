"""How peers drain the same backlog: the Iceberg sink of Kafka Connect, and Flink.

As drain.py, with Lakeward in turns with both. Their jars are many and only for this benchmark:
--fetch gets them; a peer whose jars are absent is left out with a message.
Example: python benchmarks/peers.py --fetch; python benchmarks/peers.py -n 300000 --rounds 1
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lab.engines import ENGINES
from lab.figures import Bar, lines_of
from lab.ground import open_ground, say
from lab.machine import describe
from lab.output import write_json
from lab.peer_engines import PEERS, absent, fetch_all
from lab.race import Race, ratios, run_race, summarise, table_lines

from lakeward.settings import load_settings

TOPIC = "peers"


def main() -> None:
    options = parse()
    settings = load_settings()
    if options.fetch:
        fetch_all(options.peers, settings)
        return
    present = [peer for peer in options.peers if not tell_absent(peer, absent(peer, settings))]
    if not present:
        return
    race = Race(TOPIC, options.n, options.batch, options.rounds)
    engines = {"lakeward": ENGINES["lakeward"]} | {peer: PEERS[peer] for peer in present}
    with open_ground() as ground:
        ground.load(race.topic, race.records)
        runs = run_race(ground, race, engines)
    summary = summarise(runs)
    compared = ratios(summary)
    bars = bars_of(compared)
    print("\n".join(table_lines(summary)))
    print("\n".join(lines_of(bars)))
    result = {
        "benchmark": "peers",
        "machine": describe(),
        "options": {"records": race.records, "batch": race.batch, "rounds": race.rounds},
        "runs": [run.as_json() for run in runs],
        "summary": summary,
        "ratios": compared,
        "bars": [bar.as_json() for bar in bars],
    }
    write_json(options.json, result)


def tell_absent(peer: str, why: str) -> bool:
    if why:
        say(f"{peer} is left out: {why}")
    return bool(why)


def bars_of(compared: dict[str, Any]) -> list[Bar]:
    rate = compared.get("connect", {}).get("steady", {}).get("rate")
    return [Bar("records/s, of the Connect sink's", 5, rate, at_least=True)]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=1_500_000, help="records (1,500,000)")
    parser.add_argument("--batch", type=int, default=500_000, help="Lakeward's records per commit")
    parser.add_argument("--rounds", type=int, default=2, help="how often each engine runs (2)")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--fetch", action="store_true", help="get the peers' jars, then end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
