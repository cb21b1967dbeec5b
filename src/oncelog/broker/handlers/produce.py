"""Produce (key 0), v3-v13. The hot path: a batch stays bytes, and no object is made per record.

v3  transactional id        v5  log start offset in the answer      v7  zstd allowed
v8  record errors and a message                                    v9  flexible
v10 current leader (never set: there is one broker)                 v11 TRANSACTION_ABORTABLE
v12 opens the transaction of its partitions by itself (KIP-890)      v13 topic ids instead of names
Order of the checks: spec 1.13; rows 1-8 are here, the rest is the engine's `append`.
Left out: authorization; throttling.
"""

from collections.abc import Mapping
from struct import Struct
from typing import Final

from oncelog.broker.context import CloseConnection, Context
from oncelog.broker.runtime import Runtime
from oncelog.engine.port import Appended, Partition, Refused
from oncelog.errors import ErrorCode
from oncelog.log.state import Guard
from oncelog.log.validate import Invalid, read_one_batch
from oncelog.model import INTERNAL_TOPICS, Acks, Producer, TopicId, TopicPartition
from oncelog.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from oncelog.record.batch import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL,
)
from oncelog.tasks import Future, sleep, within
from oncelog.txn.state import TV2

KEY: Final = 0
VERSIONS: Final = (3, 13)

FIRST_WITH_ZSTD: Final = 7
FIRST_WITH_ABORTABLE: Final = 11
FIRST_IMPLICIT: Final = 12
FIRST_WITH_IDS: Final = 13
IMPLICIT_ADD_BACKOFF_MS: Final = 20  # add.partitions.to.txn.retry.backoff.ms
IMPLICIT_ADD_LIMIT_MS: Final = 100  # add.partitions.to.txn.retry.backoff.max.ms
RETRIED_AS_NOT_ENOUGH_REPLICAS: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
ZSTD: Final = 4
OF_PRODUCER: Final = Struct(">qhi")  # producer id, producer epoch and base sequence, in the header of a batch
OF_PRODUCER_AT: Final = 43
FIRST_SAME_LAYOUT: Final = 10  # of an answer: from here on only the topic's id takes the place of its name
SHORT_NAME_BYTES: Final = 126  # a longer name's length has two bytes
ONE_APPENDED: Final = Struct(">Bihqqq9s")  # one partition: index, error, base offset, append time, log start
ACKS: Final = {-1: Acks.ALL, 0: Acks.NONE, 1: Acks.LEADER}

Outcome = Future[Appended | Refused] | Refused


async def handle(request: ProduceRequest, context: Context, broker: Runtime) -> ProduceResponse | None:
    topics = request.topic_data
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        outcome = await _one(request, context, broker)
        if not isinstance(outcome, Refused) and outcome.done() and request.acks != Acks.NONE:
            appended = outcome.result()
            if isinstance(appended, Appended):  # the usual end of a usual request
                context.release_order()
                return OneAppended(topics[0], appended)
        outcomes = [[outcome]]
    else:
        outcomes = await _many(request, context, broker)
    context.release_order()  # every batch has its place; what is left is waiting for the disk

    deadline_ms = None
    responses: list[TopicProduceResponse] = []
    failed = False
    for topic, topic_outcomes in zip(topics, outcomes, strict=True):
        parts: list[PartitionProduceResponse] = []
        for part, outcome in zip(topic.partition_data, topic_outcomes, strict=True):
            if isinstance(outcome, Refused):
                done: Appended | Refused = outcome
            elif outcome.done():
                done = outcome.result()
            else:
                now_ms = broker.clock.monotonic_ms()
                deadline_ms = now_ms + request.timeout_ms if deadline_ms is None else deadline_ms
                in_time = await within(broker.loop, outcome, max(deadline_ms - now_ms, 0))
                done = outcome.result() if in_time else Refused(ErrorCode.REQUEST_TIMED_OUT)
            if isinstance(done, Refused):
                failed = True
                broker.counters.add(f"produce.refused.{done.error.name}")
            parts.append(_answer(part.index, done))
        responses.append(
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=parts)
        )
    if failed:
        broker.counters.rpcs[KEY].errors += 1
    if request.acks == Acks.NONE:
        if failed:
            raise CloseConnection("a Produce with acks=0 was refused")
        return None
    return ProduceResponse(responses=responses)


class OneAppended(ProduceResponse):
    """The answer for one batch that has its place: the bytes of the general form, without the objects that would hold them."""

    def __init__(self, asked: TopicProduceData, done: Appended) -> None:
        self._asked = asked
        self._done = done

    def general(self) -> ProduceResponse:
        asked = self._asked
        parts = [_answer(asked.partition_data[0].index, self._done)]
        topic = TopicProduceResponse(name=asked.name, topic_id=asked.topic_id, partition_responses=parts)
        return ProduceResponse(responses=[topic])

    def write(self, out: bytearray, version: int) -> None:
        if version < FIRST_SAME_LAYOUT:
            self.general().write(out, version)
            return
        asked, done = self._asked, self._done
        if version >= FIRST_WITH_IDS:
            out += b"\2" + asked.topic_id
        else:
            name = asked.name.encode()
            if len(name) > SHORT_NAME_BYTES:
                self.general().write(out, version)
                return
            out += bytes((2, len(name) + 1)) + name
        out += ONE_APPENDED.pack(
            2,
            asked.partition_data[0].index,
            0,
            done.base_offset,
            done.log_append_time_ms,
            done.log_start_offset,
            b"\1",  # no record errors; then zeroes: no message, no tags, no throttling, no tags
        )


async def _one(request: ProduceRequest, context: Context, broker: Runtime) -> Outcome:
    """A request for one partition, as those of small transactions are: what `_many` does, without its lists."""
    topic = request.topic_data[0]
    part = topic.partition_data[0]
    found = _find(topic, part, context, broker)
    records = part.records
    if records is None or len(records) < HEADER_BYTES or not records[22] & TRANSACTIONAL:
        return found if isinstance(found, Refused) else _append(found, part, request, None)
    producer_id, producer_epoch, sequence = OF_PRODUCER.unpack_from(records, OF_PRODUCER_AT)
    guard = None
    if producer_id < 0:
        refused = _refuse_request(request, set(), broker)
    else:
        producer = Producer(producer_id, producer_epoch)
        refused = _refuse_request(request, {producer}, broker)
        if refused is None and context.version < FIRST_IMPLICIT:
            refused = _refuse_copy(request, {producer}, context, broker)
        if refused is None and not isinstance(found, Refused):
            guard = _begin(found, producer, sequence, context, broker)
            if isinstance(guard, Guard):
                where = TopicPartition(found.topic, found.index)
                answers = await _ask(request, producer, [where], context, broker)
                if answers[where] is not ErrorCode.NONE:
                    guard = Refused(*_as_produce_error(answers[where], context.version))
    if refused is not None:
        return refused
    return found if isinstance(found, Refused) else _append(found, part, request, guard)


async def _many(request: ProduceRequest, context: Context, broker: Runtime) -> list[list[Outcome]]:
    """A request for any partitions: one question to the coordinator for all of them."""
    found = [
        [_find(topic, part, context, broker) for part in topic.partition_data] for topic in request.topic_data
    ]
    producers = _transactional_producers(request)
    guards: dict[tuple[int, int], Guard | Refused] = {}
    if producers is not None:
        refused = _refuse_request(request, producers, broker)
        if refused is None and context.version < FIRST_IMPLICIT:
            refused = _refuse_copy(request, producers, context, broker)
        if refused is not None:
            found = [[refused] * len(parts) for parts in found]
        elif producers:
            guards = await _verify(request, found, producers.pop(), context, broker)
    return [
        [
            each if isinstance(each, Refused) else _append(each, part, request, guards.get((at, place)))
            for place, (each, part) in enumerate(zip(parts, topic.partition_data, strict=True))
        ]
        for at, (parts, topic) in enumerate(zip(found, request.topic_data, strict=True))
    ]


def _transactional_producers(request: ProduceRequest) -> set[Producer] | None:
    """Whose transactional batches are in the request; None for most requests, which have no such batch.

    A batch may call itself transactional without a producer id: it belongs to no transaction and is a plain one.
    """
    producers: set[Producer] | None = None
    for topic in request.topic_data:
        for part in topic.partition_data:
            records = part.records
            if records is not None and len(records) >= HEADER_BYTES and records[22] & TRANSACTIONAL:
                producers = set() if producers is None else producers
                producer_id, producer_epoch, _ = OF_PRODUCER.unpack_from(records, OF_PRODUCER_AT)
                if producer_id >= 0:
                    producers.add(Producer(producer_id, producer_epoch))
    return producers


def _refuse_request(request: ProduceRequest, producers: set[Producer], broker: Runtime) -> Refused | None:
    """The checks that refuse all partitions at once: whose transaction is it?"""
    transactional_id = request.transactional_id
    if transactional_id is None:
        return Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if len(producers) > 1:
        return Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    for each in producers:
        if broker.transactions.is_handed_over(transactional_id, each):
            return Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
    return None


def _refuse_copy(
    request: ProduceRequest, producers: set[Producer], context: Context, broker: Runtime
) -> Refused | None:
    transactional_id = request.transactional_id or ""
    if any(broker.is_late_copy(transactional_id, each, context) for each in producers):
        return Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "a late copy on a connection that its client has left")
    return None


def _find(
    topic: TopicProduceData, part: PartitionProduceData, context: Context, broker: Runtime
) -> Partition | Refused:
    """Rows 1 to 4: the partition, and exactly one batch for it."""
    if context.version >= FIRST_WITH_IDS:
        found = broker.engine.topic_by_id(TopicId(topic.topic_id))
        if found is None:
            return Refused(ErrorCode.UNKNOWN_TOPIC_ID)
    else:
        found = broker.engine.topics.get(topic.name)
    if found is None or not 0 <= part.index < len(found.partitions):
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    records = part.records
    if records is None:
        return Refused(ErrorCode.INVALID_RECORD, "wanted exactly one record batch of format 2")
    if (
        len(records) < HEADER_BYTES
        or records[16] != MAGIC
        or int.from_bytes(records[8:12], "big") + LENGTH_OVERHEAD_BYTES != len(records)
    ):  # not simply one batch: this is rare, and looked at closely
        found_batch = read_one_batch(records, context.version)
        if isinstance(found_batch, Invalid):
            return Refused(found_batch.error, found_batch.reason)
    if context.version < FIRST_WITH_ZSTD and records[22] & COMPRESSION_MASK == ZSTD:
        return Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or later")
    return found.partitions[part.index]


async def _verify(
    request: ProduceRequest,
    found: list[list[Partition | Refused]],
    producer: Producer,
    context: Context,
    broker: Runtime,
) -> dict[tuple[int, int], Guard | Refused]:
    """Spec 4.5: asks the coordinator about partitions where the producer has no transaction yet; a guard for each.

    A guard holds only while nothing came between, so that the append needs no second look (TRAP-23).
    """
    guards: dict[tuple[int, int], Guard | Refused] = {}
    asked: dict[TopicPartition, tuple[int, int]] = {}
    for at, topic in enumerate(request.topic_data):
        for place, part in enumerate(topic.partition_data):
            partition = found[at][place]
            if isinstance(partition, Refused) or not (part.records or b"")[22] & TRANSACTIONAL:
                continue
            producer_id, _, sequence = OF_PRODUCER.unpack_from(part.records or b"", OF_PRODUCER_AT)
            if producer_id != producer.id:  # of nobody
                continue
            guard = _begin(partition, producer, sequence, context, broker)
            if guard is not None:
                guards[at, place] = guard
            if isinstance(guard, Guard):
                asked[TopicPartition(partition.topic, partition.index)] = (at, place)
    if asked:
        for where, error in (await _ask(request, producer, list(asked), context, broker)).items():
            if error is not ErrorCode.NONE:
                guards[asked[where]] = Refused(*_as_produce_error(error, context.version))
    return guards


def _begin(
    partition: Partition, producer: Producer, sequence: int, context: Context, broker: Runtime
) -> Guard | Refused | None:
    """A guard, if the coordinator has to be asked; None if the producer's transaction is known here already."""
    implicit = context.version >= FIRST_IMPLICIT
    if not implicit and not broker.config.transaction_partition_verification_enable:
        return None
    guard = partition.begin_verification(producer.id, producer.epoch, sequence, supports_epoch_bump=implicit)
    return Refused(guard) if isinstance(guard, ErrorCode) else guard


async def _ask(
    request: ProduceRequest,
    producer: Producer,
    partitions: list[TopicPartition],
    context: Context,
    broker: Runtime,
) -> Mapping[TopicPartition, ErrorCode]:
    """Whether the coordinator has them in the producer's transaction; from version 12 on it takes them in."""
    transactional_id = request.transactional_id or ""
    if context.version < FIRST_IMPLICIT:
        return broker.transactions.verify(transactional_id, producer, partitions)
    return dict.fromkeys(partitions, await _add(transactional_id, producer, partitions, broker))


async def _add(
    transactional_id: str, producer: Producer, partitions: list[TopicPartition], broker: Runtime
) -> ErrorCode:
    """The implicit add, tried again for a while when the last transaction is still ending."""
    left_ms = IMPLICIT_ADD_LIMIT_MS
    while True:
        error = await broker.transactions.add_partitions(transactional_id, producer, partitions, TV2)
        if error is not ErrorCode.CONCURRENT_TRANSACTIONS or left_ms <= 0:
            return error
        await sleep(broker.loop, IMPLICIT_ADD_BACKOFF_MS)
        left_ms -= IMPLICIT_ADD_BACKOFF_MS


def _as_produce_error(error: ErrorCode, version: int) -> tuple[ErrorCode, str | None]:
    """The coordinator's answer in the words of Produce, by version (spec 4.5)."""
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < FIRST_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE, "The record is not part of an ongoing transaction"
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH, None
    if error in RETRIED_AS_NOT_ENOUGH_REPLICAS or (
        error is ErrorCode.CONCURRENT_TRANSACTIONS and version < FIRST_IMPLICIT
    ):
        return ErrorCode.NOT_ENOUGH_REPLICAS, "The transaction could not be verified; try again"
    return error, None


def _append(
    partition: Partition, part: PartitionProduceData, request: ProduceRequest, guard: Guard | Refused | None
) -> Outcome:
    """Rows 5 to 8 have their answers ready or are cheap; the rest is the engine's."""
    if isinstance(guard, Refused):
        return guard
    acks = ACKS.get(request.acks)
    if acks is None:
        return Refused(ErrorCode.INVALID_REQUIRED_ACKS)
    if (
        partition.topic in INTERNAL_TOPICS
    ):  # always: Kafka lets any client in that calls itself __admin_client (T16)
        return Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{partition.topic} is written by the broker only")
    assert part.records is not None
    return partition.append(part.records, acks=acks, guard=guard)


def _answer(index: int, done: Appended | Refused) -> PartitionProduceResponse:
    if isinstance(done, Appended):
        return PartitionProduceResponse(
            index=index,
            base_offset=done.base_offset,
            log_append_time_ms=done.log_append_time_ms,
            log_start_offset=done.log_start_offset,
        )
    return PartitionProduceResponse(
        index=index,
        error_code=done.error,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=done.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=why)
            for at, why in done.record_errors
        ],
        error_message=done.message,
    )
