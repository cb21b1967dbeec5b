"""One partition's log in Kafka's files: check, write, evolve, in this order and without a wait in between.

What is below the high watermark is durable in the engine's mode: with durability=process that is the page cache, so the
high watermark follows the log end at once; with durability=power it follows the group commit.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from struct import Struct
from typing import Any, Final

from oncelog.config import MAX_LONG, TopicConfig
from oncelog.engine.classic.checkpoints import LEADER_EPOCHS, begin_file, write_file
from oncelog.engine.classic.recovery import (
    Loaded,
    Snapshot,
    load,
    note_aborted,
    remove_snapshot,
    take_snapshot,
)
from oncelog.engine.classic.segment import MOST_OFFSETS, SMALL_BYTES, Segment
from oncelog.engine.classic.store import Store, settled
from oncelog.engine.port import AbortedTransaction, Appended, OffsetAt, ProducerView, Read, Refused
from oncelog.errors import ErrorCode, StorageFault
from oncelog.log.aborted import aborted_in
from oncelog.log.retention import SegmentInfo, expired_segments
from oncelog.log.state import (
    Duplicate,
    Guard,
    LogState,
    Refusal,
    advance_high_watermark,
    begin_verification,
    decide_append,
    decide_marker,
    evolve,
    expire_producers,
    has_ongoing_transaction,
    last_stable_offset,
    raise_log_start,
)
from oncelog.log.validate import Invalid, validate
from oncelog.model import TRANSACTION_STATE, Acks, Isolation, Origin, TopicId, TopicPartition
from oncelog.ports import Bytes, File
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import (
    HEADER,
    LENGTH_OVERHEAD_BYTES,
    TRANSACTIONAL,
    BatchHeader,
    patch_offset,
    patch_timestamp,
    records_of,
)
from oncelog.record.checkpoints import LeaderEpoch, encode_leader_epochs
from oncelog.record.marker import MARKER_BYTES, Marker, encode_marker
from oncelog.tasks import Future, Turns, resolved

HEAD: Final = Struct(
    ">qii"
)  # what an append changes of a client's batch: base offset, (length,) leader epoch
EARLIEST, LATEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -2, -1, -3, -4
NOWHERE: Final = OffsetAt(-1, -1, -1)
OUT_OF_RANGE: Final = Read(ErrorCode.OFFSET_OUT_OF_RANGE, b"", -1, -1, -1, None)
# As BatchHeader._make, without a step of Python: there is one for every batch that is written.
new_header: Final[Callable[[tuple[Any, ...]], BatchHeader]] = partial(tuple[Any].__new__, BatchHeader)
OFFSET_BYTES: Final = 8
REMEMBERED_READS: Final = 64
GONE: Final = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
STOPPED: Final = Refused(
    ErrorCode.NOT_LEADER_OR_FOLLOWER
)  # the files are closed: a clean stop must stay true


class ClassicPartition:
    """Files are read when somebody first asks for more than the name."""

    def __init__(
        self,
        store: Store,
        topic: str,
        index: int,
        topic_id: TopicId,
        config: TopicConfig,
        *,
        leader_epoch: int,
        log_start_offset: int = 0,
        recovery_point: int = 0,
    ) -> None:
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.directory = f"{topic}-{index}"
        self.at = TopicPartition(topic, index)
        self.durable_offset = recovery_point  # all below it was synced
        self._told_recovery_point = recovery_point  # the checkpoint file may say so
        self.stored_log_start = log_start_offset
        self.loaded = False
        self.deleted = False
        self.cleaning = False  # its segments stay where they are meanwhile
        # Until the coordinator has said where its checkpoint ends, the log may be all that knows of a tombstone.
        self.tombstones_stay_from = 0 if topic == TRANSACTION_STATE else MAX_LONG
        self._store = store
        self._wall_ms = store.clock.wall_ms
        self._state = LogState(log_start_offset=log_start_offset)
        self._segments: list[Segment] = []
        self._bases: list[int] = []
        self._active: Segment | None = None
        # What is below all three cannot fill the active segment: `_must_roll` need not be asked.
        self._easy_bytes = -1
        self._easy_timestamp = -1
        self._easy_offset = -1
        self._epochs: list[LeaderEpoch] = []
        self._epochs_kept = False  # in a file
        self._snapshots: list[int] = []
        self.changed = False  # something was appended since the last snapshot of a clean stop
        self._watchers: list[Callable[[], None]] = []
        self._reads: dict[
            int, tuple[Segment, int]
        ] = {}  # where recent reads ended: their readers come back there
        # Group commit
        self._waiting: deque[tuple[int, Future[Appended | Refused], Appended]] = deque()
        self._unsynced: dict[Segment, None] = {}
        self._chores: list[Callable[[], None]] = []
        self._open_bytes: dict[
            int, int
        ] = {}  # of open transactions by producer, since the start: to be counted
        self._sync_target = 0
        self._unsynced_records = 0
        self._flush_armed = False
        self._tasks: dict[Future[None], None] = {}
        self._settling = Turns()
        self._unsettled: dict[
            int, None
        ] = {}  # bases of segments behind one whose indexes are not durable yet
        self.set_config(config)

    def set_config(self, config: TopicConfig) -> None:
        self.config = config
        self._compacted = "compact" in config.cleanup_policy
        self._segment_ms = config.segment_ms
        if self._compacted:  # a record cannot be cleaned while its segment is active
            self._segment_ms = min(config.segment_ms, config.max_compaction_lag_ms)
        self._waits_for_sync = self._store.power or config.flush_messages == 1
        self._syncs_at_times = config.flush_messages < MAX_LONG or config.flush_ms < MAX_LONG
        self._easy_bytes = -1
        self._stamped = config.message_timestamp_type == "LogAppendTime"

    # What is there

    @property
    def state(self) -> LogState:
        if not self.loaded:
            found = load(
                self._store,
                self.directory,
                log_start_offset=self.stored_log_start,
                recovery_point=self.durable_offset,
            )
            self.adopt(found)
        return self._state

    @property
    def recovery_point(self) -> int:
        """Where recovery may begin to doubt. It looks at the whole segment that holds this offset."""
        if self._unsettled:
            return min(self.durable_offset, next(iter(self._unsettled)) - 1)
        self._told_recovery_point = max(self._told_recovery_point, self.durable_offset)
        return self.durable_offset

    @property
    def log_start_offset(self) -> int:
        return self.state.log_start_offset

    @property
    def last_stable_offset(self) -> int:
        return last_stable_offset(self.state)

    @property
    def high_watermark(self) -> int:
        return self.state.high_watermark

    @property
    def log_end_offset(self) -> int:
        return self.state.log_end_offset

    @property
    def size_bytes(self) -> int:
        return sum([segment.size for segment in self.segments])

    @property
    def segments(self) -> Sequence[Segment]:
        if not self.loaded:
            _ = self.state
        return self._segments

    def adopt(self, found: Loaded) -> None:
        """Takes over what was read from the directory; a new leader epoch begins at the log end (REC-3)."""
        self.loaded = True
        self._state = state = found.state
        self._segments = found.segments
        self._bases = [segment.base_offset for segment in found.segments]
        self._active = found.segments[-1] if found.segments else None
        self._easy_bytes = -1
        self._snapshots = found.snapshots
        self._epochs = [epoch for epoch in found.epochs or () if epoch.leader_epoch < self.leader_epoch]
        self._epochs.append(LeaderEpoch(self.leader_epoch, state.log_end_offset))
        self._epochs_kept = found.epochs_kept
        self._unsynced = dict.fromkeys(found.unsynced)
        self.changed = found.recovered

    # Writing

    def append(
        self, batch: Bytes, *, acks: Acks, origin: Origin = Origin.CLIENT, guard: Guard | None = None
    ) -> Future[Appended | Refused]:
        if self.deleted or self._store.stopped:
            return resolved(GONE if self.deleted else STOPPED)
        state = self._state if self.loaded else self.state
        header = new_header(HEADER.unpack_from(batch))
        now = self._wall_ms()
        if origin is Origin.COORDINATOR and header.producer_id < 0:
            return self._append_plain(batch, header, acks, now)
        if origin is Origin.CLIENT:
            checked = validate(
                batch,
                header,
                self.config,
                now,
                compacted=self._compacted,
                max_decompressed_bytes=self._store.config.max_decompressed_message_bytes,
                partition=self.directory,
            )
            if isinstance(checked, Invalid):
                start = state.log_start_offset if checked.has_log_start else -1
                return resolved(Refused(checked.error, checked.message, start, checked.record_errors))
            max_timestamp, log_append_time, rewrite = (
                checked.max_timestamp,
                checked.log_append_time,
                checked.rewrite,
            )
        elif header.size > self.config.max_message_bytes:
            return resolved(Refused(ErrorCode.MESSAGE_TOO_LARGE))
        else:
            max_timestamp, log_append_time, rewrite = header.max_timestamp, False, False
        verify = self._store.config.transaction_partition_verification_enable
        decision = decide_append(state, header, origin=origin, guard=guard, verify=verify)
        if isinstance(decision, Refusal):
            return resolved(Refused(decision.error, log_start_offset=state.log_start_offset))
        if isinstance(decision, Duplicate):
            self._store.duplicates += 1
            answer = Appended(
                decision.base_offset, decision.last_offset, decision.timestamp, state.log_start_offset, True
            )
            # The first one may still wait for its sync, and its answer is not safer the second time.
            return self._answer(answer, acks)
        base_offset = state.log_end_offset
        if rewrite:
            copy = bytearray(memoryview(batch)[: header.size])
            patch_offset(copy, base_offset, self.leader_epoch)
            patch_timestamp(copy, max_timestamp, log_append_time=log_append_time)
            pieces: tuple[Bytes, ...] = (copy,)
        else:
            head = HEAD.pack(base_offset, header.length, self.leader_epoch)
            pieces = (head, memoryview(batch)[HEAD.size : header.length + LENGTH_OVERHEAD_BYTES])
        self._write(pieces, header, base_offset, max_timestamp, now)
        if header.attributes & TRANSACTIONAL:
            open_bytes, producer_id = self._open_bytes, header.producer_id
            open_bytes[producer_id] = open_bytes.get(producer_id, 0) + header.length + LENGTH_OVERHEAD_BYTES
        completed = evolve(state, header, base_offset=base_offset, max_timestamp=max_timestamp)
        assert completed is None
        self._moved(header.count)
        return self._answer(
            Appended(
                base_offset,
                base_offset + header.last_offset_delta,
                now if log_append_time else -1,
                state.log_start_offset,
            ),
            acks,
        )

    def _append_plain(
        self, batch: Bytes, header: BatchHeader, acks: Acks, now: int
    ) -> Future[Appended | Refused]:
        """A coordinator's batch without a producer: there is no rule that could refuse it, and no producer to remember."""
        state = self._state
        length = header.length
        if length + LENGTH_OVERHEAD_BYTES > self.config.max_message_bytes:
            return resolved(Refused(ErrorCode.MESSAGE_TOO_LARGE))
        base_offset = state.log_end_offset
        pieces = (HEAD.pack(base_offset, length, self.leader_epoch), memoryview(batch)[HEAD.size :])
        self._write(pieces, header, base_offset, header.max_timestamp, now)
        last_offset = base_offset + header.last_offset_delta
        state.log_end_offset = last_offset + 1
        self._moved(header.count)
        return self._answer(Appended(base_offset, last_offset, -1, state.log_start_offset), acks)

    def append_marker(
        self,
        *,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        transaction_version: int,
    ) -> Future[Appended | Refused]:
        if self.deleted or self._store.stopped:
            return resolved(GONE if self.deleted else STOPPED)
        state = self._state if self.loaded else self.state
        decision = decide_marker(state, producer_id, producer_epoch, coordinator_epoch, transaction_version)
        if isinstance(decision, Refusal):
            return resolved(Refused(decision.error, log_start_offset=state.log_start_offset))
        if self.config.max_message_bytes < MARKER_BYTES:
            return resolved(Refused(ErrorCode.MESSAGE_TOO_LARGE))
        now = self._wall_ms()
        base_offset = state.log_end_offset
        stamped = self._stamped
        batch = encode_marker(
            base_offset=base_offset,
            leader_epoch=self.leader_epoch,
            timestamp=now,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            commit=commit,
            log_append_time=stamped,
        )
        header = new_header(HEADER.unpack_from(batch))
        segment = self._write((batch,), header, base_offset, now, now)
        self._store.markers += 1
        ended_bytes = self._open_bytes.pop(producer_id, 0)
        if not commit:
            self._store.aborted_bytes += ended_bytes
        completed = evolve(
            state,
            header,
            base_offset=base_offset,
            marker=Marker(commit, coordinator_epoch),
            transaction_version=transaction_version,
        )
        try:
            note_aborted(segment, completed)
        except StorageFault as fault:
            self._store.fail(fault)  # the disk has failed, so no reader is ever let past the marker (B40)
            raise
        self._moved(1)
        answer = Appended(base_offset, base_offset, now if stamped else -1, state.log_start_offset)
        return self._answer(answer, Acks.ALL)

    def _write(
        self, pieces: Sequence[Bytes], header: BatchHeader, base_offset: int, max_timestamp: int, now: int
    ) -> Segment:
        """One write for one batch. If it fails nothing has changed here, and the disk takes no other (B47)."""
        store, segment = self._store, self._active
        size = header.length + LENGTH_OVERHEAD_BYTES
        last_offset = base_offset + header.last_offset_delta
        try:
            if segment is None or (
                (
                    segment.size + size > self._easy_bytes
                    or max_timestamp > self._easy_timestamp
                    or last_offset > self._easy_offset
                )
                and self._must_roll(segment, size, last_offset, max_timestamp, now)
            ):
                segment = self.roll(now)
            segment.append(pieces, size, last_offset, max_timestamp, self.config.index_interval_bytes)
        except StorageFault as fault:
            store.fail(fault)
            raise
        self._unsynced[segment] = None
        self.changed = True
        store.batches += 1
        store.records += header.count
        store.appended_bytes += size
        return segment

    def _must_roll(self, segment: Segment, size: int, last_offset: int, max_timestamp: int, now: int) -> bool:
        """Spec 3.5. The age of a segment is told by record times, or by the clock where records have none."""
        config = self.config
        if segment.size + size > config.segment_bytes:
            return True
        if segment.size == 0:
            return False
        first = segment.oldest_timestamp()
        age = max_timestamp - first if first >= 0 else now - segment.created_ms
        if (
            age > self._segment_ms
            or segment.indexes_full(config.segment_index_bytes)
            or last_offset - segment.base_offset > MOST_OFFSETS
        ):
            return True
        self._easy_bytes = min(
            config.segment_bytes, segment.easy_bytes(config.segment_index_bytes, config.index_interval_bytes)
        )
        self._easy_timestamp = first + self._segment_ms if first >= 0 else -1
        self._easy_offset = segment.base_offset + MOST_OFFSETS
        return False

    def roll(self, now: int) -> Segment:
        """Closes the active segment and begins a new one at the log end."""
        store, state = self._store, self._state
        old = self._active
        base_offset = state.log_end_offset
        if old is not None:
            if old.base_offset == base_offset:
                return old  # empty: there is nothing to close
            files = old.write_indexes()
            if self._told_recovery_point >= base_offset:
                # A start would begin at the new segment and trust these, so they come first. Rare: all was durable and
                # checkpointed just up to here.
                store.disk.sync_now([old.log, *files])
                store.disk.sync_directory(self.directory)
            old.retire()
            snapshot = take_snapshot(self.directory, state)
            self._snapshots.append(base_offset)
            epochs = encode_leader_epochs(self._epochs).encode()
            self._epochs_kept = True
            self._unsettled[base_offset] = None
            self.background(self._settle(old, files, base_offset, snapshot, epochs), "roll")
        store.rolls += old is not None
        segment = Segment(store.disk, store.cache, self.directory, base_offset, created_ms=now)
        segment.create()
        if self._waits_for_sync:
            self._chores.append(self._sync_directory)  # before the first ack from the new file (B53)
        self._segments.append(segment)
        self._bases.append(base_offset)
        self._active = segment
        self._easy_bytes = -1
        return segment

    async def _settle(
        self, old: Segment, files: list[File], base_offset: int, snapshot: Snapshot, epochs: bytes
    ) -> None:
        """Makes a closed segment durable, so that a start may begin behind it."""
        disk = self._store.disk
        synced = disk.sync([old.log, *files])  # at once: retention may rename the files later
        async with self._settling:  # a later roll must not overtake: the recovery point covers all before it
            await synced
            for file in files:
                file.close()

            def keep() -> None:
                snapshot.write(disk)
                write_file(disk, f"{self.directory}/{LEADER_EPOCHS}", epochs)

            await self._store.loop.in_thread(keep)
            self.durable_offset = max(self.durable_offset, base_offset)
            del self._unsettled[base_offset]
            self._unsynced.pop(old, None)
            self._drop_snapshots()

    async def settled(self) -> None:
        """What was closed by now is durable, and the snapshots behind it are written."""
        async with self._settling:
            pass

    def background(self, work: Coroutine[Any, Any, None], name: str) -> Future[None]:
        """Work on this partition's files, which must be over before the directory goes."""
        task = self._store.spawn(work, f"{name} {self.directory}")
        if not task.done():
            self._tasks[task] = None
            task.add_callback(lambda done: self._tasks.pop(done, None))
        return task

    async def quiet(self) -> None:
        """Waits until nothing works on the files in the background."""
        while self._tasks:
            await settled(next(iter(self._tasks)))

    def _drop_snapshots(self) -> None:
        """Keeps those at segment bases and the newest (B50)."""
        keep = {*self._bases, max(self._snapshots, default=0)}
        for offset in [offset for offset in self._snapshots if offset not in keep]:
            self._snapshots.remove(offset)
            remove_snapshot(self._store.disk, self.directory, offset)

    def _sync_directory(self) -> None:
        if not self.deleted:
            self._store.disk.sync_directory(self.directory)

    # From the page cache to the disk

    def _moved(self, records: int) -> None:
        """The log end moved; with durability=process so does the high watermark."""
        if not self._waits_for_sync:
            state = self._state
            advance_high_watermark(state, state.log_end_offset)
            if self._syncs_at_times:
                self._count_for_flush(records)
            if self._watchers:
                self._notify()
        else:
            self._store.syncer.add(self)

    def _count_for_flush(self, records: int) -> None:
        self._unsynced_records += records
        if self._unsynced_records >= self.config.flush_messages:
            self._store.syncer.add(self)
        elif not self._flush_armed and self.config.flush_ms < MAX_LONG:
            self._flush_armed = True
            self._store.loop.call_later(self.config.flush_ms, self._flush)

    def _flush(self) -> None:
        self._flush_armed = False
        if not self.deleted and not self._store.stopped and self._unsynced:
            self._store.syncer.add(self)

    def _answer(self, answer: Appended, acks: Acks) -> Future[Appended | Refused]:
        if acks is not Acks.ALL or answer.last_offset < self._state.high_watermark:
            return resolved(answer)
        future: Future[Appended | Refused] = Future()
        self._waiting.append((answer.last_offset + 1, future, answer))
        return future

    def begin_sync(self) -> tuple[list[File], list[Callable[[], None]]]:
        if self.deleted:
            return [], []
        self._sync_target = self._state.log_end_offset
        self._unsynced_records = 0
        files = [segment.log for segment in self._unsynced]
        self._unsynced = {}
        chores, self._chores = self._chores, []
        return files, chores

    def end_sync(self) -> None:
        if self.deleted:
            return
        self.durable_offset = max(self.durable_offset, self._sync_target)
        if self._sync_target > self._state.high_watermark:
            advance_high_watermark(self._state, self._sync_target)
            self._notify()
        waiting, done = self._waiting, self._state.high_watermark
        still: deque[tuple[int, Future[Appended | Refused], Appended]] = deque()
        while waiting:
            each = waiting.popleft()
            if each[0] <= done:
                each[1].set_result(each[2])
            else:
                still.append(each)
        self._waiting = still

    def fail_sync(self, fault: BaseException) -> None:
        """Nobody is told "done" any more; what was written may or may not be there."""
        waiting, self._waiting = self._waiting, deque()
        for _, future, _ in waiting:
            future.set_error(fault)

    def watch(self, run: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(run)

        def stop() -> None:
            if run in self._watchers:
                self._watchers.remove(run)

        return stop

    def _notify(self) -> None:
        for run in tuple(self._watchers):
            run()

    # Reading

    async def read(
        self, offset: int, *, max_bytes: int, isolation: Isolation, at_least_one_batch: bool
    ) -> Read:
        if self.deleted:
            return Read(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, b"", -1, -1, -1, None)
        state = self._state if self.loaded else self.state
        start, high_watermark, stable = (
            state.log_start_offset,
            state.high_watermark,
            last_stable_offset(state),
        )
        if offset < start or offset > state.log_end_offset:
            return OUT_OF_RANGE
        committed = isolation is Isolation.READ_COMMITTED
        limit = stable if committed else high_watermark
        records, end = b"", offset
        if offset < limit and (max_bytes > 0 or at_least_one_batch):
            records, end = self._collect(offset, limit, max_bytes, at_least_one_batch)
        aborted = None
        if committed:
            aborted = self._aborted(offset, end) if records else ()
        return Read(ErrorCode.NONE, records, high_watermark, stable, start, aborted)

    def _collect(
        self, offset: int, limit: int, max_bytes: int, at_least_one_batch: bool
    ) -> tuple[bytes | memoryview, int]:
        """Whole batches of one segment, and the offset behind the last of them."""
        known = self._reads.pop(offset, None)
        if known is not None and known[1] < known[0].size:
            found = known[0].read_batches(known[1], limit, max_bytes, at_least_one_batch, offset)
            return self._remember(known[0], *found, offset)
        for segment in self._segments[max(bisect_right(self._bases, offset) - 1, 0) :]:
            place = segment.find(offset)
            if place is not None:
                found = segment.read_batches(place.position, limit, max_bytes, at_least_one_batch)
                return self._remember(segment, *found, offset)
        return b"", offset

    def _remember(
        self, segment: Segment, records: bytes | memoryview, end: int, position: int, offset: int
    ) -> tuple[bytes | memoryview, int]:
        if not records:
            return b"", offset
        if len(self._reads) >= REMEMBERED_READS:
            del self._reads[next(iter(self._reads))]
        self._reads[end] = (segment, position)
        return records, end

    def _aborted(self, offset: int, end: int) -> tuple[AbortedTransaction, ...]:
        first = max(bisect_right(self._bases, offset) - 1, 0)
        found = aborted_in(self._aborted_from(first), offset, end)
        return tuple([AbortedTransaction(*each) for each in found])

    def _aborted_from(self, first: int) -> Iterator[AbortedEntry]:
        for segment in self._segments[first:]:
            yield from segment.aborted()

    def available_bytes(self, offset: int, isolation: Isolation, limit_bytes: int) -> int:
        state = self._state if self.loaded else self.state
        limit = last_stable_offset(state) if isolation is Isolation.READ_COMMITTED else state.high_watermark
        if offset >= limit or offset < state.log_start_offset:
            return 0
        total = 0
        for segment in self._segments[max(bisect_right(self._bases, offset) - 1, 0) :]:
            if segment.base_offset >= limit:
                break
            known = self._reads.get(offset)
            if known is not None and known[0] is segment:
                position = known[1]
            else:
                position = segment.position_before(offset) if offset > segment.base_offset else 0
            ends_here = limit == state.log_end_offset or segment is not self._active
            total += (segment.size if ends_here else segment.position_before(limit)) - position
            if total >= limit_bytes:
                break
        return max(total, 1)  # there is at least a part of a batch

    # By time

    async def offset_at(self, timestamp: int, isolation: Isolation) -> OffsetAt:
        state = self.state
        limit = last_stable_offset(state) if isolation is Isolation.READ_COMMITTED else state.high_watermark
        if timestamp == LATEST:
            return OffsetAt(limit, -1, self.leader_epoch)
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            start = state.log_start_offset
            first = next((epoch for epoch in reversed(self._epochs) if epoch.start_offset <= start), None)
            return OffsetAt(start, -1, first.leader_epoch if first is not None else -1)
        if timestamp == MAX_TIMESTAMP:
            found = self._find_max_timestamp()
        elif timestamp >= 0:
            found = self._find_time(timestamp)
        else:
            return NOWHERE
        return found if found.offset < limit else NOWHERE

    def _find_max_timestamp(self) -> OffsetAt:
        with_data = [segment for segment in self._segments if segment.size]
        if not with_data:
            return NOWHERE
        segment = max(with_data, key=Segment.largest_timestamp)
        place = segment.find(segment.max_timestamp_offset) if segment.max_timestamp >= 0 else None
        if place is None:
            return NOWHERE
        batch = segment.log.read(place.position, place.size)
        header = BatchHeader._make(HEADER.unpack_from(batch))
        segment.check_batch(place.position, batch, header)
        self._check_offset(segment, header, place.position)
        for record in records_of(batch, header):
            if record.timestamp == header.max_timestamp:
                return OffsetAt(record.offset, record.timestamp, header.leader_epoch)
        return NOWHERE

    def _find_time(self, timestamp: int) -> OffsetAt:
        start = self._state.log_start_offset
        for segment in self._segments:
            if segment.largest_timestamp() < timestamp:
                continue
            for header, position in segment.walk(segment.position_of_time(timestamp), segment.size):
                batch = segment.log.read(position, header.size)
                # Who is told an offset by time never sees the batches before it: so nobody but us looks at their times.
                segment.check_batch(position, batch, header)
                if header.max_timestamp < timestamp:
                    continue
                self._check_offset(segment, header, position)
                if header.last_offset < start:
                    continue
                for record in records_of(batch, header):
                    if record.timestamp >= timestamp and record.offset >= start:
                        return OffsetAt(record.offset, record.timestamp, header.leader_epoch)
        return NOWHERE

    def _check_offset(self, segment: Segment, header: BatchHeader, position: int) -> None:
        """The base offset is not under the CRC: what follows tells."""
        after = position + header.size
        if not segment.is_gapless:
            return
        if after < segment.size:
            wanted = int.from_bytes(segment.log.read(after, OFFSET_BYTES), "big")
        else:
            at = self._segments.index(segment) + 1
            wanted = self._bases[at] if at < len(self._bases) else self._state.log_end_offset
        if header.next_offset != wanted:
            segment.refuse(
                position, f"a batch up to {header.last_offset}, the next one begins at offset {wanted}"
            )

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        state = self.state
        if leader_epoch == self.leader_epoch:
            return leader_epoch, state.log_end_offset
        if leader_epoch < 0 or leader_epoch > self.leader_epoch:
            return -1, -1
        known, next_start = leader_epoch, -1
        for epoch in reversed(self._epochs):
            if epoch.leader_epoch <= leader_epoch:
                known = epoch.leader_epoch
                break
            next_start = epoch.start_offset
        return known, next_start

    # Leaving

    async def delete_records(self, before_offset: int) -> ErrorCode:
        state = self.state
        offset = state.high_watermark if before_offset == -1 else before_offset
        if offset < 0 or offset > state.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        if offset > state.log_start_offset:
            self.stored_log_start = max(self.stored_log_start, offset)
            await self._store.keep_log_starts()
            await self.settled()
            self._raise_start(offset)
            self._drop_segments(self._expired(-1, -1))
        return ErrorCode.NONE

    def keep_tombstones(self, from_offset: int) -> None:
        self.tombstones_stay_from = from_offset

    def _raise_start(self, offset: int) -> None:
        """Durable by now: a start that went back after a crash would take the last stable offset with it."""
        raise_log_start(self._state, offset)
        starts = [epoch for epoch in self._epochs if epoch.start_offset <= offset]
        if len(starts) > 1:
            later = self._epochs[len(starts) :]
            self._epochs = [LeaderEpoch(starts[-1].leader_epoch, offset), *later]
        self._notify()

    def undecided(self) -> int:
        """How many offsets the last stable offset is behind the high watermark. A log that nobody read is not read for it:
        then it is taken for 0."""
        return self._state.high_watermark - last_stable_offset(self._state) if self.loaded else 0

    def producer_count(self) -> int:
        """Producers that it keeps a sequence for; of a log that nobody read 0 too."""
        return len(self._state.producers) if self.loaded else 0

    def now_ms(self) -> int:
        return self._store.clock.wall_ms()

    def segment_infos(self) -> list[SegmentInfo]:
        segments = self.segments
        return [
            SegmentInfo(
                segment.base_offset,
                segments[at + 1].base_offset if at + 1 < len(segments) else self._state.log_end_offset,
                segment.size,
                segment.largest_timestamp(),
                segment.created_ms,
                segment.oldest_timestamp(),
            )
            for at, segment in enumerate(segments)
        ]

    def replace_segments(self, old: Sequence[Segment], new: Segment) -> None:
        """The cleaner has put one in the place of several; their files are already renamed."""
        at = self._segments.index(old[0])
        self._segments[at : at + len(old)] = [new]
        self._bases[at : at + len(old)] = [new.base_offset]
        self._reads = {end: known for end, known in self._reads.items() if known[0] in self._segments}
        for segment in old:
            self._unsynced.pop(segment, None)  # what is left of it is synced, and its file is gone
        self._drop_snapshots()

    def _expired(self, retention_ms: int, retention_bytes: int) -> int:
        if self.cleaning or len(self._segments) < 2:
            return 0
        return expired_segments(
            self.segment_infos(),
            now=self.now_ms(),
            retention_ms=retention_ms,
            retention_bytes=retention_bytes,
            high_watermark=self._state.high_watermark,
            log_start_offset=self._state.log_start_offset,
        )

    def _drop_segments(self, count: int) -> None:
        """The log start must be durable before: or the same records come back after a crash. The producers of what goes are
        in the snapshot at the next base, so that must be written too (`settled`); else the next sweep drops it."""
        while count and self._state.producers and self._segments[count].base_offset in self._unsettled:
            count -= 1
        for segment in self._segments[:count]:
            self._unsynced.pop(segment, None)
            self._store.remove_later(segment.rename_away(), self.config.file_delete_delay_ms)
            if segment.base_offset in self._snapshots:
                self._snapshots.remove(segment.base_offset)
                remove_snapshot(self._store.disk, self.directory, segment.base_offset)
        del self._segments[:count], self._bases[:count]
        self._reads = {end: known for end, known in self._reads.items() if known[0] in self._segments}

    def begin_retention(self) -> int | None:
        """Finds the log start above what time and size do not keep. It is to be made durable, then given to `end_retention`."""
        if self.deleted:
            return None
        _ = self.state
        delete = "delete" in self.config.cleanup_policy
        retention_ms = self.config.retention_ms if delete else -1
        retention_bytes = self.config.retention_bytes if delete else -1
        active = self._active
        now = self._store.clock.wall_ms()
        if active is not None and active.size and retention_ms >= 0:
            time = active.largest_timestamp()
            if time >= 0 and now - time > retention_ms:
                self.roll(now)  # else the last records of a quiet topic would never grow old
        count = self._expired(retention_ms, retention_bytes)
        if not count:
            return None
        start = self._segments[count].base_offset
        self.stored_log_start = max(self.stored_log_start, start)
        return start

    def end_retention(self, start: int) -> None:
        """Raises the log start, which is durable by now, and drops the segments below it; also what DeleteRecords left.

        Not up to `stored_log_start`: a DeleteRecords that came meanwhile may still wait for its own to be durable."""
        self._raise_start(start)
        self._drop_segments(self._expired(-1, -1))

    # Producers

    def producers(self) -> Sequence[ProducerView]:
        return [
            ProducerView(
                producer.producer_id,
                producer.epoch,
                producer.last_sequence,
                producer.last_timestamp,
                producer.coordinator_epoch,
                producer.transaction_first_offset,
            )
            for producer in self.state.producers.values()
        ]

    def begin_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, supports_epoch_bump: bool
    ) -> Guard | ErrorCode | None:
        found = begin_verification(
            self.state,
            producer_id,
            producer_epoch,
            sequence,
            supports_epoch_bump=supports_epoch_bump,
            now=self._store.clock.wall_ms(),
        )
        return found.error if isinstance(found, Refusal) else found

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        return has_ongoing_transaction(self.state, producer_id, producer_epoch)

    def expire_producers(self) -> list[int]:
        expiration_ms = self._store.config.producer_id_expiration_ms
        return (
            expire_producers(self._state, self._store.clock.wall_ms(), expiration_ms) if self.loaded else []
        )

    # The end

    def close(self) -> tuple[list[File], list[str]]:
        """Writes what a clean start wants to find: files that must be synced for that, and then their directory; in between
        `end_file` of the paths. A stop may not get so far, and the next start believes what has its name.

        A log of a few batches is its own index: ten thousand of them would mean as many small files, written and
        synced at each stop.
        """
        self.changed = False
        disk, state = self._store.disk, self._state
        files = [segment.log for segment in self._unsynced]
        self._unsynced = {}
        self._chores.clear()
        self.durable_offset = state.log_end_offset
        active = self._active
        # What was aborted is nowhere else: its index must be durable, and checked when it is read.
        small = active is None or (
            len(self._segments) == 1
            and active.size <= SMALL_BYTES
            and not active.has_aborted
            # Of a stop when the log had more segments, say: they would be believed, and do not know what came since.
            and not active.has_index_files()
        )
        if active is not None and not small:
            files += active.write_indexes()
        replaced: list[tuple[str, bytes]] = []
        if not small or state.producers:
            if state.log_end_offset not in self._snapshots:
                self._snapshots.append(state.log_end_offset)
            replaced += take_snapshot(self.directory, state).files()
        if not small or self._epochs_kept:
            epochs = encode_leader_epochs(self._epochs).encode()
            replaced.append((f"{self.directory}/{LEADER_EPOCHS}", epochs))
        files += [begin_file(disk, path, data) for path, data in replaced]
        self._drop_snapshots()
        return files, [path for path, _ in replaced]

    def forget(self) -> None:
        """The topic is deleted: nothing more is written, and whoever waits is told."""
        self.deleted = True
        self._store.syncer.drop(self)
        waiting, self._waiting = self._waiting, deque()
        for _, future, _ in waiting:
            future.set_result(GONE)
        for segment in self._segments:
            segment.close()
        self._segments, self._bases, self._active = [], [], None
        self._reads.clear()
        self._notify()
