"""ListOffsets (key 2), v1-v11.

v2  isolation level: latest is the last stable offset for read_committed (TRAP-31)        v4  leader epochs
v6  flexible        v7  -3 latest timestamp        v8  -4 earliest local        v9  -5 latest tiered
v10  timeout, for remote storage        v11  -6 earliest pending upload
A special time that is newer than the request's version is UNSUPPORTED_VERSION, before the partition is looked for.
Left out: OFFSET_NOT_AVAILABLE after an election (a lone broker's high watermark is never behind), authorization.
"""

from collections import Counter
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.engine.port import Partition
from oncelog.errors import ErrorCode
from oncelog.model import Isolation
from oncelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

KEY: Final = 2
VERSIONS: Final = (1, 11)

CONSUMER: Final = -1  # replica id; others read to the log end offset
LATEST: Final = -1
FIRST_VERSION: Final = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}


async def handle(request: ListOffsetsRequest, context: Context, broker: Runtime) -> ListOffsetsResponse:
    asked = Counter(
        (topic.name, each.partition_index) for topic in request.topics for each in topic.partitions
    )
    answers: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        answered = answers.setdefault(topic.name, {})
        for each in topic.partitions:
            if asked[topic.name, each.partition_index] > 1:
                answer = _refused(each, ErrorCode.INVALID_REQUEST)
            else:
                answer = await _look_up(topic.name, each, request, context.version, broker)
            answered[each.partition_index] = answer
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=name, partitions=list(partitions.values()))
            for name, partitions in answers.items()
        ]
    )


async def _look_up(
    topic: str, asked: ListOffsetsPartition, request: ListOffsetsRequest, version: int, broker: Runtime
) -> ListOffsetsPartitionResponse:
    if request.isolation_level not in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED):
        return _refused(asked, ErrorCode.UNKNOWN_SERVER_ERROR)
    if asked.timestamp < 0 and FIRST_VERSION.get(asked.timestamp, version + 1) > version:
        return _refused(asked, ErrorCode.UNSUPPORTED_VERSION)
    partition = _find(topic, asked.partition_index, broker)
    if partition is None:
        return _refused(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    stale = _epoch_error(asked.current_leader_epoch, partition.leader_epoch)
    if stale is not ErrorCode.NONE:
        return _refused(asked, stale)
    if asked.timestamp == LATEST and request.replica_id != CONSUMER:
        return ListOffsetsPartitionResponse(
            partition_index=asked.partition_index,
            timestamp=-1,
            offset=partition.log_end_offset,
            leader_epoch=partition.leader_epoch,
        )
    found = await partition.offset_at(asked.timestamp, Isolation(request.isolation_level))
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _find(topic: str, index: int, broker: Runtime) -> Partition | None:
    found = broker.engine.topics.get(topic)
    return found.partitions[index] if found is not None and 0 <= index < len(found.partitions) else None


def _epoch_error(asked: int, present: int) -> ErrorCode:
    if asked < 0 or asked == present:
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if asked < present else ErrorCode.UNKNOWN_LEADER_EPOCH


def _refused(asked: ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index, error_code=error, timestamp=-1, offset=-1, leader_epoch=-1
    )
