"""SyncGroup (key 14), v0-v5.

v3  group instance id      v4  flexible      v5  protocol type and name, which must be there
The answer waits for the leader's assignment to be durable. Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.classic import Sync
from oncelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

KEY: Final = 14
VERSIONS: Final = (0, 5)

FIRST_WITH_PROTOCOL: Final = 5


async def handle(request: SyncGroupRequest, context: Context, broker: Runtime) -> SyncGroupResponse:
    if context.version >= FIRST_WITH_PROTOCOL and None in (request.protocol_type, request.protocol_name):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    reply = await broker.groups.sync(
        request.group_id,
        Sync(
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            generation=request.generation_id,
            protocol_type=request.protocol_type,
            protocol=request.protocol_name,
            assignments={each.member_id: bytes(each.assignment) for each in request.assignments},
        ),
    )
    return SyncGroupResponse(
        error_code=reply.error,
        protocol_type=reply.protocol_type,
        protocol_name=reply.protocol,
        assignment=reply.assignment,
    )
