"""Run every benchmark and write docs/benchmarks.md with its charts.

A quick run takes minutes, says little, and leaves docs/ alone: its page goes to the results.
Example: python benchmarks/report.py --quick
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lab.ground import say
from lab.page import build_page

from lakeward.settings import load_settings

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"

FULL: dict[str, tuple[str, ...]] = {
    "drain": (),
    "peers": (),
    "freshness": (),
    "growth": (),
    "memory": (),
}
QUICK: dict[str, tuple[str, ...]] = {
    "drain": ("-n", "150000", "--batch", "50000", "--rounds", "1"),
    "freshness": ("--seconds", "8", "--idle", "5", "--intervals", "1"),
    "growth": (
        *("--tables", "1", "4", "--each", "2000", "--bursts", "2"),
        *("--partitions", "3", "30", "-n", "60000", "--rounds", "1"),
        *("--snapshots", "1", "100", "--batch-records", "5000", "--batches", "3"),
    ),
    "memory": ("--batch", "20000"),
}  # fmt: skip


def main() -> None:
    options = parse()
    folder = options.results / ("quick" if options.quick else "full")
    plan = QUICK if options.quick else FULL
    for name in options.only or ([] if options.render else plan):
        run(name, plan.get(name, ()), folder / f"{name}.json")
    results = {name: found for name in FULL if (found := read(folder / f"{name}.json"))}
    if not results:
        raise SystemExit(f"There are no results in {folder}; run without --render.")
    target = folder if options.quick else DOCS
    for name, text in build_page(results).items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"Written: {target / 'benchmarks.md'}")


def run(name: str, arguments: tuple[str, ...], output: Path) -> None:
    """Run one benchmark; one that fails or is skipped has no result, not even an old one."""
    say(f"== {name}")
    output.unlink(missing_ok=True)
    begun = time.monotonic()
    command = [sys.executable, str(HERE / f"{name}.py"), *arguments, "--json", str(output)]
    done = subprocess.run(command, check=False)
    say(f"== {name}: {time.monotonic() - begun:.0f} s")
    if done.returncode != 0:
        raise SystemExit(f"{name} failed; its words are above.")


def read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, about five minutes")
    parser.add_argument("--only", nargs="+", choices=list(FULL), help="run only these")
    parser.add_argument("--render", action="store_true", help="write the page from old results")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        default=load_settings().home / "benchmarks",
        help="where results are kept (benchmarks/ in the home)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
