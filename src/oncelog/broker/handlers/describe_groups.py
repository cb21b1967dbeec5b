"""DescribeGroups (key 15), v0-v6.

v3  authorized operations      v4  group instance id      v5  flexible
v6  GROUP_ID_NOT_FOUND and a message for a group that is unknown or not a classic one; before, state Dead and no error
Without an authorizer all operations are authorized.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.classic import ClassicGroup, Member, State
from oncelog.group.shard import Shard
from oncelog.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

KEY: Final = 15
VERSIONS: Final = (0, 6)

FIRST_WITH_NOT_FOUND: Final = 6
# READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11
ALL_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


async def handle(request: DescribeGroupsRequest, context: Context, broker: Runtime) -> DescribeGroupsResponse:
    groups: list[DescribedGroup] = []
    for group_id in request.groups:
        described = await _describe(group_id, context.version, broker)
        if request.include_authorized_operations and described.error_code == ErrorCode.NONE:
            described.authorized_operations = ALL_OPERATIONS
        groups.append(described)
    return DescribeGroupsResponse(groups=groups)


async def _describe(group_id: str, version: int, broker: Runtime) -> DescribedGroup:
    def look(state: Shard) -> DescribedGroup:
        group = state.groups.get(group_id)
        if isinstance(group, ClassicGroup):
            return _described(group)
        dead = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
        if version >= FIRST_WITH_NOT_FOUND:
            dead.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            dead.error_message = (
                f"Group {group_id} {'not found' if group is None else 'is not a classic group'}."
            )
        return dead

    found = await broker.groups.read(group_id, look)
    return DescribedGroup(group_id=group_id, error_code=found) if isinstance(found, ErrorCode) else found


def _described(group: ClassicGroup) -> DescribedGroup:
    stable = group.state is State.STABLE
    protocol = group.protocol if stable and group.protocol is not None else None
    return DescribedGroup(
        group_id=group.id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[_member(member, protocol) for member in group.members.values()],
    )


def _member(member: Member, protocol: str | None) -> DescribedGroupMember:
    """Metadata is told only of a group that agrees on a protocol; the last assignment always."""
    return DescribedGroupMember(
        member_id=member.id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.metadata(protocol),
        member_assignment=member.assignment,
    )
