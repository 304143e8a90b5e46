"""The records of one topic, one after the other, each with the partition it goes to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum

import numpy as np

from lakeward.produce.columns import Column
from lakeward.produce.faults import Fault, spoil
from lakeward.produce.recipe import Settled
from lakeward.produce.shapes import Log, open_shape

BLOCK = 4_096
"""Records made at once. Each block has its own seeds: how records are taken changes none."""

_STRAY = 0.1
"""Share of records that leave the round robin for a random partition."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Purpose(IntEnum):
    """What random numbers are drawn for; each purpose has its own sequence."""

    POOLS = 1
    VALUES = 2
    FAULTS = 3
    PARTITIONS = 4


@dataclass(frozen=True, slots=True)
class Portion:
    """Some records in a row."""

    values: list[bytes]
    partitions: Column
    faults: Counter[Fault]


class Stream:
    """Endless records of one log; holds the current block and how much of it is taken."""

    def __init__(self, log: Log, recipe: Settled, step: float, partitions: int) -> None:
        self._seed = (recipe.seed, int(log))
        self._start = (recipe.start - _EPOCH) // timedelta(microseconds=1) * 1_000
        self._step = step * 1e9
        self._share = recipe.fault_share
        self._partitions = partitions
        self._shape = open_shape(log, self._rng(Purpose.POOLS, 0), recipe.start)
        self._block = -1
        self._taken = BLOCK
        self._values: list[bytes] = []
        self._targets: Column = np.empty(0, dtype=np.int64)
        self._faults: dict[int, Fault] = {}

    def take(self, most: int) -> Portion:
        """Return the next records: at least one, at most this many and what the block has left."""
        if self._taken == BLOCK:
            self._make_block()
        part = slice(self._taken, min(BLOCK, self._taken + most))
        self._taken = part.stop
        faults = (fault for place, fault in self._faults.items() if part.start <= place < part.stop)
        return Portion(self._values[part], self._targets[part], Counter(faults))

    def _make_block(self) -> None:
        self._block += 1
        self._taken = 0
        sound = self._shape.records(self._rng(Purpose.VALUES, self._block), self._moments())
        faults = self._rng(Purpose.FAULTS, self._block)
        self._values, self._faults = spoil(sound, self._share, faults)
        self._targets = self._choose_partitions()

    def _moments(self) -> Column:
        first = self._start + round(self._block * BLOCK * self._step)
        return first + (np.arange(BLOCK) * self._step).astype(np.int64)

    def _choose_partitions(self) -> Column:
        rng = self._rng(Purpose.PARTITIONS, self._block)
        turns = np.arange(BLOCK) + self._block * BLOCK + self._seed[0] % self._partitions
        stray = rng.integers(0, self._partitions, BLOCK)
        return np.where(rng.random(BLOCK) < _STRAY, stray, turns % self._partitions)

    def _rng(self, purpose: Purpose, block: int) -> np.random.Generator:
        return np.random.default_rng((*self._seed, int(purpose), block))
