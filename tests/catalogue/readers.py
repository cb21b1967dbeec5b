"""Real clients that read a topic of one partition from an offset to its end, read_committed: (key, value) of each record."""
# pyright: basic, reportMissingTypeStubs=false, reportAttributeAccessIssue=false, reportOptionalOperand=false
# Two of the clients carry no types.

import asyncio
from collections.abc import Sequence

import confluent_kafka
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonPartition

from oncelog.client.cluster import Cluster
from oncelog.client.consumer import Reader
from oncelog.model import Isolation, TopicPartition
from tests.clients import LIMIT_S, transactional


def oncelog(bootstrap: str, topic: str, offset: int = 0) -> list[tuple[str, str]]:
    where = TopicPartition(topic, 0)
    with Cluster(bootstrap) as cluster:
        reader = Reader(cluster, isolation=Isolation.READ_COMMITTED)
        reader.assign({where: offset})
        end = reader.ends()[where]
        found: list[tuple[str, str]] = []
        while reader.positions()[where] < end:
            found += [
                ((each.key or b"").decode(), (each.value or b"").decode()) for each in reader.poll(1000)
            ]
        return found


def librdkafka(bootstrap: str, topic: str, offset: int = 0) -> list[tuple[str, str]]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    found: list[tuple[str, str]] = []
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, offset)])
        while True:
            message = consumer.poll(LIMIT_S)
            assert message is not None, f"nothing within {LIMIT_S} s, after {found}"
            error = message.error()
            if error is not None:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                return found
            found.append(((message.key() or b"").decode(), (message.value() or b"").decode()))
    finally:
        consumer.close()


def aiokafka(bootstrap: str, topic: str, offset: int = 0) -> list[tuple[str, str]]:
    async def read() -> list[tuple[str, str]]:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed", enable_auto_commit=False
        )
        await consumer.start()
        try:
            where = AioPartition(topic, 0)
            consumer.assign([where])
            consumer.seek(where, offset)
            end = (await consumer.end_offsets([where]))[where]
            found: list[tuple[str, str]] = []
            while await consumer.position(where) < end:
                for records in (await consumer.getmany(timeout_ms=1000)).values():
                    found += [((each.key or b"").decode(), (each.value or b"").decode()) for each in records]
            return found
        finally:
            await consumer.stop()

    return asyncio.run(asyncio.wait_for(read(), LIMIT_S))


def kafka_python(bootstrap: str, topic: str, offset: int = 0) -> list[tuple[str, str]]:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", enable_auto_commit=False
    )
    try:
        where = KafkaPythonPartition(topic, 0)
        consumer.assign([where])
        consumer.seek(where, offset)
        end = consumer.end_offsets([where])[where]
        found: list[tuple[str, str]] = []
        while consumer.position(where) < end:
            for records in consumer.poll(timeout_ms=1000).values():
                found += [((each.key or b"").decode(), (each.value or b"").decode()) for each in records]
        return found
    finally:
        consumer.close()


def write_transaction(
    bootstrap: str,
    topic: str,
    records: Sequence[tuple[str, str]],
    *,
    commit: bool,
    transactional_id: str = "writer",
) -> None:
    """One transaction of a librdkafka producer of its own."""
    producer = transactional(bootstrap, transactional_id)
    producer.begin_transaction()
    for key, value in records:
        producer.produce(topic, value.encode(), key.encode(), partition=0)
    producer.flush(LIMIT_S)
    if commit:
        producer.commit_transaction(LIMIT_S)
    else:
        producer.abort_transaction(LIMIT_S)
