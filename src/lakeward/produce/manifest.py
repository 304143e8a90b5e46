"""What one run of `lakeward produce` sent, written down for the verifier.

The hash of a range covers its values in offset order, each preceded by its length as eight bytes,
big endian, so that a shifted border between two values shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lakeward.errors import LakewardError

VERSION = 1


@dataclass(frozen=True, slots=True)
class SentRange:
    """What went to one partition: all its offsets from `first_offset` up to `end_offset`."""

    topic: str
    partition: int
    first_offset: int
    end_offset: int
    count: int
    sha256: str

    @property
    def exclusive(self) -> bool:
        """Whether nobody else wrote into the range; otherwise the hash proves nothing."""
        return self.end_offset - self.first_offset == self.count


@dataclass(frozen=True, slots=True)
class SentTopic:
    """What went to one topic; `id` tells it from a later topic of the same name."""

    name: str
    id: str
    records: int
    bytes: int
    faults: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One run: how the records were made, and where they went."""

    run: str
    seed: int
    start: str
    """The instant event times advance from."""
    rate: float | None
    fault_share: float
    started_at: int
    """Milliseconds since the epoch."""
    seconds: float
    interrupted: bool
    cluster_id: str
    topics: tuple[SentTopic, ...]
    ranges: tuple[SentRange, ...]

    @property
    def records(self) -> int:
        return sum(topic.records for topic in self.topics)

    @property
    def bytes(self) -> int:
        return sum(topic.bytes for topic in self.topics)

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds if self.seconds else 0.0

    @property
    def file_name(self) -> str:
        return f"{self.started_at}-{self.run}.json"

    def to_json(self) -> dict[str, Any]:
        """Return the manifest as it is written to its file."""
        ranges = [{**asdict(range_), "exclusive": range_.exclusive} for range_ in self.ranges]
        return {"version": VERSION, **asdict(self), "ranges": ranges}


def save_manifest(manifest: Manifest, folder: Path) -> Path:
    """Write the manifest into its folder, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / manifest.file_name
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(manifest.to_json(), indent=2) + "\n")
    return unfinished.replace(target)


def load_manifest(path: Path) -> Manifest:
    """Read a manifest back."""
    try:
        return _from_json(json.loads(path.read_text()))
    except (ValueError, TypeError, KeyError) as wrong:
        raise LakewardError(
            f"This is not a manifest of ours: {type(wrong).__name__} {wrong}",
            where=str(path),
            next_step="Delete the file; it only helps the verifier.",
        ) from wrong


def _from_json(found: dict[str, Any]) -> Manifest:
    if found.pop("version") != VERSION:
        raise ValueError("unknown version")
    topics = tuple(SentTopic(**topic) for topic in found.pop("topics"))
    ranges = tuple(
        SentRange(**{name: value for name, value in range_.items() if name != "exclusive"})
        for range_ in found.pop("ranges")
    )
    return Manifest(**found, topics=topics, ranges=ranges)
