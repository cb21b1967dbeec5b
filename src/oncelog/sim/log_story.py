"""The first story of the simulator: idempotent producers against one broker, with repeats, resets and crashes.

What must hold, whatever the seed (reliability 3.2, invariants 1, 2, 5, 6):
  order       log start <= LSO <= high watermark <= log end, looked at after every step
  stability   (partition, offset) -> value is a function: nobody is ever shown another value at an offset once seen
  durability  what was acknowledged with acks=all is in the log at the offset that was answered
  once        every value is in the log at most once, however often it was sent
"""

import random
from dataclasses import dataclass, field
from typing import Final, Literal, cast

from oncelog.errors import ErrorCode
from oncelog.model import Isolation
from oncelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.record.batch import NewRecord, batches, build_batch, records_of
from oncelog.sim.net import Link, Unreachable
from oncelog.sim.world import World
from oncelog.tasks import Task, sleep, spawn

TOPIC: Final = "t"
PRODUCE: Final = (0, 9)
FETCH: Final = (1, 11)
CREATE_TOPICS: Final = (19, 5)
INIT_PRODUCER_ID: Final = (22, 4)


class Violation(AssertionError):
    """An invariant broke. The seed says how."""


@dataclass(slots=True)
class History:
    """What clients were told."""

    seen: dict[tuple[int, int], bytes] = field(default_factory=dict[tuple[int, int], bytes])
    acked: dict[bytes, tuple[int, int]] = field(default_factory=dict[bytes, tuple[int, int]])
    sent: int = 0

    def show(self, partition: int, offset: int, value: bytes) -> None:
        before = self.seen.setdefault((partition, offset), value)
        if before != value:
            raise Violation(f"partition {partition} offset {offset} was {before!r} and is now {value!r}")

    def acknowledge(self, value: bytes, partition: int, offset: int) -> None:
        before = self.acked.setdefault(value, (partition, offset))
        if before != (partition, offset):
            raise Violation(f"{value!r} was acknowledged at {before} and then at {(partition, offset)}")
        self.show(partition, offset, value)


@dataclass(slots=True)
class Outcome:
    """What one seed came to."""

    seed: int
    digest: str
    crashes: int
    acked: int
    records: int
    steps: int
    virtual_ms: float


def settings_of(seed: int) -> dict[str, str]:
    """The configuration is drawn too: small segments so that rolls, snapshots and recovery meet crashes."""
    rng = random.Random(f"settings {seed}")
    return {
        "durability": "power" if rng.random() < 0.8 else "process",
        "log.segment.bytes": str(rng.choice([1024, 4096, 65536])),
        "log.index.interval.bytes": str(rng.choice([0, 200, 4096])),
        "log.flush.offset.checkpoint.interval.ms": str(rng.choice([50, 500, 60_000])),
    }


class LogStory:
    """One seed of it. `calm_ms`: how long faults may happen before the final look."""

    def __init__(self, seed: int, *, producers: int = 3, batches_each: int = 20) -> None:
        self.seed = seed
        self.world = World(seed, settings_of(seed))
        self.rng = random.Random(f"story {seed}")
        self.partitions = self.rng.randint(1, 3)
        self.history = History()
        self._producers = producers
        self._batches = batches_each
        self._busy = True

    def run(self) -> Outcome:
        world = self.world
        world.power_on()
        records = world.run(self._play(), limit_steps=2_000_000)
        return Outcome(
            self.seed,
            world.digest(),
            world.crashes,
            len(self.history.acked),
            records,
            world.loop.steps,
            world.loop.now_ms,
        )

    async def _play(self) -> int:
        world = self.world
        await self._create_topic()
        tasks: list[Task[None]] = [
            spawn(world.loop, self._produce(number), f"producer {number}")
            for number in range(self._producers)
        ]
        faults = spawn(world.loop, self._break_things(), "faults")
        reader = spawn(world.loop, self._read_along(), "reader")
        for task in tasks:
            await task
        self._busy = False
        await faults
        await reader
        return await self._look_at_the_end()

    async def _create_topic(self) -> None:
        while True:
            try:
                link = await self.world.connect()
                request = CreateTopicsRequest(
                    topics=[CreatableTopic(name=TOPIC, num_partitions=self.partitions, replication_factor=1)],
                    timeout_ms=1000,
                )
                answer = cast(
                    CreateTopicsResponse, await link.ask(request, CreateTopicsResponse, *CREATE_TOPICS)
                )
                if answer.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    return
                raise Violation(f"CreateTopics was answered {ErrorCode(answer.topics[0].error_code).name}")
            except Unreachable:
                continue

    async def _produce(self, number: int) -> None:
        """Sends its batches one after another until each is acknowledged; repeats some that were, as retries do."""
        rng = random.Random(f"producer {self.world.seed} {number}")
        partition = rng.randrange(self.partitions)
        link: Link | None = None
        producer_id = -1
        sequence = 0
        for batch_number in range(self._batches):
            values = [f"{number}.{batch_number}.{each}".encode() for each in range(rng.randint(1, 4))]
            repeats = 1 if rng.random() < 0.2 else 0
            while True:
                try:
                    if link is None or not link.is_open:
                        link = await self.world.connect()
                    if producer_id < 0:
                        producer_id = await self._producer_id(link)
                    base = await self._send(link, partition, producer_id, sequence, values)
                except Unreachable:
                    continue
                for place, value in enumerate(values):
                    self.history.acknowledge(value, partition, base + place)
                self.history.sent += 1
                if repeats == 0:
                    break
                repeats -= 1
            sequence += len(values)
            if rng.random() < 0.3:
                await sleep(self.world.loop, rng.uniform(0.0, 40.0))

    async def _producer_id(self, link: Link) -> int:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
        answer = cast(
            InitProducerIdResponse, await link.ask(request, InitProducerIdResponse, *INIT_PRODUCER_ID)
        )
        if answer.error_code:
            raise Unreachable(f"InitProducerId was answered {ErrorCode(answer.error_code).name}")
        return answer.producer_id

    async def _send(
        self, link: Link, partition: int, producer_id: int, sequence: int, values: list[bytes]
    ) -> int:
        records = [NewRecord(None, value, self.world.clock.wall_ms()) for value in values]
        batch = build_batch(records, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        request = ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name=TOPIC, partition_data=[PartitionProduceData(index=partition, records=batch)]
                )
            ],
        )
        answer = cast(ProduceResponse, await link.ask(request, ProduceResponse, *PRODUCE))
        found = answer.responses[0].partition_responses[0]
        if found.error_code in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.KAFKA_STORAGE_ERROR):
            raise Unreachable(ErrorCode(found.error_code).name)
        if found.error_code:
            raise Violation(
                f"Produce was answered {ErrorCode(found.error_code).name} for sequence {sequence}"
            )
        return found.base_offset

    async def _break_things(self) -> None:
        while self._busy:
            await sleep(self.world.loop, self.rng.expovariate(1 / 15.0))
            dice = self.rng.random()
            if dice < 0.35 and self.world.crashes < 25:
                power = self.world.settings["durability"] == "power"
                kept: Literal["process", "power"] = (
                    "power" if power and self.rng.random() < 0.7 else "process"
                )
                self.world.crash(kept)
            elif dice < 0.7:
                links = list(self.world.links)
                if links:
                    self.rng.choice(links).reset()

    async def _read_along(self) -> None:
        """A consumer of every partition: what it was shown must stay true."""
        link: Link | None = None
        positions = dict.fromkeys(range(self.partitions), 0)
        while self._busy:
            try:
                if link is None or not link.is_open:
                    link = await self.world.connect()
                self.check_order()
                for partition in range(self.partitions):
                    positions[partition] = await self._fetch(link, partition, positions[partition])
            except Unreachable:
                link = None
            await sleep(self.world.loop, self.rng.uniform(1.0, 30.0))

    async def _fetch(self, link: Link, partition: int, offset: int) -> int:
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=Isolation.READ_COMMITTED,
            session_epoch=-1,
            topics=[
                FetchTopic(
                    topic=TOPIC,
                    partitions=[
                        FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
                    ],
                )
            ],
        )
        answer = cast(FetchResponse, await link.ask(request, FetchResponse, *FETCH))
        found = answer.responses[0].partitions[0]
        if found.error_code:
            raise Violation(f"Fetch at {offset} was answered {ErrorCode(found.error_code).name}")
        fetched = memoryview(found.records or b"")
        for at, header in batches(fetched):
            for record in records_of(fetched[at : at + header.size], header):
                if record.offset >= offset:
                    self.history.show(partition, record.offset, record.value or b"")
            offset = max(offset, header.next_offset)
        return offset

    def check_order(self) -> None:
        """Invariant 1, on the live partitions."""
        if not self.world.machine.is_up:
            return
        topic = self.world.machine.engine.topics.get(TOPIC)
        for part in topic.partitions if topic is not None else ():
            offsets = [
                part.log_start_offset,
                part.last_stable_offset,
                part.high_watermark,
                part.log_end_offset,
            ]
            if offsets != sorted(offsets):
                raise Violation(f"log start, LSO, high watermark, log end are {offsets}")

    async def _look_at_the_end(self) -> int:
        """Faults are over: reads everything and compares it with what was acknowledged."""
        world = self.world
        world.crash("power" if world.settings["durability"] == "power" else "process")
        link = await world.connect()
        place_of: dict[bytes, tuple[int, int]] = {}
        count = 0
        for partition in range(self.partitions):
            offset = 0
            while True:
                after = await self._fetch(link, partition, offset)
                if after == offset:
                    break
                offset = after
            for (at, place), value in self.history.seen.items():
                if at == partition and place >= offset:
                    raise Violation(
                        f"{value!r} was seen at offset {place} of {partition}; the log ends at {offset}"
                    )
            count += offset
        for place, value in self.history.seen.items():
            if place_of.setdefault(value, place) != place:
                raise Violation(f"{value!r} stands at {place_of[value]} and at {place}")
        if len(self.history.seen) != count:
            raise Violation(f"{count} offsets in the log, {len(self.history.seen)} values seen")
        return count
