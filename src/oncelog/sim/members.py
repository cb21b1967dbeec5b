"""Simulated members of consumer groups, of the classic protocol and of KIP-848: who joins, beats, loses partitions, dies.

Both kinds answer the same two questions: which partitions are mine (`join`), and is that still so (`beat`). What a member
is told goes into its offset commits (KIP-447): the member id and the generation, or the member epoch.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from random import Random
from typing import Final

from oncelog.errors import ErrorCode
from oncelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from oncelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from oncelog.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from oncelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from oncelog.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from oncelog.sim.clients import AGAIN, UNCLEAR, Defect, Session
from oncelog.sim.net import Unreachable
from oncelog.sim.world import World

E = ErrorCode
SESSION_MS: Final = 600
# The member is not what it was: it must join again, as a new one if it is unknown.
REJOIN: Final = frozenset(
    {
        E.REBALANCE_IN_PROGRESS,
        E.ILLEGAL_GENERATION,
        E.UNKNOWN_MEMBER_ID,
        E.FENCED_MEMBER_EPOCH,
        E.STALE_MEMBER_EPOCH,
        E.MEMBER_ID_REQUIRED,
        E.INCONSISTENT_GROUP_PROTOCOL,
        E.UNRELEASED_INSTANCE_ID,
    }
)


class Member(ABC):
    """One member, subscribed to one topic."""

    def __init__(self, world: World, rng: Random, client_id: str, group: str, topic: str, count: int) -> None:
        self.session = Session(world, rng, client_id)
        self.group = group
        self.topic = topic
        self.count = count  # partitions of the topic
        self.id = ""
        self.generation = -1

    @abstractmethod
    async def join(self) -> list[str]:
        """The partitions that are ours; empty if there are none for us, or not yet. Unreachable if nobody answered."""

    @abstractmethod
    async def beat(self) -> bool:
        """Whether all is as it was; else `join` again."""

    @abstractmethod
    async def leave(self) -> None:
        """Says good-bye, if anybody hears it."""

    def _forget(self, error: ErrorCode) -> None:
        if error in {E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH}:
            self._new()
        elif error not in REJOIN | AGAIN | UNCLEAR:
            raise Defect(f"{type(self).__name__} of {self.group} was answered {error.name}")

    def _new(self) -> None:
        self.id, self.generation = "", -1


class ClassicMember(Member):
    """JoinGroup, SyncGroup, Heartbeat. The leader deals the partitions out, one after the other."""

    async def join(self) -> list[str]:
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id=self.id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        joined: JoinGroupResponse = await self.session.ask(11, 5, request, JoinGroupResponse, "group")
        error = E(joined.error_code)
        if error is E.MEMBER_ID_REQUIRED:
            self.id = joined.member_id
            return []
        if error is not E.NONE:
            self._forget(error)
            return []
        self.id, self.generation = joined.member_id, joined.generation_id
        deal: dict[str, list[int]] = {each.member_id: [] for each in joined.members}
        for index in range(self.count if deal else 0):
            deal[sorted(deal)[index % len(deal)]].append(index)
        sync = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.id,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=bytes(indexes))
                for each, indexes in deal.items()
            ],
        )
        synced: SyncGroupResponse = await self.session.ask(14, 3, sync, SyncGroupResponse, "group")
        if synced.error_code:
            self._forget(E(synced.error_code))
            return []
        return [f"{self.topic}-{index}" for index in bytes(synced.assignment)]

    async def beat(self) -> bool:
        request = HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.id)
        answer: HeartbeatResponse = await self.session.ask(12, 3, request, HeartbeatResponse, "group")
        error = E(answer.error_code)
        if error is not E.NONE:
            self._forget(error)
        return error is E.NONE

    async def leave(self) -> None:
        request = LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(member_id=self.id)])
        with suppress(Unreachable):
            await self.session.ask(13, 3, request, LeaveGroupResponse, "group")
        self._new()
        self.session.leave()


class NextMember(Member):
    """ConsumerGroupHeartbeat (KIP-848): the broker deals the partitions out, and takes them back one by one."""

    _topic_id: bytes = b""
    _owned: tuple[int, ...] = ()

    async def join(self) -> list[str]:
        if not self.id:
            self.id = f"{self.session.client_id}-{self.session.rng.getrandbits(32):08x}"
            self.generation = 0
            self._owned = ()
        for _ in range(4):  # what is taken from us we give back at once, and are told the rest
            if await self._heartbeat(whole=True) or not self.id:
                break
        return [f"{self.topic}-{index}" for index in self._owned] if self.id else []

    async def beat(self) -> bool:
        return await self._heartbeat(whole=False)

    async def leave(self) -> None:
        if self.generation > 0:
            self.generation = -1
            with suppress(Unreachable):
                await self._heartbeat(whole=False)
        self._new()
        self.session.leave()

    async def _heartbeat(self, *, whole: bool) -> bool:
        """Whether we have what we had."""
        owned = [RequestTopicPartitions(topic_id=self._topic_id, partitions=list(self._owned))]
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.id,
            member_epoch=self.generation,
            rebalance_timeout_ms=SESSION_MS if whole else -1,
            subscribed_topic_names=[self.topic] if whole else None,
            topic_partitions=(owned if self._owned else []) if whole else None,
        )
        answer: ConsumerGroupHeartbeatResponse = await self.session.ask(
            68, 1, request, ConsumerGroupHeartbeatResponse, "group"
        )
        error = E(answer.error_code)
        if error is not E.NONE:
            self._forget(error)
            return False
        if self.generation < 0:
            return False
        self.generation = answer.member_epoch
        if answer.assignment is None:
            return True
        before = self._owned
        self._owned = ()
        for each in answer.assignment.topic_partitions:
            self._topic_id, self._owned = each.topic_id, tuple(each.partitions)
        return self._owned == before


KINDS: Final[dict[str, type[Member]]] = {"classic": ClassicMember, "next": NextMember}
