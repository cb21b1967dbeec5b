"""CreatePartitions (key 37), v0-v3.

v2  flexible        v3  THROTTLING_QUOTA_EXCEEDED, which we never send
Internal topics are refused (T16): the coordinators find their partition by the count; Kafka lets them grow.
Left out: quotas, authorization.
"""

from collections import Counter
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.topics import Refusal
from oncelog.errors import ErrorCode
from oncelog.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

KEY: Final = 37
VERSIONS: Final = (0, 3)


async def handle(
    request: CreatePartitionsRequest, _context: Context, broker: Runtime
) -> CreatePartitionsResponse:
    named = Counter(topic.name for topic in request.topics)
    twice = [name for name, times in named.items() if times > 1]
    refusal = Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    results = [_result(name, refusal) for name in twice]
    once = [topic for topic in request.topics if named[topic.name] == 1]
    async with broker.topics.turns:
        results += [_result(each.name, await _grow(each, request.validate_only, broker)) for each in once]
    broker.groups.topics_changed()
    return CreatePartitionsResponse(results=results)


async def _grow(topic: CreatePartitionsTopic, validate_only: bool, broker: Runtime) -> Refusal | None:
    assignments = None if topic.assignments is None else [each.broker_ids for each in topic.assignments]
    refusal = broker.topics.check_growth(topic.name, topic.count, assignments)
    if refusal is None and not validate_only:
        await broker.topics.grow(topic.name, topic.count)
    return refusal


def _result(name: str, refusal: Refusal | None) -> CreatePartitionsTopicResult:
    if refusal is None:
        return CreatePartitionsTopicResult(name=name, error_code=ErrorCode.NONE, error_message=None)
    return CreatePartitionsTopicResult(name=name, error_code=refusal.error, error_message=refusal.message)
