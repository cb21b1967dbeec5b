"""DescribeProducers (key 61), v0 (KIP-664).

Shows every producer a partition remembers: idempotent ones, and those of which only a marker is left (TRAP-24).
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.topics import name_complaint
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

KEY: Final = 61
VERSIONS: Final = (0, 0)


async def handle(request: DescribeProducersRequest, _: Context, broker: Runtime) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_describe(topic.name, index, broker) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _describe(name: str, index: int, broker: Runtime) -> PartitionResponse:
    if name_complaint(name) is not None:
        return PartitionResponse(partition_index=index, error_code=ErrorCode.INVALID_TOPIC_EXCEPTION)
    topic = broker.engine.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return PartitionResponse(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=each.producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.last_timestamp,
                coordinator_epoch=each.coordinator_epoch,
                current_txn_start_offset=each.transaction_start_offset,
            )
            for each in topic.partitions[index].producers()
        ],
    )
