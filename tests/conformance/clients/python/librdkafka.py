"""confluent-kafka (librdkafka) as a client program."""
# pyright: basic, reportMissingTypeStubs=false, reportPrivateImportUsage=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false
# The client's own types are partly unknown to the strict checker.

import threading
import time
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.conformance.clients.python.program import LIMIT_S, Sent, Told, eventually, member_loop, run, say


def told(message: Message) -> Told:
    error = message.error()
    if error is not None:
        raise RuntimeError(str(error))
    headers = dict(message.headers() or [])
    return (
        message.partition() or 0,
        message.offset() or 0,
        (message.key() or b"").decode(),
        (message.value() or b"").decode(),
        headers["n"].decode(),
    )


class Librdkafka:
    def __init__(self, bootstrap: str) -> None:
        self.common: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 3}
        self.stopping = threading.Event()
        self.thread: threading.Thread | None = None

    def create(self, topic: str, partitions: int) -> int:
        admin = AdminClient(self.common)
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(LIMIT_S)
        return len(admin.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions)

    def produce(self, topic: str, partitions: int, codec: str, records: list[Sent]) -> list[tuple[int, int]]:
        settings = {"enable.idempotence": True, "compression.type": codec, "linger.ms": 5}
        producer = Producer({**self.common, **settings})
        acked: dict[int, tuple[int, int]] = {}

        def delivered(n: int, error: Any, message: Message) -> None:
            if error is None:
                acked[n] = (message.partition() or 0, message.offset() or 0)

        for n, key, value in records:
            producer.produce(
                topic,
                partition=n % partitions,
                key=key,
                value=value,
                headers=[("n", str(n).encode())],
                on_delivery=lambda error, message, n=n: delivered(n, error, message),
            )
        left = producer.flush(LIMIT_S)
        if left or len(acked) != len(records):
            raise RuntimeError(f"{len(acked)} of {len(records)} acknowledged, {left} still queued")
        return [acked[n] for n, _, _ in records]

    def consumer(self, **settings: Any) -> Consumer:
        return Consumer(
            {
                **self.common,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
                **settings,
            }
        )

    def read(self, topic: str, count: int) -> list[Told]:
        consumer = self.consumer(**{"group.id": "reads-without-a-group"})
        found: list[Told] = []
        try:
            numbers = consumer.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
            deadline = time.monotonic() + LIMIT_S
            while len(found) < count and time.monotonic() < deadline:
                found += [told(message) for message in consumer.consume(500, timeout=0.2)]
        finally:
            consumer.close()
        return found

    def join(self, topic: str, group: str, protocol: str) -> str:
        settings: dict[str, Any] = {"group.id": group, "group.protocol": protocol}
        if protocol == "classic":
            settings |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 300}
            settings |= {"partition.assignment.strategy": "cooperative-sticky"}
        consumer = self.consumer(**settings)
        mine: set[int] = set()

        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            mine.update(each.partition for each in partitions)
            say("assigned", partitions=sorted(mine))

        def revoked(_: Consumer, partitions: list[TopicPartition]) -> None:
            mine.difference_update(each.partition for each in partitions)
            say("assigned", partitions=sorted(mine))

        def live() -> None:
            consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked)
            try:
                member_loop(
                    lambda: [told(message) for message in consumer.consume(500, timeout=0.1)],
                    lambda: consumer.commit(asynchronous=False) and None,
                    self.stopping,
                )
            finally:
                consumer.close()

        self.stopping.clear()
        self.thread = threading.Thread(target=live)
        self.thread.start()
        return "joining"

    def leave(self) -> str:
        if self.thread is not None:
            self.stopping.set()
            self.thread.join()
            self.thread = None
        return "left"

    def admin(self, topic: str, group: str) -> dict[str, Any]:
        admin = AdminClient(self.common)
        seen: dict[str, Any] = {}

        def config(name: str) -> str:
            resource = ConfigResource(ResourceType.TOPIC, topic)
            return admin.describe_configs([resource])[resource].result(LIMIT_S)[name].value

        def groups() -> list[str]:
            return [each.group_id for each in admin.list_consumer_groups().result(LIMIT_S).valid]

        seen["retention"] = config("retention.ms")
        change = ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)
        seen["retention altered"] = eventually(lambda: config("retention.ms"), "3600000")

        first = TopicPartition(topic, 0, 5)
        seen["deleted up to"] = (
            next(iter(admin.delete_records([first]).values())).result(LIMIT_S).low_watermark
        )
        asked = admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.earliest()})
        seen["earliest"] = next(iter(asked.values())).result(LIMIT_S).offset

        admin.create_partitions([NewPartitions(topic, 5)])[topic].result(LIMIT_S)
        seen["partitions"] = eventually(
            lambda: len(admin.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions), 5
        )

        seen["group listed"] = group in groups()
        state = admin.describe_consumer_groups([group])[group].result(LIMIT_S).state
        seen["group state"] = state.name.capitalize()
        offsets = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        held = offsets[group].result(LIMIT_S).topic_partitions
        seen["group offset"] = next(each.offset for each in held if each.partition == 0)
        admin.delete_consumer_groups([group])[group].result(LIMIT_S)
        seen["group listed after"] = group in groups()

        admin.delete_topics([topic])[topic].result(LIMIT_S)
        seen["topic listed after"] = eventually(
            lambda: topic in admin.list_topics(timeout=LIMIT_S).topics, False
        )
        seen["cluster nodes"] = len(admin.describe_cluster().result(LIMIT_S).nodes)
        return seen


if __name__ == "__main__":
    run(Librdkafka)
