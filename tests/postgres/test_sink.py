"""Micro-batches into PostgreSQL: rows and progress together or not at all, with a real Spark that is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.client.producer import Producer
from oncelog.postgres.sink import PROGRESS, PostgresSink, PostgresSinkRefused
from tests.postgres_server import postgres
from tests.toolchains import ROOT, Missing, leave_out


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    try:
        with postgres() as address:
            yield address
    except Missing as why:
        leave_out("PostgreSQL", why)


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


SCRIPT = """
import sys
from pyspark.sql import functions as F
from oncelog.postgres.sink import PostgresSink
from oncelog.spark import session
bootstrap, dsn, checkpoint = sys.argv[1:]
spark = session(master="local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": False})
stream = (
    spark.readStream.format("oncelog").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "settled")
    .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "100").load()
    .select(F.col("value").cast("string").cast("bigint").alias("id"), F.lit("x").alias("note"))
)
query = (
    stream.writeStream.foreachBatch(PostgresSink(dsn, "refunds", "refunds"))
    .option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
)
query.awaitTermination()
spark.stop()
"""


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("sink")
def test_kills_of_the_driver_neither_lose_nor_double_rows(dsn: str, tmp_path: Path) -> None:
    with oncelog.Broker() as broker:
        broker.topic("settled", partitions=2)
        with Cluster(broker.bootstrap) as cluster, Producer(cluster) as producer:
            for number in range(600):
                producer.send("settled", b"%d" % number, key=b"%d" % number)
        words = [sys.executable, "-c", SCRIPT, broker.bootstrap, dsn, str(tmp_path / "checkpoint")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        for _ in range(2):
            before = len(rows(dsn))
            process = subprocess.Popen(
                words, env=environment, stderr=subprocess.DEVNULL, start_new_session=True
            )
            deadline = time.monotonic() + 120
            while len(rows(dsn)) <= before and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            assert process.poll() is None, f"the driver ended by itself with {process.returncode}"
            os.killpg(process.pid, signal.SIGKILL)  # right after a commit: Spark does not know of it yet
            process.wait()
        subprocess.run(words, env=environment, check=True, timeout=180, stderr=subprocess.DEVNULL)
    assert rows(dsn) == list(range(600))
