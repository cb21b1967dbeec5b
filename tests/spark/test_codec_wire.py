"""Batches made from columns, read by librdkafka from oncelog (with ORACLE=1 from Apache Kafka too)."""

from typing import Any

import pytest

from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.spark.arrow import pa
from oncelog.spark.encode import CODECS, Encoder
from tests.spark.conftest import Stage
from tests.spark.feed import Feed, rdkafka

NOW = 1_700_000_000_000
COUNT = 700
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_librdkafka_reads_what_was_made_from_columns(stage: Stage, codec: str) -> None:
    rows: list[dict[str, Any]] = [
        {
            "key": None if each % 5 == 0 else b"key-%d" % each,
            "value": None if each % 7 == 0 else b"value " * (each % 90),
            "headers": [{"key": "n", "value": b"%d" % each}, {"key": "null", "value": None}]
            if each % 3 == 0
            else None,
            "timestamp": NOW + each,
        }
        for each in range(COUNT)
    ]
    columns = pa.RecordBatch.from_pylist(
        rows,
        schema=pa.schema(
            [("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS), ("timestamp", pa.int64())]
        ),
    )
    place = TopicPartition(Feed(stage.bootstrap).topic("encoded"), 0)
    plain = Producer(ProducerId(-1), ProducerEpoch(-1))
    with Cluster(stage.bootstrap) as cluster, BatchWriter(cluster, None, plain) as writer:
        for batch in Encoder(None, False, codec, 20_000, lambda: NOW).add(columns):
            writer.write(place, batch)
    assert read(stage.bootstrap, place) == [
        (
            offset,
            row["key"],
            row["value"],
            [(each["key"], each["value"]) for each in row["headers"] or ()] or None,
            row["timestamp"],
        )
        for offset, row in enumerate(rows)
    ]


def read(bootstrap: str, place: TopicPartition) -> list[tuple[Any, ...]]:
    consumer = rdkafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "check.crcs": True})
    consumer.assign([rdkafka.TopicPartition(place.topic, place.partition, 0)])
    found: list[Any] = []
    while len(found) < COUNT:
        some = consumer.consume(COUNT, 10)
        assert some, f"nothing came after {len(found)} records"
        found += some
    consumer.close()
    assert not [each.error() for each in found if each.error()]
    return [(each.offset(), each.key(), each.value(), each.headers(), each.timestamp()[1]) for each in found]
