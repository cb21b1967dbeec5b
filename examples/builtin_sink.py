"""The refunds pipeline with Spark's own Kafka source and sink in the place of ours: what `make demo` shows beside it.

Same transformation, same rows, same kills; only the topics it writes have another name.
"""

import argparse
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from oncelog.pipelines.refunds import transform
from oncelog.pipelines.run import Leash, follow

SUFFIX = "-builtin"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--rows-per-batch", required=True)
    parser.add_argument("--jars", required=True)
    asked = parser.parse_args()
    leash = Leash()
    spark = (
        SparkSession.Builder()
        .master("local[*]")
        .appName("refunds with Spark's own Kafka sink")
        .config("spark.jars", asked.jars)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    settlements = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", asked.bootstrap)
        .option("subscribe", "settlements")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", asked.rows_per_batch)
        .load()
    )
    rows = transform(settlements).withColumn("topic", F.concat("topic", F.lit(SUFFIX)))
    query = (
        rows.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", asked.bootstrap)
        .option("checkpointLocation", asked.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    try:
        follow(query, leash.tie)
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
