"""OffsetForLeaderEpoch (key 23), v2-v4.

v3  replica id, for followers        v4  flexible
An epoch that we never had: no error, epoch -1 and offset -1.
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

KEY: Final = 23
VERSIONS: Final = (2, 4)


async def handle(
    request: OffsetForLeaderEpochRequest, _context: Context, broker: Runtime
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_find(topic.topic, each, broker) for each in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _find(name: str, asked: OffsetForLeaderPartition, broker: Runtime) -> EpochEndOffset:
    topic = broker.engine.topics.get(name)
    if topic is None or not 0 <= asked.partition < len(topic.partitions):
        return _refused(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = topic.partitions[asked.partition]
    if 0 <= asked.current_leader_epoch < partition.leader_epoch:
        return _refused(asked, ErrorCode.FENCED_LEADER_EPOCH)
    if asked.current_leader_epoch > partition.leader_epoch:
        return _refused(asked, ErrorCode.UNKNOWN_LEADER_EPOCH)
    leader_epoch, end_offset = partition.epoch_end(asked.leader_epoch)
    return EpochEndOffset(partition=asked.partition, leader_epoch=leader_epoch, end_offset=end_offset)


def _refused(asked: OffsetForLeaderPartition, error: ErrorCode) -> EpochEndOffset:
    return EpochEndOffset(error_code=error, partition=asked.partition, leader_epoch=-1, end_offset=-1)
