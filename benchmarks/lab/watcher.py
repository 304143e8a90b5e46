"""A process that looks at tables all the time and writes down when it sees a new snapshot.

Visible means: the catalog points to the new metadata and a reader has loaded it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TextIO

from lab.table import TableWatch

LOOK = 0.02


def main() -> None:
    given = json.loads(sys.argv[1])
    namespace = given["namespace"]
    watches = [TableWatch(Path(given["catalog"]), namespace, name) for name in given["tables"]]
    seen: set[int] = set()
    with Path(given["output"]).open("w", buffering=1) as output:
        while True:
            for watch in watches:
                if watch.moved():
                    _note(watch, seen, output)
            time.sleep(LOOK)


def _note(watch: TableWatch, seen: set[int], output: TextIO) -> None:
    now = time.monotonic()
    for snapshot in watch.metadata.get("snapshots", []):
        ranges = snapshot["summary"].get("lakeward.ranges")
        if ranges is not None and snapshot["snapshot-id"] not in seen:
            seen.add(snapshot["snapshot-id"])
            print(json.dumps({"at": now, "ranges": json.loads(ranges)}), file=output)


if __name__ == "__main__":
    main()
