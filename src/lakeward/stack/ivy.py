"""Ivy, which comes inside pyspark: its command line fetches jars by their coordinates.

Ivy's `ibiblio` resolver knows Maven Central by itself, so no host is named here. POM files are not
read: the lock lists every jar, and a POM would cost a request for each of its parents.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from lakeward.errors import JarsUnavailable
from lakeward.stack.java import Java

STALLED_SECONDS = 60.0
"""Without a new byte or log line for this long, the network is taken for dead."""

SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir="${lakeward.folder}" artifactPattern="[artifact]-[revision].[ext]"/>
  <timeout-constraints>
    <timeout-constraint name="patient" connectionTimeout="10000" readTimeout="30000"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="central" m2compatible="true" usepoms="false" useMavenMetadata="false"
             timeoutConstraint="patient"/>
  </resolvers>
</ivysettings>
"""

MODULE = """<ivy-module version="2.0">
  <info organisation="lakeward" module="jars"/>
  <configurations><conf name="jars"/></configurations>
  <dependencies>{dependencies}</dependencies>
</ivy-module>
"""

DEPENDENCY = """
    <dependency org="{}" name="{}" rev="{}" conf="jars->default" transitive="false"/>"""


def download(
    wanted: Sequence[tuple[str, str, str]],
    folder: Path,
    java: Java,
    log: Path,
    progress: Callable[[int], None],
) -> None:
    """Fetch (group, name, version) jars into an empty folder, as many as can be had."""
    dependencies = "".join(DEPENDENCY.format(*coordinates) for coordinates in wanted)
    (folder / "ivy.xml").write_text(MODULE.format(dependencies=dependencies), encoding="utf-8")
    (folder / "ivysettings.xml").write_text(SETTINGS, encoding="utf-8")
    command = [
        str(java.binary),
        "-Xmx256m",
        # Whatever lies in the user's own Ivy or Maven folders plays no part.
        f"-Divy.default.ivy.user.dir={folder}",
        f"-Dlakeward.folder={folder}",
        *proxy_options(os.environ),
        "-jar",
        str(_ivy_jar()),
        *("-settings", "ivysettings.xml", "-ivy", "ivy.xml", "-confs", "jars"),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _follow(process, folder, log, progress)
        finally:
            process.kill()
            process.wait()


def _follow(
    process: subprocess.Popen[bytes], folder: Path, log: Path, progress: Callable[[int], None]
) -> None:
    seen = (-1, -1)
    changed = time.monotonic()
    while process.poll() is None:
        now = (_jar_bytes(folder), log.stat().st_size)
        if now != seen:
            seen, changed = now, time.monotonic()
            progress(now[0])
        elif time.monotonic() - changed > STALLED_SECONDS:
            raise JarsUnavailable(
                f"Maven Central did not answer for {STALLED_SECONDS:.0f} seconds",
                where=str(log),
                next_step="Check the network (HTTPS_PROXY is used), then: lakeward doctor --fetch.",
            )
        time.sleep(0.1)
    progress(_jar_bytes(folder))


def _jar_bytes(folder: Path) -> int:
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            # A jar under way has a further ending, and may be renamed while we look.
            if ".jar" in entry.name and (path := Path(entry.path)).exists():
                total += path.stat().st_size
    return total


def _ivy_jar() -> Path:
    pyspark = find_spec("pyspark")
    for folder in (pyspark.submodule_search_locations or []) if pyspark else []:
        for path in sorted(Path(folder, "jars").glob("ivy-*.jar")):
            return path
    raise JarsUnavailable(
        "pyspark, which brings Ivy to fetch jars, is not installed",
        next_step="Install it again: uv pip install lakeward.",
    )


def proxy_options(environment: Mapping[str, str]) -> list[str]:
    """Tell Java about the proxy the environment names; it does not look by itself."""
    env = {key.lower(): value for key, value in environment.items()}
    options = []
    for scheme in ("http", "https"):
        proxy = urlsplit(env.get(f"{scheme}_proxy", ""))
        if proxy.hostname:
            options.append(f"-D{scheme}.proxyHost={proxy.hostname}")
            options.append(f"-D{scheme}.proxyPort={proxy.port or 80}")
    return options
