"""`to_topic(df, ...)`: which partition each row goes to, and the shuffle that gives each partition one writer."""

from collections.abc import Mapping
from typing import Any, Final, cast

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from oncelog.spark.arrow import Array, pa, pc
from oncelog.spark.hashing import partition_of
from oncelog.spark.progress import existing_topic
from oncelog.spark.sink_driver import connect
from oncelog.spark.sink_options import SinkOptions, SinkRefused, read_options

PARTITIONINGS: Final = ("murmur2", "crc32", "preserve")
ANYBODY: Final = "to_topic"  # asks for metadata only: a transactional id is of no meaning to it


def to_topic(
    df: DataFrame,
    topic: str | None = None,
    partitioning: str = "murmur2",
    *,
    options: Mapping[str, str] | None = None,
    partitions: int | None = None,
    writers: int | None = None,
) -> DataFrame:
    """Gives rows their topic and partition and brings all rows of a partition into one task, as the sink needs it.

    topic         for all rows; None: what their column `topic` says
    partitioning  murmur2: by key, as Kafka's Java producer does; crc32: by key, as librdkafka does; rows without a key go round.
                  preserve: the column `partition` stays as it is and nothing is shuffled, for queries that write partition 3
                  from partition 3 only; the sink refuses a micro-batch in which that is not so
    options       where to ask how many partitions topics have: those of the sink, or `kafka.bootstrap.servers` alone. If they
                  name the same topic, rows need no column that says it once more
    partitions    how many each topic has, if nobody is to be asked
    writers       how many tasks write; None: one per partition, but no more than spark.sql.shuffle.partitions
    """
    if partitioning not in PARTITIONINGS:
        raise SinkRefused(f"partitioning: wanted {' or '.join(PARTITIONINGS)}, found {partitioning!r}")
    asked = _sink_options(options)
    if topic is not None:
        known = asked is not None and asked.topic == topic
        df = df.drop("topic") if known else df.withColumn("topic", F.lit(topic))
    elif "topic" not in df.columns:
        raise SinkRefused(
            f"to_topic: wanted a topic or a column `topic`, found columns {', '.join(df.columns)}"
        )
    if partitioning == "preserve":
        if "partition" not in df.columns:
            raise SinkRefused(
                f"to_topic, preserve: wanted a column `partition`, found columns {', '.join(df.columns)}"
            )
        return df
    if partitions is None and asked is None:
        raise SinkRefused(
            "to_topic: how many partitions has the topic? Wanted options={'kafka.bootstrap.servers': ...}, or partitions=N"
        )
    if partitions is None and topic is not None and asked is not None:
        with connect(asked) as cluster:
            partitions = len(existing_topic(cluster, topic, "to_topic"))
    most = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    if writers is None:
        writers = most if topic is None or partitions is None else min(partitions, most)
    key = F.col("key").cast("binary") if "key" in df.columns else F.lit(None).cast("binary")
    name = F.col("topic") if topic is None else F.lit(topic)
    placed = df.withColumn("partition", _partition(name, key, partitioning, partitions, asked))
    where = (
        F.col("partition")
        if topic is not None
        else F.col("partition") + F.crc32(F.col("topic").cast("binary"))
    )
    return placed.repartitionById(writers, F.pmod(where, F.lit(writers)).cast("int"))


def _sink_options(given: Mapping[str, str] | None) -> SinkOptions | None:
    return None if given is None else read_options({"transactionalId": ANYBODY, **given})


def _partition(
    topic: Column, key: Column, partitioning: str, partitions: int | None, asked: SinkOptions | None
) -> Column:
    if partitions is not None and partitioning == "crc32":  # Spark can do this by itself
        count = F.lit(partitions)
        around = F.pmod(F.monotonically_increasing_id(), count)
        return F.coalesce(F.pmod(F.crc32(key), count), around).cast("int")
    places: Any = _Places(partitioning, partitions, asked)
    # A function without type hints: Spark would read ours, and knows pyarrow's own names only.
    bare = cast(Any, lambda topics, keys: places.of(topics, keys))  # noqa: PLW0108  # pyright: ignore[reportUnknownLambdaType]
    place = cast(Any, F).arrow_udf(bare, "int")
    return cast(Column, place.asNondeterministic()(topic, key))


class _Places:
    """The partition of each row; runs in the tasks. Asks once per topic and process how many partitions there are."""

    def __init__(self, partitioning: str, partitions: int | None, options: SinkOptions | None) -> None:
        self.partitioning = partitioning
        self.partitions = partitions
        self.options = options
        self._counts: dict[str, int] = {}
        self._rows = 0

    def of(self, topics: Array, keys: Array) -> Array:
        first_row, self._rows = self._rows, self._rows + len(keys)
        if self.partitions is not None:
            return pa.array(partition_of(keys, self.partitions, self.partitioning, first_row=first_row))
        found = np.full(len(keys), -1, np.int32)
        for topic in topics.unique().to_pylist():
            mine = np.flatnonzero(pc.equal(topics, topic).to_numpy(zero_copy_only=False))
            count = 0 if topic is None else self._count(topic)
            if count:
                found[mine] = partition_of(
                    keys.take(pa.array(mine)), count, self.partitioning, first_row=first_row
                )
        return pa.array(found, mask=found < 0)

    def _count(self, topic: str) -> int:
        """0 for a topic that is not there: its rows get no partition, and the sink says why it cannot write them."""
        if topic not in self._counts:
            assert self.options is not None
            with connect(self.options) as cluster:
                try:
                    self._counts[topic] = len(existing_topic(cluster, topic, "column topic"))
                except SinkRefused:
                    return 0
        return self._counts[topic]
