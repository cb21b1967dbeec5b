"""ElectLeaders (key 43), v0-v2.

v1  election type (0 preferred, 1 unclean) and an error for the whole answer        v2  flexible
There is one replica, and it leads: an election is never needed. Without a list of partitions every topic is named, with
nothing to say of it.
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

KEY: Final = 43
VERSIONS: Final = (0, 2)

ELECTION_TYPES: Final = (0, 1)


async def handle(request: ElectLeadersRequest, _context: Context, broker: Runtime) -> ElectLeadersResponse:
    error = ErrorCode.NONE if request.election_type in ELECTION_TYPES else ErrorCode.INVALID_REQUEST
    if request.topic_partitions is None:
        every = () if error else broker.engine.topics
        return ElectLeadersResponse(
            error_code=error, replica_election_results=[ReplicaElectionResult(topic=name) for name in every]
        )
    return ElectLeadersResponse(
        error_code=error,
        replica_election_results=[
            ReplicaElectionResult(
                topic=each.topic,
                partition_result=[_result(each.topic, index, request, broker) for index in each.partitions],
            )
            for each in request.topic_partitions
        ],
    )


def _result(name: str, index: int, request: ElectLeadersRequest, broker: Runtime) -> PartitionResult:
    topic = broker.engine.topics.get(name)
    if request.election_type not in ELECTION_TYPES:
        error, message = ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}"
    elif topic is None:
        error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}"
    elif not 0 <= index < len(topic.partitions):
        error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}"
    else:
        error = ErrorCode.ELECTION_NOT_NEEDED
        message = "Leader election not needed for topic partition."
    return PartitionResult(partition_id=index, error_code=error, error_message=message)
