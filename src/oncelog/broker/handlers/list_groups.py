"""ListGroups (key 16), v0-v5.

v3  flexible      v4  state, filter by states      v5  type, filter by types
Filters ignore case; a name that nothing has matches nothing. Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.classic import CONSUMER_PROTOCOL_TYPE, ClassicGroup
from oncelog.group.shard import Group
from oncelog.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

KEY: Final = 16
VERSIONS: Final = (0, 5)


async def handle(request: ListGroupsRequest, context: Context, broker: Runtime) -> ListGroupsResponse:  # noqa: ARG001  # same for all
    found = await broker.groups.every_group(_listed)
    if isinstance(found, ErrorCode):
        return ListGroupsResponse(error_code=found)
    states = {each.lower().strip() for each in request.states_filter}
    types = {each.lower().strip() for each in request.types_filter}
    return ListGroupsResponse(
        groups=[
            each
            for each in found
            if (not states or each.group_state.lower() in states) and (not types or each.group_type in types)
        ]
    )


def _listed(group: Group) -> ListedGroup:
    if isinstance(group, ClassicGroup):
        return ListedGroup(
            group_id=group.id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type="classic",
        )
    return ListedGroup(
        group_id=group.id,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        group_state=group.state.value,
        group_type="consumer",
    )
