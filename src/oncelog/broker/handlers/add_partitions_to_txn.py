"""AddPartitionsToTxn (key 24), v0-v5.

v0-v3  one transaction, from clients; internal topics are refused    v2  PRODUCER_FENCED instead of 47    v3  flexible
v4     a list of transactions, each may only be verified             v5  TRANSACTION_ABORTABLE for a verification
All or nothing: one bad partition leaves the others OPERATION_NOT_ATTEMPTED and the state as it was (TRAP-15).
Left out: authorization (v4+ needs CLUSTER_ACTION where there is an authorizer).
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.model import INTERNAL_TOPICS, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from oncelog.txn.state import TV1, TV2

KEY: Final = 24
VERSIONS: Final = (0, 5)

FIRST_WITH_FENCED: Final = 2
FIRST_BATCHED: Final = 4


async def handle(
    request: AddPartitionsToTxnRequest, context: Context, broker: Runtime
) -> AddPartitionsToTxnResponse:
    if context.version < FIRST_BATCHED:
        results = await _one(
            request.v3_and_below_transactional_id,
            Producer(
                ProducerId(request.v3_and_below_producer_id),
                ProducerEpoch(request.v3_and_below_producer_epoch),
            ),
            request.v3_and_below_topics,
            context,
            verify_only=False,
            broker=broker,
        )
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
    done: list[AddPartitionsToTxnResult] = []
    for each in request.transactions:
        results = await _one(
            each.transactional_id,
            Producer(ProducerId(each.producer_id), ProducerEpoch(each.producer_epoch)),
            each.topics,
            context,
            verify_only=each.verify_only,
            broker=broker,
        )
        done.append(AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=results))
    return AddPartitionsToTxnResponse(results_by_transaction=done)


async def _one(
    transactional_id: str,
    producer: Producer,
    topics: list[AddPartitionsToTxnTopic],
    context: Context,
    *,
    verify_only: bool,
    broker: Runtime,
) -> list[AddPartitionsToTxnTopicResult]:
    version = context.version
    wanted = [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]
    errors = {each: _check(each, version, broker) for each in wanted}
    if any(errors.values()):
        errors = {each: error or ErrorCode.OPERATION_NOT_ATTEMPTED for each, error in errors.items()}
    elif not transactional_id:
        errors = dict.fromkeys(wanted, ErrorCode.INVALID_REQUEST)
    elif verify_only:
        errors = dict(broker.transactions.verify(transactional_id, producer, wanted))
    elif version < FIRST_BATCHED and broker.is_late_copy(transactional_id, producer, context):
        errors = dict.fromkeys(wanted, ErrorCode.CONCURRENT_TRANSACTIONS)
    else:
        answer = await broker.transactions.add_partitions(
            transactional_id, producer, wanted, TV1 if version < FIRST_BATCHED else TV2
        )
        if answer is ErrorCode.PRODUCER_FENCED and version < FIRST_WITH_FENCED:
            answer = ErrorCode.INVALID_PRODUCER_EPOCH
        errors = dict.fromkeys(wanted, answer)
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=errors[TopicPartition(topic.name, index)]
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def _check(where: TopicPartition, version: int, broker: Runtime) -> ErrorCode:
    if version < FIRST_BATCHED and where.topic in INTERNAL_TOPICS:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic = broker.engine.topics.get(where.topic)
    if topic is None or not 0 <= where.partition < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE
