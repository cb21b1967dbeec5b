"""DeleteGroups (key 42), v0-v2.

v2  flexible
A group goes with its offsets, pending transactional ones included. Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

KEY: Final = 42
VERSIONS: Final = (0, 2)


async def handle(request: DeleteGroupsRequest, context: Context, broker: Runtime) -> DeleteGroupsResponse:  # noqa: ARG001  # same for all
    group_ids = list(dict.fromkeys(request.groups_names))
    errors = await broker.groups.delete_groups(group_ids)
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=error)
            for group_id, error in zip(group_ids, errors, strict=True)
        ]
    )
