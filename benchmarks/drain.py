"""How fast a backlog drains: N API log records in a topic, one worker, until all are committed.

Drives the command line as a user does, in a home of its own, and prints records per second, CPU per
record of the worker (JVM and Python together, broker apart), peak memory and files.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from lakeward.settings import Settings, load_settings
from lakeward.stack.kafka import start_kafka
from lakeward.stack.ports import free_ports

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Moment:
    """What the worker had done at one moment."""

    at: float
    records: int
    cpu: float


@dataclass(frozen=True)
class Result:
    """One drain, whole and after its first commit."""

    records: int
    seconds: float
    records_per_second: float
    cpu_us_per_record: float
    records_per_second_after_first_commit: float | None
    cpu_us_per_record_after_first_commit: float | None
    peak_rss_mb: int
    files: int


class Meter:
    """Adds up CPU and memory of all processes of a session, also of those that ended meanwhile."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._cpu: dict[int, float] = {}
        self.peak_rss = 0

    def sample(self) -> float:
        rss = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self._session:
                self._cpu[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / TICKS
                rss += int(fields[21]) * PAGE
        self.peak_rss = max(self.peak_rss, rss)
        return sum(self._cpu.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=1_000_000, help="records (default 1,000,000)")
    parser.add_argument("--batch", type=int, default=300_000, help="most records per commit")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakeward-drain-") as home:
        result = drain(Path(home), options.n, options.batch)
    for name, value in asdict(result).items():
        print(f"{name.replace('_', ' '):44}{value:>14,.1f}" if value is not None else name)
    if options.json:
        options.json.write_text(json.dumps(asdict(result), indent=2) + "\n")


def drain(home: Path, records: int, batch: int) -> Result:
    """Load a topic, run a worker over it, watch it until everything is committed."""
    names = ("KAFKA_EXTERNAL_PORT", "KAFKA_INTERNAL_PORT", "KAFKA_CONTROLLER_PORT")
    ports = dict(zip(names, map(str, free_ports(3)), strict=True))
    environment = {**os.environ, **ports, "LAKEWARD_HOME": str(home)}
    settings = load_settings(environment)
    broker = start_kafka(settings, tied=True)
    try:
        _type(environment, "init")
        _type(environment, "produce", settings.api_topic, "-n", str(records), "--seed", "7")
        connector = home / "connectors" / "iceberg-sink-apilogs.json"
        content = json.loads(connector.read_text())
        content["config"] |= {
            "iceberg.control.commit.interval-ms": "1000",
            "lakeward.batch.records": str(batch),
        }
        connector.write_text(json.dumps(content))
        return _run(environment, settings, connector, records)
    finally:
        broker.stop()


def _run(
    environment: Mapping[str, str], settings: Settings, connector: Path, records: int
) -> Result:
    settings.logs.mkdir(parents=True, exist_ok=True)
    with (settings.logs / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "lakeward", "worker", str(connector)],
            env=environment, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    meter = Meter(worker.pid)
    begun = time.monotonic()
    moments: list[Moment] = []
    try:
        while not moments or moments[-1].records < records:
            if worker.poll() is not None or time.monotonic() - begun > 900:
                raise SystemExit((settings.logs / "worker.log").read_text()[-2000:])
            cpu, done = meter.sample(), _committed(settings)
            if done > (moments[-1].records if moments else 0):
                moments.append(Moment(time.monotonic(), done, cpu))
            time.sleep(0.05)
    finally:
        worker.send_signal(signal.SIGINT)
        worker.wait(30)
    return _result(begun, moments, meter, settings)


def _result(begun: float, moments: list[Moment], meter: Meter, settings: Settings) -> Result:
    first, last = moments[0], moments[-1]
    rest = last.records - first.records
    files = len(list(settings.warehouse.rglob("data/**/*.parquet")))
    return Result(
        records=last.records,
        seconds=last.at - begun,
        records_per_second=last.records / (last.at - begun),
        cpu_us_per_record=last.cpu / last.records * 1e6,
        records_per_second_after_first_commit=rest / (last.at - first.at) if rest else None,
        cpu_us_per_record_after_first_commit=(last.cpu - first.cpu) / rest * 1e6 if rest else None,
        peak_rss_mb=meter.peak_rss // 1_000_000,
        files=files,
    )


def _committed(settings: Settings) -> int:
    try:
        job = json.loads((settings.progress / "iceberg-sink-apilogs.json").read_text())
    except (OSError, ValueError):
        return 0
    return int(job["committed_records"]) + int(job["dead_letters"])


def _type(environment: Mapping[str, str], *arguments: str) -> None:
    command = [sys.executable, "-m", "lakeward", *arguments]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
