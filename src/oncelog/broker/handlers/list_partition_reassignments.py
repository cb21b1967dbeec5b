"""ListPartitionReassignments (key 46), v0.

There is one broker, so nothing ever moves: the list is empty, whatever is asked for.
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

KEY: Final = 46
VERSIONS: Final = (0, 0)


async def handle(
    _request: ListPartitionReassignmentsRequest, _context: Context, _broker: Runtime
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message=None)
