"""The clock of the machine, as everything we write down counts it."""

from __future__ import annotations

import time


def now_millis() -> int:
    """Return milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
