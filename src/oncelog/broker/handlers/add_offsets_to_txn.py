"""AddOffsetsToTxn (key 25), v0-v4.

v2  PRODUCER_FENCED where v0 and v1 say INVALID_PRODUCER_EPOCH      v3  flexible      v4  TRANSACTION_ABORTABLE
The group's partition of __consumer_offsets joins the transaction, always by the classic protocol (spec 1.9).
Left out: authorization of the transactional id and of the group.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.model import (
    CONSUMER_OFFSETS,
    Producer,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from oncelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from oncelog.txn.state import TV1

KEY: Final = 25
VERSIONS: Final = (0, 4)

FIRST_WITH_FENCED: Final = 2


async def handle(
    request: AddOffsetsToTxnRequest, context: Context, broker: Runtime
) -> AddOffsetsToTxnResponse:
    if not request.transactional_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    producer = Producer(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch))
    if broker.is_late_copy(request.transactional_id, producer, context):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.CONCURRENT_TRANSACTIONS)
    where = TopicPartition(CONSUMER_OFFSETS, broker.groups.partition_of(request.group_id))
    answer = await broker.transactions.add_partitions(request.transactional_id, producer, [where], TV1)
    if answer is ErrorCode.PRODUCER_FENCED and context.version < FIRST_WITH_FENCED:
        answer = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=answer)
