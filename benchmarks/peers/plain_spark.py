"""The plain Spark job: readStream Kafka, from_json, writeStream to Iceberg. Run by drain.py.

What a user writes in an afternoon. It fills the same table, origin columns included. Rows are not
shuffled by partition first (`distribution-mode=none`, open files per partition), as Lakeward's are
not. With `hash` a third of the files come out; two runs of each, on a busy machine, did not tell
their costs apart (73 and 81 against 76 and 71 µs per record).
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

ORIGIN = {
    "_topic": "topic",
    "_kafka_partition": "partition",
    "_offset": "offset",
    "_timestamp": "timestamp",
}


def main() -> None:
    given = json.loads(sys.argv[1])
    builder = SparkSession.builder.appName("plain-spark").master(given["master"])
    for key, value in given["settings"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    schema = spark.table(given["table"]).schema
    fields = type(schema)([field for field in schema.fields if field.name not in ORIGIN])
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", given["bootstrap_servers"])
        .option("subscribe", given["topic"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", given["batch"])
        .load()
    )
    parsed = f.from_json(f.col("value").cast("string"), fields).alias("record")
    origin = [f.col(source).alias(name) for name, source in ORIGIN.items()]
    rows = events.select(parsed, *origin).select("record.*", *ORIGIN)
    query = (
        rows.writeStream.format("iceberg")
        .outputMode("append")
        .trigger(processingTime="1 second")
        .option("checkpointLocation", given["checkpoint"])
        .option("fanout-enabled", "true")
        .option("distribution-mode", "none")
        .option("check-nullability", "false")
        .toTable(given["table"])
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
