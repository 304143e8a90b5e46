"""Child processes that are real services: started, watched, found again by pid, stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lakeward.errors import ServiceFailed
from lakeward.settings import Settings
from lakeward.stack.tether import Tether

GRACE_SECONDS = 20.0
LOG_BYTES = 20 * 1024 * 1024
"""A log larger than this is put aside at the next start."""


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """What the pid file of a service says."""

    name: str
    pid: int
    birth: str
    """Tells this process from a later one with the same pid."""
    started_at: float
    log: str
    ports: Mapping[str, int] = field(default_factory=dict)


class Service:
    """A running service; holds its record, and its handle if this process started it."""

    def __init__(
        self,
        record: ServiceRecord,
        pid_file: Path,
        process: subprocess.Popen[bytes] | None = None,
        tether: Tether | None = None,
    ) -> None:
        self.record = record
        self._pid_file = pid_file
        self._process = process
        self._tether = tether

    @property
    def alive(self) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        return birth_of(self.record.pid) == self.record.birth

    @property
    def exit_code(self) -> int | None:
        """How it ended, if this process started it."""
        return self._process.poll() if self._process is not None else None

    def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Ask the service to end; kill it when the grace time is over."""
        self._signal(signal.SIGTERM)
        if not self._gone_within(grace):
            self.kill()
        self._untie()
        self._pid_file.unlink(missing_ok=True)

    def kill(self) -> None:
        """End the service at once, as a crash would. Its pid file stays."""
        self._signal(signal.SIGKILL)
        self._gone_within(GRACE_SECONDS)
        self._untie()

    def _untie(self) -> None:
        if self._tether is not None:
            self._tether.cut()

    def _signal(self, number: signal.Signals) -> None:
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.record.pid, number)

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.alive:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True


def spawn(
    name: str,
    command: Sequence[str],
    settings: Settings,
    *,
    folder: Path,
    ports: Mapping[str, int] | None = None,
    tied: bool = False,
) -> Service:
    """Start a service in its own session: a Ctrl-C in our terminal does not reach it.

    One that is tied ends when this process ends; otherwise it stays until it is stopped.
    """
    settings.run.mkdir(parents=True, exist_ok=True)
    log = _open_log(settings.logs / f"{name}.log")
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        birth = birth_of(process.pid) or ""
        record = ServiceRecord(name, process.pid, birth, time.time(), str(log), dict(ports or {}))
        pid_file = settings.run / f"{name}.json"
        _write_record(record, pid_file)
        tether = Tether(process.pid) if tied else None
    except BaseException:
        process.kill()
        process.wait()
        raise
    return Service(record, pid_file, process, tether)


def await_ready(service: Service, is_ready: Callable[[], bool], seconds: float) -> None:
    """Wait until a service answers; if it does not, end it and say why."""
    deadline = time.monotonic() + seconds
    try:
        while not is_ready():
            if not service.alive:
                raise _failed(service, f"ended with code {service.exit_code} while starting")
            if time.monotonic() > deadline:
                raise _failed(service, f"did not answer within {seconds:.0f} seconds")
            time.sleep(0.05)
    except BaseException:
        service.stop(grace=0)
        raise


def find_service(name: str, settings: Settings) -> Service | None:
    """Return the running service of this home with that name."""
    pid_file = settings.run / f"{name}.json"
    try:
        record = ServiceRecord(**json.loads(pid_file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    service = Service(record, pid_file)
    return service if service.alive else None


def find_services(settings: Settings) -> list[Service]:
    """Return every running service of this home, in the order of their start."""
    names = [path.stem for path in settings.run.glob("*.json")]
    found = [service for name in names if (service := find_service(name, settings)) is not None]
    return sorted(found, key=lambda service: service.record.started_at)


def birth_of(pid: int) -> str | None:
    """Return a mark that only this process has; None if it is gone or waits to be reaped."""
    try:
        # The name in the second field may hold spaces and brackets: count from its end.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return _birth_by_ps(pid) if not Path("/proc/self").exists() else None
    except ProcessLookupError:
        return None
    return None if fields[0] in "ZX" else f"{boot}/{fields[19]}"


def _birth_by_ps(pid: int) -> str | None:
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    state, _, started = answer.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else started.strip()


def last_lines(log: Path, count: int = 6) -> list[str]:
    """Return the last lines of a log that tell something; frames of a stack trace do not."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 65536))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    telling = [line for line in text.splitlines() if line.strip() and not line.startswith("\t")]
    return telling[-count:]


def _failed(service: Service, what: str) -> ServiceFailed:
    words = "".join(f"\n  {line}" for line in last_lines(Path(service.record.log)))
    return ServiceFailed(
        f"{service.record.name} {what}",
        where=f"log: {service.record.log}",
        next_step=f"Its last words:{words}" if words else "It left no word in its log.",
    )


def _open_log(log: Path) -> Path:
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    return log


def _write_record(record: ServiceRecord, path: Path) -> None:
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(asdict(record)), encoding="utf-8")
    fresh.replace(path)
