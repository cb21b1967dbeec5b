"""A broker without a disk: an engine of dictionaries under the real runtime, and requests that go through the codec."""

import random
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar, cast

from oncelog.broker.context import Context
from oncelog.broker.handlers import SERVED, api_of
from oncelog.broker.runtime import Runtime
from oncelog.config import BrokerConfig
from oncelog.engine.port import Figures, OffsetAt, Partition, Read, Topic
from oncelog.errors import ErrorCode
from oncelog.model import Isolation, Millis, TopicId
from oncelog.protocol.apis import APIS
from oncelog.protocol.primitives import Message
from oncelog.sim.loop import SeededChance, VirtualClock, VirtualLoop
from oncelog.tasks import after, spawn

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=Message)


class FakePartition:
    """Offsets that a test sets by hand. Nothing is stored, so there is no append: administration writes no records."""

    def __init__(self, topic: str, index: int) -> None:
        self.topic = topic
        self.index = index
        self.leader_epoch = 3
        self.log_start_offset = 0
        self.last_stable_offset = 0
        self.high_watermark = 0
        self.log_end_offset = 0
        self.size_bytes = 0
        self.by_time: dict[int, OffsetAt] = {}
        self.asked: list[tuple[int, Isolation]] = []

    async def read(
        self, offset: int, *, max_bytes: int, isolation: Isolation, at_least_one_batch: bool
    ) -> Read:
        """Empty: a coordinator that loads its topic finds nothing."""
        del max_bytes, isolation, at_least_one_batch
        return Read(ErrorCode.NONE, b"", offset, offset, self.log_start_offset, None)

    def available_bytes(self, offset: int, isolation: Isolation, limit_bytes: int) -> int:
        del offset, isolation, limit_bytes
        return 0

    async def offset_at(self, timestamp: int, isolation: Isolation) -> OffsetAt:
        self.asked.append((timestamp, isolation))
        return self.by_time.get(timestamp, OffsetAt(-1, -1, -1))

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        return (leader_epoch, self.log_end_offset) if 0 <= leader_epoch <= self.leader_epoch else (-1, -1)

    async def delete_records(self, before_offset: int) -> ErrorCode:
        self.log_start_offset = self.high_watermark if before_offset == -1 else before_offset
        return ErrorCode.NONE

    def keep_tombstones(self, from_offset: int) -> None:
        del from_offset


def _fresh(topic: str, first: int, end: int) -> list[Partition]:
    return [cast(Partition, FakePartition(topic, index)) for index in range(first, end)]


class FakeEngine:
    """Every change takes a moment, as a disk would: that is when requests can get in each other's way."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._topics: dict[str, Topic] = {}
        self._notes: dict[str, bytes] = {}
        self._ids = 0
        self.cluster_id = "a-cluster-of-one"
        self.claimed = 0
        self.claim_faults: list[BaseException] = []

    @property
    def topics(self) -> Mapping[str, Topic]:
        return self._topics

    def topic_by_id(self, topic_id: TopicId) -> Topic | None:
        return next((topic for topic in self._topics.values() if topic.id == topic_id), None)

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> Topic:
        await after(self._loop, 1)
        assert name not in self._topics
        self._ids += 1
        here = _fresh(name, 0, partitions)
        topic = Topic(name, TopicId(self._ids.to_bytes(16, "big")), here, dict(configs))
        self._topics[name] = topic
        return topic

    async def delete_topic(self, name: str) -> None:
        await after(self._loop, 1)
        del self._topics[name]

    async def create_partitions(self, name: str, count: int) -> None:
        await after(self._loop, 1)
        topic = self._topics[name]
        more = _fresh(name, len(topic.partitions), count)
        self._topics[name] = Topic(name, topic.id, [*topic.partitions, *more], topic.configs)

    async def set_topic_configs(self, name: str, configs: Mapping[str, str]) -> None:
        await after(self._loop, 1)
        topic = self._topics[name]
        self._topics[name] = Topic(name, topic.id, topic.partitions, dict(configs))

    async def claim_producer_ids(self, count: int) -> range:
        await after(self._loop, 1)
        if self.claim_faults:
            raise self.claim_faults.pop()
        first, self.claimed = self.claimed, self.claimed + count
        return range(first, self.claimed)

    async def keep_note(self, name: str, data: bytes) -> None:
        await after(self._loop, 1)
        self._notes[name] = data

    async def note(self, name: str) -> bytes | None:
        return self._notes.get(name)

    def figures(self) -> Figures:
        return Figures({}, {})

    def now_ms(self) -> Millis:
        return Millis(0)


class Stage:
    """A runtime over the fake engine. `ask` sends a request as the wire would and gives the answer back."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.loop = VirtualLoop(random.Random(1))
        self.engine = FakeEngine(self.loop)
        self.faults: list[BaseException] = []
        self.broker = Runtime(
            engine=self.engine,
            config=config or BrokerConfig(node_id=1),
            loop=self.loop,
            clock=VirtualClock(self.loop),
            chance=SeededChance(random.Random(2)),
            host="broker.example",
            port=9092,
            on_fatal=self.faults.append,
        )

    def run(self, coroutine: Coroutine[Any, Any, T], *, until_ms: float = 1000) -> T:
        return self.run_all([coroutine], until_ms=until_ms)[0]

    def run_all(self, coroutines: Sequence[Coroutine[Any, Any, T]], *, until_ms: float = 1000) -> list[T]:
        """Begins all of them, then lets virtual time pass until they are done, and a little more for what they left."""
        tasks = [spawn(self.loop, each, "test") for each in coroutines]
        end = self.loop.now_ms + until_ms
        for task in tasks:
            while not task.done() and self.loop.now_ms < end:
                assert self.loop.step(), "a task waits for something that never comes"
        results = [task.result() for task in tasks]
        self.pass_time(10)
        return results

    def pass_time(self, for_ms: float) -> None:
        end: list[bool] = []
        self.loop.call_later(for_ms, lambda: end.append(True))
        while not end:
            self.loop.step()

    def topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> Topic:
        return self.run(self.engine.create_topic(name, partitions, configs or {}))

    def partition(self, topic: str, index: int) -> FakePartition:
        return cast(FakePartition, self.engine.topics[topic].partitions[index])

    def ask(self, request: Message, answer: type[AnswerT], version: int) -> AnswerT:
        """The answer of the handler, both ways through the codec in this version."""
        found = self.run(self.answering(request, version))
        assert isinstance(found, answer)
        return found

    async def answering(self, request: Message, version: int) -> Message:
        key = next(key for key, api in APIS.items() if api.request_class() is type(request))
        api = api_of(key, version, self.broker.offered)
        assert api is not None, f"{type(request).__name__} v{version} is not served"
        context = Context(
            api_key=key,
            version=version,
            client_id="test",
            peer_host="127.0.0.1",
            peer_port=1,
            connection_id=1,
            response_version=version,
        )
        read = api.decode(request.encode(version), version, 0)
        answer: Message = await api.handle(read, context, self.broker)
        return APIS[key].response_class().decode(answer.encode(version), version)


def versions(key: int) -> range:
    """Every version of an API that we answer."""
    served = SERVED[key]
    return range(served.min_version, served.max_version + 1)
