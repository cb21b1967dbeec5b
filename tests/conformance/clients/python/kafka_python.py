"""kafka-python as a client program."""
# pyright: basic, reportMissingTypeStubs=false, reportPrivateImportUsage=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false
# The client carries no types.

import threading
import time
from typing import Any

from kafka import (
    ConsumerRebalanceListener,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    TopicPartition,
)
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic, OffsetSpec

from tests.conformance.clients.python.program import LIMIT_S, Sent, Told, eventually, member_loop, run, say


def told(record: Any) -> Told:
    n = dict(record.headers)["n"].decode()
    return (record.partition, record.offset, record.key.decode(), record.value.decode(), n)


class Listener(ConsumerRebalanceListener):
    def __init__(self, consumer: KafkaConsumer) -> None:
        self.consumer = consumer

    def on_partitions_assigned(self, assigned: Any) -> None:  # noqa: ARG002 the client names it
        say("assigned", partitions=sorted(each.partition for each in self.consumer.assignment()))

    def on_partitions_revoked(self, revoked: Any) -> None:
        kept = self.consumer.assignment() - set(revoked)
        say("assigned", partitions=sorted(each.partition for each in kept))


class KafkaPython:
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.stopping = threading.Event()
        self.thread: threading.Thread | None = None

    def create(self, topic: str, partitions: int) -> int:
        admin: Any = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            admin.create_topics([NewTopic(topic, partitions, 1)], wait_for_metadata=True)
            return len(admin.describe_topics([topic])[0]["partitions"])
        finally:
            admin.close()

    def produce(self, topic: str, partitions: int, codec: str, records: list[Sent]) -> list[tuple[int, int]]:
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            enable_idempotence=True,
            acks="all",
            linger_ms=5,
            compression_type=None if codec == "none" else codec,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    partition=n % partitions,
                    key=key.encode(),
                    value=value.encode(),
                    headers=[("n", str(n).encode())],
                )
                for n, key, value in records
            ]
            producer.flush(LIMIT_S)
            acked = [future.get(LIMIT_S) for future in futures]
            return [(each.partition, each.offset) for each in acked]
        finally:
            producer.close()

    def consumer(self, **settings: Any) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
            **settings,
        )

    def read(self, topic: str, count: int) -> list[Told]:
        consumer = self.consumer()
        found: list[Told] = []
        try:
            numbers = consumer.partitions_for_topic(topic) or set()
            held = [TopicPartition(topic, number) for number in sorted(numbers)]
            consumer.assign(held)
            consumer.seek_to_beginning(*held)
            deadline = time.monotonic() + LIMIT_S
            while len(found) < count and time.monotonic() < deadline:
                for records in consumer.poll(timeout_ms=200).values():
                    found += [told(record) for record in records]
        finally:
            consumer.close()
        return found

    def join(self, topic: str, group: str, protocol: str) -> str:
        if protocol != "classic":
            raise ValueError(f"kafka-python has no group protocol {protocol!r}")
        consumer = self.consumer(group_id=group, session_timeout_ms=6000, heartbeat_interval_ms=300)

        def poll() -> list[Told]:
            # A poll that ends while SyncGroup is on its way loses the assignment for good (seen on Apache Kafka too, 2 of
            # 60 joins with 100 ms): polls of this client are longer than any answer takes.
            found = consumer.poll(timeout_ms=1000)
            return [told(record) for records in found.values() for record in records]

        def live() -> None:
            consumer.subscribe([topic], listener=Listener(consumer))
            try:
                member_loop(poll, consumer.commit, self.stopping)
            finally:
                consumer.close(autocommit=False)

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
        admin: Any = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        seen: dict[str, Any] = {}

        def config(name: str) -> str:
            resource = ConfigResource(ConfigResourceType.TOPIC, topic)
            return admin.describe_configs([resource], config_filter="all")["topic"][topic][name]["value"]

        def groups() -> list[str]:
            return [each["group_id"] for each in admin.list_groups()]

        try:
            seen["retention"] = config("retention.ms")
            change = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "3600000"})
            admin.alter_configs([change])
            seen["retention altered"] = eventually(lambda: config("retention.ms"), "3600000")

            first = TopicPartition(topic, 0)
            seen["deleted up to"] = admin.delete_records({first: 5})[first]["low_watermark"]
            asked = admin.list_partition_offsets({first: OffsetSpec.EARLIEST})
            seen["earliest"] = asked[first].offset

            admin.create_partitions({topic: NewPartitions(5)})
            seen["partitions"] = eventually(lambda: len(admin.describe_topics([topic])[0]["partitions"]), 5)

            seen["group listed"] = group in groups()
            seen["group state"] = admin.describe_groups([group])[group]["group_state"]
            seen["group offset"] = admin.list_group_offsets({group: None})[group][first].offset
            admin.delete_groups([group])
            seen["group listed after"] = group in groups()

            admin.delete_topics([topic])
            seen["topic listed after"] = eventually(lambda: topic in admin.list_topics(), False)
            seen["cluster nodes"] = len(admin.describe_cluster()["brokers"])
        finally:
            admin.close()
        return seen


if __name__ == "__main__":
    run(KafkaPython)
