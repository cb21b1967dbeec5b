"""ListConfigResources (key 74), v0-v1.

v0  client metrics only, and there are none        v1  resources of the types asked for, of all types if none is named
Left out: groups and client metrics (they have no settings of their own), authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.settings import Resource
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

KEY: Final = 74
VERSIONS: Final = (0, 1)

KINDS: Final = frozenset(Resource)


async def handle(
    request: ListConfigResourcesRequest, context: Context, broker: Runtime
) -> ListConfigResourcesResponse:
    if context.version == 0:
        return ListConfigResourcesResponse()
    if not KINDS.issuperset(request.resource_types):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    found = [(Resource.BROKER_LOGGER, str(broker.node_id)), (Resource.BROKER, str(broker.node_id))]
    found += [(Resource.TOPIC, name) for name in broker.engine.topics]
    wanted = request.resource_types or KINDS
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind) for kind, name in found if kind in wanted
        ]
    )
