"""InitProducerId (key 22), v0-v5, and v6 where transaction.two.phase.commit.enable is true.

v2  flexible        v3  the producer id and epoch that the client has        v4  PRODUCER_FENCED (KIP-588)
v5  TRANSACTION_ABORTABLE        v6  two-phase commit (KIP-939, docs/decisions/0011-two-phase-commit.md)
Without a transactional id everything else in the request is ignored, but for half a producer identity (spec 1.7).
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.model import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Producer, ProducerEpoch, ProducerId
from oncelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from oncelog.txn.state import NEVER_TIMES_OUT_MS, Caller

KEY: Final = 22
VERSIONS: Final = (0, 5)

FIRST_WITH_FENCED: Final = 4


async def handle(request: InitProducerIdRequest, context: Context, broker: Runtime) -> InitProducerIdResponse:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)
    if not request.transactional_id:
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.enable2_pc and not broker.config.transaction_two_phase_commit_enable:
        return _refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    timeout_ms = request.transaction_timeout_ms
    if request.enable2_pc:
        timeout_ms = NEVER_TIMES_OUT_MS  # whatever was asked for: the coordinator of the two phases decides
    elif not 0 < timeout_ms <= broker.config.transaction_max_timeout_ms:
        return _refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    return await _init_transactional(request, timeout_ms, context, broker)


async def _init_transactional(
    request: InitProducerIdRequest, timeout_ms: int, context: Context, broker: Runtime
) -> InitProducerIdResponse:
    """Rows 7 and 8 of spec 1.7: the transaction coordinator's part."""
    if broker.config.transaction_late_requests_refuse and context.peer_is_gone():
        # Nobody would learn of the new epoch, but whoever holds the present one would be fenced (decision 0010).
        broker.latecomers.refused += 1
        return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    given = None
    if request.producer_id != NO_PRODUCER_ID:
        given = Producer(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch))
    decision = await broker.transactions.init(
        request.transactional_id or "",
        given,
        timeout_ms,
        Caller(context.client_id or "", context.peer_host, context.peer_port),
        keep_prepared=request.keep_prepared_txn,
    )
    answer = decision.answer
    if answer is not ErrorCode.NONE:
        if answer is ErrorCode.PRODUCER_FENCED and context.version < FIRST_WITH_FENCED:
            answer = ErrorCode.INVALID_PRODUCER_EPOCH
        return _refused(answer)
    return InitProducerIdResponse(
        producer_id=decision.producer.id,
        producer_epoch=decision.producer.epoch,
        ongoing_txn_producer_id=decision.kept.id,
        ongoing_txn_producer_epoch=decision.kept.epoch,
    )


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
