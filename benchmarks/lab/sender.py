"""A process that sends at a steady rate and writes down when each record was handed over."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from lab.feed import Feed

TICK = 0.005


def main() -> None:
    given = json.loads(sys.argv[1])
    feed = Feed(given["bootstrap_servers"])
    begun, sent = time.monotonic(), 0
    wanted = round(given["rate"] * given["seconds"])
    while sent < wanted:
        due = min(wanted, int((time.monotonic() - begun) * given["rate"]))
        for topic in given["topics"]:
            feed.send(topic, due - sent)
        sent = due
        time.sleep(TICK)
    feed.settle()
    draft = Path(f"{given['output']}.new")
    draft.write_text(json.dumps(feed.handed))
    draft.replace(given["output"])


if __name__ == "__main__":
    main()
