"""AlterPartitionReassignments (key 45), v0-v1.

v1  may forbid another replication factor, which no assignment here can have
A partition can be assigned to this broker alone, where it is already; there is never one under way to cancel.
Left out: authorization.
"""

from collections.abc import Sequence
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.topics import Refusal, assignment_refusal
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

KEY: Final = 45
VERSIONS: Final = (0, 1)


async def handle(
    request: AlterPartitionReassignmentsRequest, _context: Context, broker: Runtime
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=ErrorCode.NONE,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    _result(
                        each.partition_index,
                        _refusal(topic.name, each.partition_index, each.replicas, broker),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _refusal(name: str, index: int, replicas: Sequence[int] | None, broker: Runtime) -> Refusal | None:
    topic = broker.engine.topics.get(name)
    if topic is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    if not 0 <= index < len(topic.partitions):
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}.")
    if replicas is None:
        return Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    return assignment_refusal(replicas, broker.node_id)


def _result(index: int, refusal: Refusal | None) -> ReassignablePartitionResponse:
    if refusal is None:
        return ReassignablePartitionResponse(
            partition_index=index, error_code=ErrorCode.NONE, error_message=None
        )
    return ReassignablePartitionResponse(
        partition_index=index, error_code=refusal.error, error_message=refusal.message
    )
