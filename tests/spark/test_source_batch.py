"""Batch reads by a real Spark: every kind of record arrives as it was written, and nothing else does."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest

from oncelog.model import Isolation, TopicPartition
from tests.spark.conftest import Stage
from tests.spark.feed import Feed, Headers, Sent, values, wait_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BASE = 1_700_000_000_000  # a time in ms


@pytest.fixture
def feed(stage: Stage) -> Feed:
    return Feed(stage.bootstrap)


Read = Callable[..., "DataFrame"]


@pytest.fixture
def read(spark: "SparkSession", stage: Stage) -> Read:
    def load(topic: str, schema: str | None = None, **options: object) -> "DataFrame":
        reader = spark.read.format("oncelog").option("kafka.bootstrap.servers", stage.bootstrap)
        if not {"assign", "subscribePattern"} & options.keys():
            reader = reader.option("subscribe", topic)
        for name, value in options.items():
            reader = reader.option(name, str(value))
        return (reader.schema(schema) if schema else reader).load()

    return load


def numbers(frame: "DataFrame") -> list[int]:
    """The values that `feed.values` wrote, in order of partition and offset."""
    rows = frame.select("partition", "offset", "value").collect()
    return [int(row.value) for row in sorted(rows)]


def by_partition(topic: str, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(number): offset for number, offset in offsets.items()}})


def spelled(topic: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options in which offsets of partitions are written as Spark's JSON."""
    return {
        name: by_partition(topic, cast(dict[int, int], value)) if isinstance(value, dict) else value
        for name, value in options.items()
    }


# Records


def test_every_codec_and_no_codec(feed: Feed, read: Read) -> None:
    topic = feed.topic("codecs")
    wanted: list[tuple[int, bytes, bytes]] = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        records = [Sent(f"{codec} {number} ".encode() * 20, key=codec.encode()) for number in range(200)]
        feed.send(topic, records, codec=codec)
        wanted += [(len(wanted) + at, each.key or b"", each.value or b"") for at, each in enumerate(records)]
    rows = read(topic).select("offset", "key", "value").collect()
    assert sorted((row.offset, bytes(row.key), bytes(row.value)) for row in rows) == wanted


def test_columns_are_those_of_sparks_connector(feed: Feed, read: Read) -> None:
    topic = feed.topic("columns", partitions=2)
    feed.send(topic, [Sent(b"v", key=b"k", partition=1, timestamp=BASE + 5)])
    frame = read(topic)
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
    ]
    (row,) = frame.selectExpr("*", "unix_millis(timestamp) AS millis").collect()
    assert (bytes(row.key), bytes(row.value), row.topic, row.partition, row.offset) == (
        b"k",
        b"v",
        topic,
        1,
        0,
    )
    assert (row.millis, row.timestampType) == (BASE + 5, 0)


def test_nulls_and_empty_bytes_are_two_things(feed: Feed, read: Read) -> None:
    topic = feed.topic("nulls")
    feed.send(topic, [Sent(None, key=b"gone"), Sent(b"", key=None), Sent(b"", key=b"")])
    rows = read(topic).orderBy("offset").select("key", "value").collect()
    assert [tuple(row) for row in rows] == [(b"gone", None), (None, b""), (b"", b"")]


def test_headers_on_request(feed: Feed, read: Read) -> None:
    topic = feed.topic("headers")
    headers: Headers = [("trace", b"\x00\xff"), ("trace", b"again"), ("empty", b""), ("none", None)]
    feed.send(topic, [Sent(b"with", headers=headers), Sent(b"without")])
    frame = read(topic, includeHeaders=True)
    assert frame.dtypes[-1] == ("headers", "array<struct<key:string,value:binary>>")
    first, second = frame.orderBy("offset").select("headers").collect()
    assert [(each.key, each.value) for each in first.headers] == headers
    assert second.headers is None
    assert "headers" not in read(topic).columns


def test_times_of_the_broker(feed: Feed, read: Read) -> None:
    topic = feed.topic("broker-time", message_timestamp_type="LogAppendTime")
    before = datetime.now(UTC).timestamp() * 1000
    feed.send(topic, [Sent(b"v", timestamp=BASE)])
    (row,) = read(topic).selectExpr("unix_millis(timestamp) AS millis", "timestampType").collect()
    assert row.timestampType == 1
    assert before - 60_000 < row.millis < before + 600_000


def test_only_the_columns_that_the_schema_names(feed: Feed, read: Read) -> None:
    topic = feed.topic("few")
    feed.send(topic, values(0, 5))
    frame = read(topic, schema="offset BIGINT, value BINARY")
    assert frame.columns == ["offset", "value"]
    assert [(row.offset, int(row.value)) for row in frame.orderBy("offset").collect()] == [
        (n, n) for n in range(5)
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("value STRING", "column value is binary, found string"),
        ("payload BINARY", "column 'payload' is unknown; there are key, value"),
        ("headers ARRAY<STRUCT<key: STRING, value: BINARY>>", "needs the option includeHeaders=true"),
        ("offset BIGINT NOT NULL", "column offset may not be declared NOT NULL"),
    ],
)
def test_a_schema_that_the_source_cannot_fill(feed: Feed, read: Read, schema: str, words: str) -> None:
    topic = feed.topic("schema")
    with pytest.raises(Exception, match=words):
        read(topic, schema=schema).collect()


# Transactions and holes


def test_aborted_records_never_reach_a_row_rc_1(feed: Feed, read: Read) -> None:
    topic = feed.topic("transactions")
    feed.send(topic, values(0, 10))
    feed.transaction(topic, values(100, 110), end="abort")
    feed.transaction(topic, values(10, 20), end="commit")
    feed.transaction(topic, values(110, 120), end="abort")
    feed.send(topic, values(20, 25))
    assert numbers(read(topic)) == list(range(25))
    everything = numbers(read(topic, **{"kafka.isolation.level": "read_uncommitted"}))
    assert everything == [*range(10), *range(100, 110), *range(10, 20), *range(110, 120), *range(20, 25)]


def test_a_read_ends_where_an_open_transaction_begins(feed: Feed, read: Read) -> None:
    topic = feed.topic("open")
    feed.send(topic, values(0, 3))
    producer = feed.transaction(topic, values(3, 6), end="open")
    feed.send(topic, values(6, 9))
    assert numbers(read(topic)) == [0, 1, 2]
    assert numbers(read(topic, **{"kafka.isolation.level": "read_uncommitted"})) == list(range(9))
    producer.commit_transaction(30)
    assert numbers(read(topic)) == list(range(9))


def test_ranges_that_hold_markers_and_aborted_records_only_are_empty_rc_5(feed: Feed, read: Read) -> None:
    topic = feed.topic("markers")
    for _ in range(3):
        feed.transaction(topic, values(0, 4), end="abort")
    assert feed.offsets(topic, isolation=Isolation.READ_COMMITTED) == [15]
    assert numbers(read(topic)) == []
    assert numbers(read(topic, minPartitions=5)) == []


def test_offsets_that_compaction_took_do_not_stop_a_read(feed: Feed, read: Read) -> None:
    topic = feed.topic("compacted", cleanup_policy="compact", min_cleanable_dirty_ratio=0.01, segment_ms=500)
    for turn in range(4):  # a second apart, so that each turn begins a new segment
        feed.send(
            topic,
            [
                Sent(b"%d" % (turn * 100 + number), key=b"%d" % number, timestamp=BASE + turn * 1000)
                for number in range(100)
            ],
        )
    frame = read(topic)
    wait_for("the cleaner", lambda: frame.count() < 400, limit_s=60)
    rows = frame.select("offset", "value").collect()
    assert {int(row.value) for row in rows} >= set(range(300, 400))
    assert all(row.offset == int(row.value) for row in rows)
    # Every way to cut the log into tasks sees the same records, though some ranges may be all hole.
    assert sorted(
        row.offset for row in read(topic, maxRecordsPerPartition=13).select("offset").collect()
    ) == sorted(row.offset for row in rows)


# Where it begins and ends


@pytest.fixture(scope="module")
def timed(stage: Stage) -> str:
    """Two partitions of ten records, 100 ms apart; the second one a second later."""
    feed = Feed(stage.bootstrap)
    topic = feed.topic("timed", partitions=2)
    for partition in (0, 1):
        feed.send(
            topic,
            [
                Sent(
                    b"%d" % (partition * 10 + at),
                    partition=partition,
                    timestamp=BASE + partition * 1000 + at * 100,
                )
                for at in range(10)
            ],
        )
    return topic


BOUNDARIES: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [*range(20)]),
    ({"startingOffsets": "earliest", "endingOffsets": "latest"}, [*range(20)]),
    ({"startingOffsets": {0: 7, 1: -2}, "endingOffsets": {0: -1, 1: 3}}, [7, 8, 9, 10, 11, 12]),
    ({"startingOffsets": {0: 10, 1: 10}}, []),
    (
        {"startingTimestamp": BASE + 501, "startingOffsetsByTimestampStrategy": "latest"},
        [6, 7, 8, 9, *range(10, 20)],
    ),
    ({"startingTimestamp": BASE + 950, "startingOffsetsByTimestampStrategy": "latest"}, [*range(10, 20)]),
    ({"endingTimestamp": BASE + 1200}, [*range(10), 10, 11]),
    ({"startingOffsetsByTimestamp": {0: BASE + 800, 1: BASE + 1800}}, [8, 9, 18, 19]),
    ({"endingOffsetsByTimestamp": {0: BASE + 200, 1: BASE}}, [0, 1]),
    ({"startingOffsets": "latest", "startingTimestamp": 0}, [*range(20)]),
]


@pytest.mark.parametrize(("options", "wanted"), BOUNDARIES)
def test_a_read_begins_and_ends_where_its_options_say(
    read: Read, timed: str, options: dict[str, Any], wanted: list[int]
) -> None:
    given = spelled(timed, options)
    assert numbers(read(timed, **given)) == wanted


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"startingTimestamp": BASE + 5000},
        r"startingTimestamp: no record is that young in .*-0 \(at 1700000005000\)",
    ),
    ({"startingOffsets": {0: 3}}, r"startingOffsets does not name .*-1"),
    ({"startingOffsets": {0: 3, 1: 3, 2: 3}}, r"startingOffsets names .*-2, which"),
    (
        {"endingOffsets": {0: 99, 1: 5}},
        r"option endingOffsets of .*-0 is 99, beyond its last stable offset, 10",
    ),
    (
        {"startingOffsets": {0: 99, 1: 5}},
        r"option startingOffsets of .*-0 is 99, beyond its last stable offset, 10",
    ),
    ({"startingOffsets": "committed"}, "name the group in option group"),
    ({"maxOffsetPerTrigger": 5}, "did you mean maxOffsetsPerTrigger"),
    ({"kafka.auto.offset.reset": "earliest"}, "set startingOffsets instead"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_a_read_that_cannot_be_meant_is_refused(
    read: Read, timed: str, options: dict[str, Any], words: str
) -> None:
    given = spelled(timed, options)
    with pytest.raises(Exception, match=words):
        read(timed, **given).collect()


def test_an_end_beyond_the_log_is_cut_short_if_losses_are_allowed(read: Read, timed: str) -> None:
    ends = by_partition(timed, {0: 99, 1: 2})
    assert numbers(read(timed, endingOffsets=ends, failOnDataLoss=False)) == [*range(10), 10, 11]


def test_where_a_group_has_got_to(feed: Feed, read: Read, timed: str) -> None:
    feed.admin(lambda admin: admin.commit_offsets("auditors", {TopicPartition(timed, 1): 8}))
    assert numbers(read(timed, startingOffsets="committed", group="auditors")) == [*range(10), 18, 19]


def test_records_that_were_deleted(feed: Feed, read: Read) -> None:
    topic = feed.topic("deleted")
    feed.send(topic, values(0, 10))
    feed.delete_before(topic, 4)
    assert numbers(read(topic)) == [4, 5, 6, 7, 8, 9]
    from_two = by_partition(topic, {0: 2})
    with pytest.raises(
        Exception, match=r"offsets 2 to 3 of .*-0 are no longer in the log.*failOnDataLoss=false"
    ):
        read(topic, startingOffsets=from_two).collect()
    assert numbers(read(topic, startingOffsets=from_two, failOnDataLoss=False)) == [4, 5, 6, 7, 8, 9]


# Which partitions


def test_a_pattern_fits_whole_names_and_no_internal_topic(feed: Feed, read: Read) -> None:
    first, second = feed.topic("pattern-a"), feed.topic("pattern-b")
    other = feed.topic("x-pattern-a")
    for number, topic in enumerate((first, second, other)):
        feed.send(topic, [Sent(b"%d" % number)])
    frame = read("", subscribePattern=r"pattern-[ab]-\d+|__.*")
    assert sorted(row.topic for row in frame.select("topic").collect()) == sorted([first, second])


def test_partitions_that_are_assigned(feed: Feed, read: Read) -> None:
    topic = feed.topic("assigned", partitions=3)
    for partition in range(3):
        feed.send(topic, values(partition, partition + 1, partition=partition))
    assert numbers(read("", assign=json.dumps({topic: [2, 0]}))) == [0, 2]
    with pytest.raises(Exception, match=r"-3 does not exist, the topic has 3 partitions"):
        read("", assign=json.dumps({topic: [3]}), **{"fetchOffset.numRetries": 0}).collect()


def test_a_topic_that_is_not_there(read: Read) -> None:
    with pytest.raises(Exception, match=r"topic 'no-such' does not exist \(subscribe no-such at"):
        read("no-such", **{"fetchOffset.numRetries": 0}).collect()


def test_a_broker_that_is_not_there(spark: "SparkSession") -> None:
    reader = (
        spark.read.format("oncelog").option("kafka.bootstrap.servers", "127.0.0.1:1").option("subscribe", "t")
    )
    with pytest.raises(Exception, match=r"connect: broker 127\.0\.0\.1:1: Connection refused"):
        reader.option("fetchOffset.numRetries", 0).load().collect()


# Filters and tasks


def planned(frame: "DataFrame") -> str:
    """The physical plan as text."""
    plan: Any = frame._jdf  # pyright: ignore[reportPrivateUsage]  # Spark prints plans, and gives them only so
    return str(plan.queryExecution().executedPlan().toString())


FILTERS: list[tuple[str, list[int], int, bool]] = [
    # condition, values, tasks, whether Spark has to look at the rows again
    ("partition = 1", [*range(10, 20)], 1, False),
    ("partition IN (1, 5)", [*range(10, 20)], 1, False),
    ("partition = 1 AND offset >= 3 AND offset < 5", [13, 14], 1, False),
    ("offset > 7", [8, 9, 18, 19], 2, False),
    ("offset = 4", [4, 14], 2, False),
    ("offset >= 100", [], 1, False),
    ("topic = 'elsewhere'", [], 1, False),
    ("timestamp >= timestamp_millis(1700000001450)", [15, 16, 17, 18, 19], 1, True),
    ("timestamp > timestamp_millis(1700000000850) AND partition = 0", [9], 1, True),
    ("timestamp < timestamp_millis(1700000000150)", [0, 1], 2, True),
    ("partition = 0 AND value = X'37'", [7], 1, True),
    ("partition = 1 OR offset = 3", [3, *range(10, 20)], 2, True),
]


@pytest.mark.parametrize(("condition", "wanted", "tasks", "looks_again"), FILTERS)
def test_conditions_on_partition_offset_and_time_leave_work_undone(
    read: Read, timed: str, condition: str, wanted: list[int], tasks: int, looks_again: bool
) -> None:
    frame = read(timed).where(condition)
    assert numbers(frame) == wanted
    assert frame.rdd.getNumPartitions() == tasks
    assert ("Filter (" in planned(frame)) is looks_again


def test_more_tasks_than_partitions(read: Read, timed: str) -> None:
    assert read(timed).rdd.getNumPartitions() == 2
    frame = read(timed, minPartitions=7)
    assert frame.rdd.getNumPartitions() == 8  # rounded, as by Spark's connector
    assert numbers(frame) == [*range(20)]
    assert read(timed, maxRecordsPerPartition=4).rdd.getNumPartitions() == 6
