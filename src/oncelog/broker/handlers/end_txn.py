"""EndTxn (key 26), v0-v5.

v2  PRODUCER_FENCED where v0 and v1 say INVALID_PRODUCER_EPOCH      v3  flexible
v4  TRANSACTION_ABORTABLE (KIP-890)                                v5  ends by the new protocol: answers with the next
                                                                       producer id and epoch; -1, -1 on errors
Left out: authorization of the transactional id.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.model import Producer, ProducerEpoch, ProducerId
from oncelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from oncelog.txn.state import TV1, TV2

KEY: Final = 26
VERSIONS: Final = (0, 5)

FIRST_WITH_FENCED: Final = 2
FIRST_TV2: Final = 5


async def handle(request: EndTxnRequest, context: Context, broker: Runtime) -> EndTxnResponse:
    if not request.transactional_id:
        return EndTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    producer = Producer(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch))
    if context.version < FIRST_TV2 and broker.is_late_copy(request.transactional_id, producer, context):
        return EndTxnResponse(error_code=ErrorCode.CONCURRENT_TRANSACTIONS)
    answer, now = await broker.transactions.end(
        request.transactional_id,
        producer,
        commit=request.committed,
        version=TV2 if context.version >= FIRST_TV2 else TV1,
    )
    if answer is ErrorCode.PRODUCER_FENCED and context.version < FIRST_WITH_FENCED:
        answer = ErrorCode.INVALID_PRODUCER_EPOCH
    return EndTxnResponse(error_code=answer, producer_id=now.id, producer_epoch=now.epoch)
