"""Simulated clients of both transaction protocols. They do what real ones do: ask again, give up, abort, start anew.

Each writes into the history what it asked and what it was told. The rule for errors (reliability J7): a refusal says that
nothing happened only if no earlier try of the same request was left without an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple

from oncelog.client.visible import AbortedFrom, Aborting, Fate
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from oncelog.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from oncelog.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from oncelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from oncelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from oncelog.protocol.primitives import Message
from oncelog.record.batch import CONTROL, NewRecord, batches, build_batch
from oncelog.sim.history import (
    CommitOffsets,
    End,
    EndTxn,
    FetchOffsets,
    History,
    Init,
    Op,
    Poll,
    Seek,
    Send,
)
from oncelog.sim.net import Link, Unreachable
from oncelog.sim.world import World
from oncelog.tasks import sleep

E = ErrorCode
# The same request again may succeed, and this try changed nothing.
AGAIN: Final = frozenset(
    {
        E.COORDINATOR_NOT_AVAILABLE,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.NOT_COORDINATOR,
        E.CONCURRENT_TRANSACTIONS,
        E.NOT_ENOUGH_REPLICAS,
        E.NOT_LEADER_OR_FOLLOWER,
        E.UNSTABLE_OFFSET_COMMIT,
    }
)
# The same request again may succeed, and this try may have been carried out.
UNCLEAR: Final = frozenset(
    {E.REQUEST_TIMED_OUT, E.KAFKA_STORAGE_ERROR, E.NOT_ENOUGH_REPLICAS_AFTER_APPEND, E.NETWORK_EXCEPTION}
)
# Somebody else has the id now, or it expired: this instance is over.
FATAL: Final = frozenset(
    {E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH, E.INVALID_PRODUCER_ID_MAPPING, E.UNKNOWN_PRODUCER_ID}
)
# The transaction must be aborted; the instance goes on.
ABORT: Final = frozenset(
    {
        E.TRANSACTION_ABORTABLE,
        E.INVALID_TXN_STATE,
        E.OUT_OF_ORDER_SEQUENCE_NUMBER,
        E.ILLEGAL_GENERATION,
        E.UNKNOWN_MEMBER_ID,
        E.STALE_MEMBER_EPOCH,
        E.FENCED_MEMBER_EPOCH,
        E.FENCED_INSTANCE_ID,
        E.REBALANCE_IN_PROGRESS,
    }
)
OLD_EPOCH: Final = (
    32_700  # from here on InitProducerId may say UNKNOWN_SERVER_ERROR to who was fenced, as Kafka does (V19)
)
MAX_EPOCH: Final = 32_766  # 32,767 is for markers
TRIES: Final = 60  # of one request, with a pause after each
EARLIEST, LATEST = -2, -1


class Defect(AssertionError):
    """The broker said something that it must never say."""


class Fenced(Exception):
    """This instance is over."""


class MustAbort(Exception):
    """The transaction cannot go on. `bump`: a batch was left behind, so the producer needs a new epoch first."""

    def __init__(self, why: str, *, bump: bool) -> None:
        super().__init__(why)
        self.bump = bump


@dataclass(frozen=True, slots=True)
class Protocol:
    """The versions that one kind of client speaks."""

    name: str
    init: int
    produce: int
    add_partitions: int
    add_offsets: int
    offset_commit: int
    end: int
    implicit: bool


TV2: Final = Protocol(
    "TV2", init=5, produce=12, add_partitions=4, add_offsets=4, offset_commit=5, end=5, implicit=True
)
TV1: Final = Protocol(
    "TV1", init=4, produce=11, add_partitions=3, add_offsets=3, offset_commit=4, end=4, implicit=False
)
TV0: Final = Protocol(
    "TV0", init=1, produce=7, add_partitions=1, add_offsets=1, offset_commit=2, end=1, implicit=False
)


def split(partition: str) -> tuple[str, int]:
    topic, _, index = partition.rpartition("-")
    return topic, int(index)


def by_topic(partitions: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in partitions:
        topic, index = split(each)
        found.setdefault(topic, []).append(index)
    return found


class Session:
    """One client's way to the broker: a connection for each kind of request, as real clients have."""

    def __init__(self, world: World, rng: Random, client_id: str) -> None:
        self.world = world
        self.rng = rng
        self.client_id = client_id
        self._links: dict[str, Link] = {}

    async def ask(
        self, key: int, version: int, request: Message, response: type[Message], on: str = ""
    ) -> Any:
        link = self._links.get(on)
        if link is None or not link.is_open:
            link = self._links[on] = await self.world.connect(self.client_id)
        return await link.ask(request, response, key, version)

    async def rest(self, longest_ms: float = 60.0) -> None:
        await sleep(self.world.loop, self.rng.uniform(1.0, longest_ms))

    def put_aside(self, on: str = "") -> Link:
        """The next request of this kind takes a new connection; this one stays open. Unreachable if there is none."""
        link = self._links.pop(on, None)
        if link is None:
            raise Unreachable("there is no connection")
        return link

    def leave(self) -> None:
        for link in self._links.values():
            link.abandon()
        self._links.clear()


class Producer:
    """One instance of a producer, transactional or only idempotent (without an id) or plain."""

    def __init__(
        self,
        world: World,
        history: History,
        rng: Random,
        process: str,
        transactional_id: str | None,
        protocol: Protocol = TV2,
        *,
        timeout_ms: int = 1_000,
        idempotent: bool = True,
        two_phase: bool = False,
    ) -> None:
        self.session = Session(world, rng, process)
        self.history = history
        self.rng = rng
        self.process = process
        self.id = transactional_id
        self.protocol = protocol
        self.timeout_ms = timeout_ms
        self.idempotent = idempotent
        self.two_phase = two_phase  # KIP-939: somebody else decides how its transactions end, and when
        self.is_once = idempotent  # the broker promises to write no batch twice
        self.producer_id: int = -1
        self.epoch: int = -1
        self._sequences: dict[str, int] = {}
        self._added: set[str] = set()
        self._count = 0
        self._transactions = 0
        self.stands: dict[str, int] = {}  # where the last batch of each partition stands, by its ack
        self.txn: str | None = None
        self.used = False  # the transaction has something to end
        self.left_behind = False  # an InitProducerId of ours had no answer: it may still come

    def name_values(self, count: int, size: int = 0) -> list[str]:
        """`size`: so many bytes at least has the first."""
        self._count += 1
        values = [f"{self.process}.{self._count}.{each}" for each in range(count)]
        values[0] = values[0].ljust(size, "-")
        return values

    # Identity

    async def init(self, *, keep: bool = False) -> tuple[int, int]:
        """Takes the id over, or bumps our own epoch; both start sequences anew.

        `keep`: an ongoing transaction is not aborted but ours to end; returns whose it was.
        """
        op = None
        if self.id is not None and not keep:
            op = self.history.invoke(Init(process=self.process, id=self.id))
        unclear = False
        for _ in range(TRIES):
            request = InitProducerIdRequest(
                transactional_id=self.id,
                transaction_timeout_ms=self.timeout_ms,
                producer_id=self.producer_id if self.protocol.init >= 3 else -1,
                producer_epoch=self.epoch if self.protocol.init >= 3 else -1,
                enable2_pc=self.two_phase,
                keep_prepared_txn=keep,
            )
            version = 6 if self.two_phase else self.protocol.init
            try:
                answer: InitProducerIdResponse = await self.session.ask(
                    22, version, request, InitProducerIdResponse
                )
            except Unreachable:
                unclear = self.left_behind = True
                await self.session.rest()
                continue
            error = E(answer.error_code)
            if error is E.NONE:
                self._check_bump(answer.producer_id, answer.producer_epoch)
                self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
                self._sequences.clear()
                if op is not None:
                    op.producer_id, op.epoch = self.producer_id, self.epoch
                    self.history.ok(op)
                return answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch
            if error in FATAL or (error is E.UNKNOWN_SERVER_ERROR and self.epoch >= OLD_EPOCH):
                self._over(op, unclear, error)
                raise Fenced(error.name)
            self._again_or_defect(error, "InitProducerId")
            await self.session.rest()
        self._over(op, True, E.REQUEST_TIMED_OUT)
        raise Fenced("gave up")

    def _check_bump(self, producer_id: int, epoch: int) -> None:
        """Whoever says which epoch it has gets the next one; no client ever gets the last one there is (I6)."""
        if not 0 <= epoch <= MAX_EPOCH:
            raise Defect(f"{self.process} was given epoch {epoch} of producer id {producer_id}")
        if self.id is not None and producer_id == self.producer_id and epoch != self.epoch + 1:
            raise Defect(f"{self.process} had epoch {self.epoch} and was given {epoch}")

    # One transaction

    def begin(self) -> str:
        self._transactions += 1
        self.txn = f"{self.process}/{self._transactions}"
        self._added.clear()
        self.used = False
        return self.txn

    def pretend_added(self, partition: str) -> None:
        """Leaves out the request that would tell the coordinator."""
        self._added.add(partition)

    async def send(
        self,
        batches: Mapping[str, Sequence[str]],
        *,
        keys: Mapping[str, Sequence[str]] | None = None,
        group: str | None = None,
        sources: Mapping[str, Sequence[tuple[str, int]]] | None = None,
        acks: int = -1,
    ) -> None:
        """One request with a batch for each partition, asked again until each is answered for good."""
        keys, sources = keys or {}, sources or {}
        ops = {
            at: self.history.invoke(
                Send(
                    process=self.process,
                    partition=at,
                    values=values,
                    txn=self.txn,
                    keys=keys.get(at),
                    group=group,
                    sources=sources.get(at),
                    idempotent=self.is_once,
                    acks="all" if acks == -1 else "leader",
                )
            )
            for at, values in batches.items()
        }
        unclear: set[str] = set()
        try:
            if self.txn is not None and not self.protocol.implicit:
                await self.add_partitions([at for at in batches if at not in self._added])
            for _ in range(TRIES):
                await self._produce(ops, unclear, acks)
                if not any(op.is_open for op in ops.values()):
                    break
                await self.session.rest()
            else:
                raise MustAbort("gave up", bump=True)
        finally:
            for at, op in ops.items():
                if op.is_open:
                    self._over(op, at in unclear, E.REQUEST_TIMED_OUT)

    async def _produce(self, ops: Mapping[str, Send], unclear: set[str], acks: int) -> None:
        left = {at: op for at, op in ops.items() if op.is_open}
        self.used = True
        request = ProduceRequest(
            transactional_id=self.id if self.txn is not None else None,
            acks=acks,
            timeout_ms=1_000,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    partition_data=[
                        PartitionProduceData(index=index, records=self._batch(left[f"{topic}-{index}"]))
                        for index in indexes
                    ],
                )
                for topic, indexes in by_topic(list(left)).items()
            ],
        )
        try:
            answer: ProduceResponse = await self.session.ask(
                0, self.protocol.produce, request, ProduceResponse, "leader"
            )
        except Unreachable:
            unclear.update(left)
            return
        ended: BaseException | None = None
        for topic in answer.responses:
            for part in topic.partition_responses:
                at = f"{topic.name}-{part.index}"
                op, error = left[at], E(part.error_code)
                if error in (E.NONE, E.DUPLICATE_SEQUENCE_NUMBER):
                    op.offset = part.base_offset if error is E.NONE else -1
                    self.history.ok(op)
                    self.stands[at] = op.offset
                    if self.idempotent:
                        self._sequences[at] = self._sequences.get(at, 0) + len(op.values)
                elif error in FATAL:
                    self._over(op, at in unclear, error)
                    ended = Fenced(error.name)
                elif error in ABORT:
                    self._over(op, at in unclear, error)
                    ended = ended or MustAbort(error.name, bump=True)
                elif error in UNCLEAR:
                    unclear.add(at)
                else:
                    self._again_or_defect(error, "Produce")
        if ended is not None:
            raise ended

    async def send_again(self, at: str, values: Sequence[str], sequence: int) -> int:
        """A batch that was acknowledged, as after a lost answer: where it stands. No part of the history."""
        op = Send(process=self.process, partition=at, values=values)
        next_sequence, self._sequences[at] = self._sequences.get(at, 0), sequence
        topic, index = split(at)
        part = PartitionProduceData(index=index, records=self._batch(op))
        self._sequences[at] = next_sequence
        request = ProduceRequest(
            acks=-1, timeout_ms=1_000, topic_data=[TopicProduceData(name=topic, partition_data=[part])]
        )
        for _ in range(TRIES):
            try:
                answer: ProduceResponse = await self.session.ask(
                    0, self.protocol.produce, request, ProduceResponse, "leader"
                )
            except Unreachable:
                await self.session.rest()
                continue
            found = answer.responses[0].partition_responses[0]
            if E(found.error_code) not in AGAIN | UNCLEAR:
                break
            await self.session.rest()
        else:
            raise MustAbort("gave up", bump=True)
        if found.error_code != E.NONE:
            raise Defect(f"a copy of a batch that was acknowledged was answered {E(found.error_code).name}")
        return found.base_offset

    def _batch(self, op: Send) -> bytes:
        now = self.session.world.clock.wall_ms()
        keys: Sequence[str | None] = op.keys or [None] * len(op.values)
        records = [
            NewRecord(None if key is None else key.encode(), value.encode(), now)
            for key, value in zip(keys, op.values, strict=True)
        ]
        if not self.idempotent:
            return build_batch(records)
        return build_batch(
            records,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self._sequences.get(op.partition, 0),
            transactional=self.txn is not None,
        )

    async def add_partitions(self, partitions: Sequence[str]) -> None:
        """AddPartitionsToTxn, as the classic protocol has it."""
        if not partitions:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id or "",
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=indexes)
                for topic, indexes in by_topic(partitions).items()
            ],
        )
        for _ in range(TRIES):
            try:
                answer: AddPartitionsToTxnResponse = await self.session.ask(
                    24, self.protocol.add_partitions, request, AddPartitionsToTxnResponse
                )
            except Unreachable:
                self.used = True
                await self.session.rest()
                continue
            errors = {
                E(part.partition_error_code)
                for topic in answer.results_by_topic_v3_and_below
                for part in topic.results_by_partition
            }
            if errors == {E.NONE}:
                self.used = True
                self._added.update(partitions)
                return
            self._refused(errors, "AddPartitionsToTxn")
            await self.session.rest()
        raise MustAbort("gave up", bump=False)

    async def send_offsets(
        self,
        group: str,
        offsets: Mapping[str, int],
        *,
        member: str = "",
        generation: int = -1,
    ) -> None:
        op = self.history.invoke(
            CommitOffsets(process=self.process, group=group, offsets=dict(offsets), txn=self.txn)
        )
        unclear = False
        try:
            if not self.protocol.implicit:
                await self._add_offsets(group)
            request = self.offsets_request(group, offsets, member, generation)
            for _ in range(TRIES):
                try:
                    answer: TxnOffsetCommitResponse = await self.session.ask(
                        28, self.protocol.offset_commit, request, TxnOffsetCommitResponse, "group"
                    )
                except Unreachable:
                    unclear = self.used = True
                    await self.session.rest()
                    continue
                errors = {E(part.error_code) for topic in answer.topics for part in topic.partitions}
                if errors == {E.NONE}:
                    self.used = True
                    self.history.ok(op)
                    return
                unclear = unclear or bool(errors & UNCLEAR)
                self._refused(errors - UNCLEAR, "TxnOffsetCommit")
                await self.session.rest()
            raise MustAbort("gave up", bump=False)
        finally:
            if op.is_open:
                self._over(op, unclear, E.REQUEST_TIMED_OUT)

    def offsets_request(
        self, group: str, offsets: Mapping[str, int], member: str, generation: int
    ) -> TxnOffsetCommitRequest:
        return TxnOffsetCommitRequest(
            transactional_id=self.id or "",
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=generation,
            member_id=member,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=offsets[f"{topic}-{index}"],
                            committed_metadata="",
                        )
                        for index in indexes
                    ],
                )
                for topic, indexes in by_topic(list(offsets)).items()
            ],
        )

    async def is_refused_as(
        self, group: str, offsets: Mapping[str, int], member: str, generation: int
    ) -> bool:
        """A member of an older generation may commit nothing; one try, no part of the history."""
        if not self.protocol.implicit:
            await self._add_offsets(group)
        request = self.offsets_request(group, offsets, member, generation)
        try:
            answer: TxnOffsetCommitResponse = await self.session.ask(
                28, self.protocol.offset_commit, request, TxnOffsetCommitResponse, "group"
            )
        except Unreachable:
            raise MustAbort("a wrong request without an answer", bump=False) from None
        finally:
            self.used = True
        if any(part.error_code == E.NONE for topic in answer.topics for part in topic.partitions):
            raise Defect(f"{member} of {group} committed offsets as of generation {generation}")
        return True

    async def _add_offsets(self, group: str) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.id or "",
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        for _ in range(TRIES):
            try:
                answer: AddOffsetsToTxnResponse = await self.session.ask(
                    25, self.protocol.add_offsets, request, AddOffsetsToTxnResponse
                )
            except Unreachable:
                self.used = True
                await self.session.rest()
                continue
            if answer.error_code == E.NONE:
                self.used = True
                return
            self._refused({E(answer.error_code)}, "AddOffsetsToTxn")
            await self.session.rest()
        raise MustAbort("gave up", bump=False)

    async def end(self, *, commit: bool) -> None:
        """Asks for the end until it is told; Fenced or MustAbort if it will not be by us."""
        assert self.txn is not None
        op = self.history.invoke(EndTxn(process=self.process, txn=self.txn, commit=commit))
        unclear = False
        request = EndTxnRequest(
            transactional_id=self.id or "",
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        for _ in range(TRIES):
            try:
                answer: EndTxnResponse = await self.session.ask(
                    26, self.protocol.end, request, EndTxnResponse
                )
            except Unreachable:
                unclear = True
                await self.session.rest()
                continue
            error = E(answer.error_code)
            if error is E.NONE:
                self._ended(answer)
                self.history.ok(op)
                return
            if error in FATAL:
                self._over(op, unclear, error)
                raise Fenced(error.name)
            if error in ABORT:
                self._over(op, unclear, error)
                raise MustAbort(error.name, bump=True)
            self._again_or_defect(error, "EndTxn")
            await self.session.rest()
        self._over(op, True, E.REQUEST_TIMED_OUT)
        raise Fenced("gave up")

    def _ended(self, answer: EndTxnResponse) -> None:
        self.txn = None
        if self.protocol.implicit:
            now = (answer.producer_id, answer.producer_epoch)
            if now == (self.producer_id, self.epoch):
                return  # there was nothing to end
            self._check_bump(*now)
            self.producer_id, self.epoch = now
            self._sequences.clear()

    # Errors

    def _over(self, op: Op | None, unclear: bool, error: ErrorCode) -> None:
        if op is not None and op.is_open:
            self.history.done(op, End.INFO if unclear or error in UNCLEAR else End.FAIL, error.name)

    def _refused(self, errors: set[ErrorCode], what: str) -> None:
        if errors & FATAL:
            raise Fenced(min(errors & FATAL).name)
        if errors & ABORT:
            raise MustAbort(min(errors & ABORT).name, bump=False)
        for error in errors:
            if error is not E.NONE:
                self._again_or_defect(error, what)

    def _again_or_defect(self, error: ErrorCode, what: str) -> None:
        if error not in AGAIN and error not in UNCLEAR:
            raise Defect(f"{what} of {self.process} ({self.protocol.name}) was answered {error.name}")


class Seen(NamedTuple):
    """What one fetch shows under an isolation level."""

    records: list[tuple[int, str]]
    next_offset: int


class Reader:
    """Reads partitions from where it stands, as one consumer without a group."""

    def __init__(self, world: World, history: History, rng: Random, process: str, *, committed: bool) -> None:
        self.session = Session(world, rng, process)
        self.history = history
        self.process = process
        self.committed = committed
        self.positions: dict[str, int] = {}

    async def poll(
        self,
        partition: str,
        *,
        txn: str | None = None,
        max_bytes: int = 1 << 20,
        wait_ms: int = 0,
    ) -> Poll:
        """One fetch; Unreachable if it was not answered. A position below the log start moves up, as by a reset."""
        offset = self.positions.get(partition, 0)
        op = self.history.invoke(
            Poll(process=self.process, partition=partition, offset=offset, committed=self.committed, txn=txn)
        )
        try:
            found = await self._fetch(partition, offset, max_bytes, wait_ms)
        except Unreachable:
            self.history.done(op, End.FAIL, "no answer")
            raise
        error = E(found.error_code)
        if error is E.OFFSET_OUT_OF_RANGE:
            self.history.done(op, End.FAIL, error.name)
            start = await self._log_start(partition)
            if start <= offset:
                raise Defect(f"{partition}: {offset} is out of range, the log starts at {start}")
            self.history.now(Seek(process=self.process, partition=partition))
            self.positions[partition] = start
            return op
        if error is not E.NONE:
            self.history.done(op, End.FAIL, error.name)
            raise Unreachable(error.name)
        self._take(op, found, offset)
        return op

    def _take(self, op: Poll, found: Any, offset: int) -> None:
        seen = self._look(op, found, offset)
        op.records = seen.records
        op.next = self.positions[op.partition] = seen.next_offset
        self.history.ok(op)

    def _look(self, op: Poll, found: Any, offset: int) -> "Seen":
        """What a fetch shows us, and the offsets that came with it."""
        listed = found.aborted_transactions
        aborting = None
        if listed and self.committed:
            aborting = Aborting(AbortedFrom(each.first_offset, each.producer_id) for each in listed)
        records: list[tuple[int, str]] = []
        next_offset = offset
        view = memoryview(found.records or b"")
        values_of = self.session.world.read.values_of
        for at, header in batches(view):
            batch = view[at : at + header.size]
            hidden = aborting is not None and aborting.fate(batch, header) is Fate.ABORTED
            if not hidden and not header.attributes & CONTROL:
                base = header.base_offset
                records += [
                    (base + delta, value)
                    for delta, value in values_of(batch, header)
                    if base + delta >= offset
                ]
            next_offset = max(next_offset, header.next_offset)
        if listed and not self.committed:
            raise Defect(f"{op.partition}: a read_uncommitted fetch lists aborted transactions")
        op.log_start = found.log_start_offset
        op.last_stable = found.last_stable_offset
        op.high_watermark = found.high_watermark
        return Seen(records, next_offset)

    async def _fetch(self, partition: str, offset: int, max_bytes: int, wait_ms: int = 0) -> Any:
        topic, index = split(partition)
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1 if wait_ms else 0,
            max_bytes=max_bytes,
            isolation_level=1 if self.committed else 0,
            session_epoch=-1,
            topics=[
                FetchTopic(
                    topic=topic,
                    partitions=[
                        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
                    ],
                )
            ],
        )
        answer: FetchResponse = await self.session.ask(1, 11, request, FetchResponse, "fetch")
        return answer.responses[0].partitions[0]

    async def _log_start(self, partition: str) -> int:
        return await list_offset(self.session, partition, EARLIEST)

    async def read_all(self, partition: str) -> Poll:
        """Everything from the log start to the end, as one final poll; asks until it is answered."""
        start = await self._until(lambda: self._log_start(partition))
        op = self.history.invoke(
            Poll(
                process=self.process, partition=partition, offset=start, committed=self.committed, final=True
            )
        )
        records: list[tuple[int, str]] = []
        offset = start
        while True:
            found = await self._until(lambda at=offset: self._fetch(partition, at, 1 << 20))
            if found.error_code:
                raise Defect(
                    f"{partition}: the last read at {offset} was answered {E(found.error_code).name}"
                )
            seen = self._look(op, found, offset)
            records += seen.records
            if seen.next_offset == offset:
                break
            offset = seen.next_offset
        op.records, op.next = records, offset
        self.history.ok(op)
        return op

    async def _until(self, ask: Any) -> Any:
        while True:
            try:
                return await ask()
            except Unreachable:
                await self.session.rest()


async def list_offset(session: Session, partition: str, when: int) -> int:
    """The log start offset (EARLIEST) or the high watermark (LATEST)."""
    topic, index = split(partition)
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=topic, partitions=[ListOffsetsPartition(partition_index=index, timestamp=when)]
            )
        ],
    )
    answer: ListOffsetsResponse = await session.ask(2, 5, request, ListOffsetsResponse, "fetch")
    return answer.topics[0].partitions[0].offset


async def delete_records(session: Session, partition: str, before: int) -> bool:
    """Moves the log start; False if the broker had no leader for it just now, or retention was faster."""
    topic, index = split(partition)
    request = DeleteRecordsRequest(
        timeout_ms=1_000,
        topics=[
            DeleteRecordsTopic(
                name=topic, partitions=[DeleteRecordsPartition(partition_index=index, offset=before)]
            )
        ],
    )
    answer: DeleteRecordsResponse = await session.ask(21, 2, request, DeleteRecordsResponse)
    found = answer.topics[0].partitions[0]
    error = E(found.error_code)
    if error is E.NONE and found.low_watermark < before:
        raise Defect(
            f"{partition}: records below {before} were deleted, the log starts at {found.low_watermark}"
        )
    if error not in {E.NONE} | AGAIN | UNCLEAR:
        raise Defect(f"DeleteRecords of {partition} below {before} was answered {error.name}")
    return error is E.NONE


async def describe_producer(session: Session, partition: str, producer_id: int) -> ProducerState | None:
    """What the partition knows of a producer."""
    topic, index = split(partition)
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[index])])
    answer: DescribeProducersResponse = await session.ask(61, 0, request, DescribeProducersResponse)
    for each in answer.topics[0].partitions[0].active_producers:
        if each.producer_id == producer_id:
            return each
    return None


async def write_marker(session: Session, partition: str, producer: ProducerState, epoch: int) -> ErrorCode:
    """An abort by hand, as `kafka-transactions abort` asks for it."""
    topic, index = split(partition)
    request = WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=producer.producer_id,
                producer_epoch=epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[index])],
                coordinator_epoch=max(producer.coordinator_epoch, 0),
            )
        ]
    )
    answer: WriteTxnMarkersResponse = await session.ask(27, 1, request, WriteTxnMarkersResponse)
    error = E(answer.markers[0].topics[0].partitions[0].error_code)
    if error not in {E.NONE, E.INVALID_PRODUCER_EPOCH, E.TRANSACTION_COORDINATOR_FENCED} | AGAIN | UNCLEAR:
        raise Defect(f"WriteTxnMarkers of {partition} was answered {error.name}")
    return error


async def fetch_offsets(
    session: Session,
    history: History,
    process: str,
    group: str,
    partitions: Sequence[str],
    *,
    final: bool = False,
) -> FetchOffsets | None:
    """The group's stable positions, asked for until they are told; None if we gave up or are not of the group."""
    op = history.invoke(FetchOffsets(process=process, group=group, final=final))
    request = OffsetFetchRequest(
        group_id=group,
        topics=[
            OffsetFetchRequestTopic(name=topic, partition_indexes=indexes)
            for topic, indexes in by_topic(partitions).items()
        ],
        require_stable=True,
    )
    for _ in range(TRIES):
        try:
            answer: OffsetFetchResponse = await session.ask(9, 7, request, OffsetFetchResponse, "group")
        except Unreachable:
            await session.rest()
            continue
        errors = {E(part.error_code) for topic in answer.topics for part in topic.partitions}
        errors.add(E(answer.error_code))
        if errors == {E.NONE}:
            op.offsets = {
                f"{topic.name}-{part.partition_index}": part.committed_offset
                for topic in answer.topics
                for part in topic.partitions
            }
            history.ok(op)
            return op
        if not errors - {E.NONE} <= AGAIN | UNCLEAR:
            raise Defect(f"OffsetFetch of {process} was answered {sorted(each.name for each in errors)}")
        await session.rest()
    history.done(op, End.INFO, "gave up")
    return None
