"""How long to wait before trying again. Pure; the clock and the dice are the caller's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackOff:
    """Waits that double from `first` up to `longest` seconds."""

    first: float = 0.5
    longest: float = 30.0

    def seconds(self, failures: int, dice: float = 1.0) -> float:
        """Return the wait after this many failures in a row; `dice` in [0, 1] spreads it."""
        full = min(self.longest, self.first * 2.0 ** min(failures, 60))
        return full * (0.5 + 0.5 * dice)
