"""The sink inside Spark: append mode, foreachBatch, df.write and to_topic."""

import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.easy import read_all
from oncelog.client.partitioner import partition_of_key
from oncelog.inspect.spark_queries import queries
from oncelog.model import TopicPartition
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from oncelog.spark import Sink, to_topic
from oncelog.spark.arrow import pa
from oncelog.spark.progress import stable_offsets
from oncelog.spark.sink import stream_writer
from oncelog.spark.sink_driver import SinkDriver
from oncelog.spark.sink_options import SinkRefused, read_options
from oncelog.spark.sink_plan import Job, Marker, Task, read_marker
from oncelog.spark.sink_task import write_rows
from tests.inspect.test_page import ask, served
from tests.spark.conftest import Stage
from tests.spark.feed import Feed, Sent, wait_for

LIMIT_S = 240


class World:
    """Topics `source` (2 partitions) and `output` (3), and queries from one to the other."""

    def __init__(self, spark: SparkSession, stage: Stage, folder: Path) -> None:
        self.spark = spark
        self.bootstrap = stage.bootstrap
        self.feed = Feed(stage.bootstrap)
        self.source = self.feed.topic("source", 2)
        self.output = self.feed.topic("output", 3)
        self.checkpoint = str(folder / "checkpoint")
        self.kafka = {"kafka.bootstrap.servers": self.bootstrap}
        self.options = {**self.kafka, "topic": self.output, "transactionalId": self.output}

    def put(self, first: int, stop: int) -> None:
        """Numbers, by turns into the partitions of the source; keys repeat."""
        self.feed.send(
            self.source,
            [Sent(b"%d" % n, key=b"k%d" % (n % 7), partition=n % 2) for n in range(first, stop)],
        )

    def read(self, rows_per_batch: int = 1000) -> DataFrame:
        return (
            self.spark.readStream.format("oncelog")
            .options(**self.kafka)
            .option("subscribe", self.source)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", rows_per_batch)
            .load()
            .select("key", "value")
        )

    def placed(self, rows: DataFrame) -> DataFrame:
        return to_topic(rows, self.output, options=self.kafka)

    def append(self, rows: DataFrame, **more: str) -> StreamingQuery:
        writer = rows.writeStream.format("oncelog").options(**{**self.options, **more})
        return writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True).start()

    def foreach(self, rows: DataFrame, mode: str = "append", **more: str) -> StreamingQuery:
        writer = rows.writeStream.foreachBatch(Sink({**self.options, **more})).outputMode(mode)
        return writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True).start()

    def run(self, query: StreamingQuery) -> None:
        if not query.awaitTermination(LIMIT_S):
            query.stop()
            raise AssertionError(f"the query was not done within {LIMIT_S} s: {query.lastProgress}")

    def seen(self) -> list[int]:
        return sorted(int(record.value or b"-1") for record in read_all(self.bootstrap, self.output))

    def shows(self, count: int) -> None:
        """Readers of committed records find each number once. Kafka answers before markers are written."""
        wanted = list(range(count))
        wait_for(f"{count} rows, found {self.seen()}", lambda: self.seen() == wanted, 10)

    def fails(self, query: StreamingQuery, why: str) -> None:
        with pytest.raises(StreamingQueryException, match=why):
            self.run(query)

    def progress(self) -> tuple[dict[TopicPartition, int], Marker | None]:
        with Cluster(self.bootstrap) as cluster:
            found = stable_offsets(cluster, self.output, self.output)
        markers = {read_marker(each.metadata) for each in found.values()}
        assert len(markers) <= 1
        return (
            {where: each.offset for where, each in found.items() if where.topic == self.source},
            markers.pop() if markers else None,
        )


@pytest.fixture
def world(spark: SparkSession, stage: Stage, tmp_path: Path) -> World:
    return World(spark, stage, tmp_path)


@pytest.mark.parametrize("door", ["append", "foreach"])
def test_topic_to_topic_one_transaction_per_micro_batch(world: World, door: str) -> None:
    world.put(0, 300)
    run = world.append if door == "append" else world.foreach
    world.run(run(world.placed(world.read(100))))
    world.shows(300)
    offsets, marker = world.progress()
    assert offsets == {TopicPartition(world.source, 0): 150, TopicPartition(world.source, 1): 150}
    assert marker is not None
    assert (marker.batch_id, marker.serial) == (2, 3)
    for record in read_all(world.bootstrap, world.output):
        assert record.partition == partition_of_key(record.key or b"", 3)
    world.put(300, 310)
    world.run(run(world.placed(world.read(100))))
    world.shows(310)
    with Cluster(world.bootstrap) as cluster:  # what the inspector's Spark screen shows of it
        (seen,) = [each for each in queries(cluster)[0] if each.transactional_id == world.output]
    assert seen.query == marker.query_id
    assert (seen.micro_batch, seen.state, seen.aborted) == (3, "CompleteCommit", 0)
    assert seen.offsets == ((world.source, 0, 155), (world.source, 1, 155))
    assert [(each.micro_batch, each.outcome) for each in seen.recent] == [(n, "commit") for n in range(4)]
    assert [each.offsets[0][2] for each in seen.recent] == [50, 100, 150, 155]
    with served(world.bootstrap) as site:  # and what the page draws of it
        status, drawn = ask(site, "GET", "/spark")
    assert status == 200
    (mine,) = [each for each in drawn.split("<section>") if f"<h2>{world.output}</h2>" in each]
    assert mine.count('class="verdict commit"') == 4
    assert f"{world.source}-0=155, {world.source}-1=155" in mine


def test_a_commit_log_that_was_not_written_is_a_replay_and_no_duplicate(world: World) -> None:
    world.put(0, 200)
    world.run(world.append(world.placed(world.read(100))))
    for name in ("1", ".1.crc"):
        (Path(world.checkpoint) / "commits" / name).unlink()
    world.run(world.append(world.placed(world.read(100))))
    world.shows(200)
    records = read_all(world.bootstrap, world.output, "uncommitted")
    assert len(records) == 200


def test_a_compacted_marker_topic_tells_the_last_micro_batch_when_the_group_is_gone(world: World) -> None:
    policy = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": 0.01, "segment_ms": 1}
    markers = world.feed.topic("markers", 1, **policy)
    world.put(0, 60)
    rows = world.placed(world.read(10))
    world.run(world.append(rows, markerTopic=markers))
    world.shows(60)

    def left() -> list[int]:
        found = [read_marker((each.value or b"").decode()) for each in read_all(world.bootstrap, markers)]
        return [each.batch_id for each in found if each is not None]

    wait_for(f"the cleaner: {left()}", lambda: len(left()) < 6, 60)
    assert left()[-1] == 5
    world.feed.admin(lambda admin: admin.delete_group(world.output))
    for name in ("5", ".5.crc"):
        (Path(world.checkpoint) / "commits" / name).unlink()
    world.run(world.append(rows, markerTopic=markers))
    assert len(read_all(world.bootstrap, world.output, "uncommitted")) == 60
    world.put(60, 70)
    world.run(world.append(rows, markerTopic=markers))
    world.shows(70)


def test_without_the_helper_two_writers_are_refused_by_its_name_and_nothing_is_lost(world: World) -> None:
    world.put(0, 100)
    world.fails(world.append(world.read()), r"oncelog\.spark\.to_topic")
    assert world.seen() == []
    world.run(world.append(world.placed(world.read())))
    world.shows(100)


def failing_once(folder: Path) -> Callable[[str], str]:
    """A user's function that fails at number 50, the first time it sees it."""

    def once(value: str) -> str:
        seen = folder / "seen"
        if value == "50" and not seen.exists():
            seen.touch()
            raise ZeroDivisionError("a user's function")
        return value

    return once


def test_a_task_that_fails_aborts_the_micro_batch_and_a_restart_replays_it(
    world: World, tmp_path: Path
) -> None:
    world.put(0, 100)
    fragile = F.udf(failing_once(tmp_path), "string")
    rows = world.placed(world.read(40)).withColumn("value", fragile(F.col("value").cast("string")))
    # Spark tries the task again, and there it computes: but what the first attempt wrote cannot be told.
    world.fails(world.append(rows), "is attempt number 1: the first one failed")
    assert world.seen() in (list(range(40)), [])
    world.run(world.append(rows))
    world.shows(100)


def failing(value: str) -> str:
    """A user's function that fails at number 99 each time."""
    if value == "99":
        raise ZeroDivisionError("a user's function")
    return value


@pytest.mark.parametrize("door", ["append", "foreach"])
def test_the_error_of_a_task_that_fails_in_each_attempt_is_the_user_s(world: World, door: str) -> None:
    world.put(0, 100)
    fragile = F.udf(failing, "string")
    rows = world.placed(world.read(200)).withColumn("value", fragile(F.col("value").cast("string")))
    query = world.append(rows) if door == "append" else world.foreach(rows, batchRetries="0")
    world.fails(query, "ZeroDivisionError: a user's function")
    assert world.seen() == []


@pytest.fixture
def speculating(spark: SparkSession) -> Iterator[None]:
    """Tasks are told so; what runs here has no executors on which Spark would start copies."""
    may = "spark.sql.legacy.setCommandRejectsSparkCoreConfs"
    spark.conf.set(may, "false")
    before = spark.conf.get("spark.speculation")
    spark.conf.set("spark.speculation", "true")
    yield
    spark.conf.set("spark.speculation", before or "false")
    spark.conf.unset(may)


@pytest.mark.usefixtures("speculating")
def test_speculation_is_refused_at_every_door(world: World) -> None:
    world.put(0, 10)
    rows = world.placed(world.read())
    world.fails(world.append(rows), r"Set spark\.speculation=false")
    world.fails(world.foreach(rows), r"Set spark\.speculation=false")
    some = world.spark.range(10).select(F.col("id").cast("string").alias("value"))
    with pytest.raises(Exception, match=r"Set spark\.speculation=false"):
        world.placed(some).write.format("oncelog").options(**world.options).mode("append").save()
    assert world.seen() == []


def gate(folder: Path) -> Callable[[str], str]:
    """A user's function that says when it is at number 50, and then waits until it may go on."""

    def wait(value: str) -> str:
        if value == "50":
            (folder / "there").touch()
            while not (folder / "go").exists():
                time.sleep(0.05)
        return value

    return wait


@pytest.mark.parametrize("door", ["append", "foreach"])
def test_a_query_that_is_stopped_leaves_no_transaction_open(world: World, tmp_path: Path, door: str) -> None:
    world.put(0, 100)
    rows = world.placed(world.read(100)).withColumn(
        "value", F.udf(gate(tmp_path), "string")(F.col("value").cast("string"))
    )
    query = world.append(rows) if door == "append" else world.foreach(rows)
    wait_for("the row at the gate", (tmp_path / "there").exists, LIMIT_S)
    query.stop()
    with Cluster(world.bootstrap) as cluster:
        (found,) = (
            cluster.coordinator(world.output, TRANSACTION)
            .send(DescribeTransactionsRequest(transactional_ids=[world.output]), DescribeTransactionsResponse)
            .transaction_states
        )
    assert found.transaction_state in ("CompleteAbort", "PrepareAbort", "Empty")
    assert found.producer_epoch > 0
    (tmp_path / "go").touch()
    world.run(world.append(world.placed(world.read(100))))
    world.shows(100)


def test_the_older_of_two_drivers_fails_and_says_which_took_over(world: World, tmp_path: Path) -> None:
    world.put(0, 100)
    rows = world.placed(world.read(100)).withColumn(
        "value", F.udf(gate(tmp_path), "string")(F.col("value").cast("string"))
    )
    query = world.append(rows)
    wait_for("the row at the gate", (tmp_path / "there").exists, LIMIT_S)
    options = read_options({**world.options, "kafka.client.id": "the-other-driver"})
    with SinkDriver(options) as other:
        opened = other.open(query.id)
        (tmp_path / "go").touch()
        on_kafka = rf"Producer {opened.producer} holds it now"
        world.fails(query, f"Client 'the-other-driver' at 127.0.0.1:|{on_kafka}")
        assert world.seen() == []
        # It goes on undisturbed by what the older one did when it failed.
        task = Task(0, 0, 1, Job(query.id, 0))
        batch = pa.RecordBatch.from_pydict({"value": [b"%d" % n for n in range(100)], "partition": [0] * 100})
        other.commit(Job(query.id, 0), [write_rows(options, opened, task, iter([batch]))])
    world.shows(100)


def test_complete_mode_and_columns_that_are_missing_are_refused_at_once() -> None:
    options = {"kafka.bootstrap.servers": "nowhere:1", "transactionalId": "t", "topic": "t"}
    options["checkpointLocation"] = "/nowhere"
    value, other = StructType().add("value", "string"), StructType().add("valeu", "string")
    stream_writer(options, value, False)
    with pytest.raises(SinkRefused, match="output mode complete"):
        stream_writer(options, value, True)
    with pytest.raises(SinkRefused, match="wanted a column `value`, found valeu"):
        stream_writer(options, other, False)
    with pytest.raises(SinkRefused, match="a column `topic`, found columns value"):
        stream_writer({**options, "topic": ""}, value, False)
    with pytest.raises(SinkRefused, match=r"name a df\.write"):
        stream_writer({**options, "queryId": "q", "batchId": "1"}, value, False)


def test_a_checkpoint_that_the_sink_is_not_told_of_is_refused(world: World, tmp_path: Path) -> None:
    """Its offsets would stay outside of the transaction, and a second query of the id would not be found out before it fences."""
    world.put(0, 10)
    name = "spark.sql.streaming.checkpointLocation"
    world.spark.conf.set(name, str(tmp_path / "all"))

    def start(**more: str) -> StreamingQuery:
        writer = world.placed(world.read()).writeStream.format("oncelog").options(**world.options, **more)
        return writer.queryName("named").trigger(availableNow=True).start()

    try:
        world.fails(start(), "option checkpointLocation: wanted it on the query itself")
        assert world.seen() == []
        world.run(start(commitOffsets="false"))
    finally:
        world.spark.conf.unset(name)
    world.shows(10)


def test_foreach_batch_tries_a_failed_micro_batch_again_in_place(world: World, tmp_path: Path) -> None:
    world.put(0, 100)
    fragile = F.udf(failing_once(tmp_path), "string")
    # The function is above the shuffle: rows of this micro-batch are written before it fails.
    rows = world.placed(world.read(100)).withColumn("value", fragile(F.col("value").cast("string")))
    world.run(world.foreach(rows))
    assert (tmp_path / "seen").exists()
    world.shows(100)


def test_foreach_batch_gives_up_when_told_to(world: World, tmp_path: Path) -> None:
    world.put(0, 100)
    fragile = F.udf(failing_once(tmp_path), "string")
    rows = world.placed(world.read(100)).withColumn("value", fragile(F.col("value").cast("string")))
    world.fails(world.foreach(rows, batchRetries="0"), "is attempt number 1: the first one failed")
    assert world.seen() == []


def test_micro_batches_without_a_row(world: World) -> None:
    world.put(0, 10)
    # Spark finds out that there is nothing to compute: not even a task.
    world.run(world.foreach(world.read().where("false")))
    offsets, marker = world.progress()
    assert sum(offsets.values()) == 10
    assert marker is not None
    world.run(world.foreach(world.placed(world.read())))
    assert world.seen() == []


def test_update_mode_by_foreach_batch_and_not_by_append(world: World) -> None:
    world.put(0, 70)
    counts = world.read(30).groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
    with pytest.raises(Exception, match=r"does not support Update mode"):
        world.run(
            world.placed(counts)
            .writeStream.format("oncelog")
            .options(**world.options)
            .option("checkpointLocation", world.checkpoint + "-update")
            .outputMode("update")
            .trigger(availableNow=True)
            .start()
        )
    world.run(world.foreach(world.placed(counts), mode="update"))
    latest = {record.key: int(record.value or b"0") for record in read_all(world.bootstrap, world.output)}
    assert latest == {b"k%d" % n: 10 for n in range(7)}


def test_a_second_query_of_a_transactional_id_is_refused_and_harms_nobody(world: World) -> None:
    world.put(0, 10)
    world.run(world.append(world.placed(world.read())))
    mine, world.checkpoint = world.checkpoint, world.checkpoint + "-other"
    world.fails(
        world.append(world.placed(world.read())),
        r"belongs to query [0-9a-f-]+, whose micro-batch 0 is in the log",
    )
    world.checkpoint = mine
    world.put(10, 20)
    world.run(world.append(world.placed(world.read())))
    world.shows(20)


def test_a_deleted_checkpoint_goes_on_behind_what_is_there(world: World) -> None:
    world.put(0, 10)
    world.run(world.append(world.placed(world.read())))
    _, marker = world.progress()
    assert marker is not None
    world.put(10, 20)
    world.checkpoint += "-new"
    committed = (
        world.spark.readStream.format("oncelog")
        .options(**world.kafka)
        .option("subscribe", world.source)
        .option("startingOffsets", "committed")
        .option("kafka.group.id", world.output)
        .load()
        .select("key", "value")
    )
    world.run(world.append(world.placed(committed), takeOver=marker.query_id))
    world.shows(20)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"topic": "not-there"}, "topic 'not-there' does not exist"),
        ({"transactionalId": ""}, "option transactionalId: wanted a name of this query alone"),
        ({"kafka.transaction.timeout.ms": "900001"}, "transaction.max.timeout.ms"),
    ],
)
def test_wrong_options_are_said_in_a_sentence(world: World, more: dict[str, str], why: str) -> None:
    world.put(0, 10)
    world.fails(world.append(world.placed(world.read()), **more), why)
    assert world.seen() == []


# df.write


def test_a_write_is_one_transaction(world: World) -> None:
    rows = world.spark.range(100).select(F.col("id").cast("string").alias("value"))
    world.placed(rows).write.format("oncelog").options(**world.options).mode("append").save()
    world.shows(100)
    assert world.progress() == ({}, None)


def test_a_named_write_is_done_once(world: World) -> None:
    rows = world.spark.range(10).select(F.col("id").cast("string").alias("value"))
    for _ in range(2):
        writer = world.placed(rows).write.format("oncelog").options(**world.options).mode("append")
        writer.option("queryId", "nightly").option("batchId", 20270401).save()
    world.shows(10)


def test_a_write_that_fails_leaves_nothing(world: World) -> None:
    rows = world.spark.range(10).select(
        F.when(F.col("id") == 7, F.lit("not-there")).otherwise(F.lit(world.output)).alias("topic"),
        F.col("id").cast("string").alias("value"),
    )
    options = {**world.kafka, "transactionalId": world.output}
    with pytest.raises(Exception, match="topic 'not-there' does not exist"):
        to_topic(rows, options=world.kafka).write.format("oncelog").options(**options).mode("append").save()
    assert world.seen() == []


def test_overwrite_is_refused(world: World) -> None:
    rows = world.spark.range(10).select(F.col("id").cast("string").alias("value"))
    with pytest.raises(Exception, match="a topic cannot be replaced"):
        world.placed(rows).write.format("oncelog").options(**world.options).mode("overwrite").save()


# to_topic


def keyed(world: World, count: int) -> DataFrame:
    number = F.col("id").cast("string")
    return world.spark.range(count).select(F.concat(F.lit("k"), number).alias("key"), number.alias("value"))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("how", ["murmur2", "crc32"])
def test_rows_go_where_other_producers_send_them_and_each_partition_has_one_task(
    world: World, how: str, known: bool
) -> None:
    rows = keyed(world, 300).withColumn("topic", F.lit(world.output))
    placed = to_topic(
        rows, None if not known else world.output, how, options=world.kafka, partitions=3 if known else None
    )
    found = placed.withColumn("task", F.spark_partition_id()).collect()
    tasks: dict[int, set[int]] = {}
    for row in found:
        key = str(row.key).encode()
        wanted = partition_of_key(key, 3) if how == "murmur2" else zlib.crc32(key) % 3
        assert row.partition == wanted
        tasks.setdefault(row.partition, set()).add(row.task)
    assert len(found) == 300
    assert [len(each) for each in tasks.values()] == [1, 1, 1]


def test_rows_without_a_key_go_round(world: World) -> None:
    rows = world.spark.range(0, 300, 1, 1).select(F.col("id").cast("string").alias("value"))
    for how in ("murmur2", "crc32"):
        placed = to_topic(rows, world.output, how, partitions=3)
        assert [row["count"] for row in placed.groupBy("partition").count().collect()] == [100, 100, 100]


def test_preserve_shuffles_nothing(world: World) -> None:
    rows = keyed(world, 10).withColumn("partition", F.lit(1))
    placed = to_topic(rows, world.output, "preserve")
    assert placed.columns == ["key", "value", "partition", "topic"]
    assert "Exchange" not in plan_of(placed)
    assert "Exchange" in plan_of(to_topic(rows, world.output, partitions=3))


def test_a_topic_that_the_options_name_is_no_column_and_its_rows_arrive(world: World) -> None:
    rows = keyed(world, 30).withColumn("topic", F.lit("another"))
    for how in ("murmur2", "crc32"):
        placed = to_topic(rows, world.output, how, options=world.options)
        assert placed.columns == ["key", "value", "partition"]
        assert {row.partition for row in placed.collect()} == {
            partition_of_key(str(row.key).encode(), 3)
            if how == "murmur2"
            else zlib.crc32(str(row.key).encode()) % 3
            for row in rows.collect()
        }
    placed.write.format("oncelog").options(**world.options).mode("append").save()
    world.shows(30)
    other = to_topic(rows, world.output, options={**world.options, "topic": "not-this-one"}, partitions=3)
    assert "topic" in other.columns


def plan_of(df: DataFrame) -> str:
    return str(cast(Any, df)._jdf.queryExecution())


def test_to_topic_says_what_it_needs(world: World) -> None:
    rows = keyed(world, 10)
    with pytest.raises(SinkRefused, match="wanted a topic or a column `topic`, found columns key, value"):
        to_topic(rows, options=world.kafka)
    with pytest.raises(SinkRefused, match=r"how many partitions has the topic\?"):
        to_topic(rows, world.output)
    with pytest.raises(SinkRefused, match="topic 'not-there' does not exist"):
        to_topic(rows, "not-there", options=world.kafka)
    with pytest.raises(SinkRefused, match="wanted murmur2 or crc32 or preserve, found 'sticky'"):
        to_topic(rows, world.output, "sticky", options=world.kafka)
    with pytest.raises(SinkRefused, match="wanted a column `partition`"):
        to_topic(rows, world.output, "preserve")
