"""Heartbeat (key 12), v0-v4.

v3  group instance id      v4  flexible
While the group is being loaded the answer is NONE. Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

KEY: Final = 12
VERSIONS: Final = (0, 4)


async def handle(request: HeartbeatRequest, context: Context, broker: Runtime) -> HeartbeatResponse:  # noqa: ARG001  # same for all
    error = await broker.groups.heartbeat(
        request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
    )
    return HeartbeatResponse(error_code=error)
