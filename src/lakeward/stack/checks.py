"""What Lakeward needs of a machine, checked one by one; every finding says what to do."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lakeward.errors import LakewardError
from lakeward.settings import Settings
from lakeward.stack.jars import JAR_SETS, Inventory, locked_jars, take_stock
from lakeward.stack.java import find_java
from lakeward.stack.kafka import VARIABLES, broker_ports
from lakeward.stack.ports import why_unusable
from lakeward.stack.service import find_service

GIGABYTE = 1_000_000_000
OLDEST_PYTHON = (3, 11)
WANTED_MEMORY = 4 * GIGABYTE
WANTED_DISK = 5 * GIGABYTE
NEEDED_DISK = GIGABYTE
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding."""

    name: str
    state: State
    found: str
    next_step: str = ""


def check_machine(settings: Settings) -> Iterator[Check]:
    """Check everything, in the order in which a newcomer would meet it."""
    yield check_python(sys.version_info[:3])
    yield from check_programs(settings)
    yield from _explaining("ports", lambda: check_ports(settings))
    yield check_memory(total_memory())
    for name, folder in (("disk of home", settings.home), ("disk of cache", settings.cache)):
        yield check_disk(name, folder, shutil.disk_usage(nearest(folder)).free)
    for name, folder in (("home", settings.home), ("warehouse", settings.warehouse)):
        yield check_writable(name, folder)


def check_programs(settings: Settings) -> Iterator[Check]:
    """Check Java and every byte of the jars."""
    yield from _explaining("java", lambda: [_check_java(settings)])
    for jar_set in JAR_SETS:
        yield check_jars(jar_set, take_stock(jar_set, settings))


def check_python(version: tuple[int, ...]) -> Check:
    """Check the version of the Python that runs us."""
    found = f"{'.'.join(map(str, version))} in {sys.prefix}"
    if version >= OLDEST_PYTHON:
        return Check("python", State.OK, found)
    return Check("python", State.FAIL, found, "Install Python 3.11 or later.")


def check_jars(jar_set: str, stock: Inventory) -> Check:
    """Judge a full check of one set of jars."""
    name = f"jars of {jar_set}"
    total = len(locked_jars(jar_set))
    if stock.damaged:
        found = f"{len(stock.damaged)} of {total} damaged, first {stock.damaged[0].file_name}"
        return Check(name, State.FAIL, found, "Repair them: lakeward doctor --fetch.")
    if stock.missing:
        found = f"{len(stock.missing)} of {total} not fetched yet"
        return Check(name, State.WARN, found, "Fetch them: lakeward doctor --fetch.")
    return Check(name, State.OK, f"{total} of {total} match their SHA-256")


def check_ports(settings: Settings) -> Iterator[Check]:
    """Check that Kafka's ports are free, or held by our own broker."""
    running = find_service("kafka", settings)
    ours = set(running.record.ports.values()) if running is not None else set()
    for listener, port in broker_ports(settings).items():
        name = f"port {port}"
        reason = "" if port in ours else why_unusable(port)
        if reason:
            step = f"Stop that process, or set {VARIABLES[listener]} to a free port."
            yield Check(name, State.FAIL, f"{reason} (Kafka, {listener})", step)
        else:
            holder = f"our broker, pid {running.record.pid}" if running and ours else "free"
            yield Check(name, State.OK, f"{holder} (Kafka, {listener})")


def check_memory(total: int) -> Check:
    """Check that broker, Spark and its Python workers fit into memory."""
    found = f"{total / GIGABYTE:.1f} GB"
    if total >= WANTED_MEMORY:
        return Check("memory", State.OK, found)
    step = "4 GB are wanted; with less, set LAKEWARD_SPARK_MASTER='local[1,4]'."
    return Check("memory", State.WARN, found, step)


def check_disk(name: str, folder: Path, free: int) -> Check:
    """Check the free space where a folder is or will be."""
    found = f"{free / GIGABYTE:.1f} GB free for {folder}"
    if free >= WANTED_DISK:
        return Check(name, State.OK, found)
    state = State.WARN if free >= NEEDED_DISK else State.FAIL
    return Check(name, state, found, f"Free some space, or move it: {_variable(name)}.")


def check_writable(name: str, folder: Path) -> Check:
    """Check that we may write a file where a folder is or will be; leaves nothing behind."""
    place = nearest(folder)
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"lakeward")
    except OSError as failure:
        found = f"{place} cannot be written: {failure.strerror}"
        return Check(name, State.FAIL, found, "Set LAKEWARD_HOME to a folder you can write.")
    return Check(name, State.OK, f"{folder} can be written")


def total_memory() -> int:
    """Return the memory of this machine, or of the container we are in."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [int(text) for path in CGROUP_LIMITS if (text := _first_line(path)).isdigit()]
    return min([physical, *limits])


def nearest(folder: Path) -> Path:
    """Return the folder, or the closest one above it that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _check_java(settings: Settings) -> Check:
    java = find_java(settings)
    return Check("java", State.OK, f"{java.version} in {java.home}")


def _explaining(name: str, checks: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    try:
        yield from checks()
    except LakewardError as failure:
        found = f"{failure.what} ({failure.where})" if failure.where else failure.what
        yield Check(name, State.FAIL, found, failure.next_step)


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _variable(name: str) -> str:
    return "LAKEWARD_CACHE" if name.endswith("cache") else "LAKEWARD_HOME"
