"""The floor: the same reader, strict decoder and Parquet writer in one plain process per core.

No Spark, no plan, no commit: what the work itself costs with the same parts. Run by drain.py.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.tables import from_iceberg
from lakeward.kafka.read import SliceReader
from lakeward.model.offsets import Slice
from lakeward.model.spec import CatalogSpec, Limits
from lakeward.records.decode_json import JsonDecoder
from lakeward.sinks.iceberg.files import FileSet, FileTarget

MEET_WITHIN = 120.0


@dataclass(frozen=True)
class Shared:
    """What the processes share: tasks to do, records in complete files, and a meeting point."""

    todo: SimpleQueue[Any]
    finished: Synchronized[int]
    first: Barrier
    """Where all wait for each other once: an engine's first commit, too, comes when every one of
    its processes has started and completed files."""


def main() -> None:
    given = json.loads(sys.argv[1])
    context = multiprocessing.get_context("spawn")
    crowd = min(given["cores"], len(given["tasks"]))
    shared = Shared(context.SimpleQueue(), context.Value("q", 0), context.Barrier(crowd))
    for task in [*given["tasks"], *[None] * crowd]:
        shared.todo.put(task)
    workers = [
        context.Process(target=work, args=(given, shared), daemon=True) for _core in range(crowd)
    ]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        report(given["progress"], shared.finished.value)
        time.sleep(0.02)
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a process of the floor failed")
    report(given["progress"], shared.finished.value)
    time.sleep(600)


def report(path: str, records: int) -> None:
    draft = Path(f"{path}.new")
    draft.write_text(str(records))
    draft.replace(path)


def work(given: dict[str, Any], shared: Shared) -> None:
    """Take tasks until there are none; each is some slices, and files of its own."""
    pa.set_memory_pool(pa.system_memory_pool())
    target = target_of(given)
    decoder = JsonDecoder(from_iceberg(target.schema), 16 * 1024 * 1024, metadata_columns=True)
    reader = SliceReader(given["bootstrap_servers"])
    met = False
    while (task := shared.todo.get()) is not None:
        files = FileSet(target, Limits().buffer_bytes)
        slices = [Slice(*each) for each in task]
        for chunk in reader.read(slices):
            files.add(decoder.decode(chunk).rows)
        files.finish()
        if not met:
            shared.first.wait(MEET_WITHIN)
            met = True
        with shared.finished.get_lock():
            shared.finished.value += sum(map(len, slices))


def target_of(given: dict[str, Any]) -> FileTarget:
    catalog = open_catalog(CatalogSpec(given["catalog"]["name"], given["catalog"]["properties"]))
    table = catalog.load_table(tuple(given["table"]))
    metadata = table.metadata
    return FileTarget(
        ".".join(given["table"]),
        table.location(),
        table.schema(),
        metadata.spec(),
        metadata.properties,
        table.io.properties,
    )


if __name__ == "__main__":
    main()
