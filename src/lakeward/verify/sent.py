"""What `lakeward produce` says it sent, against what Kafka holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakeward.errors import LakewardError
from lakeward.verify.span import Range


@dataclass(frozen=True, slots=True)
class SentRange:
    """One run's records in one partition: how many, and a hash over their values in order."""

    file: str
    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    count: int
    sha256: str


def load_sent(folder: Path | None) -> tuple[SentRange, ...]:
    """Read all manifests in a folder; ranges others wrote into as well prove nothing."""
    if folder is None or not folder.is_dir():
        return ()
    return tuple(sent for path in sorted(folder.glob("*.json")) for sent in _load(path))


def _load(path: Path) -> Iterator[SentRange]:
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
        ids = {topic["name"]: topic["id"] for topic in manifest["topics"]}
        for sent in manifest["ranges"]:
            if sent["exclusive"]:
                yield _range(path.name, ids, sent)
    except (ValueError, KeyError, TypeError) as broken:
        raise LakewardError(
            f"A manifest of what was produced cannot be read: {broken!r}",
            where=str(path),
            next_step="Delete the file to verify without it.",
        ) from broken


def _range(file: str, ids: Mapping[str, str], sent: Mapping[str, Any]) -> SentRange:
    return SentRange(
        file,
        sent["topic"],
        ids[sent["topic"]],
        int(sent["partition"]),
        int(sent["first_offset"]),
        int(sent["end_offset"]),
        int(sent["count"]),
        sent["sha256"],
    )


@dataclass(slots=True)
class SentCheck:
    """Hashes the values Kafka shows for one sent range, as they pass by."""

    sent: SentRange
    count: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def take(self, offset: int, value: bytes | None) -> None:
        if self.sent.start <= offset < self.sent.end:
            content = value or b""
            self.count += 1
            self.digest.update(len(content).to_bytes(8, "big"))
            self.digest.update(content)

    def contradiction(self) -> str | None:
        """Say how Kafka and the manifest differ, or nothing."""
        sent = self.sent
        where = f"[{sent.start}, {sent.end}) of {sent.file}"
        if self.count != sent.count:
            return f"{where}: {sent.count} records were sent, Kafka shows {self.count}"
        if self.digest.hexdigest() != sent.sha256:
            return f"{where}: the values are not those that were sent"
        return None


def checks_within(ranges: Iterable[SentRange], topic_id: str, covered: Range) -> list[SentCheck]:
    """Return checks for the sent ranges that lie wholly inside what can be read."""
    return [
        SentCheck(sent)
        for sent in ranges
        if (sent.topic_id, sent.topic, sent.partition) == (topic_id, *covered.place)
        and covered.readable <= sent.start
        and sent.end <= covered.end
    ]
