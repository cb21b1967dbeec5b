"""Produce (key 0), v3-v13. The hot path: a batch stays bytes, and no object is made per record.

v3  transactional id        v5  log start offset in the answer      v7  zstd allowed
v8  record errors and a message                                    v9  flexible
v10 current leader (never set: there is one broker)                 v11 TRANSACTION_ABORTABLE
v12 opens the transaction of its partitions by itself (KIP-890)      v13 topic ids instead of names
Order of the checks: spec 1.13; rows 1-8 are here, the rest is the engine's `append`.
Left out: authorization; throttling; the transaction coordinator's verification (no transaction can be open yet).
"""

from typing import Final

from oncelog.broker.context import CloseConnection, Context
from oncelog.broker.runtime import Runtime
from oncelog.engine.port import Appended, Refused
from oncelog.errors import ErrorCode
from oncelog.model import INTERNAL_TOPICS, Acks, TopicId
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
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL,
)
from oncelog.tasks import Future, within

KEY: Final = 0
VERSIONS: Final = (3, 13)

ZSTD: Final = 4
ACKS: Final = {-1: Acks.ALL, 0: Acks.NONE, 1: Acks.LEADER}

Outcome = Future[Appended | Refused] | Refused


async def handle(request: ProduceRequest, context: Context, broker: Runtime) -> ProduceResponse | None:
    refused = _refuse_request(request)
    outcomes = [
        [refused or _append(topic, part, request, context, broker) for part in topic.partition_data]
        for topic in request.topic_data
    ]
    context.release_order()  # every batch has its place; what is left is waiting for the disk

    deadline_ms = broker.clock.monotonic_ms() + request.timeout_ms
    responses: list[TopicProduceResponse] = []
    failed = False
    for topic, topic_outcomes in zip(request.topic_data, outcomes, strict=True):
        parts: list[PartitionProduceResponse] = []
        for part, outcome in zip(topic.partition_data, topic_outcomes, strict=True):
            if isinstance(outcome, Refused):
                done: Appended | Refused = outcome
            elif outcome.done() or await within(
                broker.loop, outcome, max(deadline_ms - broker.clock.monotonic_ms(), 0)
            ):
                done = outcome.result()
            else:
                done = Refused(ErrorCode.REQUEST_TIMED_OUT)
            failed = failed or isinstance(done, Refused)
            parts.append(_answer(part.index, done))
        responses.append(
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=parts)
        )
    if request.acks == Acks.NONE:
        if failed:
            raise CloseConnection("a Produce with acks=0 was refused")
        return None
    return ProduceResponse(responses=responses)


def _refuse_request(request: ProduceRequest) -> Refused | None:
    """The checks that refuse all partitions at once: whose transaction is it?"""
    producers: set[tuple[int, int]] = set()
    for topic in request.topic_data:
        for part in topic.partition_data:
            records = part.records
            if records is not None and len(records) >= HEADER_BYTES and records[22] & TRANSACTIONAL:
                header = HEADER.unpack_from(records)
                producers.add((header[9], header[10]))
    if producers and request.transactional_id is None:
        return Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if len(producers) > 1:
        return Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    return None


def _append(
    topic: TopicProduceData,
    part: PartitionProduceData,
    request: ProduceRequest,
    context: Context,
    broker: Runtime,
) -> Outcome:
    if context.version >= 13:
        found = broker.engine.topic_by_id(TopicId(topic.topic_id))
        if found is None:
            return Refused(ErrorCode.UNKNOWN_TOPIC_ID)
    else:
        found = broker.engine.topics.get(topic.name)
    if found is None or not 0 <= part.index < len(found.partitions):
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    records = part.records
    if (
        records is None
        or len(records) < HEADER_BYTES
        or records[16] != MAGIC
        or int.from_bytes(records[8:12], "big") + LENGTH_OVERHEAD_BYTES != len(records)
    ):
        return Refused(ErrorCode.INVALID_RECORD, "wanted exactly one record batch of format 2")
    if context.version < 7 and records[22] & COMPRESSION_MASK == ZSTD:
        return Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or later")
    acks = ACKS.get(request.acks)
    if acks is None:
        return Refused(ErrorCode.INVALID_REQUIRED_ACKS)
    if (
        found.name in INTERNAL_TOPICS
    ):  # always: Kafka lets any client in that calls itself __admin_client (T16)
        return Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{found.name} is written by the broker only")
    return found.partitions[part.index].append(records, acks=acks)


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
