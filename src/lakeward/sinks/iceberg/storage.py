"""Tell a full or unreachable store from a bug of ours: only the first is worth a retry."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from lakeward.errors import DestinationUnavailable, StorageFull


@contextmanager
def storage_errors(where: str) -> Iterator[None]:
    """Raise what the operating system says about storage as an error of ours."""
    try:
        yield
    except OSError as failure:
        if failure.errno == errno.ENOSPC or "No space left" in str(failure):
            raise StorageFull(
                "No space left in the warehouse",
                where=where,
                next_step="Free some space; the job goes on by itself.",
            ) from failure
        raise DestinationUnavailable(
            f"The warehouse cannot be written: {failure}",
            where=where,
            next_step="The job tries again; check the storage if this goes on.",
        ) from failure
