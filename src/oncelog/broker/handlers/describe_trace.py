"""DescribeTrace (key 1001), v0-v1. Our own side door, not listed in ApiVersions.

v1  asked for no transactional id (an empty one): all that the ring has requests of, who asked last comes last

The last requests of one transactional id with their answers, as they were on the wire: all that the ring still holds with a number
above `after`. `enabled` is false where transaction.trace.requests is 0. A request under way has `took_us` -1 and no answer.
Of a Produce above 1 KiB `request` is the beginning, and `short_request` the whole with nothing left of its batches but
their headers; of any other request and of an answer above 8 KiB only the beginning is kept.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.ring import FRAME, FRAME_BYTES, NUMBER, PEER, TOOK, Entry, answer_of, at_us, short_request
from oncelog.broker.runtime import Runtime
from oncelog.protocol.messages.describe_trace import (
    DescribeTraceRequest,
    DescribeTraceResponse,
    TracedRequest,
)

KEY: Final = 1001
VERSIONS: Final = (0, 1)


async def handle(request: DescribeTraceRequest, _: Context, broker: Runtime) -> DescribeTraceResponse:
    ring = broker.ring
    if ring is None:
        return DescribeTraceResponse(enabled=False)
    if not request.transactional_id:
        return DescribeTraceResponse(enabled=True, transactional_ids=ring.ids())
    return DescribeTraceResponse(
        enabled=True,
        requests=[_told(each) for each in ring.read(request.transactional_id, request.after)],
    )


def _told(entry: Entry) -> TracedRequest:
    response, response_bytes = answer_of(entry)
    return TracedRequest(
        number=entry[NUMBER],
        at_us=at_us(entry),
        took_us=entry[TOOK] // 1000 if entry[TOOK] >= 0 else -1,
        client_host=entry[PEER][0],
        client_port=entry[PEER][1],
        request=entry[FRAME],
        request_bytes=entry[FRAME_BYTES],
        short_request=short_request(entry),
        response=response,
        response_bytes=response_bytes,
    )
