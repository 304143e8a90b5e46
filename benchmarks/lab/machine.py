"""The machine and the versions figures were taken with; no names of hosts, users or folders."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from lakeward.settings import load_settings
from lakeward.stack.jars import locked_jars
from lakeward.stack.java import find_java

PACKAGES = ("lakeward", "pyspark", "pyiceberg", "pyarrow", "duckdb", "confluent-kafka")


def describe() -> dict[str, str]:
    """Return what a reader must know to judge the figures."""
    kafka = next(jar for jar in locked_jars("kafka") if jar.name == "kafka-clients")
    iceberg = next(jar for jar in locked_jars("spark") if jar.name.startswith("iceberg"))
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": str(os.cpu_count()),
        "processor": processor(),
        "memory": f"{memory() / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "java": java_version(),
        "kafka broker": kafka.version,
        "iceberg (Spark runtime)": iceberg.version,
        **{name: version(name) for name in PACKAGES},
        "commit": commit(),
    }


def processor() -> str:
    """Return the processor's model, as the kernel names it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def java_version() -> str:
    """Return the version line of the Java that Lakeward uses."""
    binary = find_java(load_settings()).binary
    answer = subprocess.run([str(binary), "-version"], capture_output=True, text=True, check=False)
    return answer.stderr.partition('"')[2].partition('"')[0] or "unknown"


def commit() -> str:
    """Return the commit that was measured; with a mark if files had changed since."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"
