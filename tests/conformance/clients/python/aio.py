"""aiokafka as a client program: its coroutines run on a loop in a thread, commands come from the main one."""
# pyright: basic, reportMissingTypeStubs=false, reportPrivateImportUsage=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false
# The client's own types are partly unknown to the strict checker.

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    TopicPartition,
)
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.conformance.clients.python.program import LIMIT_S, Sent, Told, run, say

T = TypeVar("T")


def told(record: Any) -> Told:
    n = dict(record.headers)["n"].decode()
    return (record.partition, record.offset, record.key.decode(), record.value.decode(), n)


async def eventually(look: Callable[[], Awaitable[T]], wanted: T) -> T:
    """What `look` sees once it is `wanted`, or after five seconds: Apache Kafka tells its changes a little later."""
    seen = await look()
    for _ in range(100):
        if seen == wanted:
            break
        await asyncio.sleep(0.05)
        seen = await look()
    return seen


class Listener(ConsumerRebalanceListener):
    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self.consumer = consumer

    def on_partitions_assigned(self, assigned: Any) -> None:  # noqa: ARG002 the client names it
        say("assigned", partitions=sorted(each.partition for each in self.consumer.assignment()))

    def on_partitions_revoked(self, revoked: Any) -> None:
        kept = self.consumer.assignment() - set(revoked)
        say("assigned", partitions=sorted(each.partition for each in kept))


class Aio:
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.stopping = threading.Event()
        self.member: Any = None

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(2 * LIMIT_S)

    def create(self, topic: str, partitions: int) -> int:
        return self.wait(self._create(topic, partitions))

    async def _create(self, topic: str, partitions: int) -> int:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            answer = await admin.create_topics([NewTopic(topic, partitions, 1)])
            if answer.topic_errors[0][1]:
                raise RuntimeError(str(answer))
        finally:
            await admin.close()
        return await self._partitions(topic)

    async def _partitions(self, topic: str) -> int:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            return len((await admin.describe_topics([topic]))[0]["partitions"])
        finally:
            await admin.close()

    def produce(self, topic: str, partitions: int, codec: str, records: list[Sent]) -> list[tuple[int, int]]:
        return self.wait(self._produce(topic, partitions, codec, records))

    async def _produce(
        self, topic: str, partitions: int, codec: str, records: list[Sent]
    ) -> list[tuple[int, int]]:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            enable_idempotence=True,
            linger_ms=5,
            compression_type=None if codec == "none" else codec,
        )
        await producer.start()
        try:
            futures = [
                await producer.send(
                    topic,
                    partition=n % partitions,
                    key=key.encode(),
                    value=value.encode(),
                    headers=[("n", str(n).encode())],
                )
                for n, key, value in records
            ]
            acked = await asyncio.wait_for(asyncio.gather(*futures), LIMIT_S)
            return [(each.partition, each.offset) for each in acked]
        finally:
            await producer.stop()

    def consumer(self, **settings: Any) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
            **settings,
        )

    def read(self, topic: str, count: int) -> list[Told]:
        return self.wait(self._read(topic, count))

    async def _read(self, topic: str, count: int) -> list[Told]:
        consumer = self.consumer()
        found: list[Told] = []
        await consumer.start()
        try:
            held = [TopicPartition(topic, each) for each in range(await self._partitions(topic))]
            consumer.assign(held)
            await consumer.seek_to_beginning(*held)
            deadline = self.loop.time() + LIMIT_S
            while len(found) < count and self.loop.time() < deadline:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += [told(record) for record in records]
        finally:
            await consumer.stop()
        return found

    def join(self, topic: str, group: str, protocol: str) -> str:
        if protocol != "classic":
            raise ValueError(f"aiokafka has no group protocol {protocol!r}")
        self.stopping.clear()
        self.member = asyncio.run_coroutine_threadsafe(self._live(topic, group), self.loop)
        return "joining"

    async def _live(self, topic: str, group: str) -> None:
        consumer = self.consumer(group_id=group, session_timeout_ms=6000, heartbeat_interval_ms=300)
        consumer.subscribe([topic], listener=Listener(consumer))
        await consumer.start()
        try:
            while not self.stopping.is_set():
                found = await consumer.getmany(timeout_ms=100)
                records = [told(record) for records in found.values() for record in records]
                if records:
                    say("records", records=records)
                    await consumer.commit()
                    say("committed")
        except Exception as failure:  # noqa: BLE001 a client may raise anything; the test is told and decides
            say("member failed", why=f"{type(failure).__name__}: {failure}")
        finally:
            await consumer.stop()

    def leave(self) -> str:
        if self.member is not None:
            self.stopping.set()
            self.member.result(2 * LIMIT_S)
            self.member = None
        return "left"

    def admin(self, topic: str, group: str) -> dict[str, Any]:
        return self.wait(self._admin(topic, group))

    async def _admin(self, topic: str, group: str) -> dict[str, Any]:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        seen: dict[str, Any] = {}
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)

        async def config(name: str) -> str:
            answers = await admin.describe_configs([resource])
            entries = answers[0].resources[0][4]
            return next(entry[1] for entry in entries if entry[0] == name)

        async def listed() -> bool:
            return topic in await admin.list_topics()

        await admin.start()
        try:
            seen["retention"] = await config("retention.ms")
            change = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "3600000"})
            await admin.alter_configs([change])
            seen["retention altered"] = await eventually(lambda: config("retention.ms"), "3600000")

            first = TopicPartition(topic, 0)
            deleted = await admin.delete_records({first: RecordsToDelete(5)})
            seen["deleted up to"] = deleted[first]
            consumer = self.consumer()
            await consumer.start()
            seen["earliest"] = (await consumer.beginning_offsets([first]))[first]
            await consumer.stop()

            await admin.create_partitions({topic: NewPartitions(5)})
            seen["partitions"] = await eventually(lambda: self._partitions(topic), 5)

            seen["group listed"] = group in [each[0] for each in await admin.list_consumer_groups()]
            described = await admin.describe_consumer_groups([group])
            seen["group state"] = described[0].groups[0][2]
            seen["group offset"] = (await admin.list_consumer_group_offsets(group))[first].offset

            await admin.delete_topics([topic])
            seen["topic listed after"] = await eventually(listed, False)
            seen["cluster nodes"] = len((await admin.describe_cluster())["brokers"])
        finally:
            await admin.close()
        return seen


if __name__ == "__main__":
    run(Aio)
