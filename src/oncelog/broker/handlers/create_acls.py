"""CreateAcls (key 30), v1-v3.

v2  flexible        v3  user resources
Left out: access control lists; without an authorizer Kafka answers SECURITY_DISABLED per entry, and so do we.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

KEY: Final = 30
VERSIONS: Final = (1, 3)


async def handle(request: CreateAclsRequest, _context: Context, _broker: Runtime) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(
                error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured."
            )
            for _ in request.creations
        ]
    )
