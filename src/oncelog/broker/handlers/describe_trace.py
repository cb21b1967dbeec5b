"""DescribeTrace (key 1001), v0. Our own side door, not listed in ApiVersions.

The last requests of one transactional id with their answers, as they were on the wire: all that the ring still holds with a number
above `after`. `enabled` is false where transaction.trace.requests is 0. A request under way has `took_us` -1 and no answer.
Of a Produce above 1 KiB `request` is the beginning, and `short_request` the whole with nothing left of its batches but
their headers; of any other request and of an answer above 8 KiB only the beginning is kept.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.ring import short_request
from oncelog.broker.runtime import Runtime
from oncelog.protocol.messages.describe_trace import (
    DescribeTraceRequest,
    DescribeTraceResponse,
    TracedRequest,
)

KEY: Final = 1001
VERSIONS: Final = (0, 0)
LENGTH_BYTES: Final = 4  # before every answer


async def handle(request: DescribeTraceRequest, _: Context, broker: Runtime) -> DescribeTraceResponse:
    ring = broker.ring
    if ring is None:
        return DescribeTraceResponse(enabled=False)
    name = request.transactional_id
    return DescribeTraceResponse(
        enabled=True,
        requests=[
            TracedRequest(
                number=each.number,
                at_us=at_us,
                took_us=each.took_ns // 1000 if each.took_ns >= 0 else -1,
                client_host=each.peer[0],
                client_port=each.peer[1],
                request=each.frame,
                request_bytes=each.frame_bytes,
                short_request=short_request(name, each),
                response=None if each.answer is None else bytes(each.answer[LENGTH_BYTES:]),
                response_bytes=max(each.answer_bytes - LENGTH_BYTES, 0),
            )
            for at_us, each in ring.read(name, request.after)
        ],
    )
