"""DeleteRecords (key 21), v0-v2.

v2  flexible
Offset -1 means all up to the high watermark. A partition named twice counts once, with the last offset given.
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.model import INTERNAL_TOPICS
from oncelog.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

KEY: Final = 21
VERSIONS: Final = (0, 2)

HIGH_WATERMARK: Final = -1


async def handle(request: DeleteRecordsRequest, _context: Context, broker: Runtime) -> DeleteRecordsResponse:
    asked: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = asked.setdefault(topic.name, {})
        for each in topic.partitions:
            offsets[each.partition_index] = each.offset
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=name,
                partitions=[await _delete(name, index, at, broker) for index, at in offsets.items()],
            )
            for name, offsets in asked.items()
        ]
    )


async def _delete(name: str, index: int, offset: int, broker: Runtime) -> DeleteRecordsPartitionResult:
    topic = broker.engine.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return _refused(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if name in INTERNAL_TOPICS:
        return _refused(index, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if "delete" not in broker.topics.config_of(topic).cleanup_policy:
        return _refused(index, ErrorCode.POLICY_VIOLATION)
    partition = topic.partitions[index]
    if offset < HIGH_WATERMARK or offset > partition.high_watermark:
        return _refused(index, ErrorCode.OFFSET_OUT_OF_RANGE)
    error = await partition.delete_records(offset)
    if error is not ErrorCode.NONE:
        return _refused(index, error)
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=partition.log_start_offset)


def _refused(index: int, error: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=error)
