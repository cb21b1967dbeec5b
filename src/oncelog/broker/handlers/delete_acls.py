"""DeleteAcls (key 31), v1-v3.

v2  flexible        v3  user resources
Left out: access control lists; without an authorizer Kafka answers SECURITY_DISABLED per filter, and so do we.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

KEY: Final = 31
VERSIONS: Final = (1, 3)


async def handle(request: DeleteAclsRequest, _context: Context, _broker: Runtime) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(
                error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured."
            )
            for _ in request.filters
        ]
    )
