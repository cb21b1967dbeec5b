"""FindCoordinator (key 10), v0-v6.

v0  groups only        v1  key type and an error message        v3  flexible        v4  many keys, each with its own error
v5  TRANSACTION_ABORTABLE        v6  share groups
A missing internal topic is made now and the client told to ask again (COORDINATOR_NOT_AVAILABLE), as Kafka does.
Left out: share groups, whose coordinator is never available; authorization.
"""

import re
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.model import CONSUMER_OFFSETS, TRANSACTION_STATE
from oncelog.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from oncelog.tasks import spawn, supervise

KEY: Final = 10
VERSIONS: Final = (0, 6)

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
SHARE_KEY: Final = re.compile(r"[^:]+:[A-Za-z0-9_-]{22}:[0-9]+")  # group id, topic id, partition

# v1-v3 carry the text of the error, "NONE" for none; later versions an empty one unless the key type is unknown
MESSAGES: Final = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent "
        "to an incompatible broker. See the broker logs for more details."
    ),
}


async def handle(
    request: FindCoordinatorRequest, context: Context, broker: Runtime
) -> FindCoordinatorResponse:
    if context.version >= 4:
        return FindCoordinatorResponse(
            coordinators=[
                _find(key, request.key_type, context.version, broker) for key in request.coordinator_keys
            ]
        )
    found = _find(request.key, request.key_type, context.version, broker)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=MESSAGES[ErrorCode(found.error_code)],
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(key: str, key_type: int, version: int, broker: Runtime) -> Coordinator:
    error = _error(key, key_type, version, broker)
    if error is ErrorCode.NONE:
        node, host, port = broker.node_id, broker.host, broker.port
    else:
        node, host, port = -1, "", -1
    message = "" if key_type in (GROUP, TRANSACTION, SHARE) else MESSAGES[error]
    return Coordinator(key=key, node_id=node, host=host, port=port, error_code=error, error_message=message)


def _error(key: str, key_type: int, version: int, broker: Runtime) -> ErrorCode:
    if key_type == GROUP:
        return _group_coordinator(broker)
    if key_type == TRANSACTION:
        return _transaction_coordinator(broker)
    if key_type == SHARE and version >= 6 and SHARE_KEY.fullmatch(key):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.INVALID_REQUEST


def _group_coordinator(broker: Runtime) -> ErrorCode:
    if CONSUMER_OFFSETS in broker.engine.topics:
        return ErrorCode.NONE
    task = spawn(broker.loop, broker.groups.ensure_topic(), "create __consumer_offsets")
    supervise(task, lambda _, fault: broker.fail(fault))
    return ErrorCode.COORDINATOR_NOT_AVAILABLE


def _transaction_coordinator(broker: Runtime) -> ErrorCode:
    if TRANSACTION_STATE in broker.engine.topics:
        return ErrorCode.NONE
    task = spawn(broker.loop, broker.transactions.ensure_topic(), "create __transaction_state")
    supervise(task, lambda _, fault: broker.fail(fault))
    return ErrorCode.COORDINATOR_NOT_AVAILABLE
