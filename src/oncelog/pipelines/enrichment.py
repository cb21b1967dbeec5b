"""Enrichment: orders with tier and region of their customers, a stream joined with a table that stands in a topic.

The table is read anew for each micro-batch. An order whose customer the table does not know is kept, without tier and region.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from oncelog.pipelines import Run
from oncelog.spark import to_topic

ORDER = "order_id STRING, customer STRING, amount BIGINT"
CUSTOMER = "customer STRING, tier STRING, region STRING"


def table(customers: DataFrame) -> DataFrame:
    """The last word of the topic on each customer: a key stays in its partition, so its offsets are in order."""
    row = F.from_json(F.col("value").cast("string"), CUSTOMER)
    return customers.groupBy("key").agg(F.max_by(row, "offset").alias("row")).select("row.*")


def transform(orders: DataFrame, customers: DataFrame) -> DataFrame:
    row = F.from_json(F.col("value").cast("string"), ORDER)
    enriched = (
        orders.select(row.alias("order")).select("order.*").join(F.broadcast(customers), "customer", "left")
    )
    value = F.to_json(F.struct("order_id", "customer", "amount", "tier", "region"))
    return enriched.select(F.col("order_id").alias("key"), value.alias("value"))


def start(spark: SparkSession, run: Run) -> StreamingQuery:
    customers = spark.read.format("oncelog").options(**run.kafka).option("subscribe", "customers").load()
    orders = (
        spark.readStream.format("oncelog")
        .options(**run.kafka)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", run.rows_per_batch)
        .load()
    )
    sink = {**run.kafka, "transactionalId": run.transactional_id}
    return (
        to_topic(transform(orders, table(customers)), "orders-enriched", options=sink)
        .writeStream.format("oncelog")
        .options(**sink)
        .option("checkpointLocation", run.checkpoint)
        .trigger(**run.trigger)
        .start()
    )
