"""AlterConfigs (key 33), v0-v2.

v2  flexible
Replaces all settings of a topic: what is not named goes back to its default. The broker's settings are given at start and
refused here.
Left out: settings of groups and client metrics, authorization.
"""

from collections import Counter
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.settings import NOT_ONCE, Change, Operation, Wanted, decide_change
from oncelog.broker.topics import Refusal
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

KEY: Final = 33
VERSIONS: Final = (0, 2)


async def handle(request: AlterConfigsRequest, _context: Context, broker: Runtime) -> AlterConfigsResponse:
    named = Counter((each.resource_type, each.resource_name) for each in request.resources)
    answers: list[AlterConfigsResourceResponse] = []
    async with broker.topics.turns:
        for each in request.resources:
            once = named[each.resource_type, each.resource_name] == 1
            refusal = await _alter(each, request.validate_only, broker) if once else NOT_ONCE
            answers.append(
                AlterConfigsResourceResponse(
                    error_code=ErrorCode.NONE if refusal is None else refusal.error,
                    error_message=None if refusal is None else refusal.message,
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                )
            )
    return AlterConfigsResponse(responses=answers)


async def _alter(asked: AlterConfigsResource, validate_only: bool, broker: Runtime) -> Refusal | None:
    changes = [Change(each.name, Operation.SET, each.value) for each in asked.configs]
    wanted = Wanted(asked.resource_type, asked.resource_name, changes, replace=True)
    decided = decide_change(wanted, broker.engine.topics, broker.config)
    if isinstance(decided, Refusal):
        return decided
    if decided is not None and not validate_only:
        await broker.topics.set_configs(asked.resource_name, decided)
    return None
