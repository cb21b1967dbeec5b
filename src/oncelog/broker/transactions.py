"""The transaction coordinator: obeys the decisions of oncelog.txn, in the order that is the guarantee.

1 write the record   2 evolve the state in memory   3 write the markers, then Complete   4 answer
With end.txn.reply=complete (the default) 4 comes last; with prepared, Kafka's timing, it comes before 3.
Requests for one transactional id take turns for 1 and 2; during 3 they are told CONCURRENT_TRANSACTIONS, as Kafka does.
What was checked is still true when it is used, for nothing is awaited between a decision and its write, and the state in
memory changes only after the write is durable. A request that was begun is carried through even if its client goes away
(broker/connection.py): half of one would leave the memory behind the log.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from oncelog.broker.counters import Counters
from oncelog.broker.groups import GroupCoordinator
from oncelog.broker.producer_ids import ProducerIds
from oncelog.broker.transaction_log import TransactionLog, error_of
from oncelog.config import BrokerConfig
from oncelog.engine.port import Engine, Partition, Refused
from oncelog.errors import ErrorCode
from oncelog.model import (
    CONSUMER_OFFSETS,
    TRANSACTION_STATE,
    Acks,
    Millis,
    Producer,
    ProducerId,
    TopicPartition,
)
from oncelog.ports import Clock
from oncelog.tasks import Future, Loop, Timer, Turns, resolved, sleep, spawn, supervise
from oncelog.txn.coordinator import (
    NOBODY,
    Decision,
    completed,
    decide_abort,
    decide_add,
    decide_end,
    decide_init,
    decide_verify,
    evolve,
    is_expired,
    is_timed_out,
)
from oncelog.txn.state import ENDING, TV1, TV2, Bump, Caller, State, Txn

log = logging.getLogger("oncelog.transactions")
T = TypeVar("T")

MARKER_RETRY_MS: Final = 20
NS_PER_MS: Final = 1_000_000
TOMBSTONES_LIMIT_BYTES: Final = 65_536  # of keys in one batch: far below any max.message.bytes (B33)

# What becomes of a partition by the answer to its marker (2.8). Anything else stops the coordinator, and the state stays
# as it is: INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED say that a newer owner ends the transaction; the
# rest would be our own bug, and the partition may still hold it open.
MARKER_DONE: Final = frozenset(
    {ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION}
)
MARKER_AGAIN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class LostWrite(Exception):
    """Raised by `Points.reach` at before_marker: this one write is lost, and the coordinator tries again."""


class Points:
    """Named places in the life of a transaction where a test may wait, kill the broker or lose a write.

    `reach` is awaited at each; nothing goes on for that transaction until it returns. Here it does nothing; put an
    object of a subclass into `TransactionCoordinator.points`. `partition` is given for markers only.

    after_ongoing         the Ongoing record of a first or further partition is durable; its request is not answered
    after_prepare_commit  the decision is durable (after_prepare_abort: the other one), no marker is written, nobody
                          is answered
    before_marker         one partition's marker is about to be written; LostWrite may be raised
    after_marker          it is durable
    before_complete       every partition has its marker
    after_complete        the Complete record is written; with end.txn.reply=complete nobody is answered yet
    """

    async def reach(
        self, point: str, transactional_id: str, partition: TopicPartition | None = None
    ) -> None: ...


class _Entry:
    """One transactional id in memory."""

    __slots__ = ("_turns", "bump", "left", "pending", "txn")

    def __init__(self, txn: Txn | None = None, bump: Bump | None = None) -> None:
        self.txn = txn
        self.bump = bump
        self.pending: State | None = None  # Complete* during the markers (TX-13), Dead while it expires
        self.left: dict[TopicPartition, None] | None = None  # partitions that still await their marker
        self._turns: Turns | None = None  # made when first used: most of many ids are idle

    @property
    def turns(self) -> Turns:
        if self._turns is None:
            self._turns = Turns()
        return self._turns

    @property
    def in_use(self) -> bool:
        return self._turns is not None and self._turns.taken


class TransactionCoordinator:
    """All transactional ids of this broker."""

    def __init__(
        self,
        engine: Engine,
        loop: Loop,
        clock: Clock,
        config: BrokerConfig,
        producer_ids: ProducerIds,
        groups: GroupCoordinator,
        on_fault: Callable[[str, BaseException], None],
        counters: Counters,
    ) -> None:
        self._counters = counters
        self._engine = engine
        self._loop = loop
        self._clock = clock
        self._config = config
        self._producer_ids = producer_ids
        self._groups = groups
        self._on_fault = on_fault
        self._log = TransactionLog(engine, loop, clock, config, counters, on_fault)
        self._entries: dict[str, _Entry] = {}  # those that were asked for since the start
        self._ongoing: dict[str, None] = {}  # those that a timeout may meet, in the order of their opening
        self._timers: list[Timer] = []
        self._version = TV1 if config.transaction_version < 2 else TV2
        self._points = Points()
        self._is_watched = False  # somebody else's points are reached

    @property
    def points(self) -> "Points":
        return self._points

    @points.setter
    def points(self, points: "Points") -> None:
        self._points = points
        self._is_watched = True

    # ---- start and stop

    async def start(self) -> None:
        """Loads what is under way, finishes what was decided, and lets the clocks of the ongoing run on (REC-8, REC-9)."""
        began_ns = self._clock.monotonic_ns()
        await self._log.load()
        self._counters.took("txn.load", self._clock.monotonic_ns() - began_ns)
        for found in self._log.under_way():
            name = found.transactional_id
            self._entries[name] = _Entry(found, self._log.bump_of(name))
        for transactional_id, entry in list(self._entries.items()):
            txn = entry.txn
            assert txn is not None
            if txn.state in ENDING:
                self._finish(entry)
            elif txn.state is State.ONGOING:
                self._ongoing[transactional_id] = None
                if self._config.recovery_ongoing == "abort" and not txn.is_two_phase:
                    self._abort_later(transactional_id, "recovery")
        self._arm(
            self._config.transaction_abort_timed_out_transaction_cleanup_interval_ms, self._sweep_timeouts
        )
        self._arm(
            self._config.transaction_remove_expired_transaction_cleanup_interval_ms, self._sweep_expired
        )

    async def stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        await self._log.checkpoint()

    async def ensure_topic(self) -> None:
        """Makes __transaction_state if it is missing."""
        await self._log.ensure_topic()

    # ---- what handlers ask for

    async def init(
        self,
        transactional_id: str,
        given: Producer | None,
        timeout_ms: int,
        caller: Caller,
        *,
        keep_prepared: bool = False,
    ) -> Decision:
        """InitProducerId with a transactional id, after the checks of spec 1.7."""
        entry = self._entry(transactional_id)
        if entry is None:
            entry = self._entries[transactional_id] = _Entry()  # racing creators share it
        ended: Future[None] | None = None
        async with entry.turns:
            before = entry.txn
            decision = await self._decide(
                lambda fresh_id: decide_init(
                    entry.txn,
                    transactional_id=transactional_id,
                    given=given,
                    timeout_ms=timeout_ms,
                    now=self._clock.wall_ms(),
                    server_version=self._version,
                    fresh_id=fresh_id,
                    pending=entry.pending,
                    keep_prepared=keep_prepared,
                    refuse_stale=self._config.transaction_late_requests_refuse,
                )
            )
            bump = None
            if decision.record is not None and (before is None or before.owner != decision.record.owner):
                bump = Bump("new instance", self._clock.wall_ms(), caller, decision.record.owner)
            error = await self._obey(entry, decision, bump)
            if (
                error is not ErrorCode.NONE
            ):  # a failed first write leaves an entry without a state: unknown (B34)
                return Decision(error)
            if decision.record is not None and decision.record.state in ENDING:
                self._ongoing.pop(transactional_id, None)
                ended = await self._decided(entry)
        if ended is not None:
            await ended
        return decision

    async def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition], version: int
    ) -> ErrorCode:
        """AddPartitionsToTxn, AddOffsetsToTxn, and the implicit add of Produce v12 and TxnOffsetCommit v5."""
        entry = self._entry(transactional_id)
        if entry is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING if transactional_id else ErrorCode.INVALID_REQUEST
        async with entry.turns:
            decision = decide_add(
                entry.txn,
                producer,
                partitions,
                version=version,
                now=self._clock.wall_ms(),
                pending=entry.pending,
            )
            error = await self._obey(entry, decision)
            if error is not ErrorCode.NONE:
                return error
            if decision.record is not None:
                self._ongoing[transactional_id] = None
                if self._is_watched:
                    await self.points.reach("after_ongoing", transactional_id)
            return decision.answer

    def verify(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Whether each partition is in the producer's ongoing transaction; at once, so that an append may follow."""
        entry = self._entry(transactional_id)
        if transactional_id:
            found = decide_verify(None if entry is None else entry.txn, producer, partitions)
        else:
            found = dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST)
        failed = sum(error is not ErrorCode.NONE for error in found.values())
        if failed:
            self._counters.add("txn.verification_failed", failed)
        return found

    async def end(
        self, transactional_id: str, producer: Producer, *, commit: bool, version: int
    ) -> tuple[ErrorCode, Producer]:
        """EndTxn."""
        entry = self._entry(transactional_id)
        if entry is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING, NOBODY
        ended: Future[None] | None = None
        async with entry.turns:
            fresh_id: ProducerId | None = None
            while True:
                decision = decide_end(
                    entry.txn,
                    producer,
                    commit=commit,
                    version=version,
                    now=self._clock.wall_ms(),
                    fresh_id=fresh_id,
                    pending=entry.pending,
                )
                if not decision.needs_producer_id:
                    break
                fresh_id = await self._producer_ids.next()
            error = await self._obey(entry, decision)
            if error is not ErrorCode.NONE:
                return error, NOBODY
            if decision.record is not None:
                self._ongoing.pop(transactional_id, None)
                ended = await self._decided(entry)
        if ended is not None:
            await ended
        return decision.answer, decision.producer

    def get(self, transactional_id: str) -> Txn | None:
        entry = self._entry(transactional_id)
        return None if entry is None else entry.txn

    def is_handed_over(self, transactional_id: str, producer: Producer) -> bool:
        """Whether this producer's ongoing transaction belongs to an heir now: then it may write no more (KIP-939)."""
        txn = self.get(transactional_id)
        return txn is not None and txn.is_kept and txn.producer == producer

    def awaiting_marker(self, transactional_id: str) -> tuple[TopicPartition, ...]:
        """The partitions of its transaction; once that is decided, those without their marker."""
        entry = self._entry(transactional_id)
        if entry is None or entry.txn is None:
            return ()
        return entry.txn.partitions if entry.left is None else tuple(entry.left)

    def bump_of(self, transactional_id: str) -> Bump | None:
        """Why its epoch was last bumped, if that was not the end of a transaction."""
        entry = self._entry(transactional_id)
        return None if entry is None else entry.bump

    def all(self) -> Iterable[Txn]:
        known = [entry.txn for entry in self._entries.values() if entry.txn is not None]
        return [*known, *self._log.all_but(self._entries)]

    def figures(self) -> dict[str, int]:
        """How many there are now; docs/operating.md."""
        now = self._clock.wall_ms()
        ongoing = [txn for name in self._ongoing if (txn := self.get(name)) is not None]
        return {
            "txn.ids": self._log.count(),
            "txn.ongoing": len(ongoing),
            "txn.ongoing_ms_max": max([now - txn.start_ms for txn in ongoing], default=0),
            "txn.ending": sum(entry.left is not None for entry in self._entries.values()),
        }

    def _entry(self, transactional_id: str) -> _Entry | None:
        """None for an id that nobody has. One that was at rest since the start comes out of the log."""
        entry = self._entries.get(transactional_id)
        if entry is None:
            txn = self._log.find(transactional_id)
            if txn is not None:
                entry = self._entries[transactional_id] = _Entry(txn, self._log.bump_of(transactional_id))
        return entry

    # ---- obeying a decision

    async def _decide(self, decide: Callable[[ProducerId | None], Decision]) -> Decision:
        """Decides, and once more with a fresh producer id where the rules need one."""
        decision = decide(None)
        if not decision.needs_producer_id:
            return decision
        return decide(await self._producer_ids.next())

    async def _obey(self, entry: _Entry, decision: Decision, bump: Bump | None = None) -> ErrorCode:
        """Writes the decision's record, and why it bumps the epoch, and applies it; the error of the write, if it failed."""
        if decision.answer is not ErrorCode.NONE:
            self._counters.add(f"txn.refused.{decision.answer.name}")
        if decision.record is None:
            return ErrorCode.NONE
        began_ns = self._clock.monotonic_ns()
        error = await self.write_record(decision.record, Acks.ALL, bump)
        if decision.record.state in ENDING:
            self._counters.took("txn.phase.prepare", self._clock.monotonic_ns() - began_ns)
        if error is ErrorCode.NONE:
            entry.txn = evolve(entry.txn, decision.record)
            if bump is not None:
                entry.bump = bump
                self._counters.add(f"txn.bumped.{bump.counted_as.replace(' ', '_')}")
        return error

    async def write_record(self, record: Txn, acks: Acks = Acks.ALL, bump: Bump | None = None) -> ErrorCode:
        """Appends one record to __transaction_state; the state in memory is the caller's."""
        if TRANSACTION_STATE not in self._engine.topics:
            return await self._log.write(record, acks, bump)
        written = self._log.begin_write(record, acks, bump)
        return error_of(record, written.result() if written.done() else await written)

    # ---- markers, then Complete

    async def _decided(self, entry: _Entry) -> Future[None]:
        """A Prepare record is durable: its end is certain now. The future is what the answer has to wait for."""
        txn = entry.txn
        assert txn is not None
        entry.pending = _complete_state(txn.state)
        if self._is_watched:
            point = "after_prepare_commit" if txn.state is State.PREPARE_COMMIT else "after_prepare_abort"
            await self.points.reach(point, txn.transactional_id)
        if self._config.end_txn_reply == "complete":
            return self._finish(entry)
        return self._finish_after_answer(entry)

    def _finish_after_answer(self, entry: _Entry) -> Future[None]:
        def finish() -> None:
            self._finish(entry)

        self._loop.call_soon(finish)
        return resolved(None)

    def _finish(self, entry: _Entry) -> Future[None]:
        """Begins the end of a decided transaction; resolves when it is complete, or will never be by us."""
        prepared = entry.txn
        assert prepared is not None
        entry.pending = _complete_state(prepared.state)
        entry.left = dict.fromkeys(prepared.partitions)
        task = spawn(
            self._loop, self._write_end(entry, prepared, entry.left), f"end {prepared.transactional_id}"
        )
        supervise(task, self._on_fault)
        return task

    async def _write_end(self, entry: _Entry, prepared: Txn, left: dict[TopicPartition, None]) -> None:
        """Writes markers until each partition has one or is gone (2.8), then Complete (TX-14).

        Nobody changes the entry meanwhile: its pending state refuses them.
        """
        clock, counters = self._clock, self._counters
        began_ns = clock.monotonic_ns()
        while left:
            waits_for = list(left)
            # All markers are on their way before one is waited for: one sync serves them all.
            begun = [spawn(self._loop, self._end_partition(each, prepared, left)) for each in waits_for[:-1]]
            last = await self._end_partition(waits_for[-1], prepared, left)
            errors = [*[await each for each in begun], last]
            for each, error in zip(waits_for, errors, strict=True):
                if error not in MARKER_DONE and error not in MARKER_AGAIN:
                    log.error(
                        "txn.marker_refused transactional_id=%r partition=%s error=%s",
                        prepared.transactional_id,
                        each,
                        error.name,
                    )
                    return
            if left:
                counters.add("txn.markers_retried", len(left))
                await sleep(self._loop, MARKER_RETRY_MS)
        marked_ns = clock.monotonic_ns()
        if self._is_watched:
            await self.points.reach("before_complete", prepared.transactional_id)
        done = completed(prepared, self._clock.wall_ms())
        # Recovery would write the markers and Complete again, so nobody waits for this one to be durable.
        while await self.write_record(done, Acks.LEADER) is not ErrorCode.NONE:
            await sleep(self._loop, MARKER_RETRY_MS)
        entry.txn = evolve(prepared, done)
        entry.left = None
        entry.pending = None
        counters.took("txn.phase.markers", marked_ns - began_ns)
        counters.took("txn.prepare_to_complete", clock.monotonic_ns() - began_ns)
        outcome = "txn.committed" if done.state is State.COMPLETE_COMMIT else "txn.aborted"
        counters.took(outcome, max(done.update_ms - done.start_ms, 0) * NS_PER_MS)
        if self._is_watched:
            await self.points.reach("after_complete", prepared.transactional_id)

    async def _end_partition(
        self, where: TopicPartition, prepared: Txn, left: dict[TopicPartition, None]
    ) -> ErrorCode:
        """One partition's marker; takes it out of `left` when nothing is left to be done there."""
        topic = self._engine.topics.get(where.topic)
        if topic is None or where.partition >= len(topic.partitions):
            del left[where]  # the topic was deleted: nothing is left to be ended (V58)
            return ErrorCode.NONE
        if self._is_watched:
            try:
                await self.points.reach("before_marker", prepared.transactional_id, where)
            except LostWrite:
                return ErrorCode.REQUEST_TIMED_OUT
        error = await self.write_marker(
            where,
            prepared.producer,
            coordinator_epoch=self._coordinator_epoch(prepared.transactional_id),
            commit=prepared.state is State.PREPARE_COMMIT,
            transaction_version=prepared.client_version,
        )
        if error in MARKER_DONE:
            del left[where]
        if error is ErrorCode.NONE:
            self._counters.add("txn.markers")
            if self._is_watched:
                await self.points.reach("after_marker", prepared.transactional_id, where)
        return error

    async def write_marker(
        self,
        where: TopicPartition,
        producer: Producer,
        *,
        coordinator_epoch: int,
        commit: bool,
        transaction_version: int,
    ) -> ErrorCode:
        """One marker into one partition; it is durable, and offsets are what it says, when this returns (B13)."""
        if where.topic == CONSUMER_OFFSETS:
            return await self._groups.write_marker(
                where.partition,
                producer=producer,
                coordinator_epoch=coordinator_epoch,
                commit=commit,
                transaction_version=transaction_version,
            )
        topic = self._engine.topics.get(where.topic)
        if topic is None or not 0 <= where.partition < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        written = topic.partitions[where.partition].append_marker(
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            coordinator_epoch=coordinator_epoch,
            commit=commit,
            transaction_version=transaction_version,
        )
        outcome = written.result() if written.done() else await written
        return outcome.error if isinstance(outcome, Refused) else ErrorCode.NONE

    def _coordinator_epoch(self, transactional_id: str) -> int:
        return self._log.partition_of(transactional_id).leader_epoch

    # ---- time

    def _arm(self, interval_ms: int, sweep: Callable[[], None]) -> None:
        def again() -> None:
            self._timers.remove(timer)
            sweep()
            self._arm(interval_ms, sweep)

        timer = self._loop.call_later(interval_ms, again)
        self._timers.append(timer)

    def _sweep_timeouts(self) -> None:
        now = self._clock.wall_ms()
        for transactional_id in list(self._ongoing):
            txn = self.get(transactional_id)
            if txn is None or txn.state is not State.ONGOING:
                self._ongoing.pop(transactional_id, None)
            elif is_timed_out(txn, now):
                self._abort_later(transactional_id, "timeout")

    def _abort_later(self, transactional_id: str, cause: str) -> None:
        supervise(
            spawn(self._loop, self._abort(transactional_id, cause), f"abort {transactional_id}"),
            self._on_fault,
        )

    async def _abort(self, transactional_id: str, cause: str) -> None:
        """Ends an ongoing transaction without its producer, whom that fences. If it cannot, the next sweep tries again."""
        entry = self._entry(transactional_id)
        if entry is None:
            return
        async with entry.turns:
            txn = entry.txn
            if txn is None or (cause == "timeout" and not is_timed_out(txn, self._clock.wall_ms())):
                return
            decision = await self._decide(
                lambda fresh_id: decide_abort(
                    txn,
                    now=self._clock.wall_ms(),
                    server_version=self._version,
                    fresh_id=fresh_id,
                    pending=entry.pending,
                )
            )
            bump = None
            if decision.record is not None:
                bump = Bump(cause, self._clock.wall_ms(), None, decision.record.owner)
            error = await self._obey(entry, decision, bump)
            if error is not ErrorCode.NONE or decision.record is None:
                return
            self._ongoing.pop(transactional_id, None)
            log.info("txn.aborted transactional_id=%r cause=%s", transactional_id, cause)
            await self._decided(entry)

    def _sweep_expired(self) -> None:
        supervise(spawn(self._loop, self._expire(), "expire transactional ids"), self._on_fault)

    async def _expire(self) -> None:
        """Tombstones for ids idle too long, in batches of bounded size (B33); a failed write forgets nothing (B32)."""
        now = self._clock.wall_ms()
        idle_ms = self._config.transactional_id_expiration_ms
        for partition, idle in await self._log.idle_before(Millis(now - idle_ms)):
            some: list[str] = []
            size = 0
            for transactional_id in idle:
                some.append(transactional_id)
                size += len(transactional_id)
                if size >= TOMBSTONES_LIMIT_BYTES:
                    await self._tombstone(partition, some, now, idle_ms)
                    some, size = [], 0
            await self._tombstone(partition, some, now, idle_ms)

    def _may_expire(self, entry: _Entry, now: Millis, idle_ms: int) -> bool:
        return (
            entry.txn is not None
            and entry.pending is None
            and not entry.in_use
            and is_expired(entry.txn, now, idle_ms)
        )

    async def _tombstone(self, partition: Partition, expired: list[str], now: Millis, idle_ms: int) -> None:
        dying: list[tuple[str, _Entry]] = []
        for transactional_id in expired:
            entry = self._entry(transactional_id)
            if entry is not None and self._may_expire(entry, now, idle_ms):  # it may have come back meanwhile
                entry.pending = State.DEAD
                dying.append((transactional_id, entry))
        if not dying:
            return
        error = await self._log.forget(partition, [name for name, _ in dying], now)
        for transactional_id, entry in dying:
            entry.pending = None
            if error is ErrorCode.NONE:
                del self._entries[transactional_id]
        if error is ErrorCode.NONE:
            self._counters.add("txn.expired_ids", len(dying))
            return
        if error is ErrorCode.MESSAGE_TOO_LARGE and len(dying) > 1:  # a small message.max.bytes (B33)
            half = len(expired) // 2
            await self._tombstone(partition, expired[:half], now, idle_ms)
            await self._tombstone(partition, expired[half:], now, idle_ms)
        else:
            log.error("txn.expiry_refused ids=%d error=%s", len(dying), error.name)


def _complete_state(state: State) -> State:
    return State.COMPLETE_COMMIT if state is State.PREPARE_COMMIT else State.COMPLETE_ABORT
