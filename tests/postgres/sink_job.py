"""The driver of a streaming query into PostgreSQL that kills what it is told to, at a point that it is told: see Job."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psutil
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from oncelog.postgres.sink import PostgresSink
from oncelog.spark import session

ZONE = "America/New_York"  # neither the driver's, nor the database's


@dataclass(frozen=True)
class Job:
    """`point`: kills whom, in which micro-batch and, unless it is -1, at which row of it; else when it is committed."""

    bootstrap: str
    topic: str
    dsn: str
    checkpoint: str
    query: str = "refunds"
    master: str = "local[2]"
    windows: bool = False
    victim: str = ""
    micro_batch: int = -1
    row: int = -1
    database: int = 0

    def words(self) -> list[str]:
        return [sys.executable, "-m", "tests.postgres.sink_job", json.dumps(asdict(self))]


@dataclass(frozen=True, slots=True)
class Killing(PostgresSink):
    """The sink of such a job."""

    job: Job | None = None

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        # Not super(): it knows nothing of the class that slots have made anew.
        PostgresSink.__call__(self, df, batch_id)
        self.kill(batch_id, -1)

    def write(
        self, rows: Iterable[Sequence[Any]], names: Sequence[str], *, query_id: str, batch_id: int
    ) -> int | None:
        counted = self.counted(rows, batch_id)
        return PostgresSink.write(self, counted, names, query_id=query_id, batch_id=batch_id)

    def counted(self, rows: Iterable[Sequence[Any]], batch_id: int) -> Iterator[Sequence[Any]]:
        for number, row in enumerate(rows):
            self.kill(batch_id, number)
            yield row

    def kill(self, batch_id: int, row: int) -> None:
        assert self.job is not None
        if (batch_id, row) != (self.job.micro_batch, self.job.row):
            return
        if self.job.victim == "driver":
            os.killpg(0, signal.SIGKILL)
        elif self.job.victim == "executors":
            found: list[psutil.Process] = []
            for each in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):  # a zombie too: it ended while we looked
                    if "CoarseGrainedExecutorBackend" in " ".join(each.cmdline()):
                        found.append(each)
            assert found
            for each in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
        elif self.job.victim == "database":
            server = psutil.Process(self.job.database)
            server.send_signal(signal.SIGQUIT)  # PostgreSQL's word for: as if the power were cut
            server.wait(30)


def plain(records: DataFrame) -> DataFrame:
    return records.select(F.col("value").cast("string").cast("bigint").alias("id"), F.lit("x").alias("note"))


def windows(records: DataFrame) -> DataFrame:
    """Values are seconds since 1970: how many there are in each minute, once the watermark has passed it."""
    at = F.timestamp_seconds(F.col("value").cast("string").cast("bigint"))
    counted = (
        records.select(at.alias("at"))
        .withWatermark("at", "30 seconds")
        .groupBy(F.window("at", "1 minute").alias("minute"))
        .count()
    )
    start = F.col("minute.start")
    return counted.select(
        start.alias("at"),
        start.alias("local"),
        start.cast("timestamp_ntz").alias("shown"),
        F.array(start, F.lit(None).cast("timestamp")).alias("several"),
        F.lit(None).cast("timestamp").alias("never"),
        F.col("count").alias("n"),
    )


def main() -> None:
    job = Job(**json.loads(sys.argv[1]))
    settings: dict[str, Any] = {
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": False,
        "spark.sql.session.timeZone": ZONE,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    spark = session(master=job.master, **settings)
    records = (
        spark.readStream.format("oncelog")
        .option("kafka.bootstrap.servers", job.bootstrap)
        .option("subscribe", job.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "100")
        .load()
    )
    rows = windows(records) if job.windows else plain(records)
    sink = Killing(job.dsn, job.query, job.query, job=job)
    query = (
        rows.writeStream.outputMode("append")
        .foreachBatch(sink)
        .option("checkpointLocation", job.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
