"""Where we are in Kafka: positions, slices of a partition, and the batch made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Position:
    """The next offset to read, and the leader epoch the last one was read under."""

    offset: int
    leader_epoch: int = -1


Positions = Mapping[TopicPartition, Position]


@dataclass(frozen=True, slots=True, order=True)
class Slice:
    """The offsets `[start, end)` of one partition."""

    topic: str
    partition: int
    start: int
    end: int
    leader_epoch: int = -1

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def where(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}[{self.start},{self.end})"


@dataclass(frozen=True, slots=True)
class Batch:
    """What one cycle takes on: one range per partition, cut into tasks."""

    ranges: tuple[Slice, ...]
    """One contiguous range per partition; this is what a commit covers."""
    tasks: tuple[tuple[Slice, ...], ...]
    """The same ranges, cut finer and grouped; each group is one task."""

    def __len__(self) -> int:
        return sum(len(part) for part in self.ranges)
