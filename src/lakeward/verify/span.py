"""The offsets of one partition that a job answers for."""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[str, int]
"""A topic and a partition."""


@dataclass(frozen=True, slots=True)
class Range:
    """The offsets of one partition that a job answers for."""

    topic: str
    partition: int
    start: int
    """Where the job began."""
    readable: int
    """The first of them Kafka still has."""
    end: int
    letters_end: int
    """Dead letters commit before the table does, so theirs may go further."""
    waiting: int = 0
    """Offsets past the end that the job has not read yet."""

    @property
    def place(self) -> Place:
        return self.topic, self.partition
