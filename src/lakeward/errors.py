"""Every error Lakeward raises on purpose.

LakewardError
├── UsageError                a flag, argument or setting is wrong          exit 2  HTTP 400
├── SetupError                the machine lacks something we need
│   ├── JavaMissing           no JDK 17 or 21 was found
│   ├── JarsUnavailable       jars could not be fetched, or do not match their lock
│   ├── PortBusy              another process listens where we want to
│   └── ServiceFailed         a child service did not start or died
├── SourceError               Kafka
│   ├── SourceUnavailable     brokers cannot be reached or do not answer    retry helps
│   ├── TopicMissing          a topic does not exist
│   └── OffsetsLost           Kafka no longer has offsets we must read
├── DestinationError          catalog, tables, storage
│   ├── DestinationUnavailable   storage or catalog does not answer         retry helps
│   ├── StorageFull           no space left on the warehouse                retry helps
│   ├── TableMissing          a table does not exist
│   └── TableUnsuitable       a table has a shape or format we cannot write
├── TaskCrashed               the process of a task died                    retry helps
├── JobStopped                the job must not go on by itself (invariant 4)
│   └── Fenced                another coordinator has claimed the job
└── QueryFailed               an engine refused a statement                         HTTP 400

A message has three parts: what happened, where, what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class LakewardError(Exception):
    """Anything that goes wrong in a way Lakeward can explain."""

    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        self.what = what
        self.where = where
        self.next_step = next_step
        super().__init__(what, where, next_step)

    def __str__(self) -> str:
        text = f"{self.what} ({self.where})" if self.where else self.what
        return f"{text}. {self.next_step}" if self.next_step else text

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders inside Spark tasks; keyword-only parts must survive.
        return _rebuild, (type(self), self.what, self.where, self.next_step)


def _rebuild(kind: type[LakewardError], what: str, where: str, next_step: str) -> LakewardError:
    return kind(what, where=where, next_step=next_step)


class UsageError(LakewardError):
    """Raised when a flag, an argument or a setting is wrong."""

    exit_code = 2
    http_status = 400


class SetupError(LakewardError):
    """Raised when the machine lacks something Lakeward needs to run."""


class JavaMissing(SetupError):
    """Raised when no suitable Java runtime is found."""


class JarsUnavailable(SetupError):
    """Raised when jars cannot be fetched or differ from their lock."""


class PortBusy(SetupError):
    """Raised when a port we need is taken."""


class ServiceFailed(SetupError):
    """Raised when a child service does not start, or dies."""


class SourceError(LakewardError):
    """Raised when Kafka cannot give us what we ask for."""


class SourceUnavailable(SourceError):
    """Raised when brokers cannot be reached or do not answer in time."""

    retryable = True
    http_status = 503


class TopicMissing(SourceError):
    """Raised when a topic does not exist."""

    http_status = 404


class OffsetsLost(SourceError):
    """Raised when Kafka no longer has offsets that are still to be read."""


class DestinationError(LakewardError):
    """Raised when a catalog, table or store cannot take what we write."""


class DestinationUnavailable(DestinationError):
    """Raised when storage or catalog does not answer."""

    retryable = True
    http_status = 503


class StorageFull(DestinationError):
    """Raised when the warehouse has no space left."""

    retryable = True
    http_status = 507


class TableMissing(DestinationError):
    """Raised when a table does not exist."""

    http_status = 404


class TableUnsuitable(DestinationError):
    """Raised when a table has a shape or a format Lakeward cannot write."""

    http_status = 409


class TaskCrashed(LakewardError):
    """Raised when the process that runs a task dies: killed, out of memory, or by a record."""

    retryable = True


class JobStopped(LakewardError):
    """Raised when a job must not go on by itself; an operator decides (invariant 4)."""

    http_status = 409


class Fenced(JobStopped):
    """Raised when another coordinator has claimed the job."""


class QueryFailed(LakewardError):
    """Raised when a query engine refuses a statement."""

    http_status = 400
