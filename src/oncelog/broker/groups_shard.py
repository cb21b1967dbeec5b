"""One partition of __consumer_offsets at work: loads its groups from the log, writes records, runs timers, holds requests.

What is decided is appended and applied in the same breath, so the next decision sees it; an answer leaves only when the
log says that it is durable. A write that fails afterwards leaves memory ahead of the log: then everything is dropped and
read again.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar

from oncelog.engine.port import Appended, Partition, Refused
from oncelog.errors import CorruptBatch, ErrorCode, StorageFault
from oncelog.group import classic, consumer
from oncelog.group.classic import ClassicGroup
from oncelog.group.consumer import Decision, Entry, Topics
from oncelog.group.effects import (
    Arm,
    Cancel,
    Effects,
    EmptyGroupWritten,
    JoinReply,
    RebalanceTimeout,
    SessionTimeout,
    SyncReply,
    TimerEvent,
    TimerKey,
    Token,
    WriteGroup,
)
from oncelog.group.replay import Replay
from oncelog.group.shard import Shard
from oncelog.log.state import Guard
from oncelog.model import Acks, Isolation, Origin, Producer
from oncelog.ports import Clock
from oncelog.record.batch import NewRecord, batches, build_batch, demand_crc
from oncelog.record.offsets import (
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    encode_key,
    encode_value,
)
from oncelog.tasks import Future, Loop, Task, Timer, resolved, sleep, spawn, supervise

log: Final = logging.getLogger(__name__)
T = TypeVar("T")

LOAD_BYTES: Final = 1 << 16  # read and replayed between two turns of the loop: a few milliseconds
LIMIT_RECORDS_PER_BATCH: Final = 1000  # of writes that may be split
RELOAD_WAIT_MS: Final = 10
NO_SEQUENCE_CHECKED: Final = 0  # Kafka's coordinator writes 0, and nobody looks (FMT-4)

# what the log's refusal means to a client of the coordinator
REFUSALS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class Status(Enum):
    LOADING = "loading"
    READY = "ready"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the rules need of the broker's configuration."""

    classic: classic.Limits
    consumer: consumer.Limits


@dataclass(slots=True)
class _Running:
    """A timer. A later deadline does not touch the loop: it is looked at when the timer fires."""

    deadline_ms: int
    event: TimerEvent
    handle: Timer


class LiveShard:
    def __init__(
        self, partition: Partition, *, loop: Loop, clock: Clock, topics: Topics, settings: Settings
    ) -> None:
        self.state = Shard()
        self.status = Status.LOADING
        self.rebalances = 0  # of classic groups, come to their end
        self._partition = partition
        self._name = f"{partition.topic}-{partition.index}"
        self._loop = loop
        self._clock = clock
        self._topics = topics
        self._settings = settings
        self._timers: dict[str, dict[TimerKey, _Running]] = {}
        self._waiting: dict[Token, Future[JoinReply | SyncReply]] = {}
        self._tokens = 0
        self._last_write: Future[ErrorCode] = resolved(ErrorCode.NONE)
        self._deleted_topics: list[str] = []  # while loading
        self._task: Task[None] | None = None

    # --- life ---

    def load(self) -> None:
        """Begins to read the log; an empty one is ready at once."""
        self.status = Status.LOADING
        self._task = spawn(self._loop, self._load(), f"load {self._name}")
        supervise(self._task, self._load_failed)

    def stop(self) -> None:
        self.status = Status.STOPPED
        if self._task is not None:
            self._task.cancel()
        self._drop_all(ErrorCode.NOT_COORDINATOR)

    def _load_failed(self, name: str, fault: BaseException) -> None:
        log.error("groups.load_failed task=%s fault=%s", name, fault)

    async def _load(self) -> None:
        partition = self._partition
        replay = Replay()
        offset = partition.log_start_offset
        while offset < partition.log_end_offset:
            found = await partition.read(
                offset, max_bytes=LOAD_BYTES, isolation=Isolation.READ_UNCOMMITTED, at_least_one_batch=True
            )
            if found.error is ErrorCode.OFFSET_OUT_OF_RANGE and offset < found.log_start_offset:
                offset = found.log_start_offset
                continue
            if found.error is not ErrorCode.NONE:
                raise StorageFault(f"{self._name} at {offset}: {found.error.name}")
            data = memoryview(found.records)
            begin = offset
            for at, header in batches(data):
                if header.next_offset > offset:
                    try:
                        batch = data[at : at + header.size]
                        demand_crc(batch, header)  # a wrong position would lose records for a group
                        replay.batch(batch, header, offset)
                    except CorruptBatch as fault:
                        raise CorruptBatch(f"{self._name}: {fault}") from fault
                    offset = header.next_offset
            # at the high watermark with more to come: writes of before a reload become durable soon
            await sleep(self._loop, RELOAD_WAIT_MS if offset == begin else 0)
        for _ in replay.finish():
            await sleep(self._loop, 0)
        if replay.skipped:
            log.warning("groups.records_skipped partition=%s count=%d", self._name, replay.skipped)
        self.state = replay.shard
        self.status = Status.READY
        for group_id in list(self.state.groups):
            self._restore(group_id)
        deleted, self._deleted_topics = self._deleted_topics, []
        for topic in deleted:
            self.topic_deleted(topic)

    def _restore(self, group_id: str) -> None:
        group = self.state.groups[group_id]
        if isinstance(group, ClassicGroup):
            self.obey(group, group.restored(self._settings.classic, self._clock.wall_ms()))
        else:
            self._set_timers(group_id, group.restored(self._settings.consumer))

    def _reload(self, why: str) -> None:
        """Memory is ahead of the log, or nobody knows: forget it and read what is there."""
        if self.status is Status.STOPPED:
            return
        log.error("groups.reload partition=%s why=%s", self._name, why)
        self._drop_all(ErrorCode.NOT_COORDINATOR)
        self.state = Shard()
        self._last_write = resolved(ErrorCode.NONE)
        self.load()

    def _drop_all(self, error: ErrorCode) -> None:
        for timers in self._timers.values():
            for running in timers.values():
                running.handle.cancel()
        self._timers.clear()
        for group in self.state.groups.values():
            if isinstance(group, ClassicGroup):
                self._reply(group.dismiss_all(error, self._clock.wall_ms()))

    # --- writing ---

    def write(
        self, records: Sequence[Entry], *, producer: Producer | None = None, guard: Guard | None = None
    ) -> Future[ErrorCode]:
        """Appends one batch and applies it. Resolves when it is durable; a refusal resolves at once and changes nothing."""
        if not records:
            return self._last_write
        now = self._clock.wall_ms()
        batch = build_batch(
            [
                NewRecord(encode_key(key), None if value is None else encode_value(key, value), now)
                for key, value in records
            ],
            producer_id=-1 if producer is None else producer.id,
            producer_epoch=-1 if producer is None else producer.epoch,
            base_sequence=NO_SEQUENCE_CHECKED,
            transactional=producer is not None,
        )
        base_offset = self._partition.log_end_offset
        appended = self._partition.append(batch, acks=Acks.ALL, origin=Origin.COORDINATOR, guard=guard)
        refusal = _refusal(appended)
        if refusal is not None:
            return resolved(refusal)
        producer_id = -1 if producer is None else producer.id
        for index, (key, value) in enumerate(records):
            self.state.apply(base_offset + index, producer_id, key, value, live=True)
            if value is None and isinstance(key, GroupMetadataKey):
                self._cancel_if_gone(key.group)
            elif value is None and isinstance(key, ConsumerGroupMetadataKey):
                self._cancel_if_gone(key.group_id)
        return self._track(appended, base_offset)

    def write_split(self, records: Sequence[Entry]) -> Future[ErrorCode]:
        """For records that need not be durable together: many tombstones, say."""
        done = self._last_write
        for begin in range(0, len(records), LIMIT_RECORDS_PER_BATCH):
            done = self._write_fitting(records[begin : begin + LIMIT_RECORDS_PER_BATCH])
        return done

    def _write_fitting(self, records: Sequence[Entry]) -> Future[ErrorCode]:
        """In halves, as long as a batch is too large for a small message.max.bytes."""
        done = self.write(records)
        if len(records) == 1 or not done.done() or done.result() is not REFUSALS[ErrorCode.MESSAGE_TOO_LARGE]:
            return done
        half = len(records) // 2
        self._write_fitting(records[:half])
        return self._write_fitting(records[half:])

    def write_marker(
        self, *, producer: Producer, coordinator_epoch: int, commit: bool, transaction_version: int
    ) -> Future[ErrorCode]:
        """Ends a transaction here. When it resolves the offsets are visible, or gone, and that is durable (B13)."""
        base_offset = self._partition.log_end_offset
        appended = self._partition.append_marker(
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            coordinator_epoch=coordinator_epoch,
            commit=commit,
            transaction_version=transaction_version,
        )
        refusal = _refusal(appended, plain=True)
        if refusal is not None:
            return resolved(refusal)
        self.state.end_transaction(producer.id, commit=commit)
        return self._track(appended, base_offset)

    def settled(self) -> Future[ErrorCode]:
        """Resolves when everything decided so far is durable: for answers that were read from memory."""
        return self._last_write

    def _track(self, appended: Future[Appended | Refused], base_offset: int) -> Future[ErrorCode]:
        state = self.state
        outcome: Future[ErrorCode] = Future()

        def look(done: Future[Appended | Refused]) -> None:
            try:
                result = done.result()
            except StorageFault as fault:
                why = str(fault)
            else:
                if isinstance(result, Appended) and result.base_offset == base_offset:
                    outcome.set_result(ErrorCode.NONE)
                    return
                why = f"wanted offset {base_offset}, found {result}"
            outcome.set_result(ErrorCode.NOT_COORDINATOR)
            if self.state is state:
                self._reload(why)

        self._last_write = outcome
        appended.add_callback(look)
        return outcome

    # --- what the rules ask for ---

    def token(self) -> tuple[Token, Future[JoinReply | SyncReply]]:
        """A place for a request to wait until the group answers it."""
        self._tokens += 1
        token = Token(self._tokens)
        future: Future[JoinReply | SyncReply] = Future()
        self._waiting[token] = future
        return token, future

    def obey(self, group: ClassicGroup, effects: Effects) -> None:
        self._reply(effects)
        self._set_timers(group.id, effects.timers)
        if effects.write is not None:
            self._write_group(group, effects.write)

    def _reply(self, effects: Effects) -> None:
        for token, reply in effects.replies:
            future = self._waiting.pop(token, None)
            if future is not None:
                future.set_result(reply)

    def _write_group(self, group: ClassicGroup, write: WriteGroup) -> None:
        written = self.write([(GroupMetadataKey(group.id), write.value)])
        self.rebalances += not isinstance(write.then, EmptyGroupWritten)

        def tell(done: Future[ErrorCode]) -> None:
            if self.state.groups.get(group.id) is not group:
                return
            error = done.result()
            if error is not ErrorCode.NONE and write.then == EmptyGroupWritten(created=True):
                self._unmake(group, error)
                return
            limits, now = self._settings.classic, self._clock.wall_ms()
            self.obey(group, group.on_written(write.then, error, limits=limits, now=now))

        # in the next turn: the group is still in the middle of the decision that asked for this
        written.add_callback(lambda done: self._loop.call_soon(lambda: tell(done)))

    def _unmake(self, group: ClassicGroup, error: ErrorCode) -> None:
        """The first record of a group was refused: then there is no such group."""
        self._reply(group.dismiss_all(error, self._clock.wall_ms()))
        del self.state.groups[group.id]
        self._cancel_if_gone(group.id)

    def carry_out(
        self, group_id: str, decision: Decision, *, before: Sequence[Entry] = ()
    ) -> Future[ErrorCode]:
        """A decision of a KIP-848 group."""
        done = self.write([*before, *decision.records])
        if not done.done() or done.result() is ErrorCode.NONE:
            self._set_timers(group_id, decision.timers)
            group = self.state.groups.get(group_id)
            if isinstance(group, consumer.ConsumerGroup) and decision.topics_version is not None:
                group.topics_version = decision.topics_version
        return done

    # --- timers ---

    def _set_timers(self, group_id: str, timers: Sequence[Arm | Cancel]) -> None:
        for each in timers:
            if isinstance(each, Arm):
                self._arm(group_id, each)
            else:
                self._cancel(group_id, each.key)

    def _arm(self, group_id: str, arm: Arm) -> None:
        deadline_ms = self._clock.monotonic_ms() + arm.delay_ms
        running = self._timers.setdefault(group_id, {}).get(arm.key)
        if running is not None and running.deadline_ms <= deadline_ms:
            running.deadline_ms = deadline_ms
            running.event = arm.event
            return
        if running is not None:
            running.handle.cancel()
        handle = self._loop.call_later(arm.delay_ms, lambda: self._fire(group_id, arm.key))
        self._timers[group_id][arm.key] = _Running(deadline_ms, arm.event, handle)

    def _cancel(self, group_id: str, key: TimerKey) -> None:
        timers = self._timers.get(group_id)
        if timers is not None and key in timers:
            timers.pop(key).handle.cancel()
            if not timers:
                del self._timers[group_id]

    def _cancel_if_gone(self, group_id: str) -> None:
        if group_id not in self.state.groups:
            for running in self._timers.pop(group_id, {}).values():
                running.handle.cancel()

    def _fire(self, group_id: str, key: TimerKey) -> None:
        running = self._timers[group_id][key]
        left_ms = running.deadline_ms - self._clock.monotonic_ms()
        if left_ms > 0:
            running.handle = self._loop.call_later(left_ms, lambda: self._fire(group_id, key))
            return
        self._cancel(group_id, key)
        group = self.state.groups.get(group_id)
        event = running.event
        if isinstance(group, ClassicGroup):
            limits, now = self._settings.classic, self._clock.wall_ms()
            self.obey(group, group.on_timer(event, limits=limits, now=now))
        elif group is not None:
            decision: Decision | None = None
            if isinstance(event, SessionTimeout):
                decision = group.on_session_timeout(event, self._topics)
            elif isinstance(event, RebalanceTimeout):
                decision = group.on_rebalance_timeout(event, self._topics)
            if decision is not None:
                log.info("groups.member_fenced group=%s event=%s", group_id, event)
                self.carry_out(group_id, decision)

    # --- what happens around ---

    def topic_deleted(self, topic: str) -> Future[ErrorCode]:
        if self.status is Status.LOADING:
            self._deleted_topics.append(topic)
            return resolved(ErrorCode.NONE)
        return self.write_split(self.state.topic_deleted(topic))

    def expire(self, retention_ms: int) -> Future[ErrorCode]:
        return self.write_split(self.state.expire(now=self._clock.wall_ms(), retention_ms=retention_ms))

    async def read(self, look: Callable[[Shard], T]) -> T | ErrorCode:
        """What `look` finds, once all that it saw is durable."""
        if self.status is not Status.READY:
            return not_ready(self.status)
        found = look(self.state)
        error = await self.settled()
        return found if error is ErrorCode.NONE else error


def not_ready(status: Status) -> ErrorCode:
    return (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if status is Status.LOADING
        else ErrorCode.COORDINATOR_NOT_AVAILABLE
    )


def _refusal(appended: Future[Appended | Refused], *, plain: bool = False) -> ErrorCode | None:
    """The answer to a batch that was refused at once; None if it has its place in the log."""
    if not appended.done():
        return None
    try:
        result = appended.result()
    except StorageFault:
        return None  # nobody knows what is in the log: `_track` looks at it
    if isinstance(result, Appended):
        return None
    return result.error if plain else REFUSALS.get(result.error, result.error)
