"""`lakeward start`, `stop` and `status`: the services of this installation, and its jobs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lakeward.cli.output import Output, json_option
from lakeward.settings import Settings, load_settings

if TYPE_CHECKING:
    from lakeward.stack.service import Service

SERVICES = ("kafka",)
MEGABYTE = 1_000_000

SERVICE_COLUMNS = ("service", "state", "pid", "port", "uptime", "log")
JOB_COLUMNS = ("name", "state", "committed_records", "dead_letters", "lag", "freshness_seconds")
REASON_SHOWN = 120


@click.command(epilog="Example: KAFKA_EXTERNAL_PORT=19092 lakeward start")
@json_option
def start(out: Output) -> None:
    """Start the Kafka broker of this installation and leave it running."""
    from lakeward.stack.kafka import start_kafka
    from lakeward.stack.service import find_service

    settings = load_settings()
    fetch_jars(["kafka"], settings, out)
    with out.progress("Starting Kafka"):
        broker = start_kafka(settings)
    state = "already runs" if broker.already_running else "is ready"
    row = _service_row("kafka", find_service("kafka", settings))
    out.value(
        {**dict(zip(SERVICE_COLUMNS, row, strict=True)), "bootstrap": broker.bootstrap_servers},
        text=f"Kafka {state} at {broker.bootstrap_servers} (pid {broker.pid}). "
        f"Its data is in {settings.home / 'kafka'}, its log in {settings.logs / 'kafka.log'}.",
    )


@click.command(epilog="Example: lakeward stop")
@json_option
def stop(out: Output) -> None:
    """Stop every service of this installation; its data stays."""
    from lakeward.stack.service import find_services

    stopped = []
    for service in reversed(find_services(load_settings())):
        with out.progress(f"Stopping {service.record.name}"):
            service.stop()
        stopped.append({"service": service.record.name, "pid": service.record.pid})
    names = ", ".join(f"{each['service']} (pid {each['pid']})" for each in stopped)
    out.value({"stopped": stopped}, text=f"Stopped {names}." if stopped else "Nothing was running.")


@click.command(epilog="Example: lakeward status --watch")
@click.option("--watch", is_flag=True, help="Refresh every second until Ctrl-C.")
@json_option
def status(watch: bool, out: Output) -> None:
    """Show services and jobs."""
    settings = load_settings()
    try:
        while True:
            if watch and not out.as_json:
                click.clear()
            _show_status(settings, out)
            if not watch:
                return
            time.sleep(1)
    except KeyboardInterrupt:
        # The usual way to end a watch.
        return


def fetch_jars(
    jar_sets: Sequence[str], settings: Settings, out: Output, *, recheck: bool = False
) -> None:
    """Bring jars into the cache, with a progress bar if there is something to bring."""
    from lakeward.stack.jars import bytes_to_fetch, fetch

    for jar_set in jar_sets:
        todo = bytes_to_fetch(jar_set, settings)
        if not todo:
            fetch(jar_set, settings, recheck=recheck)
            continue
        label = f"Fetching the jars of {jar_set} (MB)"
        with out.progress(label, total=todo // MEGABYTE) as show:
            fetch(jar_set, settings, lambda done: show(done // MEGABYTE), recheck=recheck)


def read_jobs(settings: Settings) -> list[dict[str, Any]]:
    """Read what jobs last said about themselves, by name."""
    jobs = []
    for path in sorted(settings.progress.glob("*.json")):
        try:
            job = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            job = None
        known = isinstance(job, dict) and isinstance(job.get("updated_at"), int)
        jobs.append(_honest(job) if known else {"name": path.stem, "state": "unreadable"})
    return jobs


def _honest(job: dict[str, Any]) -> dict[str, Any]:
    """Correct what a job last said of itself if its process is gone."""
    from lakeward.stack.service import birth_of

    gone = job.get("pid") and birth_of(int(job["pid"])) is None
    if gone and job.get("state") in ("RUNNING", "STARTING"):
        return {**job, "state": "GONE", "reason": f"process {job['pid']} ended without a word"}
    return job


def _show_status(settings: Settings, out: Output) -> None:
    from lakeward.stack.service import find_services

    running = {service.record.name: service for service in find_services(settings)}
    names = [*SERVICES, *(name for name in running if name not in SERVICES)]
    services = [_service_row(name, running.get(name)) for name in names]
    jobs = read_jobs(settings)
    if out.as_json:
        rows = [dict(zip(SERVICE_COLUMNS, row, strict=True)) for row in services]
        out.value({"home": str(settings.home), "services": rows, "jobs": jobs})
        return
    out.table(SERVICE_COLUMNS, services, title=f"Services of {settings.home}")
    if jobs:
        columns = [*JOB_COLUMNS, "updated", "reason"]
        out.table(columns, [_job_row(job) for job in jobs], title="Jobs")


def _service_row(name: str, service: Service | None) -> tuple[object, ...]:
    if service is None:
        return (name, "stopped", None, None, None, None)
    record = service.record
    uptime = duration(time.time() - record.started_at)
    port = record.ports.get("external")
    return (name, "running", record.pid, port, uptime, record.log)


def _job_row(job: dict[str, Any]) -> tuple[object, ...]:
    updated = job.get("updated_at")
    age = duration(time.time() - updated / 1000) + " ago" if updated is not None else None
    reason = str(job.get("reason") or "")[:REASON_SHOWN]
    return (*(job.get(column) for column in JOB_COLUMNS), age, reason)


def duration(seconds: float) -> str:
    """Write a time span in the two largest units that matter: `2 h 5 min`, `42 s`."""
    whole = max(0, int(seconds))
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    parts = []
    for unit, size in units:
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"
