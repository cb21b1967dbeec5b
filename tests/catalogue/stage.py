"""A whole broker on a virtual clock over a disk in memory: for tests that need one exact order of events.

Requests go as bytes through the connection and the handlers of the real broker; only sockets are left out. Time passes
when a test waits, a write may be refused, a transaction may be paused or the machine killed at a protocol state.
"""

from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, Final, Literal, TypeVar, cast

from oncelog.broker.connection import Connection
from oncelog.broker.faults import Armed, Faults
from oncelog.broker.runtime import Runtime
from oncelog.client.session import api_of
from oncelog.client.visible import AbortedFrom, visible
from oncelog.config import read_broker_config
from oncelog.engine.classic.engine import ClassicEngine
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.memory import MemoryDisk
from oncelog.engine.port import Appended, Read, Refused
from oncelog.errors import ErrorCode
from oncelog.model import TRANSACTION_STATE, Isolation, TopicPartition, coordinator_partition
from oncelog.protocol.apis import APIS
from oncelog.protocol.frame import Frames
from oncelog.protocol.header import read_response_header, request_frame
from oncelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from oncelog.protocol.primitives import Message
from oncelog.record.batch import batches, records_of
from oncelog.record.txn_state import TransactionValue, decode_key, decode_value
from oncelog.sim.loop import SeededChance, VirtualClock, VirtualLoop
from oncelog.tasks import Future, resolved, spawn

T = TypeVar("T")

DAY_MS: Final = 86_400_000
LONGEST_MS: Final = 60_000.0  # no answer of any test takes longer
FEW_PARTITIONS: Final[Mapping[str, str]] = {
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}


class Down(Exception):
    """The machine was killed while somebody waited for it."""


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class Line:
    """One connection: frames in order, answers by their correlation ids."""

    def __init__(self, broker: Runtime, number: int) -> None:
        self._connection = Connection(
            broker,
            self,
            connection_id=number,
            peer_host="127.0.0.1",
            peer_port=number,
            on_idle=lambda: None,
        )
        self._frames = Frames(1 << 28)
        self._waiting: dict[int, tuple[int, int, Future[Any]]] = {}
        self._count = 0
        self.is_open = True

    def begin(self, request: Message, version: int) -> Future[Any]:
        api = api_of(request)
        self._count += 1
        answer: Future[Any] = Future()
        self._waiting[self._count] = (api.key, version, answer)
        frame = request_frame(api.key, version, self._count, "client", request)
        self._connection.frames([bytes(frame)[4:]])
        return answer

    # Wire: what the broker's side calls.
    def write(self, parts: list[Any]) -> None:
        for frame in self._frames.feed(b"".join(parts)):
            number = int.from_bytes(frame[:4], "big")
            key, version, answer = self._waiting.pop(number)
            _, at = read_response_header(frame, key, version)
            answer.set_result(APIS[key].response_class().decode(frame, version, at))

    def close(self) -> None:
        self.is_open = False
        waiting, self._waiting = self._waiting, {}
        for _, _, answer in waiting.values():
            answer.set_error(Closed())


class Stage:
    """One machine and its lives. Settings go by Kafka's names: Stage({"durability": "power"})."""

    def __init__(self, settings: Mapping[str, str] | None = None, *, seed: int = 0) -> None:
        self.random = Random(seed)
        self.loop = VirtualLoop(self.random)
        self.clock = VirtualClock(self.loop)
        self.disk = MemoryDisk(self.loop, self.random)
        self.settings = {**FEW_PARTITIONS, **(settings or {})}
        self.fault: BaseException | None = None  # what the broker stopped for
        self.dead = False
        self._power_on()

    # Lives

    def _power_on(self, *, settle: bool = True) -> None:
        self.dead = False
        self.fault = None
        self._lines: dict[int, Line] = {}
        self._config = read_broker_config(self.settings)
        self._chance = SeededChance(self.random)
        self.engine = ClassicEngine(self.disk, self.loop, self.clock, self._chance, self._config)
        self.broker = self.runtime()
        self.faults = Faults(self._die)
        self.broker.transactions.points = self.faults
        self.run(self.broker.start())
        for kind in (0, 1):  # both internal topics are there
            self.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=["any"]), 4)
        if settle:
            self.settle()

    def runtime(self) -> Runtime:
        """A broker over the engine of this life, not started."""
        return Runtime(
            engine=self.engine,
            config=self._config,
            loop=self.loop,
            clock=self.clock,
            chance=self._chance,
            host="broker",
            port=9092,
            on_fatal=self._stop_for,
        )

    def _stop_for(self, fault: BaseException) -> None:
        self.fault = fault

    def _die(self) -> None:
        self.dead = True

    def crash(
        self,
        kept: Literal["process", "power"] = "process",
        settings: Mapping[str, str] | None = None,
        *,
        settle: bool = True,
    ) -> None:
        """kill -9 or a power cut, then the next life; with other settings if any are given.

        Without `settle` the first moment of that life is shown, when what was decided is not finished yet.
        """
        self.loop.drop_all()
        self.disk.crash(kept)
        self.settings.update(settings or {})
        self._power_on(settle=settle)

    def restart(self, settings: Mapping[str, str] | None = None) -> None:
        """A clean stop and the next life."""
        self.run(self.broker.stop())
        self.loop.drop_all()
        self.settings.update(settings or {})
        self._power_on()

    # Time

    def run(self, work: "Coroutine[Any, Any, T] | Future[T]", *, limit_ms: float = LONGEST_MS) -> T:
        """Lets things happen until this is done."""
        task = work if isinstance(work, Future) else spawn(self.loop, work)
        end = self.loop.now_ms + limit_ms
        while not task.done():
            if self.dead:
                raise Down
            assert self.loop.step(), "it waits for something that never comes"
            assert self.loop.now_ms <= end, f"not done after {limit_ms} ms"
        return task.result()

    def settle(self, ms: float = 50) -> None:
        """Lets happen what happens in the next milliseconds."""
        passed: list[bool] = []
        self.loop.call_later(ms, lambda: passed.append(True))
        while not passed:
            if self.dead:
                raise Down
            self.loop.step()

    # Requests

    def line(self, number: int) -> Line:
        """The connection of this number; a higher one was opened later."""
        found = self._lines.get(number)
        if found is None or not found.is_open:
            found = self._lines[number] = Line(self.broker, number)
        return found

    def begin(self, request: Message, version: int, *, connection: int = 1) -> Future[Any]:
        """Sends a request; the future has its answer. Requests of one connection are handled one after the other."""
        return self.line(connection).begin(request, version)

    def ask(self, request: Message, version: int, *, connection: int = 1) -> Any:
        return self.run(self.begin(request, version, connection=connection))

    # Topics and what is in them

    def topic(self, name: str = "t", partitions: int = 1, **configs: str) -> str:
        texts = {key.replace("_", "."): text for key, text in configs.items()}
        self.run(self.engine.create_topic(name, partitions, texts))
        return name

    def part(self, topic: str = "t", index: int = 0) -> ClassicPartition:
        return cast(ClassicPartition, self.engine.topics[topic].partitions[index])

    def state_log(self, transactional_id: str) -> ClassicPartition:
        """The partition of __transaction_state that keeps this id."""
        count = len(self.engine.topics[TRANSACTION_STATE].partitions)
        return self.part(TRANSACTION_STATE, coordinator_partition(transactional_id, count))

    def read(self, topic: str = "t", index: int = 0, *, offset: int = 0, committed: bool = True) -> Read:
        isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED
        reading = self.part(topic, index).read(
            offset, max_bytes=1 << 20, isolation=isolation, at_least_one_batch=True
        )
        return self.run(reading)

    def values(self, topic: str = "t", index: int = 0, *, committed: bool = True) -> list[str]:
        """What a consumer of this isolation is given, from the start to the end."""
        isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED
        offset, found = self.part(topic, index).log_start_offset, list[str]()
        while True:
            read = self.read(topic, index, offset=offset, committed=committed)
            if not read.records:
                return found
            seen = visible(
                TopicPartition(topic, index),
                read.records,
                from_offset=offset,
                isolation=isolation,
                aborted=[AbortedFrom(each.first_offset, each.producer_id) for each in read.aborted or ()],
            )
            found += [(record.value or b"").decode() for record in seen.records]
            offset = seen.next_offset

    def written(self, transactional_id: str) -> list[TransactionValue | None]:
        """Every record of this id in __transaction_state, oldest first; None for a tombstone."""
        log = self.state_log(transactional_id)
        offset, found = log.log_start_offset, list[TransactionValue | None]()
        while offset < log.log_end_offset:
            data = self.read(TRANSACTION_STATE, log.index, offset=offset, committed=False).records
            for at, header in batches(data):
                offset = header.next_offset
                for record in records_of(data[at : at + header.size], header):
                    key = None if record.key is None else decode_key(record.key)
                    if key is not None and key.transactional_id == transactional_id:
                        found.append(None if record.value is None else decode_value(record.value))
        return found

    def open_transactions(self, topic: str = "t", index: int = 0) -> list[int]:
        """Producer ids that have a transaction open on a partition."""
        return [
            each.producer_id
            for each in self.part(topic, index).producers()
            if each.transaction_start_offset >= 0
        ]

    # Faults

    def pause(self, point: str, partition: TopicPartition | None = None) -> Armed:
        """The next transaction that comes to this point stays there until `resume()` of what is returned."""
        return self.faults.arm("pause", point, None, partition)

    def kill_at(self, point: str) -> Armed:
        """The machine goes down when a transaction next comes to this point: `Down` is raised to whoever waits."""
        return self.faults.arm("fail", point)

    def lose_marker(self) -> Armed:
        return self.faults.arm("lose", "before_marker")


def stand_in(target: Any, name: str, with_: Callable[..., Any]) -> None:
    """From now on `target` does this instead."""
    setattr(target, name, with_)


class Refusing:
    """Refuses writes to one partition while it is `on`: `with Refusing(partition, error) as refusing:`."""

    def __init__(
        self,
        partition: ClassicPartition,
        error: ErrorCode = ErrorCode.NOT_ENOUGH_REPLICAS,
        *,
        only: Callable[[bytes], bool] = lambda _: True,
        markers: bool = False,
        times: int = 1 << 30,
    ) -> None:
        self._partition = partition
        self._error = error
        self._only = only
        self._markers = markers
        self._left = times
        self.refused = 0

    def _refuses(self) -> bool:
        if self._left <= 0:
            return False
        self._left -= 1
        self.refused += 1
        return True

    def __enter__(self) -> "Refusing":
        self._append, self._append_marker = self._partition.append, self._partition.append_marker

        def append(batch: Any, **how: Any) -> Future[Appended | Refused]:
            if not self._markers and self._only(bytes(batch)) and self._refuses():
                return resolved(Refused(self._error))
            return self._append(batch, **how)

        def append_marker(**how: Any) -> Future[Appended | Refused]:
            if self._markers and self._refuses():
                return resolved(Refused(self._error))
            return self._append_marker(**how)

        self._partition.append = append
        self._partition.append_marker = append_marker
        return self

    def __exit__(self, *_: object) -> None:
        del self._partition.append, self._partition.append_marker
