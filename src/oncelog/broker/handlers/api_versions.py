"""ApiVersions (key 18), v0-v4.

v1  throttle time        v3  flexible; software name and version are checked (API-5); features as tagged fields
v4  features with minimum level 0 may be listed (API-6); older clients choke on them (TRAP-35)
Any other version is answered in v0 with UNSUPPORTED_VERSION and the range of this API alone (API-4, TRAP-37).
Left out: ZkMigrationReady.
"""

import re
from dataclasses import replace
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.handlers import API_VERSIONS, OUR_OWN, PRODUCE, SERVED
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

KEY: Final = 18
VERSIONS: Final = (0, 4)

SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
FEATURES_EPOCH: Final = 1

# Produce 0-2 are refused, yet listed: librdkafka before 2.x takes a missing version 0 for a broker without Produce.
LISTED: Final = [
    ApiVersion(
        api_key=key, min_version=0 if key == PRODUCE else served.min_version, max_version=served.max_version
    )
    for key, served in sorted(SERVED.items())
    if key < OUR_OWN
]


async def handle(request: ApiVersionsRequest, context: Context, broker: Runtime) -> ApiVersionsResponse:
    if not VERSIONS[0] <= context.version <= VERSIONS[1]:
        context.response_version = 0
        own = ApiVersion(api_key=API_VERSIONS, min_version=VERSIONS[0], max_version=VERSIONS[1])
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])
    if context.version >= 3 and not (
        SOFTWARE.fullmatch(request.client_software_name)
        and SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if context.version >= 3:
        broker.client_software.note(context, request.client_software_name, request.client_software_version)
    listed = LISTED
    if broker.offered:
        listed = [
            replace(each, max_version=broker.offered.get(each.api_key, each.max_version)) for each in LISTED
        ]
    return ApiVersionsResponse(
        api_keys=listed,
        supported_features=[
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in broker.supported_features.items()
            if low > 0 or context.version >= 4
        ],
        finalized_features_epoch=FEATURES_EPOCH,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in broker.finalized_features.items()
            if level > 0
        ],
    )
