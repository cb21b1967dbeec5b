"""What tests and notebooks want most often, in one call each."""

from collections.abc import Mapping, Sequence

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.consumer import Reader
from oncelog.client.producer import Producer, Written
from oncelog.client.security import PLAINTEXT, Security
from oncelog.client.visible import ReadRecord
from oncelog.model import Isolation, TopicPartition

ISOLATIONS = {"committed": Isolation.READ_COMMITTED, "uncommitted": Isolation.READ_UNCOMMITTED}


def create_topic(
    bootstrap: str,
    name: str,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
    *,
    timeout_ms: int = 30_000,
) -> None:
    """Makes a topic; returns when it can be used."""
    with Cluster(bootstrap, timeout_ms=timeout_ms) as cluster:
        Admin(cluster).create_topic(name, partitions=partitions, configs=configs)


def write_all(
    bootstrap: str,
    topic: str,
    values: Sequence[bytes],
    *,
    key: bytes | None = None,
    partition: int | None = None,
    timeout_ms: int = 30_000,
) -> list[Written]:
    """Writes the values in order, idempotently; returns where they are."""
    with Cluster(bootstrap, timeout_ms=timeout_ms) as cluster:
        producer = Producer(cluster)
        deliveries = [producer.send(topic, value, key=key, partition=partition) for value in values]
        producer.flush()
        return [each.result() for each in deliveries]


def read_all(
    bootstrap: str,
    topic: str,
    isolation: str = "committed",
    *,
    timeout_ms: int = 30_000,
    security: Security = PLAINTEXT,
) -> list[ReadRecord]:
    """All records of a topic up to what is its end now, by partition and offset."""
    if isolation not in ISOLATIONS:
        raise ValueError(f"isolation: wanted {' or '.join(ISOLATIONS)}, found {isolation!r}")
    with Cluster(bootstrap, timeout_ms=timeout_ms, security=security) as cluster:
        partitions = Admin(cluster).partitions_of(topic)
        reader = Reader(cluster, isolation=ISOLATIONS[isolation])
        reader.assign(dict.fromkeys(partitions, "earliest"))
        ends = reader.ends()
        found: list[ReadRecord] = []
        while any(at < ends[each] for each, at in reader.positions().items()):
            found += reader.poll(timeout_ms)
        return sorted(
            (each for each in found if each.offset < ends[TopicPartition(topic, each.partition)]),
            key=lambda each: (each.partition, each.offset),
        )
