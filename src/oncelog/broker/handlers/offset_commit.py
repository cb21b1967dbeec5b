"""OffsetCommit (key 8), v2-v10.

v2-v4  retention time of the commit   v5  gone          v6  leader epoch       v7  group instance id
v8  flexible     v9  member epoch of KIP-848 groups, GROUP_ID_NOT_FOUND where older ones say ILLEGAL_GENERATION
v10 topic ids instead of names
Unknown topics and partitions are refused one by one, the rest is committed. Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.shard import OffsetCommit, OffsetToCommit
from oncelog.model import TopicId
from oncelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

KEY: Final = 8
VERSIONS: Final = (2, 10)

FIRST_WITH_IDS: Final = 10


async def handle(request: OffsetCommitRequest, context: Context, broker: Runtime) -> OffsetCommitResponse:
    topics: list[OffsetCommitResponseTopic] = []
    offsets: list[OffsetToCommit] = []
    waiting: list[OffsetCommitResponsePartition] = []  # the answers that the coordinator has to give
    for topic in request.topics:
        answer = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        topics.append(answer)
        for partition, error, offset in _checked(topic, context.version, broker):
            given = OffsetCommitResponsePartition(partition_index=partition, error_code=error)
            answer.partitions.append(given)
            if offset is not None:
                offsets.append(offset)
                waiting.append(given)
    if offsets:
        decision = await broker.groups.commit_offsets(
            OffsetCommit(
                group_id=request.group_id,
                member_id=request.member_id,
                instance_id=request.group_instance_id,
                generation=request.generation_id_or_member_epoch,
                offsets=tuple(offsets),
                version=context.version,
                retention_ms=request.retention_time_ms,
            )
        )
        for index, given in enumerate(waiting):
            given.error_code = decision.answers[index] if decision.error is ErrorCode.NONE else decision.error
    return OffsetCommitResponse(topics=topics)


def _checked(
    topic: OffsetCommitRequestTopic, version: int, broker: Runtime
) -> list[tuple[int, ErrorCode, OffsetToCommit | None]]:
    """Each partition of a topic with its refusal, or with what is to be committed."""
    if version >= FIRST_WITH_IDS:
        known = broker.engine.topic_by_id(TopicId(topic.topic_id))
        missing = ErrorCode.UNKNOWN_TOPIC_ID
    else:
        known = broker.engine.topics.get(topic.name)
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if known is None:
        return [(each.partition_index, missing, None) for each in topic.partitions]
    checked: list[tuple[int, ErrorCode, OffsetToCommit | None]] = []
    for each in topic.partitions:
        if not 0 <= each.partition_index < len(known.partitions):
            checked.append((each.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None))
            continue
        offset = OffsetToCommit(
            topic=known.name,
            partition=each.partition_index,
            topic_id=known.id,
            offset=each.committed_offset,
            leader_epoch=each.committed_leader_epoch,
            metadata=each.committed_metadata,
        )
        checked.append((each.partition_index, ErrorCode.NONE, offset))
    return checked
