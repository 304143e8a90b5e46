"""Where everything lives: folders, ports, names. Read once from the environment, then frozen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lakeward.errors import UsageError


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one Lakeward process."""

    home: Path
    """State of this installation: broker data, catalog, warehouse, logs, progress."""
    cache: Path
    """Downloads shared by every installation on this machine, such as jars."""
    bootstrap_servers: str
    """The Kafka brokers clients connect to."""
    kafka_port: int
    kafka_internal_port: int
    kafka_controller_port: int
    warehouse_name: str
    namespace: str
    api_topic: str
    error_topic: str
    audit_topic: str
    spark_master: str
    """Any Spark master; `local[N,F]` means N cores and F failures allowed per task."""

    @property
    def catalog_file(self) -> Path:
        return self.home / "catalog.db"

    @property
    def warehouse(self) -> Path:
        return self.home / "warehouse" / self.warehouse_name

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def run(self) -> Path:
        """Process ids and other files that are worthless after a reboot."""
        return self.home / "run"

    @property
    def progress(self) -> Path:
        return self.home / "progress"

    @property
    def manifests(self) -> Path:
        """What `lakeward produce` sent, for the verifier."""
        return self.home / "manifests"

    @property
    def topics(self) -> tuple[str, str, str]:
        return (self.api_topic, self.error_topic, self.audit_topic)


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read settings from the environment; every variable has a default."""
    env = os.environ if environment is None else environment
    port = _port(env, "KAFKA_EXTERNAL_PORT", 9092)
    return Settings(
        home=Path(env.get("LAKEWARD_HOME") or ".lakeward").expanduser().absolute(),
        cache=_cache(env),
        bootstrap_servers=env.get("KAFKA_BOOTSTRAP_SERVERS") or f"127.0.0.1:{port}",
        kafka_port=port,
        kafka_internal_port=_port(env, "KAFKA_INTERNAL_PORT", 29092),
        kafka_controller_port=_port(env, "KAFKA_CONTROLLER_PORT", 29093),
        warehouse_name=env.get("WAREHOUSE_NAME") or "kafkawarehouse",
        namespace=env.get("NAMESPACE_NAME") or "streaming",
        api_topic=env.get("API_LOGS_TOPIC") or "apilogs",
        error_topic=env.get("ERROR_LOGS_TOPIC") or "errorlogs",
        audit_topic=env.get("AUDIT_LOGS_TOPIC") or "auditlogs",
        spark_master=env.get("LAKEWARD_SPARK_MASTER") or "local[*,4]",
    )


def _cache(env: Mapping[str, str]) -> Path:
    if env.get("LAKEWARD_CACHE"):
        return Path(env["LAKEWARD_CACHE"]).expanduser().absolute()
    root = env.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser().absolute() / "lakeward"


def _port(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise UsageError(
            f"{name} must be a port from 1 to 65535, not {text!r}",
            where="environment",
            next_step=f"Set {name}, or unset it for {default}.",
        )
    return int(text)
