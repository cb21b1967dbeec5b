"""TxnOffsetCommit (key 28), v0-v5.

v2  leader epoch      v3  flexible; member id, instance id and generation are checked where given (KIP-447)
v4  TRANSACTION_ABORTABLE      v5  adds the group's offsets to the transaction by itself (KIP-890)
The offsets wait in __consumer_offsets for the transaction's marker (spec 4.8). A fenced producer always sees
INVALID_PRODUCER_EPOCH here, never PRODUCER_FENCED (TRAP-9).
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.shard import OffsetCommit, OffsetToCommit
from oncelog.log.state import Guard
from oncelog.model import (
    CONSUMER_OFFSETS,
    NO_TOPIC_ID,
    Producer,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    coordinator_partition,
)
from oncelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from oncelog.txn.state import TV2

KEY: Final = 28
VERSIONS: Final = (0, 5)

FIRST_WITH_LOADING: Final = 2
FIRST_WITH_ABORTABLE: Final = 4
FIRST_IMPLICIT: Final = 5


async def handle(
    request: TxnOffsetCommitRequest, context: Context, broker: Runtime
) -> TxnOffsetCommitResponse:
    topics: list[TxnOffsetCommitResponseTopic] = []
    offsets: list[OffsetToCommit] = []
    waiting: list[TxnOffsetCommitResponsePartition] = []  # the answers that the coordinators have to give
    for topic in request.topics:
        answer = TxnOffsetCommitResponseTopic(name=topic.name)
        topics.append(answer)
        known = broker.engine.topics.get(topic.name)
        for each in topic.partitions:
            given = TxnOffsetCommitResponsePartition(partition_index=each.partition_index)
            answer.partitions.append(given)
            if known is None or not 0 <= each.partition_index < len(known.partitions):
                given.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            waiting.append(given)
            offsets.append(
                OffsetToCommit(
                    topic=topic.name,
                    partition=each.partition_index,
                    topic_id=NO_TOPIC_ID,  # transactional commits carry none (spec 3.3)
                    offset=each.committed_offset,
                    leader_epoch=each.committed_leader_epoch,
                    metadata=each.committed_metadata,
                )
            )
    if offsets:
        for index, error in enumerate(await _commit(request, offsets, context, broker)):
            if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and context.version < FIRST_WITH_LOADING:
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE  # old clients do not know the other
            waiting[index].error_code = error
    return TxnOffsetCommitResponse(topics=topics)


async def _commit(
    request: TxnOffsetCommitRequest, offsets: list[OffsetToCommit], context: Context, broker: Runtime
) -> list[ErrorCode]:
    version = context.version
    if not request.group_id:
        return [ErrorCode.INVALID_GROUP_ID] * len(offsets)
    producer = Producer(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch))
    # In the new protocol too: the epoch tells transactions apart, but offsets within one have no order of their own.
    if broker.is_late_copy(request.transactional_id, producer, context):
        return [ErrorCode.CONCURRENT_TRANSACTIONS] * len(offsets)
    if broker.transactions.is_handed_over(request.transactional_id, producer):
        return [ErrorCode.INVALID_PRODUCER_EPOCH] * len(offsets)
    guard = await _verify(request, producer, version, broker)
    if isinstance(guard, ErrorCode):
        return [guard] * len(offsets)
    # The group is looked at only now, after the wait: what it was before does not count (B8).
    decision = await broker.groups.commit_offsets(
        OffsetCommit(
            group_id=request.group_id,
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            generation=request.generation_id,
            offsets=tuple(offsets),
            version=version,
            transactional=True,
        ),
        producer=producer,
        guard=guard,
    )
    return decision.answers if decision.error is ErrorCode.NONE else [decision.error] * len(offsets)


async def _verify(
    request: TxnOffsetCommitRequest, producer: Producer, version: int, broker: Runtime
) -> Guard | ErrorCode | None:
    """A guard for the group's partition of __consumer_offsets; None if the transaction is open there already, or if
    verification is switched off."""
    topic = broker.engine.topics.get(CONSUMER_OFFSETS)
    if topic is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if version < FIRST_IMPLICIT and not broker.config.transaction_partition_verification_enable:
        return None
    at = coordinator_partition(request.group_id, len(topic.partitions))
    guard = topic.partitions[at].begin_verification(
        producer.id, producer.epoch, 0, supports_epoch_bump=version >= FIRST_IMPLICIT
    )
    if guard is None or isinstance(guard, ErrorCode):
        return guard
    where = TopicPartition(CONSUMER_OFFSETS, at)
    if version >= FIRST_IMPLICIT:
        error = await broker.transactions.add_partitions(request.transactional_id, producer, [where], TV2)
    else:
        error = broker.transactions.verify(request.transactional_id, producer, [where])[where]
    if error is ErrorCode.NONE:
        return guard
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < FIRST_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return error
