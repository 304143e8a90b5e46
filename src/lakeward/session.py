"""The only place that builds a SparkSession."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lakeward.errors import SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    # Everything stays on this machine unless the master says otherwise.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.mode": "FAIR",
    # Rows never pass through the JVM, so it needs little memory.
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss4m",
    "spark.python.daemon.module": "lakeward.job.daemon",
    "spark.python.worker.reuse": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
}


def build_session(
    name: str,
    master: str,
    java_home: Path,
    jars: Sequence[Path] = (),
    extra: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark, or return the session that runs already."""
    os.environ["JAVA_HOME"] = str(java_home)
    # Without this, workers take whatever python3 comes first on the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name).master(master)
    settings = {**_SETTINGS, **(extra or {})}
    if jars:
        settings["spark.jars"] = ",".join(str(jar) for jar in jars)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as failure:
        raise SetupError(
            f"Spark cannot start: {str(failure).splitlines()[0]}",
            where=f"master {master}, Java {java_home}",
            next_step="Check LAKEWARD_SPARK_MASTER and JAVA_HOME (lakeward doctor).",
        ) from failure
    return session


def start_session(
    name: str, master: str, java_home: Path, stop: threading.Event
) -> SparkSession | None:
    """Start Spark beside the main thread, which stays free to notice Ctrl-C; None if it did.

    There Spark also leaves Ctrl-C alone; in the main thread it puts its own handler in place.
    """
    started: list[SparkSession | Exception] = []

    def start() -> None:
        try:
            started.append(build_session(name, master, java_home))
        except Exception as failure:  # noqa: BLE001 - raised again where somebody listens
            started.append(failure)

    thread = threading.Thread(target=start, name="spark", daemon=True)
    thread.start()
    while thread.is_alive() and not stop.wait(0.05):
        pass
    if not started:
        return None
    if isinstance(started[0], Exception):
        raise started[0]
    return started[0]
