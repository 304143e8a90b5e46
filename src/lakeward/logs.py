"""How long-running processes log: one line an event, with the time in UTC, to stderr."""

from __future__ import annotations

import logging
import time


def set_up_logging(level: int = logging.INFO) -> None:
    """Send our own log to stderr; libraries speak only when something is wrong."""
    handler = logging.StreamHandler()
    line = logging.Formatter(
        "%(asctime)s.%(msecs)03dZ %(levelname)-7s %(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    line.converter = time.gmtime
    handler.setFormatter(line)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("lakeward").setLevel(level)
    logging.getLogger("py4j").setLevel(logging.ERROR)
