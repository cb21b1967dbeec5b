"""aiokafka as a transactional client program."""
# pyright: basic, reportMissingTypeStubs=false, reportPrivateImportUsage=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false
# The client's own types are partly unknown to the strict checker.

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition

from tests.conformance.clients.python.aio import Aio
from tests.conformance.clients.python.program import LIMIT_S, run, say
from tests.conformance.clients.python.transactional import END, Found, Step


class Transactional(Aio):
    producer: AIOKafkaProducer | None = None

    def open(self, transactional_id: str, timeout_ms: int) -> str:
        return self.wait(self._open(transactional_id, timeout_ms))

    async def _open(self, transactional_id: str, timeout_ms: int) -> str:
        self.producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            enable_idempotence=True,
            retry_backoff_ms=50,
        )
        await asyncio.wait_for(self.producer.start(), LIMIT_S)
        return "ready"

    def begin(self) -> str:
        self.wait(self.producer.begin_transaction())
        return "begun"

    def send(self, topic: str, records: list[tuple[int, str]]) -> list[int]:
        return self.wait(self._send(topic, records))

    async def _send(self, topic: str, records: list[tuple[int, str]]) -> list[int]:
        futures = [
            await self.producer.send(topic, value.encode(), partition=partition)
            for partition, value in records
        ]
        acked = await asyncio.wait_for(asyncio.gather(*futures), LIMIT_S)
        return [each.offset for each in acked]

    def commit(self) -> str:
        self.wait(asyncio.wait_for(self.producer.commit_transaction(), LIMIT_S))
        return "committed"

    def abort(self) -> str:
        self.wait(asyncio.wait_for(self.producer.abort_transaction(), LIMIT_S))
        return "aborted"

    def look(self, topic: str, partitions: int, isolation: str, limit_ms: int) -> list[Found]:
        return self.wait(self._look(topic, partitions, isolation, limit_ms))

    async def _look(self, topic: str, partitions: int, isolation: str, limit_ms: int) -> list[Found]:
        consumer = self.consumer(isolation_level=f"read_{isolation}")
        found: list[Found] = []
        await consumer.start()
        try:
            held = [TopicPartition(topic, each) for each in range(partitions)]
            consumer.assign(held)
            await consumer.seek_to_beginning(*held)
            deadline = self.loop.time() + limit_ms / 1000
            ends = 0
            while ends < partitions and self.loop.time() < deadline:
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    found += [(each.partition, each.offset, each.value.decode()) for each in records]
                ends = sum(value == END for _, _, value in found)
        finally:
            await consumer.stop()
        return found

    def pipe(self, source: str, target: str, group: str, protocol: str, batch: int, plan: list[Step]) -> int:
        if protocol != "classic":
            raise ValueError(f"aiokafka has no group protocol {protocol!r}")
        return self.wait(self._pipe(source, target, group, batch, plan))

    async def _pipe(self, source: str, target: str, group: str, batch: int, plan: list[Step]) -> int:
        settings: dict[str, Any] = {"session_timeout_ms": 4000, "heartbeat_interval_ms": 300}
        consumer = self.consumer(group_id=group, isolation_level="read_committed", **settings)
        consumer.subscribe([source])
        await consumer.start()
        done = 0
        try:
            for step in plan:
                taken: dict[TopicPartition, list[Any]] = {}
                deadline = self.loop.time() + LIMIT_S
                while not taken and self.loop.time() < deadline:
                    taken = await consumer.getmany(timeout_ms=200, max_records=batch)
                records = [each for some in taken.values() for each in some]
                await self.producer.begin_transaction()
                await self._send(target, [(each.partition, each.value.decode().upper()) for each in records])
                offsets = {each: some[-1].offset + 1 for each, some in taken.items()}
                await self.producer.send_offsets_to_transaction(offsets, group)
                if step == "halt":
                    say("halted")
                    await asyncio.Event().wait()
                elif step == "abort":
                    await self.producer.abort_transaction()
                    for each, some in taken.items():
                        consumer.seek(each, some[0].offset)
                else:
                    await self.producer.commit_transaction()
                    done += len(records)
        finally:
            await consumer.stop()
        return done


if __name__ == "__main__":
    run(Transactional)
