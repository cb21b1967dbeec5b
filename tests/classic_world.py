"""A classic engine on a virtual loop, over a real directory or over a disk that can lose power: for its tests."""

from collections.abc import Coroutine, Mapping
from random import Random
from typing import Any, Literal, TypeVar

from oncelog.config import read_broker_config
from oncelog.engine.classic.engine import ClassicEngine
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.disk import RealDisk
from oncelog.engine.memory import MemoryDisk
from oncelog.engine.port import Appended, Read, Refused
from oncelog.log.state import Guard, begin_verification
from oncelog.model import Acks, Isolation, Origin
from oncelog.ports import Disk
from oncelog.record.batch import NewRecord, build_batch, read_header, records_of
from oncelog.record.batch import batches as each_batch
from oncelog.sim.loop import SeededChance, VirtualClock, VirtualLoop
from oncelog.tasks import Future, spawn

T = TypeVar("T")


class Killed(BaseException):
    """Out of the disk, just before a change of it."""


class World:
    """One engine and what it stands on. `again()` is the next process on the same disk."""

    def __init__(self, *, seed: int = 0, settings: Mapping[str, str] | None = None, **texts: str) -> None:
        self.random = Random(seed)
        self.loop = VirtualLoop(self.random)
        self.clock = VirtualClock(self.loop)
        self.memory = MemoryDisk(self.loop, self.random)
        self.disk: Disk = self.memory
        self.config = read_broker_config({**(settings or {}), **texts})
        self.engine = self._engine()

    @classmethod
    def on(cls, path: str, **texts: str) -> "World":
        world = cls(settings=texts)
        world.disk = RealDisk(path, world.loop)
        world.engine = world._engine()
        return world

    def _engine(self) -> ClassicEngine:
        return ClassicEngine(self.disk, self.loop, self.clock, SeededChance(self.random), self.config)

    def run(self, work: Coroutine[Any, Any, T] | Future[T]) -> T:
        task = work if isinstance(work, Future) else spawn(self.loop, work)
        while not task.done() and self.loop.step():
            pass
        assert task.done(), "nothing is left to happen, and it is not done"
        return task.result()

    def settle(self, within_ms: float = 100) -> None:
        """Lets happen what is due soon."""
        done: list[bool] = []
        self.loop.call_later(within_ms, lambda: done.append(True))
        while not done:
            self.loop.step()

    def start(self) -> "World":
        self.run(self.engine.start())
        return self

    def stop(self) -> None:
        self.run(self.engine.stop())

    def stop_short(self, changes: int) -> bool:
        """Stops, and is killed just before that change of the disk; False if the stop makes fewer."""
        left = changes

        def count(*_: str) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise Killed

        self.memory.before_change = count
        try:
            self.stop()
        except Killed:
            return True
        return False

    def close(self) -> None:
        """The process is gone: its files and its lock on the directory are let go. A stop may have come before, or not."""
        if isinstance(self.disk, RealDisk):
            self.disk.close()

    def again(self) -> "World":
        """The next process; what the last one had in mind is forgotten."""
        self.loop.drop_all()
        self.engine = self._engine()
        return self.start()

    def crash(self, kept: Literal["process", "power"]) -> "World":
        self.loop.drop_all()
        self.memory.crash(kept)
        self.engine = self._engine()
        return self

    def topic(
        self, name: str = "t", partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> ClassicPartition:
        self.run(self.engine.create_topic(name, partitions, configs or {}))
        return self.part(name)

    def part(self, name: str = "t", index: int = 0) -> ClassicPartition:
        partition = self.engine.topics[name].partitions[index]
        assert isinstance(partition, ClassicPartition)
        return partition

    def send(
        self, batch: bytes, *, acks: Acks = Acks.ALL, origin: Origin = Origin.CLIENT
    ) -> Appended | Refused:
        return self.run(self.part().append(batch, acks=acks, origin=origin))

    def put(self, *values: bytes | str, **header: Any) -> Appended:
        found = self.send(batch_of(*values, now=self.clock.wall_ms(), **header))
        assert isinstance(found, Appended), found
        return found

    def guard_for(self, batch: bytes) -> Guard | None:
        """As the transaction coordinator gives one for the first batch of a transaction."""
        header, part = read_header(batch), self.part()
        guard = begin_verification(
            part.state,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            supports_epoch_bump=False,
            now=self.clock.wall_ms(),
        )
        assert guard is None or isinstance(guard, Guard)
        return guard

    def put_verified(self, batch: bytes) -> Appended:
        found = self.run(self.part().append(batch, acks=Acks.ALL, guard=self.guard_for(batch)))
        assert isinstance(found, Appended), found
        return found

    def read(
        self, offset: int = 0, *, max_bytes: int = 1 << 20, committed: bool = False, one: bool = True
    ) -> Read:
        isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED
        return self.run(
            self.part().read(offset, max_bytes=max_bytes, isolation=isolation, at_least_one_batch=one)
        )

    def values(self, offset: int | None = None, *, committed: bool = False) -> dict[int, bytes | None]:
        """offset -> value of all records up to the end, read as a consumer would."""
        at = self.part().log_start_offset if offset is None else offset
        found: dict[int, bytes | None] = {}
        while True:
            read = self.read(at, max_bytes=4096, committed=committed)
            if not read.records:
                return found
            for position, header in each_batch(read.records):
                at = header.next_offset
                if not header.is_control:
                    for record in records_of(read.records[position : position + header.size], header):
                        found[record.offset] = record.value


def batch_of(*values: bytes | str, now: int = 1_700_000_000_000, **header: Any) -> bytes:
    records = [NewRecord(None, value.encode() if isinstance(value, str) else value, now) for value in values]
    return build_batch(records, **header)
