"""JoinGroup (key 11), v0-v9.

v0  the session timeout is the rebalance timeout too      v4  MEMBER_ID_REQUIRED: a new member joins twice (KIP-394)
v5  group instance id (KIP-345)    v6  flexible    v7  protocol type, null protocol name    v8  reason
v9  skip assignment: a static leader that came back need not assign (KIP-814)
The answer waits for the rebalance. Left out: authorization; joining a KIP-848 group that has members, which is refused
with INCONSISTENT_GROUP_PROTOCOL where Kafka lets classic members into it.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.group.classic import Join
from oncelog.group.effects import MemberProtocol
from oncelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

KEY: Final = 11
VERSIONS: Final = (0, 9)

FIRST_WITH_REBALANCE_TIMEOUT: Final = 1
FIRST_THAT_NEEDS_MEMBER_ID: Final = 4
FIRST_WITH_NULL_PROTOCOL: Final = 7
FIRST_THAT_SKIPS_ASSIGNMENT: Final = 9


async def handle(request: JoinGroupRequest, context: Context, broker: Runtime) -> JoinGroupResponse:
    version = context.version
    session_timeout_ms = request.session_timeout_ms
    rebalance_timeout_ms = (
        request.rebalance_timeout_ms if version >= FIRST_WITH_REBALANCE_TIMEOUT else session_timeout_ms
    )
    reply = await broker.groups.join(
        request.group_id,
        Join(
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            client_id=context.client_id or "",
            client_host=f"/{context.peer_host}",
            protocol_type=request.protocol_type,
            protocols=tuple(MemberProtocol(each.name, bytes(each.metadata)) for each in request.protocols),
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            needs_member_id=version >= FIRST_THAT_NEEDS_MEMBER_ID,
            skips_assignment=version >= FIRST_THAT_SKIPS_ASSIGNMENT,
        ),
    )
    protocol = reply.protocol
    if protocol is None and version < FIRST_WITH_NULL_PROTOCOL:
        protocol = ""
    return JoinGroupResponse(
        error_code=reply.error,
        generation_id=reply.generation,
        protocol_type=reply.protocol_type,
        protocol_name=protocol,
        leader=reply.leader,
        skip_assignment=reply.skip_assignment,
        member_id=reply.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=each.id, group_instance_id=each.instance_id, metadata=each.metadata
            )
            for each in reply.members
        ],
    )
