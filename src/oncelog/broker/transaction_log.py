"""__transaction_state at work: writes its records, knows the last one of every id, and keeps a checkpoint to start from.

A start reads the checkpoint, then what was written behind it: its time is that of the transactions under way and of a tail
of bounded size, whatever the log holds. Ids at rest stay packed until somebody asks for them. The checkpoint is never
believed against the log: a partition that was cut, cleared or made anew since is read from its start (decision 0015).
"""

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from oncelog.broker.counters import Counters
from oncelog.config import BrokerConfig
from oncelog.engine.port import Appended, Engine, Partition, Refused, Topic
from oncelog.errors import CorruptLog, ErrorCode
from oncelog.model import (
    NO_PRODUCER_ID,
    TRANSACTION_STATE,
    Acks,
    Isolation,
    Millis,
    Origin,
    TopicId,
    coordinator_partition,
)
from oncelog.ports import Clock
from oncelog.record.batch import NewRecord, build_batch
from oncelog.record.txn_state import TransactionKey, encode_bump_key, encode_key
from oncelog.tasks import Future, Loop, Task, Turns, sleep, spawn, supervise
from oncelog.txn.image import Covered, Image, Section, decode_checkpoint, encode_checkpoint
from oncelog.txn.state import Bump, Txn
from oncelog.txn.stored import (
    bump_of_value,
    bumped_id_of,
    decode_txn,
    encode_batch,
    encode_txn,
    idle_since,
    is_under_way,
    transactional_id_of,
    value_of_bump,
    walk,
)

log = logging.getLogger("oncelog.transactions")

partition_of = lru_cache(maxsize=16_384)(
    coordinator_partition
)  # asked for at every write, and Java's hash is slow
READ_BYTES: Final = 5 * 1024 * 1024
LOOKED_AT_ONCE: Final = 20_000  # ids between two turns of the loop: some milliseconds
CHECKPOINT: Final = "transaction-state-checkpoint"

# How a failed write of our log is answered (TX-2).
WRITE_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class TransactionLog:
    """All partitions of __transaction_state. What the images hold is what a replay of the logs would find."""

    def __init__(
        self,
        engine: Engine,
        loop: Loop,
        clock: Clock,
        config: BrokerConfig,
        counters: Counters,
        on_fault: Callable[[str, BaseException], None],
    ) -> None:
        self._engine = engine
        self._loop = loop
        self._clock = clock
        self._config = config
        self._counters = counters
        self._on_fault = on_fault
        self._record_version = 0 if config.transaction_version == 0 else 1
        self._topic_id: TopicId | None = None
        self._images: list[Image] = []
        self._starts: list[int] = []  # of the logs that the images were read from
        self._creating: Task[None] | None = None
        self._checkpointing = Turns()
        self._is_due = False  # a checkpoint was asked for and has not begun
        self._tail_bytes = 0  # written since the last checkpoint
        self._limit_bytes = config.transaction_state_log_checkpoint_bytes

    # ---- the topic

    async def ensure_topic(self) -> None:
        """Makes __transaction_state if it is missing; whoever comes meanwhile waits for the same."""
        if TRANSACTION_STATE in self._engine.topics:
            return
        if self._creating is None or self._creating.done():
            self._creating = spawn(self._loop, self._create_topic(), "create __transaction_state")
        await self._creating

    async def _create_topic(self) -> None:
        await self._engine.create_topic(
            TRANSACTION_STATE,
            self._config.transaction_state_log_num_partitions,
            {
                "cleanup.policy": "compact",
                "segment.bytes": str(self._config.transaction_state_log_segment_bytes),
            },
        )

    def partition_of(self, transactional_id: str) -> Partition:
        topic = self._engine.topics[TRANSACTION_STATE]
        return topic.partitions[partition_of(transactional_id, len(topic.partitions))]

    def _image(self, topic: Topic, index: int) -> Image:
        if topic.id != self._topic_id:  # the first, or made anew
            self._topic_id, self._images, self._starts = topic.id, [], []
        for partition in topic.partitions[len(self._images) :]:
            self._images.append(Image())
            self._starts.append(partition.log_start_offset)
        return self._images[index]

    # ---- what is known

    def find(self, transactional_id: str) -> Txn | None:
        """The id as the log has it."""
        topic = self._engine.topics.get(TRANSACTION_STATE)
        if topic is None:
            return None
        image = self._image(topic, partition_of(transactional_id, len(topic.partitions)))
        value = image.states.get(transactional_id)
        return None if value is None else _decode(transactional_id, value)

    def bump_of(self, transactional_id: str) -> Bump | None:
        topic = self._engine.topics.get(TRANSACTION_STATE)
        if topic is None:
            return None
        image = self._image(topic, partition_of(transactional_id, len(topic.partitions)))
        value = image.bumps.get(transactional_id)
        return None if value is None else bump_of_value(value)

    def under_way(self) -> list[Txn]:
        """What a start has to look after: every transaction that is not complete. Only right after `load`."""
        return [
            txn
            for image in self._images
            for name, value in image.states.unpacked()
            if is_under_way(value) and (txn := _decode(name, value)) is not None
        ]

    def all_but(self, known: Container[str]) -> Iterator[Txn]:
        """Every id that is not among these."""
        for image in self._images:
            for name, value in image.states.all().items():
                txn = None if name in known else _decode(name, value)
                if txn is not None:
                    yield txn

    def count(self) -> int:
        """How many ids there are."""
        return sum(len(image.states.all()) for image in self._images)

    async def idle_before(self, time: Millis) -> list[tuple[Partition, list[str]]]:
        """By partition: the ids that nobody touched after this time and that have nothing under way."""
        found: list[tuple[Partition, list[str]]] = []
        topic = self._engine.topics.get(TRANSACTION_STATE)
        looked_at = 0
        for partition, image in zip(topic.partitions if topic else (), list(self._images), strict=False):
            values = image.states.all()
            names = [
                name
                for name, value in values.items()
                if (since := idle_since(value)) is not None and since <= time
            ]
            if names:
                found.append((partition, names))
            looked_at += len(values)
            if looked_at > LOOKED_AT_ONCE:
                looked_at = 0
                await sleep(self._loop, 0)
        return found

    # ---- reading

    async def load(self) -> None:
        """The last record of every id: a checkpoint, and the logs behind it (REC-8)."""
        topic = self._engine.topics.get(TRANSACTION_STATE)
        if topic is None:
            return
        kept, fits = await self._read_checkpoint(topic)
        self._topic_id, self._images, self._starts = topic.id, [], []
        for partition in topic.partitions:
            image, offset, known_to = Image(), partition.log_start_offset, partition.log_end_offset
            if partition.index in kept:
                covered, packed = kept[partition.index]
                why = _why_not(covered, partition)
                if why is None:
                    image, offset = packed, covered.end
                    known_to = covered.end
                    self._counters.add("txn.load.partitions_from_checkpoint")
                else:
                    log.warning("txn.checkpoint_ignored partition=%d why=%s", partition.index, why)
                    fits = False
            self._images.append(image)
            self._starts.append(partition.log_start_offset)
            partition.keep_tombstones(known_to)
            if offset < partition.log_end_offset:
                self._tail_bytes += await self._replay(partition, offset, image)
        self._counters.add("txn.load.log_bytes", self._tail_bytes)
        if not fits:
            self._tail_bytes = max(self._tail_bytes, self._limit_bytes)  # what does not fit must not stay
        self._look_at_tail()

    async def _read_checkpoint(self, topic: Topic) -> tuple[Mapping[int, tuple[Covered, Image]], bool]:
        """What is kept of each partition; False if there is something that cannot be used."""
        data = await self._engine.note(CHECKPOINT)
        if data is None:
            log.info("txn.checkpoint_missing")
            return {}, True
        try:
            topic_id, sections = decode_checkpoint(data)
            if topic_id != topic.id:
                raise CorruptLog(f"it is of topic id {topic_id.hex()}, wanted {topic.id.hex()}")
        except CorruptLog as fault:
            log.warning("txn.checkpoint_ignored why=%s", fault)
            return {}, False
        self._limit_bytes = self._limit(data)
        return sections, True

    async def _replay(self, partition: Partition, offset: int, image: Image) -> int:
        """The last value of a key counts, a tombstone removes it. Returns how many bytes it read."""
        values: dict[bytes, bytes | None] = {}
        size = 0
        while offset < partition.log_end_offset:
            read = await partition.read(
                offset, max_bytes=READ_BYTES, isolation=Isolation.READ_UNCOMMITTED, at_least_one_batch=True
            )
            size += len(read.records)
            before = offset
            for next_offset, key, value in walk(bytes(read.records)):
                offset = next_offset
                if key is not None:
                    values[key] = value
            if offset == before:  # a compacted tail without batches (B24)
                break
        for key, value in values.items():
            transactional_id = transactional_id_of(key)
            if transactional_id is not None:
                image.states.put(transactional_id, value)
            elif (bumped_id := bumped_id_of(key)) is not None:
                image.bumps.put(bumped_id, value)
        return size

    # ---- writing

    async def write(self, record: Txn, acks: Acks = Acks.ALL, bump: Bump | None = None) -> ErrorCode:
        """Appends one record; in the same batch why it bumps the epoch, so that neither is ever without the other."""
        if TRANSACTION_STATE not in self._engine.topics:
            await self.ensure_topic()
        return error_of(record, await self.begin_write(record, acks, bump))

    def begin_write(
        self, record: Txn, acks: Acks = Acks.ALL, bump: Bump | None = None
    ) -> Future[Appended | Refused]:
        """As `write`, without a wait: the record has its place in the log now. The topic must be there."""
        topic = self._engine.topics[TRANSACTION_STATE]
        name = record.transactional_id
        at = partition_of(name, len(topic.partitions))
        # Who speaks for the id next is a tag, which version 0 does not have; it must not be lost (TX-12, decision 0011).
        needs_tags = record.next_producer_id != NO_PRODUCER_ID
        value = encode_txn(record, 1 if needs_tags else self._record_version)
        why = None if bump is None else value_of_bump(bump)
        batch = encode_batch(name, value, why, self._clock.wall_ms())
        written = topic.partitions[at].append(batch, acks=acks, origin=Origin.COORDINATOR)
        # Otherwise it has its place in the log; whether it is durable is for the caller to wait.
        if not _is_refused(written):
            image = self._image(topic, at)
            image.states.put(name, value)
            if why is not None:
                image.bumps.put(name, why)
            self._wrote(len(batch))
        return written

    async def forget(self, partition: Partition, names: Iterable[str], now: Millis) -> ErrorCode:
        """Tombstones for ids of one partition, in one batch."""
        image = self._image(self._engine.topics[TRANSACTION_STATE], partition.index)
        gone = list(names)
        keys = [encode_key(TransactionKey(name)) for name in gone]
        keys += [encode_bump_key(TransactionKey(name)) for name in gone if image.bumps.get(name) is not None]
        batch = build_batch([NewRecord(key, None, now) for key in keys])
        written = partition.append(batch, acks=Acks.ALL, origin=Origin.COORDINATOR)
        if not _is_refused(written):
            for name in gone:
                image.states.put(name, None)
                image.bumps.put(name, None)
            self._wrote(len(batch))
        outcome = await written
        return outcome.error if isinstance(outcome, Refused) else ErrorCode.NONE

    # ---- the checkpoint

    def _wrote(self, size: int) -> None:
        self._tail_bytes += size
        if self._tail_bytes >= self._limit_bytes:
            self._look_at_tail()

    def _look_at_tail(self) -> None:
        if self._tail_bytes >= self._limit_bytes and not self._is_due:
            self._is_due = True
            supervise(spawn(self._loop, self._checkpoint_later(), CHECKPOINT), self._on_fault)

    async def _checkpoint_later(self) -> None:
        await sleep(self._loop, 0)
        await self.checkpoint()

    def _limit(self, checkpoint: bytes) -> int:
        """How long the tail may become: as long as the checkpoint at least, or writing that would be most of the work."""
        return max(self._config.transaction_state_log_checkpoint_bytes, len(checkpoint))

    async def checkpoint(self) -> None:
        """Writes down where all logs stand; durable when it returns. Nothing if nothing was written since the last."""
        async with self._checkpointing:
            self._is_due = False
            topic = self._engine.topics.get(TRANSACTION_STATE)
            if topic is None or not self._tail_bytes:
                return
            began_ns = self._clock.monotonic_ns()
            self._tail_bytes = 0
            sections = await self._sections(topic)
            data = await self._loop.in_thread(lambda: encode_checkpoint(topic.id, sections))
            await self._engine.keep_note(CHECKPOINT, data)
            for covered, _, _ in sections:
                # An id that the checkpoint knows and the log has forgotten would come back with the next start.
                topic.partitions[covered.partition].keep_tombstones(covered.end)
            self._limit_bytes = self._limit(data)
            self._counters.took("txn.checkpoint", self._clock.monotonic_ns() - began_ns)

    async def _sections(self, topic: Topic) -> Sequence[Section]:
        """Each partition at one moment, so that its image and where its log ends belong together."""
        found: list[Section] = []
        for partition in topic.partitions:
            image = self._image(topic, partition.index)
            states, bumps = image.states.all(), image.bumps.all()
            start, end = self._starts[partition.index], partition.log_end_offset
            if end > start:
                covered = Covered(partition.index, partition.leader_epoch, start, end)
                found.append(Section(covered, states, bumps))
            await sleep(self._loop, 0)
        return found


def _decode(transactional_id: str, value: bytes) -> Txn | None:
    txn = decode_txn(transactional_id, value)
    if txn is None:
        log.warning("txn.skipped transactional_id=%r why=its record's version", transactional_id)
    return txn


def error_of(record: Txn, outcome: Appended | Refused) -> ErrorCode:
    """What came of a write, as the coordinator answers it."""
    if isinstance(outcome, Refused):
        log.error(
            "txn.write_refused transactional_id=%r error=%s", record.transactional_id, outcome.error.name
        )
        return WRITE_ERRORS.get(outcome.error, outcome.error)
    return ErrorCode.NONE


def _is_refused(written: Future[Appended | Refused]) -> bool:
    """The engine refuses at once or not at all (engine/port.py)."""
    return written.done() and isinstance(written.result(), Refused)


def _why_not(covered: Covered, partition: Partition) -> str | None:
    """Why what is kept does not stand for the beginning of this log; None if it does.

    A log that was cut has the start of a later leader epoch below the covered end, whatever was written since.
    """
    if covered.log_start != partition.log_start_offset:
        return f"the log begins at {partition.log_start_offset}, wanted {covered.log_start}"
    _, end = partition.epoch_end(covered.leader_epoch)
    if end < covered.end:
        return f"leader epoch {covered.leader_epoch} ends at {end}, wanted {covered.end} at least"
    return None
