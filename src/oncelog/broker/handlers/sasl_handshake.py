"""SaslHandshake (key 17), v0-v1.

v1  SaslAuthenticate requests follow; after v0 raw tokens would
Left out: SASL. The listener is PLAINTEXT, where Kafka answers ILLEGAL_SASL_STATE (V4).
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

KEY: Final = 17
VERSIONS: Final = (0, 1)


async def handle(
    _request: SaslHandshakeRequest, _context: Context, _broker: Runtime
) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
