"""DescribeCluster (key 60), v0-v2.

v1  endpoint type: 1 is a broker's, 2 a controller's and we have no such listener        v2  fenced brokers
Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

KEY: Final = 60
VERSIONS: Final = (0, 2)

NOT_ASKED: Final = -2147483648
CLUSTER_OPERATIONS: Final = (
    8096  # CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE
)
BROKERS: Final = 1
CONTROLLERS: Final = 2


async def handle(
    request: DescribeClusterRequest, _context: Context, broker: Runtime
) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        return _refuse(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        )
    if request.endpoint_type != BROKERS:
        return _refuse(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}"
        )
    asks = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        endpoint_type=BROKERS,
        cluster_id=broker.engine.cluster_id,
        controller_id=broker.node_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.node_id,
                host=broker.host,
                port=broker.port,
                rack=broker.config.broker_rack or None,
            )
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if asks else NOT_ASKED,
    )


def _refuse(error: ErrorCode, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error_code=error, error_message=message, endpoint_type=BROKERS, controller_id=-1
    )
