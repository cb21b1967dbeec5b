"""Router: each row of t1 goes to t2 or to t3, unchanged, once: |t2| + |t3| = |t1|.

Partition n of t1 is written to partition n of t2 and t3, so no shuffle is needed: `partitioning="preserve"`.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.pipelines import Run
from oncelog.spark import to_topic

REVIEW_FROM = 60_000


def transform(transfers: DataFrame) -> DataFrame:
    """Large amounts are for t3, the others for t2."""
    amount = F.get_json_object(F.col("value").cast("string"), "$.amount").cast("bigint")
    topic = F.when(amount >= REVIEW_FROM, "t3").otherwise("t2")
    return transfers.select("key", "value", "partition", topic.alias("topic"))


def start(spark: SparkSession, run: Run) -> StreamingQuery:
    transfers = (
        spark.readStream.format("oncelog")
        .options(**run.kafka)
        .option("subscribe", "t1")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", run.rows_per_batch)
        .load()
    )
    sink = {**run.kafka, "transactionalId": run.transactional_id}
    return (
        to_topic(transform(transfers), partitioning="preserve")
        .writeStream.format("oncelog")
        .options(**sink)
        .option("checkpointLocation", run.checkpoint)
        .trigger(**run.trigger)
        .start()
    )
