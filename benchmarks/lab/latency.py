"""From when records were handed over and when ranges became visible to latencies. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Handed = Mapping[str, Sequence[Sequence[float]]]
"""Topic -> partition -> the moment each offset was handed over."""


def latencies(handed: Handed, sightings: Iterable[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Return for every record seen when it was handed over and how long until it was visible."""
    found = []
    for sighting in sightings:
        for topic, partitions in sighting["ranges"].items():
            for partition, (start, end) in partitions.items():
                moments = handed[topic][int(partition)][start:end]
                found += [(moment, sighting["at"] - moment) for moment in moments]
    return found


def covered(sightings: Iterable[Mapping[str, Any]]) -> int:
    """Return how many offsets all ranges cover."""
    return sum(
        end - start
        for sighting in sightings
        for partitions in sighting["ranges"].values()
        for start, end in partitions.values()
    )
