"""OffsetDelete (key 47), v0.

Pending transactional offsets are deleted too. Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

KEY: Final = 47
VERSIONS: Final = (0, 0)


async def handle(request: OffsetDeleteRequest, context: Context, broker: Runtime) -> OffsetDeleteResponse:  # noqa: ARG001  # same for all
    topics: list[OffsetDeleteResponseTopic] = []
    wanted: list[tuple[str, int]] = []
    waiting: list[OffsetDeleteResponsePartition] = []
    for topic in request.topics:
        known = broker.engine.topics.get(topic.name)
        count = 0 if known is None else len(known.partitions)
        answer = OffsetDeleteResponseTopic(name=topic.name)
        topics.append(answer)
        for each in topic.partitions:
            given = OffsetDeleteResponsePartition(partition_index=each.partition_index)
            answer.partitions.append(given)
            if 0 <= each.partition_index < count:
                wanted.append((topic.name, each.partition_index))
                waiting.append(given)
            else:
                given.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    decision = await broker.groups.delete_offsets(request.group_id, wanted)
    if decision.error is not ErrorCode.NONE:
        return OffsetDeleteResponse(error_code=decision.error)
    for given, error in zip(waiting, decision.answers, strict=True):
        given.error_code = error
    return OffsetDeleteResponse(topics=topics)
