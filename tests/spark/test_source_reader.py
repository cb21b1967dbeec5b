"""The readers as Spark's worker processes use them, called without Spark: quick, and with times and faults of our own."""

import os
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThan,
    Not,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

import oncelog
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.fetcher import Fetched, PartitionFetcher
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.fetch import PartitionData
from oncelog.spark import source_task
from oncelog.spark.source import OncelogReader, OncelogStreamReader, RangePartition
from oncelog.spark.source_logs import MissingTopic
from oncelog.spark.source_options import LARGEST, Kind, parse_options
from oncelog.spark.source_plan import DataLoss
from tests.spark.feed import Feed, Sent, values, wait_for

COLUMNS = ("offset", "value")
ALL = ReadMaxRows(LARGEST)
BASE = 1_700_000_000_000


@pytest.fixture(scope="module")
def shared() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        yield running


@pytest.fixture
def feed(shared: oncelog.Broker) -> Feed:
    return Feed(shared.bootstrap)


def given(feed: Feed, topic: str, **options: object) -> dict[str, str]:
    quick = {"fetchOffset.numRetries": 1, "fetchOffset.retryIntervalMs": 20, "kafka.metadata.max.age.ms": 0}
    named = {"kafka.bootstrap.servers": feed.bootstrap, "subscribe": topic, **quick, **options}
    return {name: str(value) for name, value in named.items()}


def batch(feed: Feed, topic: str, **options: object) -> OncelogReader:
    return OncelogReader(parse_options(given(feed, topic, **options), Kind.BATCH), COLUMNS)


def stream(feed: Feed, topic: str, **options: object) -> OncelogStreamReader:
    with_start = {"startingOffsets": "earliest", **options}
    return OncelogStreamReader(parse_options(given(feed, topic, **with_start), Kind.STREAM), COLUMNS)


def ranges(partitions: Any) -> list[str]:
    return [f"{each.work.partition.partition}[{each.work.start}:{each.work.stop}]" for each in partitions]


def rows(reader: OncelogReader | OncelogStreamReader, partitions: Any) -> list[int]:
    return [
        int(value.as_py())
        for each in partitions
        for some in reader.read(each)
        for value in some.column("value")
    ]


# Batch


FILTERS: list[tuple[list[Filter], list[str], list[int]]] = [
    # filters, ranges, which of the filters Spark has to check again
    ([], ["0[0:10]", "1[0:10]"], []),
    ([IsNotNull(("partition",)), EqualTo(("partition",), 1)], ["1[0:10]"], []),
    ([In(("partition",), (0, 7)), GreaterThanOrEqual(("offset",), 4)], ["0[4:10]"], []),
    ([EqualNullSafe(("offset",), 3)], ["0[3:4]", "1[3:4]"], []),
    ([Not(EqualTo(("partition",), 1))], ["0[0:10]", "1[0:10]"], [0]),
    ([EqualTo(("offset", "nested"), 1)], ["0[0:10]", "1[0:10]"], [0]),
    ([IsNotNull(("key",))], ["0[0:10]", "1[0:10]"], [0]),
    (
        [
            GreaterThanOrEqual(
                ("timestamp",), datetime.fromtimestamp(BASE / 1000, UTC) + timedelta(milliseconds=450)
            )
        ],
        ["0[5:10]", "1[0:10]"],
        [0],
    ),
    (
        [
            GreaterThanOrEqual(
                ("timestamp",), datetime.fromtimestamp(BASE / 1000, UTC) + timedelta(seconds=1.5)
            )
        ],
        ["1[5:10]"],
        [0],
    ),
    ([GreaterThanOrEqual(("timestamp",), datetime(2040, 1, 1, tzinfo=UTC))], [], [0]),
    ([GreaterThanOrEqual(("timestamp",), datetime(2040, 1, 1))], ["0[0:10]", "1[0:10]"], [0]),  # noqa: DTZ001
    ([LessThan(("timestamp",), datetime(2000, 1, 1, tzinfo=UTC))], ["0[0:10]", "1[0:10]"], [0]),
]


@pytest.fixture(scope="module")
def timed(shared: oncelog.Broker) -> str:
    feed = Feed(shared.bootstrap)
    topic = feed.topic("timed", partitions=2)
    for partition in (0, 1):
        times = [BASE + partition * 1000 + at * 100 for at in range(10)]
        feed.send(
            topic, [Sent(b"%d" % at, partition=partition, timestamp=time) for at, time in enumerate(times)]
        )
    return topic


@pytest.mark.parametrize(("filters", "left", "again"), FILTERS)
def test_filters_become_ranges(
    feed: Feed, timed: str, filters: list[Filter], left: list[str], again: list[int]
) -> None:
    reader = batch(feed, timed)
    assert [filters.index(each) for each in reader.pushFilters(filters)] == again
    assert ranges(reader.partitions()) == left


def test_times_that_fall_along_the_log_hide_nothing(feed: Feed) -> None:
    topic = feed.topic("falling")
    feed.send(topic, [Sent(b"%d" % at, timestamp=BASE - at * 100) for at in range(10)])
    reader = batch(feed, topic)
    list(
        reader.pushFilters(
            [GreaterThanOrEqual(("timestamp",), datetime.fromtimestamp(BASE / 1000 - 0.5, UTC))]
        )
    )
    assert ranges(reader.partitions()) == ["0[0:10]"]


def test_a_reader_travels_and_reads_elsewhere(feed: Feed, timed: str) -> None:
    reader = batch(feed, timed, minPartitions=4)
    list(reader.pushFilters([EqualTo(("partition",), 1)]))
    parts = reader.partitions()
    assert len(parts) == 4
    assert rows(pickle.loads(pickle.dumps(reader)), pickle.loads(pickle.dumps(parts))) == list(range(10))


def test_a_task_without_a_range_reads_nothing(feed: Feed, timed: str) -> None:
    assert list(batch(feed, timed).read(InputPartition(None))) == []


def test_tasks_of_one_process_share_what_is_known_of_the_cluster(
    feed: Feed, timed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = parse_options(given(feed, timed), Kind.BATCH)
    first = source_task.cluster_of_process(options)
    assert source_task.cluster_of_process(parse_options(given(feed, timed), Kind.BATCH)) is first
    other = parse_options(given(feed, timed, **{"kafka.client.id": "other"}), Kind.BATCH)
    assert source_task.cluster_of_process(other) is not first
    forked = os.getpid() + 1
    monkeypatch.setattr(source_task.os, "getpid", lambda: forked)
    assert source_task.cluster_of_process(options) is not first


# Records that go while a task is on its way


def test_a_task_whose_records_were_deleted(feed: Feed) -> None:
    topic = feed.topic("late")
    feed.send(topic, values(0, 10))
    strict, tolerant = batch(feed, topic), batch(feed, topic, failOnDataLoss=False)
    parts = strict.partitions()
    feed.delete_before(topic, 6)
    with pytest.raises(DataLoss, match=r"offsets 0 to 5 of late-\d+-0 are no longer in the log"):
        rows(strict, parts)
    assert rows(tolerant, parts) == [6, 7, 8, 9]
    feed.send(topic, values(10, 20))
    feed.delete_before(topic, 15)
    assert rows(tolerant, parts) == []  # all of its range went


def test_a_task_whose_log_was_cut_off(feed: Feed) -> None:
    topic = feed.topic("cut")
    feed.send(topic, values(0, 10))
    strict, tolerant = batch(feed, topic), batch(feed, topic, failOnDataLoss=False)
    (part,) = strict.partitions()
    assert isinstance(part, RangePartition)
    beyond = RangePartition(type(part.work)(part.work.partition, 50, 60))
    with pytest.raises(DataLoss, match="ends at offset 10, but 50 was next to be read"):
        rows(strict, [beyond])
    assert rows(tolerant, [beyond]) == []


@pytest.mark.parametrize("refusals", [1, 2])
def test_a_task_whose_log_was_cut_off_and_has_grown_again(
    feed: Feed, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    """Between the fetch that was refused and the question where the log ends now."""
    topic = feed.topic("grown")
    feed.send(topic, values(0, 10))
    strict, tolerant = batch(feed, topic), batch(feed, topic, failOnDataLoss=False)
    parts = strict.partitions()
    left: list[int] = []
    take = PartitionFetcher._taken  # pyright: ignore[reportPrivateUsage]

    def refuse(self: PartitionFetcher, data: PartitionData, whom: str) -> Fetched:
        if left:
            left.pop()
            data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        return take(self, data, whom)

    monkeypatch.setattr(PartitionFetcher, "_taken", refuse)
    left[:] = [1]
    with pytest.raises(DataLoss, match="ends at offset 10, but 0 was next to be read"):
        rows(strict, parts)
    left[:] = [1] * refusals
    assert rows(tolerant, parts) == (list(range(10)) if refusals == 1 else [])


# Streaming


def test_a_first_offset_is_the_same_as_long_as_the_reader_lives(feed: Feed) -> None:
    topic = feed.topic("first")
    reader = stream(feed, topic, startingOffsets="latest")
    first = reader.initialOffset()
    feed.send(topic, values(0, 5))
    assert reader.initialOffset() == first == {topic: {"0": 0}}


def test_the_first_micro_batch_of_a_start_that_moves_is_empty(feed: Feed) -> None:
    topic = feed.topic("kept")
    feed.send(topic, values(0, 5))
    reader = stream(feed, topic, startingOffsets="latest")
    first = reader.initialOffset()
    feed.send(topic, values(5, 8))
    assert reader.latestOffset(first, ALL) == first
    assert reader.partitions(first, first) == []
    second = reader.latestOffset(first, ALL)
    assert rows(reader, reader.partitions(first, second)) == [5, 6, 7]
    # Another process repeats the first micro-batch: its own first offset is later, and nothing happens all the same.
    again = stream(feed, topic, startingOffsets="latest")
    assert again.initialOffset() == second
    assert again.partitions(second, first) == []
    assert again.latestOffset(first, ALL) == second


def test_a_start_that_stays_needs_no_empty_micro_batch(feed: Feed) -> None:
    topic = feed.topic("stays")
    feed.send(topic, values(0, 5))
    reader = stream(feed, topic)
    first = reader.initialOffset()
    end = reader.latestOffset(first, ALL)
    assert end == {topic: {"0": 5}}
    # A new partition at the time of the repetition belongs to the next micro-batch.
    feed.admin(lambda admin: admin.create_partitions(topic, 2))
    again = stream(feed, topic)
    assert rows(again, again.partitions(again.initialOffset(), end)) == list(range(5))


def test_available_now_with_a_start_at_the_end_is_over_at_once(feed: Feed) -> None:
    topic = feed.topic("over")
    feed.send(topic, values(0, 5))
    reader = stream(feed, topic, startingOffsets="latest")
    reader.prepareForTriggerAvailableNow()
    feed.send(topic, values(5, 9))
    first = reader.initialOffset()
    assert first == {topic: {"0": 5}}
    assert reader.latestOffset(first, ALL) == first
    assert reader.latestOffset(first, ALL) == first


def test_a_micro_batch_waits_for_enough_records_or_long_enough(feed: Feed) -> None:
    topic = feed.topic("enough")
    feed.send(topic, values(0, 3))
    reader = stream(feed, topic, minOffsetsPerTrigger=5, maxTriggerDelay="1h")
    start = reader.initialOffset()
    first = reader.latestOffset(start, ALL)
    assert first == {topic: {"0": 3}}  # the first one does not wait
    feed.send(topic, values(3, 7))
    assert reader.latestOffset(first, ALL) == first
    assert reader.latestOffset(first, ReadAllAvailable()) == {topic: {"0": 7}}
    feed.send(topic, values(7, 8))
    assert reader.latestOffset(first, ALL) == {topic: {"0": 8}}
    impatient = stream(feed, topic, minOffsetsPerTrigger=5, maxTriggerDelay="1ms")
    assert impatient.latestOffset(first, ALL) == {topic: {"0": 8}}
    wait_for("a millisecond", lambda: impatient.latestOffset({topic: {"0": 7}}, ALL) == {topic: {"0": 8}})


def test_the_limit_is_an_option_or_none(feed: Feed) -> None:
    assert stream(feed, "t").getDefaultReadLimit() == ReadMaxRows(LARGEST)
    assert stream(feed, "t", maxOffsetsPerTrigger=7).getDefaultReadLimit() == ReadMaxRows(7)


def test_what_is_reported_is_what_was_last_seen(feed: Feed) -> None:
    topic = feed.topic("reported")
    feed.send(topic, values(0, 9))
    reader = stream(feed, topic, maxOffsetsPerTrigger=4)
    assert reader.reportLatestOffset() is None
    assert reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit()) == {topic: {"0": 4}}
    assert reader.reportLatestOffset() == {topic: {"0": 9}}


def test_a_topic_made_anew_under_a_running_query_is_noticed_though_it_is_longer_now(feed: Feed) -> None:
    topic = feed.topic("anew")
    feed.send(topic, values(0, 3))
    reader = stream(feed, topic)
    end = reader.latestOffset(reader.initialOffset(), ALL)

    def make_anew(admin: Admin) -> None:
        admin.delete_topic(topic)
        admin.create_topic(topic, partitions=1)

    feed.admin(make_anew)
    feed.send(topic, values(100, 110))
    with pytest.raises(DataLoss, match="was deleted and made anew"):
        reader.latestOffset(end, ALL)


def test_metadata_is_asked_for_again_only_when_it_is_old(feed: Feed) -> None:
    topic = feed.topic("old")
    reader = stream(feed, topic, **{"kafka.metadata.max.age.ms": 3_600_000})
    start = reader.initialOffset()
    feed.admin(lambda admin: admin.create_partitions(topic, 2))
    assert reader.latestOffset(start, ALL) == {topic: {"0": 0}}
    assert stream(feed, topic).latestOffset(start, ALL) == {topic: {"0": 0, "1": 0}}


def test_a_stopped_reader_closes_its_connections(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Cluster] = []
    close = Cluster.close

    def spy(cluster: Cluster) -> None:
        closed.append(cluster)
        close(cluster)

    reader = stream(feed, feed.topic("stopped"))
    monkeypatch.setattr(Cluster, "close", spy)
    reader.initialOffset()
    reader.commit({})
    assert closed == []
    reader.stop()
    reader.stop()
    assert len(closed) == 1


def test_a_missing_topic_is_no_loss_but_an_error_until_it_was_read(feed: Feed) -> None:
    with pytest.raises(MissingTopic, match="topic 'nowhere' does not exist"):
        stream(feed, "nowhere").initialOffset()
    late = stream(feed, "nowhere")
    late.prepareForTriggerAvailableNow()
    with pytest.raises(MissingTopic):
        late.latestOffset({}, ALL)
    with pytest.raises(DataLoss, match="nowhere-0 is gone; offset 4 was next"):
        late.latestOffset({"nowhere": {"0": 4}}, ALL)
    tolerant = stream(feed, "nowhere", failOnDataLoss=False)
    with pytest.raises(MissingTopic):
        tolerant.initialOffset()
    assert tolerant.latestOffset({"nowhere": {"0": 4}}, ALL) == {}
    assert tolerant.latestOffset({}, ALL) == {}
