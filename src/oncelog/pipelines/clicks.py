"""Clicks per user and hour, twice: every new count as it comes (update mode), or one row when the hour is over (append mode).

A count is Spark's state, and its state store is versioned by micro-batch; so is what the sink has written. After a crash
both go on from the same micro-batch, which is why the counts stay true.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.pipelines import Run
from oncelog.spark import Sink, to_topic

CLICK = "user STRING, at_ms BIGINT"
LATENESS = "1 hour"  # a click that comes later than this is not counted


def read(spark: SparkSession, run: Run) -> DataFrame:
    clicks = (
        spark.readStream.format("oncelog")
        .options(**run.kafka)
        .option("subscribe", "clicks")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", run.rows_per_batch)
        .load()
    )
    row = F.from_json(F.col("value").cast("string"), CLICK)
    return clicks.select(row.alias("click")).select(
        "click.user", F.timestamp_millis("click.at_ms").alias("at")
    )


def transform(clicks: DataFrame) -> DataFrame:
    """Counts by user and hour; the key is the user, so a user's counts stay in order."""
    counts = (
        clicks.withWatermark("at", LATENESS).groupBy("user", F.window("at", "1 hour").alias("hour")).count()
    )
    value = F.struct("user", F.unix_millis("hour.start").alias("hour_ms"), F.col("count").alias("clicks"))
    return counts.select(F.col("user").alias("key"), F.to_json(value).alias("value"))


def start(spark: SparkSession, run: Run) -> StreamingQuery:
    """Update mode: a row for each count that a micro-batch has changed. Spark lets only foreachBatch write those."""
    sink = {**run.kafka, "transactionalId": run.transactional_id}
    return (
        to_topic(transform(read(spark, run)), "clicks-per-hour", options=sink)
        .writeStream.outputMode("update")
        .foreachBatch(Sink(sink))
        .option("checkpointLocation", run.checkpoint)
        .trigger(**run.trigger)
        .start()
    )


def start_final(spark: SparkSession, run: Run) -> StreamingQuery:
    """Append mode: an hour's count is written when the watermark has passed its end, and never again."""
    sink = {**run.kafka, "transactionalId": run.transactional_id}
    return (
        to_topic(transform(read(spark, run)), "clicks-per-hour-final", options=sink)
        .writeStream.outputMode("append")
        .format("oncelog")
        .options(**sink)
        .option("checkpointLocation", run.checkpoint)
        .trigger(**run.trigger)
        .start()
    )
