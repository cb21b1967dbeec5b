"""LeaveGroup (key 13), v0-v5.

v0-v2  one member, its error at the top      v3  many members, by member id or instance id, an error for each
v4  flexible                                 v5  reason
Members of a KIP-848 group are put out by it too, as an administrator does. Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.classic import Leave
from oncelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

KEY: Final = 13
VERSIONS: Final = (0, 5)

FIRST_WITH_MANY: Final = 3


async def handle(request: LeaveGroupRequest, context: Context, broker: Runtime) -> LeaveGroupResponse:
    if context.version < FIRST_WITH_MANY:
        errors = await broker.groups.leave(request.group_id, (Leave(request.member_id, None),))
        return LeaveGroupResponse(error_code=errors if isinstance(errors, ErrorCode) else errors[0])
    leaves = tuple(Leave(each.member_id, each.group_instance_id) for each in request.members)
    errors = await broker.groups.leave(request.group_id, leaves)
    if isinstance(errors, ErrorCode):
        return LeaveGroupResponse(error_code=errors)
    return LeaveGroupResponse(
        members=[
            MemberResponse(
                member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=error
            )
            for each, error in zip(request.members, errors, strict=True)
        ]
    )
