"""What every query engine offers: one statement in, one answer out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows a statement gives, as plain Python values.

    Structs and maps are dicts, lists are lists; bytes, decimals, dates and times keep their
    Python types, and times with a zone are in UTC. Column names are unique.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    """The engine's own name of each column's type."""
    rows: list[tuple[object, ...]]
    total: int
    """How many rows there are, kept or not."""
    counted: bool = True
    """False if the engine stopped counting: there are at least `total` rows."""


class Engine(Protocol):
    """Runs read-only statements over one catalog."""

    def run(self, sql: str, keep: int | None = None) -> Answer:
        """Run one statement; keep only the first `keep` rows if given, but count the others."""

    def interrupt(self) -> None:
        """Stop the statement that is running; called from another thread."""


def unique_names(names: list[str]) -> tuple[str, ...]:
    """Number repeated column names, so that a row can be an object: a, a_1, a_2."""
    taken = set(names)
    result: list[str] = []
    for name in names:
        chosen, number = name, 0
        while chosen in result or (number and chosen in taken):
            number += 1
            chosen = f"{name}_{number}"
        result.append(chosen)
    return tuple(result)
