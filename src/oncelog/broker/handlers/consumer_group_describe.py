"""ConsumerGroupDescribe (key 69), v0-v1 (KIP-848).

v1  member type
Without an authorizer all operations are authorized. Topics that are gone are left out of assignments.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode
from oncelog.group.assignors import Assignment as Partitions
from oncelog.group.consumer import ConsumerGroup
from oncelog.group.members import ConsumerMember, partitions_of
from oncelog.group.shard import Shard
from oncelog.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)

KEY: Final = 69
VERSIONS: Final = (0, 1)

CONSUMER_MEMBER: Final = 1
# READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11
ALL_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


async def handle(
    request: ConsumerGroupDescribeRequest,
    context: Context,  # noqa: ARG001  # same for all
    broker: Runtime,
) -> ConsumerGroupDescribeResponse:
    groups: list[DescribedGroup] = []
    for group_id in request.group_ids:
        described = await _describe(group_id, broker)
        if request.include_authorized_operations and described.error_code == ErrorCode.NONE:
            described.authorized_operations = ALL_OPERATIONS
        groups.append(described)
    return ConsumerGroupDescribeResponse(groups=groups)


async def _describe(group_id: str, broker: Runtime) -> DescribedGroup:
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)

    def look(state: Shard) -> DescribedGroup:
        group = state.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return _described(group, broker)
        why = "not found" if group is None else "is not a consumer group"
        return DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} {why}.",
        )

    found = await broker.groups.read(group_id, look)
    return DescribedGroup(group_id=group_id, error_code=found) if isinstance(found, ErrorCode) else found


def _described(group: ConsumerGroup, broker: Runtime) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.preferred_assignor(),
        members=[_member(member, group, broker) for member in group.members.values()],
    )


def _member(member: ConsumerMember, group: ConsumerGroup, broker: Runtime) -> Member:
    return Member(
        member_id=member.id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(partitions_of(member.assigned), broker),
        target_assignment=_assignment(group.target.get(member.id, {}), broker),
        member_type=CONSUMER_MEMBER,
    )


def _assignment(partitions: Partitions, broker: Runtime) -> Assignment:
    topics: list[TopicPartitions] = []
    for topic_id in sorted(partitions):
        topic = broker.engine.topic_by_id(topic_id)
        if topic is not None:
            topics.append(
                TopicPartitions(
                    topic_id=topic_id, topic_name=topic.name, partitions=sorted(partitions[topic_id])
                )
            )
    return Assignment(topic_partitions=topics)
