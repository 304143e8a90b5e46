"""The words of docs/benchmarks.md, and how its tables are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

HEAD = """# Benchmarks

Written by `make bench`; edits are lost. Figures depend on the machine; the ratios, taken in one
run with the engines alternating on the same broker, depend on it much less."""

NAMES = {
    "drain": "Drain",
    "peers": "Peers",
    "freshness": "Freshness",
    "growth": "Growth",
    "memory": "Memory",
}

ABOUT = {
    "drain": """## Drain: how fast a backlog becomes rows

API log records of about 650 bytes wait in a fresh topic of 3 partitions. Each engine drains them
into a fresh table of the same schema, partitioning and properties. *Plain Spark* is the job a user
writes in an afternoon: Kafka source, `from_json`, Iceberg sink. The *floor* is librdkafka, the same
strict decoder and the same Parquet writer in one plain process per core, without Spark and without
commits; its first commit is where its first files are complete. CPU counts every process of the
engine, those that ended included, and the broker apart. Memory is the sum over processes, so pages
they share count more than once. After each run the rows in the table are counted; figures of a
wrong result are not kept. Medians over the rounds.""",
    "peers": """## Peers: the Iceberg sink of Kafka Connect, and Flink

The same drain by a real Kafka Connect worker with the Iceberg sink (two tasks, commits every 10 s)
and by Flink's Kafka source and Iceberg sink (one slot per core, checkpoints every 10 s), in turns
with Lakeward. Both commit by the clock and have read everything some seconds before their last
commit, so their figures after the first commit end with the last commit but one. The Connect sink
leaves the columns for a record's origin empty, which spares it some work; hence its rows are
counted, not also told apart by their origin as all others' are.""",
    "freshness": """## Freshness: how soon a record can be read

Every job gets its own topic, its own table and 1,000 records/s of its own; three jobs share one
worker. A record counts as visible when a reader that looks at the catalog every 20 ms has loaded a
snapshot that covers its offset. All records count, also those of the first seconds, when Spark
starts its Python processes; the columns *after 10 s* leave those out. *Busy* and *idle* are the
whole worker's CPU in percent of one core, with traffic and without.""",
    "growth": """## Growth: what size costs

Tables: one worker, one job per table, the same bursts to every table; what the idle worker spends
is measured first and left out of the cost, and shown beside it. Partitions: one backlog drained
from topics with more and more partitions, after the first commit. Snapshots: batches committed to
a table whose history was made longer with copies of its newest snapshot; the metadata file, which
every commit reads and writes whole, grows with it.""",
    "memory": """## Memory: what a batch ten times larger takes

The same backlog in usual batches, then in batches ten times larger while every process of the
worker may have only so much address space. Both must finish with every row in the table once.""",
}


def verdict(bar: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a bar's limit, what was reached, and whether it holds."""
    limit = f"{'at least' if bar['at_least'] else 'at most'} {bar['limit']:g}{bar['unit']}"
    if bar["reached"] is None:
        return limit, "", "not measured"
    return limit, f"{bar['reached']:,.2f}{bar['unit']}", "holds" if bar["holds"] else "**missed**"


def markdown_table(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Write a table; figures stand to the right."""
    lines = [list(map(str, heads)), *(list(map(str, row)) for row in rows)]
    right = [
        len(lines) > 1
        and all(line[place].strip()[:1].isdigit() or not line[place] for line in lines[1:])
        for place in range(len(heads))
    ]
    rule = ["---:" if turned else "---" for turned in right]
    return "\n".join("| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:]))
