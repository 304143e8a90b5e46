"""How records are to be made and sent."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from lakeward.errors import UsageError


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything but the counts; with seed and start given it makes the same bytes every time."""

    seed: int | None = None
    """None: a new one for every run."""
    start: datetime | None = None
    """The instant event times advance from. None: now."""
    fault_share: float = 0.0
    """Which part of the records is spoiled on purpose."""
    rate: float | None = None
    """Records per second over all topics; event times advance with it. None: no limit."""
    partitions: int = 3
    """How many a topic gets that does not exist yet."""

    def __post_init__(self) -> None:
        _require(self.seed is None or 0 <= self.seed < 2**63, "seed", "a whole number from 0")
        _require(0 <= self.fault_share <= 1, "share of faults", "from 0 to 1")
        _require(
            self.rate is None or (math.isfinite(self.rate) and self.rate >= 0.01),
            "rate",
            "0.01 records per second or more",
        )
        _require(1 <= self.partitions <= 10_000, "number of partitions", "from 1 to 10000")
        # Nanoseconds since the epoch must fit 64 bits, with room for event times to advance.
        _require(
            self.start is None or 1971 <= self.start.year <= 2200,
            "start",
            "between the years 1971 and 2200",
        )

    def settle(self) -> Settled:
        """Leave nothing open: draw a seed, read the clock."""
        start = datetime.now(UTC) if self.start is None else self.start
        return Settled(
            seed=secrets.randbelow(2**31) if self.seed is None else self.seed,
            start=start.replace(tzinfo=UTC) if start.tzinfo is None else start.astimezone(UTC),
            fault_share=self.fault_share,
            rate=self.rate,
            partitions=self.partitions,
        )


@dataclass(frozen=True, slots=True)
class Settled:
    """A recipe with nothing left open."""

    seed: int
    start: datetime
    fault_share: float
    rate: float | None
    partitions: int


def _require(fits: bool, what: str, wanted: str) -> None:
    if not fits:
        raise UsageError(f"The {what} must be {wanted}", next_step="See lakeward produce --help.")
