"""DescribeTopicPartitions (key 75), v0.

Topics in the order of their names, page by page: an answer holds at most 2000 partitions and says where to go on.
Left out: eligible leader replicas (there is one replica), authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.topics import missing
from oncelog.engine.port import Partition
from oncelog.errors import ErrorCode
from oncelog.model import INTERNAL_TOPICS
from oncelog.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)

KEY: Final = 75
VERSIONS: Final = (0, 0)

PARTITIONS_LIMIT: Final = 2000
TOPIC_OPERATIONS: Final = (
    3576  # READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS
)


async def handle(
    request: DescribeTopicPartitionsRequest, _context: Context, broker: Runtime
) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor
    begin_topic, begin_partition = ("", 0) if cursor is None else (cursor.topic_name, cursor.partition_index)
    asked = {topic.name for topic in request.topics}
    if begin_partition < 0 or (cursor is not None and asked and begin_topic not in asked):
        return _refuse(request)
    names = sorted(name for name in asked or broker.engine.topics if name >= begin_topic)
    answer = DescribeTopicPartitionsResponse()
    room = max(min(request.response_partition_limit, PARTITIONS_LIMIT), 1)
    for name in names:
        if room == 0:
            answer.next_cursor = ResponseCursor(topic_name=name, partition_index=0)
            break
        topic = broker.engine.topics.get(name)
        if topic is None:
            answer.topics.append(_missing(name))
            continue
        first = begin_partition if name == begin_topic else 0
        shown = topic.partitions[first : first + room]
        answer.topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=name,
                topic_id=topic.id,
                is_internal=name in INTERNAL_TOPICS,
                partitions=[_describe(partition, broker) for partition in shown],
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        if first + len(shown) < len(topic.partitions):
            answer.next_cursor = ResponseCursor(topic_name=name, partition_index=first + len(shown))
            break
        room -= len(shown)
    return answer


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=missing(name),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _refuse(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """A cursor that points nowhere: partition below 0, or a topic that is not among those asked for."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=topic.name)
            for topic in request.topics
        ]
    )


def _describe(partition: Partition, broker: Runtime) -> DescribeTopicPartitionsResponsePartition:
    me = [broker.node_id]
    return DescribeTopicPartitionsResponsePartition(
        partition_index=partition.index,
        leader_id=broker.node_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=me,
        isr_nodes=me,
        eligible_leader_replicas=[],
        last_known_elr=[],
    )
