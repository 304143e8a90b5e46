"""The three logs MinIO sends: which there are, and who makes realistic records of each."""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum
from typing import Protocol

import numpy as np

from lakeward.produce.api_log import ApiLog
from lakeward.produce.audit_log import AuditLog
from lakeward.produce.columns import Column
from lakeward.produce.error_log import ErrorLog
from lakeward.settings import Settings


class Log(IntEnum):
    """One of MinIO's logs. The numbers go into seeds: changing one changes every record."""

    API = 1
    ERROR = 2
    AUDIT = 3


class Shape(Protocol):
    """Makes the records of one log."""

    def records(self, rng: np.random.Generator, moments: Column) -> list[bytes]:
        """Return a record of each event; moments are nanoseconds since the epoch, increasing."""


def logs_by_topic(settings: Settings) -> dict[str, Log]:
    """Return which log each topic carries."""
    return {
        settings.api_topic: Log.API,
        settings.error_topic: Log.ERROR,
        settings.audit_topic: Log.AUDIT,
    }


def open_shape(log: Log, rng: np.random.Generator, start: datetime) -> Shape:
    """Build the pools a log's records are drawn from; keys and logins are of the start's day."""
    date = start.strftime("%Y/%m/%d")
    expires = int(start.timestamp()) + 43_200
    if log is Log.API:
        return ApiLog(rng, date, expires)
    return ErrorLog(rng, date) if log is Log.ERROR else AuditLog(rng, expires)
