"""kafka-python as a transactional client program."""
# pyright: basic, reportMissingTypeStubs=false, reportPrivateImportUsage=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false
# The client carries no types.

import time
from typing import Any

from kafka import KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from tests.conformance.clients.python.kafka_python import KafkaPython
from tests.conformance.clients.python.program import LIMIT_S, run
from tests.conformance.clients.python.transactional import END, Found, Step, check_halt

POLL_MS = 1000  # as in kafka_python.py: shorter polls can lose an assignment


class Transactional(KafkaPython):
    producer: Any

    def open(self, transactional_id: str, timeout_ms: int) -> str:
        self.producer = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            acks="all",
            linger_ms=0,
            max_block_ms=1000 * int(LIMIT_S),
            reconnect_backoff_max_ms=200,
        )
        self.producer.init_transactions()
        return "ready"

    def begin(self) -> str:
        self.producer.begin_transaction()
        return "begun"

    def send(self, topic: str, records: list[tuple[int, str]]) -> list[int]:
        futures = [
            self.producer.send(topic, value.encode(), partition=partition) for partition, value in records
        ]
        return [future.get(LIMIT_S).offset for future in futures]

    def commit(self) -> str:
        self.producer.commit_transaction()
        return "committed"

    def abort(self) -> str:
        self.producer.abort_transaction()
        return "aborted"

    def look(self, topic: str, partitions: int, isolation: str, limit_ms: int) -> list[Found]:
        consumer = self.consumer(isolation_level=f"read_{isolation}")
        found: list[Found] = []
        try:
            held = [TopicPartition(topic, each) for each in range(partitions)]
            consumer.assign(held)
            consumer.seek_to_beginning(*held)
            deadline = time.monotonic() + limit_ms / 1000
            ends = 0
            while ends < partitions and time.monotonic() < deadline:
                for records in consumer.poll(timeout_ms=100).values():
                    found += [(each.partition, each.offset, each.value.decode()) for each in records]
                ends = sum(value == END for _, _, value in found)
        finally:
            consumer.close()
        return found

    def pipe(self, source: str, target: str, group: str, protocol: str, batch: int, plan: list[Step]) -> int:
        if protocol != "classic":
            raise ValueError(f"kafka-python has no group protocol {protocol!r}")
        settings: dict[str, Any] = {"session_timeout_ms": 4000, "heartbeat_interval_ms": 300}
        consumer: Any = self.consumer(
            group_id=group, isolation_level="read_committed", max_poll_records=batch, **settings
        )
        consumer.subscribe([source])
        done = 0
        try:
            for step in plan:
                taken: dict[TopicPartition, list[Any]] = {}
                deadline = time.monotonic() + LIMIT_S
                while not taken and time.monotonic() < deadline:
                    taken = consumer.poll(timeout_ms=POLL_MS)
                records = [each for some in taken.values() for each in some]
                self.begin()
                self.send(target, [(each.partition, each.value.decode().upper()) for each in records])
                offsets = {
                    each: OffsetAndMetadata(some[-1].offset + 1, "", -1) for each, some in taken.items()
                }
                self.producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
                check_halt(step)
                if step == "abort":
                    self.abort()
                    for each, some in taken.items():
                        consumer.seek(each, some[0].offset)
                else:
                    self.commit()
                    done += len(records)
        finally:
            consumer.close(autocommit=False)
        return done


if __name__ == "__main__":
    run(Transactional)
