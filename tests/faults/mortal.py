"""A broker that a test may hurt."""

from __future__ import annotations

import shutil

from lakeward.settings import Settings
from lakeward.stack.kafka import KafkaBroker, start_kafka


class MortalBroker:
    """Holds the broker that runs at an address right now."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._running: KafkaBroker | None = None
        self.start()

    @property
    def bootstrap_servers(self) -> str:
        assert self._running is not None
        return self._running.bootstrap_servers

    def start(self) -> None:
        """Start it, with the data it has."""
        self._running = start_kafka(self._settings, tied=True)

    def kill(self) -> None:
        """End it as a crash does."""
        assert self._running is not None
        self._running.kill()

    def replace(self) -> None:
        """Put a new, empty cluster in its place."""
        self.kill()
        shutil.rmtree(self._settings.home / "kafka")
        self.start()
