"""Two peers for the drain: the Iceberg sink of Kafka Connect, and Flink."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from lab import peer_jars
from lab.child import Child
from lab.engines import PROGRAMS, Started, Task
from lab.flink_sql import statements
from lab.ground import say
from lakeward.catalogs.warehouse import location_of
from lakeward.kafka.client import open_admin
from lakeward.kafka.topics import create_topics
from lakeward.settings import Settings
from lakeward.stack.java import find_java
from lakeward.stack.ports import free_ports

INTERVAL_MS = 10_000
FETCH = ".venv/bin/python benchmarks/peers.py --fetch"
JVM = ("-Xmx2g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
OPENED = ("java.lang", "java.nio", "java.time", "java.util", "java.util.concurrent")
"""Packages that Flink's serialiser reaches into."""
JAR_SETS = {"connect": ("connect", "iceberg-connect"), "flink": ("flink",)}


def start_connect(task: Task) -> Started:
    """Start a standalone Connect worker with two tasks of the Iceberg sink."""
    settings, home = task.site.settings, task.site.home
    control = f"control-{task.name}"
    create_topics(open_admin(settings.bootstrap_servers), {control: 1})
    jars = peer_jars.fetch("connect", settings)
    peer_jars.fetch("iceberg-connect", settings)
    plugins = home / "plugins"
    plugins.mkdir()
    # A folder of links: every folder beside the real one would be taken for a plugin, too.
    (plugins / "iceberg").symlink_to(peer_jars.folder_of("iceberg-connect", settings))
    worker = {
        "bootstrap.servers": settings.bootstrap_servers,
        "plugin.path": plugins,
        "plugin.discovery": "only_scan",
        "listeners": f"http://127.0.0.1:{free_ports(1)[0]}",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        # A task looks for commit requests at least this often; with the default of a minute a
        # topic that has been read to its end is not committed for that long.
        "offset.flush.interval.ms": "500",
        "offset.storage.file.filename": home / "connect.offsets",
        "connector.client.config.override.policy": "All",
    }
    sink = {
        "name": task.name,
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": task.topic,
        "iceberg.tables": ".".join(task.site.table),
        "iceberg.catalog": settings.warehouse_name,
        "iceberg.catalog.type": "jdbc",
        "iceberg.catalog.jdbc.schema-version": "V1",
        "iceberg.catalog.uri": jdbc_uri(settings),
        "iceberg.catalog.warehouse": location_of(settings.warehouse),
        "iceberg.control.topic": control,
        "iceberg.control.commit.interval-ms": INTERVAL_MS,
        "consumer.override.auto.offset.reset": "earliest",
    }
    files = [home / "worker.properties", home / "sink.properties"]
    for path, properties in zip(files, (worker, sink), strict=True):
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    command = [
        str(find_java(settings).binary), *JVM, "-cp", ":".join(map(str, jars)),
        "org.apache.kafka.connect.cli.ConnectStandalone", *map(str, files),
    ]  # fmt: skip
    child = Child(command, task.site.environment, settings.logs / "connect.log")
    return Started(child, task.site.watch().records, by_time=True)


def start_flink(task: Task) -> Started:
    """Start a local Flink with one slot per core."""
    settings = task.site.settings
    java = find_java(settings)
    classpath = ":".join(map(str, peer_jars.fetch("flink", settings)))
    classes = task.site.home / "classes"
    compiler = [str(java.home / "bin" / "javac"), "-cp", classpath, "-d", str(classes)]
    subprocess.run([*compiler, str(PROGRAMS / "FlinkJob.java")], check=True)
    command = [
        str(java.binary), *JVM,
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        "-cp", f"{classes}:{classpath}", "FlinkJob", str(os.cpu_count() or 1), str(INTERVAL_MS),
        *statements(task, jdbc_uri(settings)),
    ]  # fmt: skip
    child = Child(command, task.site.environment, settings.logs / "flink.log")
    return Started(child, task.site.watch().records, by_time=True)


def jdbc_uri(settings: Settings) -> str:
    return f"jdbc:sqlite:{settings.catalog_file}?busy_timeout=30000"


PEERS: dict[str, Callable[[Task], Started]] = {"connect": start_connect, "flink": start_flink}


def absent(peer: str, settings: Settings) -> str:
    """Say why a peer cannot take part; nothing if it can."""
    missing = [each for each in JAR_SETS[peer] if not peer_jars.have(each, settings)]
    if missing:
        return f"jars of {', '.join(missing)} are not here; get them: {FETCH}"
    if peer == "flink" and not Path(find_java(settings).home, "bin", "javac").exists():
        return "this Java has no compiler; set JAVA_HOME to a JDK"
    return ""


def fetch_all(peers: list[str], settings: Settings) -> None:
    """Get the jars of some peers."""
    for peer in peers:
        for jar_set in JAR_SETS[peer]:
            peer_jars.fetch(jar_set, settings)
        say(f"jars of {peer} are here")
