"""ConsumerGroupHeartbeat (key 68), v0-v1 (KIP-848).

v0  the coordinator may name the member      v1  the client names itself; subscription by a pattern (KIP-1082)
Patterns are RE2's without classes by script or category. Left out: authorization; racks (kept, not used); turning a
classic group with members into a KIP-848 group while it runs, which is refused with GROUP_ID_NOT_FOUND.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.consumer import Heartbeat
from oncelog.model import TopicId
from oncelog.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ResponseTopicPartitions,
)

KEY: Final = 68
VERSIONS: Final = (0, 1)


async def handle(
    request: ConsumerGroupHeartbeatRequest, context: Context, broker: Runtime
) -> ConsumerGroupHeartbeatResponse:
    owned = request.topic_partitions
    reply = await broker.groups.consumer_heartbeat(
        request.group_id,
        Heartbeat(
            member_id=request.member_id,
            member_epoch=request.member_epoch,
            instance_id=request.instance_id,
            rack_id=request.rack_id,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            client_id=context.client_id or "",
            client_host=f"/{context.peer_host}",
            topic_names=None
            if request.subscribed_topic_names is None
            else tuple(request.subscribed_topic_names),
            topic_regex=request.subscribed_topic_regex,
            assignor=request.server_assignor,
            owned=None
            if owned is None
            else {TopicId(each.topic_id): tuple(each.partitions) for each in owned},
            version=context.version,
        ),
    )
    if reply.error is not ErrorCode.NONE:
        return ConsumerGroupHeartbeatResponse(error_code=reply.error, error_message=reply.message)
    assignment = None
    if reply.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                ResponseTopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in sorted(reply.assignment.items())
            ]
        )
    interval_ms = broker.config.group_consumer_heartbeat_interval_ms if reply.member_epoch >= 0 else 0
    return ConsumerGroupHeartbeatResponse(
        member_id=reply.member_id,
        member_epoch=reply.member_epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=assignment,
    )
