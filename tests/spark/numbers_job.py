"""Jobs that are killed: `python -m tests.spark.numbers_job JOB.json`. They read the numbers in topic `numbers`.

sides     each number becomes a row in `left` and one in `right`, in one transaction
hours     update mode: how many numbers each of ten users has in each hour; number n is of user n mod 10, in second 60 n
distinct  each number once, though it was sent several times
running   transformWithState counts for each user: one row for each number it sees

A query that fails is started again in the same session; a driver that is killed is started again by whoever runs this.
"""

import itertools
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import oncelog.spark
from oncelog.client.admin import LATEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.spark.arrow import RecordBatch
from oncelog.spark.fault_points import DIRECTORY, MID_TASK, reach

NUMBERS, LEFT, RIGHT = "numbers", "left", "right"
USERS = 10
SECONDS_PER_NUMBER = 60
STATES = (
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"  # transformWithState wants it
)
# For JVMs that are killed before they are warm: less compiling, and no threads to collect garbage beside the work.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True)
class Job:
    """What a run needs to know; kept in a file."""

    bootstrap: str
    checkpoint: str
    query: str = "sides"
    door: str = "append"  # append, foreach, or kafka: Spark's own sink
    master: str = "local[2]"
    rows_per_batch: int = 400
    mode: str = "append"
    jars: str = ""
    failures: int = 20  # of queries, before the job gives up

    def save(self, path: Path) -> Path:
        path.write_text(json.dumps(asdict(self)))
        return path


def sides(numbers: DataFrame) -> DataFrame:
    both = F.array(*[F.struct(F.lit(side).alias("topic"), F.col("value")) for side in (LEFT, RIGHT)])
    return numbers.select("key", F.inline(both))


def with_user(numbers: DataFrame) -> DataFrame:
    number = F.col("value").cast("string").cast("long")
    at = F.timestamp_seconds(number * SECONDS_PER_NUMBER)
    return numbers.select((number % USERS).cast("string").alias("user"), at.alias("at"))


def hours(numbers: DataFrame) -> DataFrame:
    counts = with_user(numbers).groupBy("user", F.window("at", "1 hour").start.alias("hour")).count()
    value = F.concat_ws(" ", "user", F.unix_seconds("hour"), "count")
    return counts.select(F.lit(LEFT).alias("topic"), F.col("user").alias("key"), value.alias("value"))


def distinct(numbers: DataFrame) -> DataFrame:
    return numbers.select(F.lit(LEFT).alias("topic"), "key", "value").dropDuplicates(["value"])


def running(numbers: DataFrame) -> DataFrame:
    from tests.spark.running_count import RunningCount  # wants protobuf

    counts = (
        with_user(numbers)
        .groupBy("user")
        .transformWithState(RunningCount(), "user string, count long", "update", "none")
    )
    value = F.concat_ws(" ", "user", "count")
    return counts.select(F.lit(LEFT).alias("topic"), F.col("user").alias("key"), value.alias("value"))


QUERIES = {"sides": sides, "hours": hours, "distinct": distinct, "running": running}


def start(spark: SparkSession, job: Job) -> StreamingQuery:
    kafka = {"kafka.bootstrap.servers": job.bootstrap}
    numbers = (
        spark.readStream.format("oncelog")
        .options(**kafka)
        .option("subscribe", NUMBERS)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", job.rows_per_batch)
        .load()
    )
    rows = QUERIES[job.query](numbers)
    if job.door == "kafka":
        # A shuffle here too, so that its tasks do what ours do. It knows no fault points: they stand before it.
        rows = cast(Any, rows.repartition(2)).mapInArrow(HeldBack(job.bootstrap), rows.schema)
        writer = cast(DataFrame, rows).writeStream.format("kafka").options(**kafka)
    else:
        rows = oncelog.spark.to_topic(rows, options=kafka)
        options = {
            **kafka,
            "transactionalId": "numbers-job",
            "kafka.batch.size": "4096",
            "kafka.transaction.timeout.ms": "60000",
        }
        if job.door == "foreach":
            writer = rows.writeStream.foreachBatch(oncelog.spark.Sink(options)).outputMode(job.mode)
        else:
            writer = rows.writeStream.format("oncelog").options(**options)
    return writer.option("checkpointLocation", job.checkpoint).trigger(availableNow=True).start()


class HeldBack:
    """Hands rows on. The second task waits until the first has rows in the topics, and passes the point at which it may be killed."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1:
            before = self._written()
            while self._written() == before:
                time.sleep(0.1)
            reach(MID_TASK)
        yield from batches

    def _written(self) -> int:
        with Cluster(self.bootstrap) as cluster:
            admin = Admin(cluster)
            sides = [each for topic in (LEFT, RIGHT) for each in admin.partitions_of(topic)]
            return sum(view.offset for view in admin.offsets_at(dict.fromkeys(sides, LATEST)).values())


def processes_of(spark: SparkSession) -> list[int]:
    """The driver is two processes: this one and its JVM."""
    return [os.getpid(), int(cast(Any, spark.sparkContext)._gateway.proc.pid)]


def main(path: str) -> int:
    job = Job(**json.loads(Path(path).read_text()))
    settings: dict[str, object] = {
        "spark.ui.enabled": False,
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.streaming.metricsEnabled": False,
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        "spark.sql.execution.arrow.maxRecordsPerBatch": 50,
    }
    if job.query == "running":
        settings["spark.sql.streaming.stateStore.providerClass"] = STATES
    if job.jars:
        settings["spark.jars"] = job.jars
    spark = oncelog.spark.session(master=job.master, app_name="numbers", **settings)
    spark.sparkContext.setLogLevel("ERROR")
    directory = os.environ.get(DIRECTORY)
    if directory:
        (Path(directory) / "driver").write_text(" ".join(map(str, processes_of(spark))))
    for number in itertools.count(1):
        query = start(spark, job)
        try:
            query.awaitTermination()
        except StreamingQueryException as fault:
            sys.stdout.write(f"query failed: {str(fault)[:2000]}\n")
            sys.stdout.flush()
            if number > job.failures:
                return 1
        else:
            break
    sys.stdout.write("done\n")
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
