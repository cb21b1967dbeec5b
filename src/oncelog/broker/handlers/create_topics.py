"""CreateTopics (key 19), v2-v7.

v4  -1 for partitions and replication factor: the broker's defaults        v5  flexible; answers with the settings
v7  answers with the topic id
The timeout is not needed: a topic is there when the answer leaves. Names of internal topics are refused (T16); Kafka
refuses only __cluster_metadata.
Left out: Kafka's limit of 10,000 partitions in one request (max.partitions limits the broker), quotas, authorization.
"""

from collections import Counter
from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.broker.settings import topic_entries
from oncelog.broker.topics import NewTopic, Planned, Refusal
from oncelog.errors import ErrorCode
from oncelog.model import TopicId
from oncelog.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

KEY: Final = 19
VERSIONS: Final = (2, 7)


async def handle(request: CreateTopicsRequest, _context: Context, broker: Runtime) -> CreateTopicsResponse:
    named = Counter(topic.name for topic in request.topics)
    twice = [name for name, times in named.items() if times > 1]
    once = [topic for topic in request.topics if named[topic.name] == 1]
    async with broker.topics.turns:
        results = [await _create(topic, request.validate_only, broker) for topic in once]
    broker.groups.topics_changed()
    refusal = Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    return CreateTopicsResponse(topics=results + [_refused(name, refusal) for name in twice])


async def _create(topic: CreatableTopic, validate_only: bool, broker: Runtime) -> CreatableTopicResult:
    new = NewTopic(
        name=topic.name,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[(each.partition_index, each.broker_ids) for each in topic.assignments],
        configs=[(each.name, each.value) for each in topic.configs],
    )
    planned = broker.topics.check_new(new)
    if isinstance(planned, Refusal):
        return _refused(topic.name, planned)
    if validate_only:
        return _made(
            topic.name, TopicId(broker.chance.token_bytes(16)), planned, broker
        )  # Kafka shows an id, too
    made = await broker.topics.create(topic.name, planned)
    return _made(topic.name, made.id, planned, broker)


def _made(name: str, topic_id: TopicId, planned: Planned, broker: Runtime) -> CreatableTopicResult:
    entries = topic_entries(planned.configs, planned.effective, broker.config)
    return CreatableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=planned.partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfigs(name=each.name, value=each.value, config_source=each.source)
            for each in entries
        ],
    )


def _refused(name: str, refusal: Refusal) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        error_code=refusal.error,
        error_message=refusal.message,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )
