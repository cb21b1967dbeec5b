"""Streaming reads by a real Spark: limits, targets, restarts, lost and new records, transactions as they end."""

import itertools
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import oncelog
from oncelog.client.admin import Admin
from oncelog.client.easy import read_all
from oncelog.model import TopicPartition
from oncelog.spark import lag
from tests.spark.conftest import Stage
from tests.spark.feed import Feed, Sent, values, wait_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_names = itertools.count(1)


class Stopped(Exception):
    """Raised by a sink on purpose."""


class Query:
    """A query that can be run again from its checkpoint; it remembers what its sink was given, by micro-batch."""

    def __init__(
        self, spark: "SparkSession", bootstrap: str, checkpoint: Path, topic: str, **options: object
    ) -> None:
        self.spark = spark
        self.checkpoint = checkpoint
        self.given: dict[str, object] = {
            "kafka.bootstrap.servers": bootstrap,
            "startingOffsets": "earliest",
            "fetchOffset.numRetries": 1,
            "fetchOffset.retryIntervalMs": 100,
            **({"subscribe": topic} if topic else {}),
            **options,
        }
        self.micro_batches: list[tuple[int, list[int]]] = []
        self.progress: list[dict[str, Any]] = []
        self.during: Callable[[int], None] = lambda _: None
        self.look: Callable[[DataFrame], None] = lambda _: None

    @property
    def seen(self) -> list[int]:
        """All values, in the order in which they came."""
        return [each for _, some in self.micro_batches for each in some]

    def _take(self, frame: "DataFrame", batch_id: int) -> None:
        self.during(batch_id)
        self.look(frame)
        rows = frame.select("partition", "offset", "value").collect()
        self.micro_batches.append((batch_id, [int(row.value) for row in sorted(rows)]))

    def start(self, **trigger: Any) -> "StreamingQuery":
        reader = self.spark.readStream.format("oncelog")
        for name, value in self.given.items():
            reader = reader.option(name, str(value))
        writer = reader.load().writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(**trigger)
        return writer.start()

    def run(self) -> None:
        """To the end of what is there now."""
        query = self.start(availableNow=True)
        try:
            query.awaitTermination()
        finally:
            query.stop()
            self.progress = [json.loads(each.json) for each in query.recentProgress]

    def again(self, **options: object) -> "Query":
        """The same query with other options, from the same checkpoint."""
        other = Query(self.spark, "", self.checkpoint, "")
        other.given = {**self.given, **options}
        return other


Start = Callable[..., Query]


@pytest.fixture
def feed(stage: Stage) -> Feed:
    return Feed(stage.bootstrap)


@pytest.fixture
def query(spark: "SparkSession", stage: Stage, tmp_path: Path) -> Start:
    def make(topic: str, **options: object) -> Query:
        return Query(spark, stage.bootstrap, tmp_path / f"checkpoint-{next(_names)}", topic, **options)

    return make


def rows_of(progress: list[dict[str, Any]]) -> list[int]:
    return [each["numInputRows"] for each in progress]


# Limits and targets


def test_a_trigger_takes_no_more_than_it_may_and_shares_by_what_waits(feed: Feed, query: Start) -> None:
    topic = feed.topic("limited", partitions=2)
    feed.send(topic, [*values(0, 90), *values(100, 110, partition=1)])
    reading = query(topic, maxOffsetsPerTrigger=50)
    reading.run()
    assert [len(some) for _, some in reading.micro_batches] == [50, 50]
    assert reading.micro_batches[0][1] == [*range(45), *range(100, 105)]
    assert sorted(reading.seen) == [*range(90), *range(100, 110)]


def test_available_now_ends_at_what_was_there_when_it_began(feed: Feed, query: Start) -> None:
    topic = feed.topic("now")
    feed.send(topic, values(0, 20))
    reading = query(topic, maxOffsetsPerTrigger=8)
    reading.during = lambda batch_id: feed.send(topic, values(100 + batch_id * 10, 110 + batch_id * 10))
    reading.run()
    assert reading.seen == list(range(20))
    reading.during = lambda _: None
    reading.run()
    assert reading.seen == [*range(20), *range(100, 130)]


def test_trigger_once_takes_all_in_one_micro_batch(feed: Feed, query: Start) -> None:
    topic = feed.topic("once")
    feed.send(topic, values(0, 20))
    reading = query(topic, maxOffsetsPerTrigger=8)
    reading.start(once=True).awaitTermination()
    assert reading.micro_batches == [(0, list(range(20)))]


def test_a_running_query_takes_what_comes(feed: Feed, query: Start) -> None:
    topic = feed.topic("running")
    reading = query(topic)
    running = reading.start(processingTime="100 milliseconds")
    try:
        for first in (0, 5, 10):
            feed.send(topic, values(first, first + 5))
            wait_for(f"{first + 5} rows", lambda wanted=first + 5: len(reading.seen) >= wanted, 60)
    finally:
        running.stop()
    assert reading.seen == list(range(15))


def test_ranges_are_cut_into_more_tasks(feed: Feed, query: Start) -> None:
    topic = feed.topic("cut", partitions=2)
    feed.send(topic, [*values(0, 70), *values(100, 130, partition=1)])
    reading = query(topic, minPartitions=5, maxOffsetsPerTrigger=50)
    tasks: list[int] = []
    reading.look = lambda frame: tasks.append(frame.rdd.getNumPartitions())
    reading.run()
    assert sorted(reading.seen) == [*range(70), *range(100, 130)]
    assert [len(some) for _, some in reading.micro_batches] == [50, 50]
    assert all(each >= 5 for each in tasks), tasks


def test_progress_tells_rows_offsets_and_what_is_left(feed: Feed, query: Start) -> None:
    topic = feed.topic("progress", partitions=2)
    feed.send(topic, [*values(0, 30), *values(100, 110, partition=1)])
    reading = query(topic, maxOffsetsPerTrigger=20)
    reading.run()
    assert rows_of(reading.progress)[:2] == [20, 20]
    first = reading.progress[0]["sources"][0]
    assert first["endOffset"] == {topic: {"0": 15, "1": 5}}
    assert first["latestOffset"] == {topic: {"0": 30, "1": 10}}
    left = lag(first["endOffset"], first["latestOffset"])
    assert left == {TopicPartition(topic, 0): 15, TopicPartition(topic, 1): 5}


def test_offsets_that_compaction_took_do_not_stop_a_stream(feed: Feed, query: Start) -> None:
    """Micro-batches that are nothing but hole, one that begins in it, and a restart in the middle of it."""
    policy: dict[str, Any] = {
        "cleanup_policy": "compact",
        "min_cleanable_dirty_ratio": 0.01,
        "segment_ms": 500,
    }
    topic = feed.topic("holes", **policy)
    base = 1_700_000_000_000
    for turn in range(4):  # a second apart, so that each turn begins a new segment
        first = turn * 100
        feed.send(
            topic,
            [
                Sent(b"%d" % (first + number), key=b"%d" % number, timestamp=base + turn * 1000)
                for number in range(100)
            ],
        )
    wait_for("the cleaner", lambda: len(read_all(feed.bootstrap, topic)) == 200, 60)
    there = [int(each.value or b"-1") for each in read_all(feed.bootstrap, topic)]
    assert there == list(range(200, 400))  # the last segment is not cleaned
    reading = query(topic, maxOffsetsPerTrigger=75)
    reading.during = stop_at(1)
    with pytest.raises(Exception, match="Stopped"):
        reading.run()
    reading.during = lambda _: None
    reading.run()
    assert [len(some) for _, some in reading.micro_batches] == [0, 0, 25, 75, 75, 25]
    assert reading.seen == there


def stop_at(wanted: int) -> Callable[[int], None]:
    def during(batch_id: int) -> None:
        if batch_id == wanted:
            raise Stopped

    return during


# Restarts


def test_a_restart_goes_on_where_the_checkpoint_is(feed: Feed, query: Start) -> None:
    topic = feed.topic("restart")
    feed.send(topic, values(0, 10))
    reading = query(topic)
    reading.run()
    feed.send(topic, values(10, 20))
    reading.run()
    reading.run()
    assert reading.micro_batches == [(0, list(range(10))), (1, list(range(10, 20)))]


def test_the_offsets_in_the_checkpoint_are_in_sparks_format(feed: Feed, query: Start) -> None:
    topic = feed.topic("format", partitions=2)
    feed.send(topic, values(0, 7))
    reading = query(topic)
    reading.run()
    last = (reading.checkpoint / "offsets" / "0").read_text().splitlines()[-1]
    assert json.loads(last) == {topic: {"0": 7, "1": 0}}


def test_a_micro_batch_that_failed_is_repeated_with_the_same_records(feed: Feed, query: Start) -> None:
    topic = feed.topic("repeated")
    feed.send(topic, values(0, 30))
    reading = query(topic, maxOffsetsPerTrigger=10)

    def fail(batch_id: int) -> None:
        if batch_id == 1:
            feed.send(topic, values(30, 40))
            raise Stopped("on purpose")

    reading.during = fail
    with pytest.raises(Exception, match="on purpose"):
        reading.run()
    assert reading.micro_batches == [(0, list(range(10)))]
    reading.during = lambda _: None
    reading.run()
    assert reading.micro_batches[1] == (1, list(range(10, 20)))
    assert reading.seen == list(range(40))


@pytest.mark.parametrize("start", ["latest", "time", "committed"])
def test_a_start_that_moves_is_kept_from_the_first_micro_batch_on(
    feed: Feed, query: Start, start: str
) -> None:
    """Spark asks for the first offset again when it repeats the first micro-batch; by then `latest` is another one."""
    topic = feed.topic("moving")
    feed.send(topic, values(0, 10))
    if start == "latest":
        reading, first = query(topic, startingOffsets="latest"), 10
    elif start == "time":
        strategy = {"startingOffsetsByTimestampStrategy": "latest"}
        reading, first = query(topic, startingTimestamp=4_000_000_000_000, **strategy), 10
    else:
        position = {TopicPartition(topic, 0): 4}
        feed.admin(lambda admin: admin.commit_offsets(topic, position))
        reading, first = query(topic, startingOffsets="committed", group=topic), 4

    def fail(_: int) -> None:
        raise Stopped("on purpose")

    reading.during = fail
    with pytest.raises(Exception, match="on purpose"):
        reading.run()
    feed.send(topic, values(10, 20))
    if start == "committed":
        feed.admin(lambda admin: admin.commit_offsets(topic, {TopicPartition(topic, 0): 15}))
    reading.during = lambda _: None
    reading.run()
    assert reading.seen == list(range(first, 20))


def test_a_query_survives_a_restart_of_the_broker(
    spark: "SparkSession", broker: oncelog.Broker, tmp_path: Path
) -> None:
    feed = Feed(broker.bootstrap)
    topic = feed.topic("bounce")
    options = {"fetchOffset.numRetries": 20}
    reading = Query(spark, broker.bootstrap, tmp_path / "checkpoint", topic, **options)
    running = reading.start(processingTime="100 milliseconds")
    try:
        feed.send(topic, values(0, 5))
        wait_for("5 rows", lambda: len(reading.seen) == 5, 60)
        broker.kill()
        down = threading.Timer(1.0, broker.start)
        down.start()
        down.join()
        feed.send(topic, values(5, 10))
        wait_for("10 rows", lambda: len(reading.seen) == 10, 60)
        assert running.isActive
    finally:
        running.stop()
    assert reading.seen == list(range(10))


# Transactions


def test_a_stream_waits_for_transactions_and_never_shows_an_aborted_one(feed: Feed, query: Start) -> None:
    topic = feed.topic("deciding")
    feed.send(topic, values(0, 3))
    aborting = feed.transaction(topic, values(100, 103), end="open")
    committing = feed.transaction(topic, values(3, 6), end="open")
    feed.send(topic, values(6, 9))
    reading = query(topic)
    reading.run()
    assert reading.seen == [0, 1, 2]
    committing.commit_transaction(30)
    reading.run()
    assert reading.seen == [0, 1, 2]
    aborting.abort_transaction(30)
    reading.run()
    assert reading.seen == list(range(9))
    feed.transaction(topic, values(100, 103), end="abort")
    reading.run()  # a micro-batch of a marker and what it hides
    assert reading.seen == list(range(9))
    feed.send(topic, values(9, 12))
    reading.run()
    assert reading.seen == list(range(12))


# Partitions and records that come and go


def test_new_partitions_are_read_from_their_beginning(feed: Feed, query: Start) -> None:
    topic = feed.topic("grown")
    feed.send(topic, values(0, 5))
    reading = query(topic)
    reading.run()
    feed.admin(lambda admin: admin.create_partitions(topic, 3))
    feed.send(topic, [*values(5, 7), *values(100, 104, partition=2)])
    reading.run()
    assert sorted(reading.seen) == [*range(7), *range(100, 104)]


def test_new_topics_of_a_pattern_are_read_from_their_beginning(feed: Feed, query: Start) -> None:
    first = feed.topic("fitting")
    feed.send(first, values(0, 5))
    reading = query("", subscribePattern=r"fitting-\d+")
    reading.run()
    feed.send(feed.topic("fitting"), values(5, 9))
    reading.run()
    assert reading.seen == list(range(9))


def test_records_lost_before_they_were_read(feed: Feed, query: Start) -> None:
    topic = feed.topic("lost")
    feed.send(topic, values(0, 10))
    reading = query(topic)
    reading.run()
    feed.send(topic, values(10, 30))
    feed.delete_before(topic, 20)
    with pytest.raises(
        Exception, match=r"offsets 10 to 19 of .*-0 are no longer in the log.*failOnDataLoss=false"
    ):
        reading.run()
    with pytest.raises(
        Exception, match="offsets 10 to 19"
    ):  # nothing was written down: it can be started again
        reading.run()
    tolerant = reading.again(failOnDataLoss=False)
    tolerant.run()
    assert tolerant.seen == list(range(20, 30))


def test_a_topic_that_vanished(feed: Feed, query: Start) -> None:
    kept, gone = feed.topic("kept"), feed.topic("gone")
    for topic in (kept, gone):
        feed.send(topic, values(0, 5))
    reading = query(f"{kept},{gone}")
    reading.run()
    feed.admin(lambda admin: admin.delete_topic(gone))
    feed.send(kept, values(5, 8))
    with pytest.raises(Exception, match=rf"{gone}-0 is gone; offset 5 was next to be read"):
        reading.run()
    tolerant = reading.again(failOnDataLoss=False)
    tolerant.run()
    assert tolerant.seen == [5, 6, 7]


def test_a_topic_that_was_made_anew(feed: Feed, query: Start) -> None:
    topic = feed.topic("anew")
    feed.send(topic, values(0, 10))
    reading = query(topic)
    reading.run()

    def make_anew(admin: Admin) -> None:
        admin.delete_topic(topic)
        wait_for("the topic to go", lambda: topic not in {each.name for each in admin.list_topics()})
        admin.create_topic(topic, partitions=1)

    feed.admin(make_anew)
    feed.send(topic, values(100, 104))
    with pytest.raises(Exception, match=r"-0 ends at offset 4, but 10 was next to be read.*made anew"):
        reading.run()
    tolerant = reading.again(failOnDataLoss=False)
    tolerant.run()
    assert tolerant.seen == [100, 101, 102, 103]


def test_a_stream_of_a_topic_that_is_not_there(query: Start) -> None:
    with pytest.raises(Exception, match="topic 'no-such' does not exist"):
        query("no-such").run()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"endingOffsets": "latest"}, "endingOffsets has no meaning in a streaming query"),
        ({"maxOffsetsPerTrigger": "many"}, "maxOffsetsPerTrigger: wanted a whole number"),
        ({"triggers": "5"}, "'triggers' is unknown to the source"),
    ],
)
def test_bad_options_of_a_stream(query: Start, options: dict[str, object], words: str) -> None:
    with pytest.raises(Exception, match=words):
        query("any", **options).run()
