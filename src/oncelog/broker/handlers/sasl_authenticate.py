"""SaslAuthenticate (key 36), v0-v2.

v1  session lifetime        v2  flexible
Left out: SASL. The listener is PLAINTEXT, where Kafka answers ILLEGAL_SASL_STATE (V4).
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

KEY: Final = 36
VERSIONS: Final = (0, 2)


async def handle(
    _request: SaslAuthenticateRequest, _context: Context, _broker: Runtime
) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
