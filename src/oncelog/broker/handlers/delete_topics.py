"""DeleteTopics (key 20), v1-v6.

v3  TOPIC_DELETION_DISABLED where older versions say INVALID_REQUEST        v4  flexible        v5  error messages
v6  topics by name or by id
Offsets that groups committed for the topic go with it. Internal topics are refused (T16); Kafka deletes them.
Left out: authorization.
"""

from collections import Counter
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.topics import Refusal
from oncelog.errors import ErrorCode
from oncelog.model import NO_TOPIC_ID, TopicId
from oncelog.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

KEY: Final = 20
VERSIONS: Final = (1, 6)

UNKNOWN_NAME: Final = Refusal(
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
)
UNKNOWN_ID: Final = Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)


async def handle(request: DeleteTopicsRequest, context: Context, broker: Runtime) -> DeleteTopicsResponse:
    asked = [DeleteTopicState(name=name) for name in request.topic_names] + request.topics
    if not broker.config.delete_topic_enable:
        disabled = ErrorCode.INVALID_REQUEST if context.version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        return DeleteTopicsResponse(
            responses=[
                DeletableTopicResult(name=each.name, topic_id=each.topic_id, error_code=disabled)
                for each in asked
            ]
        )
    results: list[DeletableTopicResult] = []
    async with broker.topics.turns:
        for name, topic_id, refusal in _sort_out(asked, broker):
            refusal = refusal or broker.topics.check_removal(name or "")
            if refusal is None and name is not None:
                await broker.topics.remove(name)
                await broker.groups.topic_deleted(name)
            results.append(_result(name, topic_id, refusal))
    return DeleteTopicsResponse(responses=results)


Asked = tuple[str | None, bytes, Refusal | None]


def _sort_out(asked: list[DeleteTopicState], broker: Runtime) -> list[Asked]:
    """One entry for each topic meant: its name, its id, and why it cannot be deleted, if so."""
    both = [each for each in asked if each.name is not None and each.topic_id != NO_TOPIC_ID]
    names = Counter(each.name for each in asked if each.name is not None and each.topic_id == NO_TOPIC_ID)
    ids = Counter(each.topic_id for each in asked if each.name is None and each.topic_id != NO_TOPIC_ID)
    found: list[Asked] = [
        (each.name, each.topic_id, _invalid("You may not specify both topic name and topic id."))
        for each in both
    ]
    neither = len(asked) - len(both) - names.total() - ids.total()
    found += [(None, NO_TOPIC_ID, _invalid("Neither topic name nor id were specified."))] * neither
    by_id: dict[bytes, str] = {}
    for topic_id, times in ids.items():
        topic = broker.engine.topic_by_id(TopicId(topic_id))
        if times > 1:
            found.append((None, topic_id, _invalid("Duplicate topic id.")))
        elif topic is None:
            found.append((None, topic_id, UNKNOWN_ID))
        else:
            by_id[topic_id] = topic.name
    twice_named: set[bytes] = set()
    for name, times in names.items():
        topic = broker.engine.topics.get(name)
        if times > 1:
            found.append((name, NO_TOPIC_ID, _invalid("Duplicate topic name.")))
        elif topic is None:
            found.append((name, NO_TOPIC_ID, UNKNOWN_NAME))
        elif topic.id in ids:  # named once by id and once by name: neither is done
            twice_named.add(topic.id)
            message = "The provided topic name maps to an ID that was already supplied."
            found.append((name, topic.id, _invalid(message)))
        else:
            found.append((name, topic.id, None))
    return found + [(name, each, None) for each, name in by_id.items() if each not in twice_named]


def _result(name: str | None, topic_id: bytes, refusal: Refusal | None) -> DeletableTopicResult:
    if refusal is None:
        return DeletableTopicResult(name=name, topic_id=topic_id, error_code=ErrorCode.NONE)
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=refusal.error, error_message=refusal.message
    )
