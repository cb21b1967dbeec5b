"""Micro-batches into PostgreSQL: rows and progress together or not at all, with a real Spark that is killed."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from oncelog.client.cluster import Cluster
from oncelog.client.producer import Producer
from oncelog.postgres.sink import PROGRESS, PostgresSink, PostgresSinkRefused
from tests.postgres.conftest import Shop
from tests.toolchains import ROOT


@pytest.fixture
def sink(dsn: str) -> PostgresSink:
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS refunds")
        connection.execute(f"DROP TABLE IF EXISTS {PROGRESS}")
        connection.execute("CREATE TABLE refunds (id bigint, note text CHECK (note <> 'bad'))")
    return PostgresSink(dsn, "refunds", "refunds")


def rows(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return [number for (number,) in connection.execute("SELECT id FROM refunds ORDER BY id")]


def test_a_repeated_micro_batch_is_passed_over(dsn: str, sink: PostgresSink) -> None:
    names = ["id", "note"]
    assert sink.write([(1, "a"), (2, "b")], names, query_id="q", batch_id=0) == 2
    assert sink.write([(1, "a"), (2, "b")], names, query_id="q", batch_id=0) is None
    assert sink.write([(3, None)], names, query_id="q", batch_id=1) == 1
    assert sink.write([(1, "a")], names, query_id="q", batch_id=0) is None
    assert rows(dsn) == [1, 2, 3]


def test_a_failed_micro_batch_leaves_neither_rows_nor_progress(dsn: str, sink: PostgresSink) -> None:
    names = ["id", "note"]
    with pytest.raises(psycopg.errors.CheckViolation):
        sink.write([(1, "a"), (2, "bad")], names, query_id="q", batch_id=0)
    assert rows(dsn) == []
    assert sink.write([(1, "a")], names, query_id="q", batch_id=0) == 1


def test_another_query_or_a_gap_is_refused(dsn: str, sink: PostgresSink) -> None:
    names = ["id", "note"]
    sink.write([(1, "a")], names, query_id="q", batch_id=0)
    with pytest.raises(PostgresSinkRefused, match="belongs to Spark query q, found other"):
        sink.write([(2, "a")], names, query_id="other", batch_id=0)
    with pytest.raises(PostgresSinkRefused, match="wanted micro-batch 1, found 5"):
        sink.write([(2, "a")], names, query_id="q", batch_id=5)
    assert rows(dsn) == [1]


@pytest.mark.parametrize("batch_id", [0, 1])  # the first one makes the row that is locked
def test_two_drivers_of_one_name_take_turns(dsn: str, sink: PostgresSink, batch_id: int) -> None:
    names = ["id", "note"]
    if batch_id:
        sink.write([(0, "a")], names, query_id="q", batch_id=0)
    begun, go_on = threading.Event(), threading.Event()

    def slowly() -> Iterator[tuple[int, str]]:
        yield 1, "a"
        begun.set()
        assert go_on.wait(30)
        yield 2, "b"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(sink.write, slowly(), names, query_id="q", batch_id=batch_id)
        assert begun.wait(30)
        second = pool.submit(sink.write, [(1, "a"), (2, "b")], names, query_id="q", batch_id=batch_id)
        with pytest.raises(TimeoutError):
            second.result(0.5)
        assert rows(dsn) == list(range(batch_id))
        go_on.set()
        assert first.result(30) == 2
        assert second.result(30) is None
    assert rows(dsn) == [*range(batch_id), 1, 2]


SCRIPT = """
import os, signal, sys
from pyspark.sql import functions as F
from oncelog.postgres.sink import PostgresSink
from oncelog.spark import session
bootstrap, topic, dsn, checkpoint, point = sys.argv[1:]

class Killed(PostgresSink):
    def __call__(self, df, batch_id):
        super().__call__(df, batch_id)
        if (point, batch_id) == ("committed", 2):
            os.killpg(0, signal.SIGKILL)  # in the table, and Spark does not know it

    def write(self, rows, names, *, query_id, batch_id):
        return super().write(self.counted(rows, batch_id), names, query_id=query_id, batch_id=batch_id)

    def counted(self, rows, batch_id):
        for number, row in enumerate(rows):
            if (point, batch_id, number) == ("copy", 4, 50):
                os.killpg(0, signal.SIGKILL)  # inside COPY
            yield row

spark = session(master="local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": False})
stream = (
    spark.readStream.format("oncelog").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
    .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "100").load()
    .select(F.col("value").cast("string").cast("bigint").alias("id"), F.lit("x").alias("note"))
)
query = (
    stream.writeStream.foreachBatch(Killed(dsn, "refunds", "refunds"))
    .option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
)
query.awaitTermination()
spark.stop()
"""


def written(dsn: str) -> int:
    """The last micro-batch that is in the table."""
    with psycopg.connect(dsn) as connection:
        found = connection.execute(f"SELECT batch_id FROM {PROGRESS}").fetchone()
    assert found is not None
    return found[0]


def known_to_spark(checkpoint: Path) -> int:
    return max(int(each.name) for each in (checkpoint / "commits").iterdir() if each.name.isdecimal())


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("sink")
def test_kills_of_the_driver_neither_lose_nor_double_rows(dsn: str, shop: Shop, tmp_path: Path) -> None:
    with Cluster(shop.bootstrap) as cluster, Producer(cluster) as producer:
        for number in range(600):
            producer.send(shop.orders, b"%d" % number, key=b"%d" % number)
    checkpoint = tmp_path / "checkpoint"

    def drive(point: str) -> int:
        words = [sys.executable, "-c", SCRIPT, shop.bootstrap, shop.orders, dsn, str(checkpoint), point]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(120)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    assert drive("committed") == -signal.SIGKILL
    assert (written(dsn), known_to_spark(checkpoint)) == (2, 1)  # so micro-batch 2 will be repeated
    before = len(rows(dsn))
    assert 0 < before < 400
    assert drive("copy") == -signal.SIGKILL
    assert (written(dsn), known_to_spark(checkpoint)) == (3, 3)
    assert before < len(rows(dsn)) < 500  # nothing of the half micro-batch
    assert drive("nowhere") == 0
    assert rows(dsn) == list(range(600))
