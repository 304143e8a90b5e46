"""A chunk of one topic's records, as read: the unit the decoder works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999; some producers send microseconds as milliseconds."""


def micros_of(millis: npt.NDArray[np.int64]) -> pa.Array:
    """Turn Kafka timestamps into microseconds; null where there is none or none that can be."""
    known = (millis >= 0) & (millis <= LATEST)
    micros = pa.array(np.where(known, millis, 0) * 1000, pa.int64(), mask=~known)
    return micros.cast(pa.timestamp("us", "UTC"))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records of one topic, in order within each partition; a value of None is a tombstone."""

    topic: str
    partitions: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    timestamps: npt.NDArray[np.int64]
    """Kafka timestamps in ms, -1 where a record has none."""
    values: Sequence[bytes | None]
    key: Callable[[int], bytes | None]
    """Returns the key of the record at an index; only dead letters ask for it."""
    leader_epochs: Mapping[int, int] = field(default_factory=dict)
    """Leader epoch of each partition's last record, -1 if the broker does not say."""

    def __len__(self) -> int:
        return len(self.values)

    def pick(self, indexes: npt.NDArray[np.int64]) -> Chunk:
        """Return the records at these indexes as a chunk of their own."""
        return replace(
            self,
            partitions=self.partitions[indexes],
            offsets=self.offsets[indexes],
            timestamps=self.timestamps[indexes],
            values=[self.values[index] for index in indexes.tolist()],
            key=lambda index: self.key(int(indexes[index])),
        )

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return the length of each value, -1 for a tombstone."""
        if None in self.values:
            lengths = (-1 if value is None else len(value) for value in self.values)
            return np.fromiter(lengths, np.int64, len(self.values))
        return np.fromiter(map(len, self.values), np.int64, len(self.values))  # type: ignore[arg-type]
