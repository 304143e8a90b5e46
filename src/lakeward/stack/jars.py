"""The jars Lakeward runs: fetched once by coordinates, checked against a lock, then offline."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lakeward.errors import JarsUnavailable
from lakeward.settings import Settings
from lakeward.stack import ivy
from lakeward.stack.java import find_java
from lakeward.stack.lockfile import held

Progress = Callable[[int], None]
"""Takes the bytes fetched so far."""

JAR_SETS = ("kafka", "spark")
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of the lock: where a jar comes from and what it must be."""

    group: str
    name: str
    version: str
    sha256: str
    size: int

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a full check of one set found."""

    intact: tuple[Jar, ...]
    missing: tuple[Jar, ...]
    damaged: tuple[Jar, ...]


@cache
def locked_jars(jar_set: str) -> tuple[Jar, ...]:
    """Return the jars of a set, as the lock lists them."""
    return read_lock((files("lakeward.stack") / "locks" / "jars.toml").read_text("utf-8"))[jar_set]


def read_lock(text: str) -> dict[str, tuple[Jar, ...]]:
    """Read the sets of a lock file."""
    return {
        jar_set: tuple(_read_line(*line) for line in lines.items())
        for jar_set, lines in tomllib.loads(text).items()
    }


def _read_line(coordinates: str, facts: Mapping[str, Any]) -> Jar:
    group, name, version = coordinates.split(":")
    return Jar(group, name, version, facts["sha256"], facts["size"])


def jar_folder(jar_set: str, settings: Settings) -> Path:
    """Return where the jars of a set lie."""
    return settings.cache / "jars" / jar_set


def fetch(
    jar_set: str,
    settings: Settings,
    progress: Progress = lambda _done: None,
    *,
    recheck: bool = False,
) -> list[Path]:
    """Return the jars of a set, fetching what is missing; `recheck` reads every byte again."""
    folder = jar_folder(jar_set, settings)
    return fetch_into(folder, locked_jars(jar_set), settings, progress, recheck=recheck)


def fetch_into(
    folder: Path,
    jars: Sequence[Jar],
    settings: Settings,
    progress: Progress = lambda _done: None,
    *,
    recheck: bool = False,
) -> list[Path]:
    """Return these jars in that folder, as `fetch` does with a set of the product's lock."""
    if recheck or not are_in(folder, jars):
        with held(folder.with_name(f"{folder.name}.lock")):
            # Another process may have fetched them while we waited for the lock.
            if recheck or not are_in(folder, jars):
                _complete(folder, jars, settings, progress)
                _stamp(folder, jars).touch()
    return [folder / jar.file_name for jar in jars]


def is_fetched(jar_set: str, settings: Settings) -> bool:
    """Check cheaply that a set was verified once and still has the right sizes."""
    return are_in(jar_folder(jar_set, settings), locked_jars(jar_set))


def are_in(folder: Path, jars: Sequence[Jar]) -> bool:
    """Check cheaply that these jars were verified once and still have the right sizes."""
    return _stamp(folder, jars).exists() and all(_has_size(folder, jar) for jar in jars)


def bytes_to_fetch(jar_set: str, settings: Settings) -> int:
    """Return how much a fetch has to bring, judged by size."""
    folder = jar_folder(jar_set, settings)
    return sum(jar.size for jar in locked_jars(jar_set) if not _has_size(folder, jar))


def take_stock(jar_set: str, settings: Settings) -> Inventory:
    """Check every byte of a set."""
    folder = jar_folder(jar_set, settings)
    found: dict[str, list[Jar]] = {"intact": [], "missing": [], "damaged": []}
    for jar in locked_jars(jar_set):
        path = folder / jar.file_name
        state = "missing" if not path.exists() else "intact" if _matches(path, jar) else "damaged"
        found[state].append(jar)
    return Inventory(*(tuple(found[state]) for state in ("intact", "missing", "damaged")))


def _stamp(folder: Path, jars: Sequence[Jar]) -> Path:
    # Named after the lock, so that two versions of Lakeward can share one cache.
    content = "\n".join(f"{jar.coordinates} {jar.sha256}" for jar in jars)
    return folder / f".verified-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _has_size(folder: Path, jar: Jar) -> bool:
    path = folder / jar.file_name
    return path.is_file() and path.stat().st_size == jar.size


def _matches(path: Path, jar: Jar) -> bool:
    return _has_size(path.parent, jar) and _sha256(path) == jar.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _complete(folder: Path, jars: Sequence[Jar], settings: Settings, progress: Progress) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    refused: dict[Jar, str] = {}
    missing = [jar for jar in jars if not _matches(folder / jar.file_name, jar)]
    for _attempt in range(ATTEMPTS):
        if missing:
            refused = _fetch_missing(folder, missing, settings, progress)
            missing = [jar for jar in missing if not _matches(folder / jar.file_name, jar)]
    if missing:
        raise _unavailable(folder, missing, refused, len(jars))


def _fetch_missing(
    folder: Path, missing: Sequence[Jar], settings: Settings, progress: Progress
) -> dict[Jar, str]:
    """Fetch into a folder aside and move what is intact; return what differs, with its sum."""
    _require_space(folder, sum(jar.size for jar in missing))
    java = find_java(settings)
    refused = {}
    prefix = f".fetching-{folder.name}-"
    for left_over in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(left_over, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=prefix) as aside:
        log = folder.with_name(f"{folder.name}.log")
        wanted = [(jar.group, jar.name, jar.version) for jar in missing]
        ivy.download(wanted, Path(aside), java, log, progress)
        for jar in missing:
            path = Path(aside) / jar.file_name
            if _matches(path, jar):
                path.replace(folder / jar.file_name)
            elif path.exists():
                refused[jar] = _sha256(path)
    return refused


def _require_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed * 1.1:
        raise JarsUnavailable(
            f"The jars need {needed // 1_000_000} MB and {free // 1_000_000} MB are free",
            where=str(folder),
            next_step="Free some space, or set LAKEWARD_CACHE to a folder on another disk.",
        )


def _unavailable(
    folder: Path, missing: Sequence[Jar], refused: dict[Jar, str], total: int
) -> JarsUnavailable:
    jar = missing[0]
    if jar in refused:
        return JarsUnavailable(
            f"{jar.coordinates} is not the jar of the lock: its SHA-256 is {refused[jar]}, "
            f"not {jar.sha256}",
            where=str(folder),
            next_step="Something between here and Maven Central changes it; try another network.",
        )
    return JarsUnavailable(
        f"{len(missing)} of {total} jars could not be fetched from Maven Central, "
        f"the first is {jar.coordinates}",
        where=str(folder.with_name(f"{folder.name}.log")),
        next_step="Check the network (HTTPS_PROXY is used) and run: lakeward doctor --fetch; "
        f"or copy the jars to {folder}.",
    )
