"""A small world for tests of groups: a loop that is turned by hand, a log in memory, and every handler of groups."""

import heapq
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar, cast

from oncelog.broker.context import Context
from oncelog.broker.groups import GroupCoordinator
from oncelog.broker.runtime import Runtime
from oncelog.config import BrokerConfig
from oncelog.engine.port import Appended, OffsetAt, ProducerView, Read, Refused, Topic
from oncelog.errors import ErrorCode
from oncelog.group.shard import Shard
from oncelog.model import CONSUMER_OFFSETS, Acks, Isolation, Millis, Origin, TopicId
from oncelog.ports import Bytes
from oncelog.protocol.primitives import Message
from oncelog.record.batch import batches, patch_offset, read_header
from oncelog.record.marker import encode_marker
from oncelog.tasks import Future, Task, Timer, resolved, spawn

T = TypeVar("T")
START_MS = 1_700_000_000_000


class ManualTimer:
    def __init__(self, run: Callable[[], None]) -> None:
        self.run = run
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualLoop:
    """Time passes when `advance` says so."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self._soon: list[Callable[[], None]] = []
        self._timers: list[tuple[float, int, ManualTimer]] = []
        self._count = 0

    def call_soon(self, run: Callable[[], None]) -> None:
        self._soon.append(run)

    def call_later(self, delay_ms: float, run: Callable[[], None]) -> Timer:
        timer = ManualTimer(run)
        self._count += 1
        heapq.heappush(self._timers, (self.now_ms + max(delay_ms, 0), self._count, timer))
        return timer

    def in_thread(self, run: Callable[[], T]) -> Future[T]:
        raise AssertionError(run)

    def run(self) -> None:
        """Everything that can happen without time passing."""
        while True:
            soon, self._soon = self._soon, []
            for each in soon:
                each()
            if self._soon:
                continue
            if self._timers and self._timers[0][0] <= self.now_ms:
                timer = heapq.heappop(self._timers)[2]
                if not timer.cancelled:
                    timer.run()
                continue
            return

    def advance(self, ms: float) -> None:
        end = self.now_ms + ms
        self.run()
        while self._timers and self._timers[0][0] <= end:
            self.now_ms = max(self.now_ms, self._timers[0][0])
            self.run()
        self.now_ms = end
        self.run()

    def armed(self) -> int:
        return sum(not timer.cancelled for _, _, timer in self._timers)


class ManualClock:
    def __init__(self, loop: ManualLoop) -> None:
        self._loop = loop

    def wall_ms(self) -> Millis:
        return Millis(START_MS + int(self._loop.now_ms))

    def monotonic_ms(self) -> Millis:
        return Millis(int(self._loop.now_ms))

    def monotonic_ns(self) -> int:
        return int(self._loop.now_ms * 1_000_000)


class CountingChance:
    def __init__(self) -> None:
        self._count = 0

    def token_bytes(self, count: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(count, "big")


class MemoryPartition:
    """A log of batches. With `held` nothing becomes durable until `sync`."""

    def __init__(self, topic: str, index: int) -> None:
        self.topic = topic
        self.index = index
        self.leader_epoch = 0
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.batches: list[bytes] = []
        self.held = False
        self.refuse: ErrorCode | None = None
        self.displace = 0  # by how much the answers to appends are wrong
        self._waiting: list[tuple[Future[Appended | Refused], Appended]] = []

    @property
    def last_stable_offset(self) -> int:
        return self.high_watermark

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.batches))

    def append(
        self, batch: Bytes, *, acks: Acks, origin: Origin = Origin.CLIENT, guard: object = None
    ) -> Future[Appended | Refused]:
        assert guard is None
        assert acks is Acks.ALL
        assert origin is Origin.COORDINATOR
        if self.refuse is not None:
            return resolved(Refused(self.refuse))
        return self._append(bytearray(batch))

    def append_marker(
        self,
        *,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        transaction_version: int,
    ) -> Future[Appended | Refused]:
        assert transaction_version in (0, 1, 2)
        if self.refuse is not None:
            return resolved(Refused(self.refuse))
        marker = encode_marker(
            base_offset=self.log_end_offset,
            leader_epoch=0,
            timestamp=START_MS,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            commit=commit,
        )
        return self._append(bytearray(marker))

    def _append(self, batch: bytearray) -> Future[Appended | Refused]:
        patch_offset(batch, self.log_end_offset, 0)
        header = read_header(batch)
        self.batches.append(bytes(batch))
        self.log_end_offset = header.next_offset
        future: Future[Appended | Refused] = Future()
        self._waiting.append(
            (future, Appended(header.base_offset + self.displace, header.last_offset, -1, 0))
        )
        if not self.held:
            self.sync()
        return future

    def sync(self) -> None:
        self.high_watermark = self.log_end_offset
        waiting, self._waiting = self._waiting, []
        for future, appended in waiting:
            future.set_result(appended)

    def fail(self, fault: BaseException) -> None:
        """What was not synced is lost, and whoever waits for it hears so."""
        while self.batches and read_header(self.batches[-1]).base_offset >= self.high_watermark:
            self.batches.pop()
        self.log_end_offset = self.high_watermark
        waiting, self._waiting = self._waiting, []
        for future, _ in waiting:
            future.set_error(fault)

    async def read(
        self, offset: int, *, max_bytes: int, isolation: Isolation, at_least_one_batch: bool
    ) -> Read:
        assert max_bytes > 0
        assert isolation is Isolation.READ_UNCOMMITTED
        assert at_least_one_batch
        found = b""
        for batch in self.batches:
            header = read_header(batch)
            if header.next_offset > offset and header.next_offset <= self.high_watermark:
                found += batch
                break
        return Read(ErrorCode.NONE, found, self.high_watermark, self.high_watermark, 0, None)

    def available_bytes(self, offset: int, isolation: Isolation, limit_bytes: int) -> int:
        raise AssertionError((offset, isolation, limit_bytes))

    async def offset_at(self, timestamp: int, isolation: Isolation) -> OffsetAt:
        raise AssertionError((timestamp, isolation))

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        raise AssertionError(leader_epoch)

    async def delete_records(self, before_offset: int) -> ErrorCode:
        raise AssertionError(before_offset)

    def keep_tombstones(self, from_offset: int) -> None:
        raise AssertionError(from_offset)

    def producers(self) -> Sequence[ProducerView]:
        return ()

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        raise AssertionError((producer_id, producer_epoch))

    def watch(self, run: Callable[[], None]) -> Callable[[], None]:
        raise AssertionError(run)


class MemoryEngine:
    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self._ids = 0

    def add_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> Topic:
        self._ids += 1
        topic = Topic(
            name,
            TopicId(self._ids.to_bytes(16, "big")),
            [cast(Any, MemoryPartition(name, index)) for index in range(partitions)],
            dict(configs or {}),
        )
        self.topics[name] = topic
        return topic

    def topic_by_id(self, topic_id: TopicId) -> Topic | None:
        return next((topic for topic in self.topics.values() if topic.id == topic_id), None)

    async def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> Topic:
        return self.add_topic(name, partitions, configs)

    def logs(self) -> list[MemoryPartition]:
        return [cast(MemoryPartition, each) for each in self.topics[CONSUMER_OFFSETS].partitions]


class World:
    """A coordinator on a log in memory, with the topics `t` (3 partitions) and `u` (2)."""

    def __init__(self, *, offsets_partitions: int = 2, **config: Any) -> None:
        settings: dict[str, Any] = {
            "group_initial_rebalance_delay_ms": 10,
            "offsets_topic_num_partitions": offsets_partitions,
        }
        self.config = BrokerConfig(**{**settings, **config})
        self.loop = ManualLoop()
        self.clock = ManualClock(self.loop)
        self.chance = CountingChance()
        self.engine = MemoryEngine()
        self.engine.add_topic("t", 3)
        self.engine.add_topic("u", 2)
        self.groups = self._coordinator()
        self.call(self.groups.start())
        self.call(self.groups.ensure_topic())

    def _coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(cast(Any, self.engine), self.loop, self.clock, self.chance, self.config)

    def restart(self) -> None:
        """What was durable is read by a new coordinator; nothing else is known to it."""
        self.call(self.groups.stop())
        self.groups = self._coordinator()
        self.call(self.groups.start())

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Task[T]:
        task = spawn(self.loop, coroutine)
        self.loop.run()
        return task

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = self.begin(coroutine)
        assert task.done(), "it waits for something"
        return task.result()

    def context(self, version: int, client_id: str = "c") -> Context:
        return Context(
            api_key=-1,
            version=version,
            client_id=client_id,
            peer_host="127.0.0.1",
            peer_port=1,
            connection_id=1,
            response_version=version,
        )

    def handle(self, handler: Any, request: Any, version: int, client_id: str = "c") -> Any:
        """The coroutine of a handler, with the request and the answer taken through their bytes."""

        async def both_ways() -> Any:
            asked = cast(type[Message], type(request))
            there = asked.decode(request.encode(version), version)
            answer = await handler.handle(there, self.context(version, client_id), cast(Runtime, self))
            answered = cast(type[Message], type(answer))
            return answered.decode(answer.encode(version), version)

        return both_ways()

    def ask(self, handler: Any, request: Any, version: int, client_id: str = "c") -> Any:
        return self.call(self.handle(handler, request, version, client_id))

    def shard(self, group_id: str) -> Shard:
        """The state in memory, for tests that look inside."""
        return self.groups._shards[self.groups.partition_of(group_id)].state  # pyright: ignore[reportPrivateUsage]

    def log(self, group_id: str) -> MemoryPartition:
        return self.engine.logs()[self.groups.partition_of(group_id)]

    def records_written(self) -> int:
        return sum(
            header.count for log in self.engine.logs() for each in log.batches for _, header in batches(each)
        )
