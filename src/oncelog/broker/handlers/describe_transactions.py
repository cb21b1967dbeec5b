"""DescribeTransactions (key 65), v0 (KIP-664).

Partitions are those that still await their marker; the start time is -1 while no transaction was begun.
Left out: authorization; a coordinator that is loading (we answer only when all is loaded).
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from oncelog.txn.state import NO_TIME, State

KEY: Final = 65
VERSIONS: Final = (0, 0)


async def handle(
    request: DescribeTransactionsRequest, _: Context, broker: Runtime
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_describe(each, broker) for each in request.transactional_ids]
    )


def _describe(transactional_id: str, broker: Runtime) -> TransactionState:
    if not transactional_id:
        return TransactionState(error_code=ErrorCode.INVALID_REQUEST, transactional_id=transactional_id)
    txn = broker.transactions.get(transactional_id)
    if txn is None:
        return TransactionState(
            error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id=transactional_id
        )
    by_topic: dict[str, list[int]] = {}
    for each in broker.transactions.awaiting_marker(transactional_id):
        by_topic.setdefault(each.topic, []).append(each.partition)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=txn.state.kafka_name,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_start_time_ms=NO_TIME if txn.state is State.EMPTY else txn.start_ms,
        producer_id=txn.producer.id,
        producer_epoch=txn.producer.epoch,
        topics=[TopicData(topic=topic, partitions=partitions) for topic, partitions in by_topic.items()],
    )
