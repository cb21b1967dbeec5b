"""confluent-kafka (librdkafka) as a transactional client program."""
# pyright: basic, reportMissingTypeStubs=false, reportPrivateImportUsage=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false
# The client's own types are partly unknown to the strict checker.

import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition

from tests.conformance.clients.python.librdkafka import Librdkafka
from tests.conformance.clients.python.program import LIMIT_S, run
from tests.conformance.clients.python.transactional import END, Found, Step, check_halt


class Transactional(Librdkafka):
    producer: Producer

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self.member: Consumer | None = None
        self.dealt_anew = False

    def open(self, transactional_id: str, timeout_ms: int) -> str:
        self.producer = Producer(
            {
                **self.common,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 0,
                "reconnect.backoff.ms": 50,
                "reconnect.backoff.max.ms": 200,
                # By default send_offsets_to_transaction may never return once all brokers were away for a moment: it waits for
                # a group coordinator that librdkafka itself has given up (2.16.0, its issue 5511; also on Apache Kafka).
                "metadata.recovery.strategy": "none",
            }
        )
        self.producer.init_transactions(LIMIT_S)
        return "ready"

    def begin(self) -> str:
        self.producer.begin_transaction()
        return "begun"

    def send(self, topic: str, records: list[tuple[int, str]]) -> list[int]:
        offsets: dict[int, int] = {}
        errors: list[Any] = []

        def delivered(number: int, error: Any, message: Message) -> None:
            if error is None:
                offsets[number] = message.offset() or 0
            else:
                errors.append(error)

        for number, (partition, value) in enumerate(records):
            self.producer.produce(
                topic,
                value,
                partition=partition,
                on_delivery=lambda error, message, number=number: delivered(number, error, message),
            )
        deadline = time.monotonic() + LIMIT_S
        while len(offsets) < len(records) and not errors:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(offsets)} of {len(records)} records were acknowledged in time")
            self.producer.poll(0.1)  # and not flush: it goes on calling back after a fatal error was raised
        if errors:
            raise KafkaException(errors[0])
        return [offsets[number] for number in range(len(records))]

    def commit(self) -> str:
        self.producer.commit_transaction(LIMIT_S)
        return "committed"

    def abort(self) -> str:
        self.producer.abort_transaction(LIMIT_S)
        return "aborted"

    def look(self, topic: str, partitions: int, isolation: str, limit_ms: int) -> list[Found]:
        settings = {"group.id": "looks-without-a-group", "isolation.level": f"read_{isolation}"}
        consumer = self.consumer(**settings)
        found: list[Found] = []
        try:
            consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in range(partitions)])
            deadline = time.monotonic() + limit_ms / 1000
            ends = 0
            while ends < partitions and time.monotonic() < deadline:
                for message in consumer.consume(500, timeout=0.1):
                    if message.error() is not None:
                        raise KafkaException(message.error())
                    value = (message.value() or b"").decode()
                    ends += value == END
                    found.append((message.partition() or 0, message.offset() or 0, value))
        finally:
            consumer.close()
        return found

    def pipe(self, source: str, target: str, group: str, protocol: str, batch: int, plan: list[Step]) -> int:
        consumer = self._joined(group, protocol)
        consumer.subscribe([source])
        done = 0
        try:
            for step in plan:
                messages: list[Message] = []
                deadline = time.monotonic() + LIMIT_S
                while not messages and time.monotonic() < deadline:
                    messages = consumer.consume(batch, timeout=0.2)
                self.begin()
                records = [
                    (each.partition() or 0, (each.value() or b"").decode().upper()) for each in messages
                ]
                self.send(target, records)
                positions = consumer.position(consumer.assignment())
                self.producer.send_offsets_to_transaction(
                    positions, consumer.consumer_group_metadata(), LIMIT_S
                )
                check_halt(step)
                if step == "abort":
                    self.abort()
                    for each in {each.partition(): each for each in reversed(messages)}.values():
                        consumer.seek(TopicPartition(source, each.partition() or 0, each.offset() or 0))
                else:
                    self.commit()
                    done += len(messages)
        finally:
            consumer.close()
        return done

    def _joined(self, group: str, protocol: str) -> Consumer:
        settings: dict[str, Any] = {"group.id": group, "group.protocol": protocol}
        if protocol == "classic":
            settings |= {"session.timeout.ms": 4000, "heartbeat.interval.ms": 300}
        return self.consumer(**settings, **{"isolation.level": "read_committed"})

    def take(self, topic: str, group: str, protocol: str, batch: int, limit_ms: int) -> list[Found]:
        if self.member is None:
            self.member = self._joined(group, protocol)
            self.member.subscribe([topic], on_assign=self._deal, on_revoke=self._deal, on_lost=self._deal)
        self.dealt_anew = False
        found: list[Found] = []
        deadline = time.monotonic() + limit_ms / 1000
        while not found and time.monotonic() < deadline:
            for message in self.member.consume(batch, timeout=0.1):
                error = message.error()
                if error is None:
                    found.append(
                        (message.partition() or 0, message.offset() or 0, (message.value() or b"").decode())
                    )
                elif error.fatal():
                    raise KafkaException(error)
        if found and self.dealt_anew:  # some of them may be somebody else's by now
            self.rewind()
            return []
        return found

    def _deal(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """Having this, librdkafka deals partitions anew only while we poll."""
        self.dealt_anew = True

    def offsets(self, topic: str, positions: dict[str, int]) -> str:
        assert self.member is not None
        self.producer.send_offsets_to_transaction(
            [TopicPartition(topic, int(number), at) for number, at in positions.items()],
            self.member.consumer_group_metadata(),
            LIMIT_S,
        )
        return "sent"

    def rewind(self) -> dict[int, int]:
        assert self.member is not None
        positions: dict[int, int] = {}
        for each in self.member.committed(self.member.assignment(), timeout=LIMIT_S):
            if each.error is not None:
                raise KafkaException(each.error)
            positions[each.partition] = max(each.offset, -1)
            each.offset = each.offset if each.offset >= 0 else OFFSET_BEGINNING
            self.member.seek(each)
        return positions

    def leave(self) -> str:
        if self.member is not None:
            self.member.close()
            self.member = None
        return super().leave()


if __name__ == "__main__":
    run(Transactional)
