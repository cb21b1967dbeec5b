"""Vectors V102 and V106 to V110 without transactions: offset commits and groups (spec 8.7)."""

import uuid
from collections.abc import Iterator

import pytest

from oncelog.client.faults import error_name
from oncelog.client.session import Connection
from oncelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from oncelog.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from oncelog.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from oncelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from oncelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from oncelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from oncelog.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.vectors.play import Target

NO_GENERATION = -1


class Group:
    """A fresh group and its coordinator."""

    def __init__(self, name: str, connection: Connection, topic: str) -> None:
        self.name = name
        self.connection = connection
        self.topic = topic

    def commit(
        self,
        *,
        generation: int = NO_GENERATION,
        member: str = "",
        version: int = 8,
        offset: int = 5,
        name: str | None = None,
    ) -> str:
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        request = OffsetCommitRequest(
            group_id=self.name if name is None else name,
            generation_id_or_member_epoch=generation,
            member_id=member,
            topics=[OffsetCommitRequestTopic(name=self.topic, partitions=[partition])],
        )
        answer = self.connection.send(request, OffsetCommitResponse, version)
        return error_name(answer.topics[0].partitions[0].error_code)

    def committed(self) -> str:
        topics = [OffsetFetchRequestTopics(name=self.topic, partition_indexes=[0])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self.name, topics=topics)])
        (group,) = self.connection.send(request, OffsetFetchResponse, 8).groups
        (found,) = group.topics[0].partitions
        return f"{error_name(group.error_code or found.error_code)} {found.committed_offset}"

    def delete(self, name: str | None = None) -> str:
        request = DeleteGroupsRequest(groups_names=[self.name if name is None else name])
        return error_name(self.connection.send(request, DeleteGroupsResponse, 2).results[0].error_code)

    def join(self) -> tuple[str, int]:
        """One member that leads and syncs: the group is stable afterwards. (member id, generation)"""
        member, joined = "", JoinGroupResponse()
        for _ in range(2):
            request = JoinGroupRequest(
                group_id=self.name,
                session_timeout_ms=30_000,
                rebalance_timeout_ms=30_000,
                member_id=member,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")],
            )
            joined = self.connection.send(request, JoinGroupResponse, 9)
            member = joined.member_id
        assert joined.error_code == 0, error_name(joined.error_code)
        request = SyncGroupRequest(
            group_id=self.name,
            generation_id=joined.generation_id,
            member_id=member,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id=member, assignment=b"x")],
        )
        synced = self.connection.send(request, SyncGroupResponse, 5)
        assert synced.error_code == 0, error_name(synced.error_code)
        return member, joined.generation_id

    def leave(self, member: str) -> None:
        request = LeaveGroupRequest(group_id=self.name, members=[MemberIdentity(member_id=member)])
        answer = self.connection.send(request, LeaveGroupResponse, 5)
        assert (answer.error_code, answer.members[0].error_code) == (0, 0)


@pytest.fixture
def group(target: Target) -> Iterator[Group]:
    name, topic = target.fresh_name("group"), target.topic()
    with target.group_ready(name) as connection:
        yield Group(name, connection, topic)


def test_v102_commits_to_an_empty_group(target: Target, group: Group) -> None:
    with target.vector("V102") as row:
        row("no group yet, generation -1", group.commit(), "NONE")
        row(
            "empty group, generation 3, member m", group.commit(generation=3, member="m"), "UNKNOWN_MEMBER_ID"
        )
        row("empty group, generation -1, member m", group.commit(member="m", offset=6), "NONE")
        row("what is committed", group.committed(), "NONE 6")
        unknown = target.fresh_name("unknown")
        row(
            "unknown group, generation 3",
            group.commit(generation=3, member="m", name=unknown),
            "ILLEGAL_GENERATION",
        )


def test_v106_commits_to_a_stable_classic_group(target: Target, group: Group) -> None:
    with target.vector("V106") as row:
        member, generation = group.join()
        row("generation", generation, 1)
        row("the right ones", group.commit(generation=1, member=member), "NONE")
        row("generation 0", group.commit(generation=0, member=member), "ILLEGAL_GENERATION")
        row("generation 2", group.commit(generation=2, member=member), "ILLEGAL_GENERATION")
        row("a wrong member", group.commit(generation=1, member="nobody"), "UNKNOWN_MEMBER_ID")
        row("no member", group.commit(), "UNKNOWN_MEMBER_ID")
        group.leave(member)
        row("no member once the group is empty", group.commit(offset=9), "NONE")
        row("what is committed", group.committed(), "NONE 9")


def test_v107_commits_to_a_kip_848_group(target: Target, group: Group) -> None:
    member = str(uuid.uuid4())

    def heartbeat(epoch: int, *, joins: bool) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=group.name,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=30_000 if joins else -1,
            subscribed_topic_names=[group.topic] if joins else None,
            topic_partitions=[] if joins else None,
        )
        answer = group.connection.send(request, ConsumerGroupHeartbeatResponse, 1)
        assert answer.error_code == 0, f"{error_name(answer.error_code)} {answer.error_message}"
        return answer

    with target.vector("V107") as row:
        epoch = heartbeat(0, joins=True).member_epoch
        row("the member's own epoch, v9", group.commit(generation=epoch, member=member, version=9), "NONE")
        row("epoch 9, v9", group.commit(generation=9, member=member, version=9), "STALE_MEMBER_EPOCH")
        row(
            "its own epoch, v8",
            group.commit(generation=epoch, member=member, version=8),
            "UNSUPPORTED_VERSION",
        )
        row(
            "an unknown member, v9",
            group.commit(generation=epoch, member="m", version=9),
            "UNKNOWN_MEMBER_ID",
        )
        row("what is committed", group.committed(), "NONE 5")
        row("leaving", heartbeat(-1, joins=False).member_epoch, -1)


def test_v108_delete_groups(target: Target, group: Group) -> None:
    with target.vector("V108") as row:
        row("unknown", group.delete(target.fresh_name("unknown")), "GROUP_ID_NOT_FOUND")
        row("a commit makes the group", group.commit(), "NONE")
        row("with only offsets", group.delete(), "NONE")
        row("its offsets are gone", group.committed(), "NONE -1")
        row("again", group.delete(), "GROUP_ID_NOT_FOUND")
        member, _ = group.join()
        row("with a member", group.delete(), "NON_EMPTY_GROUP")
        group.leave(member)
        row("after it left", group.delete(), "NONE")


def test_v109_commit_of_an_unknown_group(target: Target, group: Group) -> None:
    with target.vector("V109") as row:
        row("generation 1, v8", group.commit(generation=1, member="m", version=8), "ILLEGAL_GENERATION")
        row("generation 1, v9", group.commit(generation=1, member="m", version=9), "GROUP_ID_NOT_FOUND")


def test_v110_describe_an_unknown_group(target: Target, group: Group) -> None:
    with target.vector("V110") as row:
        for version, error in ((5, "NONE"), (6, "GROUP_ID_NOT_FOUND")):
            request = DescribeGroupsRequest(groups=[group.name])
            (found,) = group.connection.send(request, DescribeGroupsResponse, version).groups
            row(f"v{version}", f"{error_name(found.error_code)} {found.group_state}", f"{error} Dead")
