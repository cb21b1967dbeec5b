"""ListTransactions (key 66), v0-v2 (KIP-664).

v1  only transactions that run longer than a duration (KIP-994)      v2  only ids that match a pattern (KIP-1152)
A state name that nobody knows is told back, not an error. A transaction that never began counts as very old.
Left out: authorization; the pattern takes what group/regex.py takes, the linear-time part of RE2.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.regex import BadPattern, Pattern
from oncelog.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from oncelog.txn.state import State, Txn

KEY: Final = 66
VERSIONS: Final = (0, 2)

BY_NAME: Final = {state.kafka_name: state for state in State}


async def handle(request: ListTransactionsRequest, _: Context, broker: Runtime) -> ListTransactionsResponse:
    unknown = [name for name in request.state_filters if name not in BY_NAME]
    states = {BY_NAME[name] for name in request.state_filters if name in BY_NAME}
    pattern = None
    if request.transactional_id_pattern:
        try:
            pattern = Pattern(request.transactional_id_pattern)
        except BadPattern:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    now = broker.clock.wall_ms()

    def is_wanted(txn: Txn) -> bool:
        return (
            (not request.state_filters or txn.state in states)
            and (not request.producer_id_filters or txn.producer.id in request.producer_id_filters)
            and (request.duration_filter < 0 or now - txn.start_ms > request.duration_filter)
            and (pattern is None or pattern.matches(txn.transactional_id))
        )

    return ListTransactionsResponse(
        unknown_state_filters=unknown,
        transaction_states=[
            TransactionState(
                transactional_id=txn.transactional_id,
                producer_id=txn.producer.id,
                transaction_state=txn.state.kafka_name,
            )
            for txn in broker.transactions.all()
            if is_wanted(txn)
        ],
    )
