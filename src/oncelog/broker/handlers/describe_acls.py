"""DescribeAcls (key 29), v1-v3.

v2  flexible        v3  user resources
Left out: access control lists; without an authorizer Kafka answers SECURITY_DISABLED, and so do we.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

KEY: Final = 29
VERSIONS: Final = (1, 3)


async def handle(_request: DescribeAclsRequest, _context: Context, _broker: Runtime) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured on the broker"
    )
