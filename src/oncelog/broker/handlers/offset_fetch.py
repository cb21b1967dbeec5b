"""OffsetFetch (key 9), v1-v10.

v2  all topics, top-level error     v5  leader epoch      v6  flexible      v7  require stable (KIP-447)
v8  many groups, error per group    v9  member id and epoch of KIP-848 groups          v10  topic ids
An unknown group or partition has offset -1 and no error. Left out: authorization.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.groups import FetchedOffset
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.model import NO_TOPIC_ID, TopicId
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

KEY: Final = 9
VERSIONS: Final = (1, 10)

FIRST_WITH_TOP_LEVEL_ERROR: Final = 2
FIRST_WITH_GROUPS: Final = 8
FIRST_WITH_IDS: Final = 10


async def handle(request: OffsetFetchRequest, context: Context, broker: Runtime) -> OffsetFetchResponse:
    if context.version < FIRST_WITH_GROUPS:
        return await _handle_one(request, context, broker)
    groups = [await _handle_group(group, request.require_stable, context, broker) for group in request.groups]
    return OffsetFetchResponse(groups=groups)


async def _handle_one(request: OffsetFetchRequest, context: Context, broker: Runtime) -> OffsetFetchResponse:
    wanted = None
    if request.topics is not None:
        wanted = [
            (topic.name, NO_TOPIC_ID, index) for topic in request.topics for index in topic.partition_indexes
        ]
    found = await broker.groups.fetch_offsets(
        request.group_id,
        member_id=None,
        member_epoch=-1,
        partitions=wanted,
        require_stable=request.require_stable,
    )
    if isinstance(found, ErrorCode):
        if context.version >= FIRST_WITH_TOP_LEVEL_ERROR:
            return OffsetFetchResponse(error_code=found)
        found = [FetchedOffset(topic, index, found, None) for topic, _, index in wanted or ()]
    topics = {topic.name: OffsetFetchResponseTopic(name=topic.name) for topic in request.topics or ()}
    for each in found:
        offset, leader_epoch, metadata = _told(each)
        topics.setdefault(each.topic, OffsetFetchResponseTopic(name=each.topic)).partitions.append(
            OffsetFetchResponsePartition(
                partition_index=each.partition,
                committed_offset=offset,
                committed_leader_epoch=leader_epoch,
                metadata=metadata,
                error_code=each.error,
            )
        )
    return OffsetFetchResponse(topics=list(topics.values()))


async def _handle_group(
    group: OffsetFetchRequestGroup, require_stable: bool, context: Context, broker: Runtime
) -> OffsetFetchResponseGroup:
    uses_ids = context.version >= FIRST_WITH_IDS
    topics: list[OffsetFetchResponseTopics] = []
    wanted: list[tuple[str, TopicId, int]] | None = None
    places: list[OffsetFetchResponseTopics] = []  # for each wanted partition the topic that it is told in
    if group.topics is not None:
        wanted = []
        for topic in group.topics:
            answer = OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id)
            topics.append(answer)
            known = broker.engine.topic_by_id(TopicId(topic.topic_id)) if uses_ids else None
            if uses_ids and known is None:
                answer.partitions = [
                    _partition(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in topic.partition_indexes
                ]
                continue
            name, topic_id = (topic.name, NO_TOPIC_ID) if known is None else (known.name, known.id)
            for index in topic.partition_indexes:
                wanted.append((name, topic_id, index))
                places.append(answer)
    found = await broker.groups.fetch_offsets(
        group.group_id,
        member_id=group.member_id,
        member_epoch=group.member_epoch,
        partitions=wanted,
        require_stable=require_stable,
    )
    if isinstance(found, ErrorCode):
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=found)
    if wanted is None:
        topics, found, places = _places_of_all(found, uses_ids, broker)
    for place, each in zip(places, found, strict=True):
        place.partitions.append(_partition(each.partition, each.error, each))
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def _places_of_all(
    found: list[FetchedOffset], uses_ids: bool, broker: Runtime
) -> tuple[list[OffsetFetchResponseTopics], list[FetchedOffset], list[OffsetFetchResponseTopics]]:
    """Topics for everything that was found; by id only those that still have one."""
    topics: dict[str, OffsetFetchResponseTopics] = {}
    kept: list[FetchedOffset] = []
    places: list[OffsetFetchResponseTopics] = []
    for each in found:
        known = broker.engine.topics.get(each.topic)
        if uses_ids and known is None:
            continue
        if each.topic not in topics:
            topics[each.topic] = OffsetFetchResponseTopics(
                name=each.topic, topic_id=NO_TOPIC_ID if known is None else known.id
            )
        kept.append(each)
        places.append(topics[each.topic])
    return list(topics.values()), kept, places


def _partition(
    index: int, error: ErrorCode, found: FetchedOffset | None = None
) -> OffsetFetchResponsePartitions:
    offset, leader_epoch, metadata = _told(found)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        metadata=metadata,
        error_code=error,
    )


def _told(found: FetchedOffset | None) -> tuple[int, int, str]:
    if found is None or found.value is None:
        return -1, -1, ""
    return found.value.offset, found.value.leader_epoch, found.value.metadata
