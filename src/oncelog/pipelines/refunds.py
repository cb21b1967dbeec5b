"""Refunds: each settlement that came back becomes a refund and an audit row, in one transaction with the source offsets.

    settlements --> refunds-emitted   {settlement_id, merchant, amount, currency}
                --> refund-audit      {settlement_id, merchant, amount, settled, percent, actor}

A crash at any point leaves neither a refund without its audit row, nor one twice, nor one forgotten.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.pipelines import Run
from oncelog.spark import to_topic

SETTLEMENT = """
    settlement_id STRING, merchant STRING, amount BIGINT, currency STRING, outcome STRING, returned_percent BIGINT
"""


def transform(settlements: DataFrame) -> DataFrame:
    """Two rows for each settlement that came back: the `topic` column says where each goes."""
    returned = (
        settlements.select(F.from_json(F.col("value").cast("string"), SETTLEMENT).alias("settlement"))
        .select("settlement.*")
        .where("outcome = 'returned'")
        .withColumn("refund", F.expr("amount * returned_percent div 100"))
    )
    refund = F.struct("settlement_id", "merchant", F.col("refund").alias("amount"), "currency")
    audit = F.struct(
        "settlement_id",
        "merchant",
        F.col("refund").alias("amount"),
        F.col("amount").alias("settled"),
        F.col("returned_percent").alias("percent"),
        F.lit("refunds pipeline").alias("actor"),
    )
    both = F.array(
        F.struct(F.lit("refunds-emitted").alias("topic"), F.to_json(refund).alias("value")),
        F.struct(F.lit("refund-audit").alias("topic"), F.to_json(audit).alias("value")),
    )
    return returned.select(F.col("settlement_id").alias("key"), F.inline(both))


def start(spark: SparkSession, run: Run) -> StreamingQuery:
    settlements = (
        spark.readStream.format("oncelog")
        .options(**run.kafka)
        .option("subscribe", "settlements")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", run.rows_per_batch)
        .load()
    )
    sink = {**run.kafka, "transactionalId": run.transactional_id}
    return (
        to_topic(transform(settlements), options=sink)
        .writeStream.format("oncelog")
        .options(**sink)
        .option("checkpointLocation", run.checkpoint)
        .trigger(**run.trigger)
        .start()
    )
