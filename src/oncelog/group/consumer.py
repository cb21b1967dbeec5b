"""One KIP-848 group: the coordinator assigns, members reconcile one heartbeat at a time (spec 1.18).

A decision never changes the group: it gives records, and the group is what its records say (`apply`). While deciding,
the records are tried out on a copy, so a rule always sees what the rules before it wrote.

epoch          rises with every change of members, subscriptions or topics
target epoch   the group epoch for which the target assignment was computed
member epoch   the target epoch that a member has reached; it stays behind while the member has partitions to give up
"""

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Final, Protocol

from oncelog.errors import ErrorCode
from oncelog.group.assignors import ASSIGNORS, DEFAULT_ASSIGNOR, Assignment, MemberSpec
from oncelog.group.effects import Arm, Cancel, RebalanceTimeout, SessionTimeout, rebalance_key, session_key
from oncelog.group.members import (
    LEAVES,
    LEAVES_FOR_A_WHILE,
    ConsumerMember,
    Held,
    MemberState,
    is_subset,
    partitions_of,
    reconcile,
)
from oncelog.group.regex import BadPattern, Pattern
from oncelog.model import Millis, TopicId
from oncelog.record import offsets as record

Entry = tuple[record.Key, record.Value | None]  # None: a tombstone


FIRST_EPOCH: Final = 1


class State(Enum):
    """By Kafka's names."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class Limits:
    max_size: int
    session_timeout_ms: int


class Topics(Protocol):
    """The topics as they are now."""

    @property
    def version(self) -> int:
        """Changes whenever a topic comes, goes or grows."""
        ...

    def names(self) -> Iterable[str]: ...
    def find(self, name: str) -> tuple[TopicId, int] | None:
        """Id and number of partitions."""
        ...


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A ConsumerGroupHeartbeat; None where it says nothing new."""

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int  # -1: nothing new
    client_id: str
    client_host: str
    topic_names: tuple[str, ...] | None
    topic_regex: str | None
    assignor: str | None
    owned: Mapping[TopicId, tuple[int, ...]] | None
    version: int = 1


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    error: ErrorCode
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    assignment: Assignment | None = None  # None: as before


@dataclass(slots=True)
class Decision:
    """`records` are durable before the reply leaves; the group then knows the topics of this version."""

    reply: HeartbeatReply
    records: list[Entry] = field(default_factory=list[Entry])
    timers: list[Arm | Cancel] = field(default_factory=list["Arm | Cancel"])
    topics_version: int | None = None


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    topics: frozenset[str]
    version: int
    timestamp: int


class Refusal(Exception):
    """Ends a decision; never leaves this module."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def check_heartbeat(group_id: str, request: Heartbeat) -> HeartbeatReply | None:
    """What can be refused without looking at any group (spec 1.18)."""

    def refuse(message: str) -> HeartbeatReply:
        return HeartbeatReply(ErrorCode.INVALID_REQUEST, message)

    epoch = request.member_epoch
    for name, value in (
        ("GroupId", group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if value is not None and not value.strip():
            return refuse(f"{name} can't be empty.")
    if not request.member_id.strip() and (request.version >= 1 or epoch > 0 or epoch == LEAVES):
        return refuse("MemberId can't be empty.")
    if epoch == 0:
        if request.rebalance_timeout_ms == -1:
            return refuse("RebalanceTimeoutMs must be provided in first request.")
        if request.owned is None or request.owned:
            return refuse("TopicPartitions must be empty when (re-)joining.")
        if request.topic_names is None and request.topic_regex is None:
            return refuse(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            )
    elif epoch == LEAVES_FOR_A_WHILE:
        if request.instance_id is None:
            return refuse("InstanceId can't be null.")
    elif epoch < LEAVES_FOR_A_WHILE:
        return refuse("MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in ASSIGNORS:
        known = ", ".join(ASSIGNORS)
        return HeartbeatReply(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.assignor} is not supported. Supported assignors: {known}.",
        )
    return None


@dataclass(slots=True)
class ConsumerGroup:
    id: str
    epoch: int = 0
    metadata_hash: int = 0
    target_epoch: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict[str, ConsumerMember])
    static_members: dict[str, str] = field(default_factory=dict[str, str])  # instance id -> member id
    target: dict[str, Assignment] = field(default_factory=dict[str, Assignment])
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict[str, ResolvedRegex])
    topics_version: int = field(
        default=-1, compare=False
    )  # of the topics that `metadata_hash` was computed from

    # --- what its records say ---

    def apply(self, key: record.Key, value: record.Value | None) -> None:
        """One record of this group. Cannot refuse: replay and live walk the same way."""
        match key:
            case record.ConsumerGroupMetadataKey():
                if isinstance(value, record.ConsumerGroupMetadataValue):
                    self.epoch = value.epoch
                    self.metadata_hash = value.metadata_hash
            case record.ConsumerGroupMemberMetadataKey(_, member_id):
                self._apply_member(member_id, value)
            case record.ConsumerGroupTargetAssignmentMetadataKey():
                if isinstance(value, record.ConsumerGroupTargetAssignmentMetadataValue):
                    self.target_epoch = value.assignment_epoch
                else:
                    self.target_epoch = -1
            case record.ConsumerGroupTargetAssignmentMemberKey(_, member_id):
                if isinstance(value, record.ConsumerGroupTargetAssignmentMemberValue):
                    self.target[member_id] = {
                        TopicId(each.topic_id): frozenset(each.partitions) for each in value.topic_partitions
                    }
                else:
                    self.target.pop(member_id, None)
            case record.ConsumerGroupCurrentMemberAssignmentKey(_, member_id):
                self._apply_current(member_id, value)
            case record.ConsumerGroupRegularExpressionKey(_, regex):
                if isinstance(value, record.ConsumerGroupRegularExpressionValue):
                    self.regexes[regex] = ResolvedRegex(
                        frozenset(value.topics), value.version, value.timestamp
                    )
                else:
                    self.regexes.pop(regex, None)
            case _:
                pass  # partition metadata of Kafka before 4.1: we look at the topics themselves

    def _apply_member(self, member_id: str, value: record.Value | None) -> None:
        old = self.members.get(member_id)
        if (
            old is not None
            and old.instance_id is not None
            and self.static_members.get(old.instance_id) == member_id
        ):
            del self.static_members[old.instance_id]
        if isinstance(value, record.ConsumerGroupMemberMetadataValue):
            self.members[member_id] = replace(
                old or ConsumerMember(member_id),
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                client_id=value.client_id,
                client_host=value.client_host,
                topic_names=tuple(value.subscribed_topic_names),
                topic_regex=value.subscribed_topic_regex or "",
                assignor=value.server_assignor,
            )
            if value.instance_id is not None:
                self.static_members[value.instance_id] = member_id
        elif old is not None:
            del self.members[member_id]

    def _apply_current(self, member_id: str, value: record.Value | None) -> None:
        old = self.members.get(member_id)
        if isinstance(value, record.ConsumerGroupCurrentMemberAssignmentValue):
            self.members[member_id] = replace(
                old or ConsumerMember(member_id),
                epoch=value.member_epoch,
                previous_epoch=value.previous_member_epoch,
                state=MemberState.read(value.state),
                assigned=_held(value.assigned_partitions, value.member_epoch),
                revoking=_held(value.partitions_pending_revocation, value.member_epoch),
            )
        elif old is not None:
            self.members[member_id] = replace(
                old, epoch=LEAVES, previous_epoch=LEAVES, state=MemberState.STABLE, assigned={}, revoking={}
            )

    def copy(self) -> "ConsumerGroup":
        return replace(
            self,
            members=dict(self.members),
            static_members=dict(self.static_members),
            target=dict(self.target),
            regexes=dict(self.regexes),
        )

    # --- questions ---

    @property
    def state(self) -> State:
        if not self.members:
            return State.EMPTY
        if self.epoch > self.target_epoch:
            return State.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return State.STABLE
        return State.RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The names a member reads: those it says and those its pattern matched."""
        resolved = self.regexes.get(member.topic_regex)
        names = frozenset(member.topic_names)
        return names if resolved is None else names | resolved.topics

    def subscribed_topics(self) -> frozenset[str]:
        return frozenset[str]().union(*(self.topics_of(member) for member in self.members.values()))

    def is_subscribed_to(self, topic: str) -> bool:
        return any(topic in self.topics_of(member) for member in self.members.values())

    def preferred_assignor(self) -> str:
        """The one that most members ask for."""
        votes: dict[str, int] = {}
        for member in self.members.values():
            if member.assignor is not None:
                votes[member.assignor] = votes.get(member.assignor, 0) + 1
        return min(votes, key=lambda name: (-votes[name], name)) if votes else DEFAULT_ASSIGNOR

    def check_offset_commit(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        transactional: bool,
        version: int,
        partitions: Iterable[tuple[TopicId | None, int]],
    ) -> ErrorCode:
        """May this client commit offsets for these partitions now? (spec 1.16, 1.10; an older epoch: KIP-1251)"""
        if member_epoch < 0 and not self.members:
            return ErrorCode.NONE
        if transactional and member_epoch < 0 and not member_id and instance_id is None:
            return ErrorCode.NONE
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not transactional and version < 9:
            return ErrorCode.UNSUPPORTED_VERSION
        stale = ErrorCode.ILLEGAL_GENERATION if transactional else ErrorCode.STALE_MEMBER_EPOCH
        if member_epoch > member.epoch:
            return stale
        if member_epoch < member.epoch:
            for topic, partition in partitions:
                since = member.assignment_epoch(topic, partition) if topic is not None else None
                if since is None or member_epoch < since:
                    return stale
        return ErrorCode.NONE

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        if member_id is None and member_epoch < 0:
            return ErrorCode.NONE
        member = self.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_epoch == member.epoch else ErrorCode.STALE_MEMBER_EPOCH

    def check_classic_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """A classic request (sync, heartbeat, leave) to this group: its members do not speak that protocol."""
        if instance_id is not None:
            known = self.static_members.get(instance_id)
            if known is not None and member_id and known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.UNKNOWN_MEMBER_ID

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NONE if self.is_empty else ErrorCode.NON_EMPTY_GROUP

    def tombstones(self) -> list[Entry]:
        """The records that end an empty group."""
        gone: list[Entry] = [
            (record.ConsumerGroupRegularExpressionKey(self.id, regex), None) for regex in sorted(self.regexes)
        ]
        gone.append((record.ConsumerGroupTargetAssignmentMetadataKey(self.id), None))
        gone.append(
            (record.ConsumerGroupPartitionMetadataKey(self.id), None)
        )  # what Kafka before 4.1 left there
        gone.append((record.ConsumerGroupMetadataKey(self.id), None))
        return gone

    def restored(self, limits: Limits) -> list[Arm | Cancel]:
        """After a load: sessions begin anew, and so does the time to give partitions up."""
        timers: list[Arm | Cancel] = []
        for member in self.members.values():
            timers.append(_session(member.id, limits))
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                timers.append(_rebalance(member))
        return timers

    # --- decisions ---

    def heartbeat(
        self, request: Heartbeat, *, topics: Topics, new_member_id: str, limits: Limits, now: Millis
    ) -> Decision:
        """A heartbeat that passed `check_heartbeat`. `new_member_id` is used if the client (v0) has none."""
        draft = _Draft(self)
        try:
            if request.member_epoch < 0:
                return self._leave(draft, request, topics)
            return self._regular(draft, request, topics, new_member_id, limits, now)
        except Refusal as refusal:
            return Decision(HeartbeatReply(refusal.error, refusal.message))

    def on_session_timeout(self, event: SessionTimeout, topics: Topics) -> Decision | None:
        member = self.members.get(event.member_id)
        return (
            None
            if member is None
            else self._fence(_Draft(self), member, HeartbeatReply(ErrorCode.NONE), topics)
        )

    def on_rebalance_timeout(self, event: RebalanceTimeout, topics: Topics) -> Decision | None:
        """The member had its time; if it is still in the same epoch it is put out."""
        member = self.members.get(event.member_id)
        if member is None or member.epoch != event.member_epoch:
            return None
        return self._fence(_Draft(self), member, HeartbeatReply(ErrorCode.NONE), topics)

    def _regular(
        self,
        draft: "_Draft",
        request: Heartbeat,
        topics: Topics,
        new_member_id: str,
        limits: Limits,
        now: Millis,
    ) -> Decision:
        member_id = request.member_id or new_member_id
        if len(self.members) >= limits.max_size and member_id not in self.members:
            raise Refusal(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {limits.max_size} members.",
            )
        before = self._member_for(draft, request, member_id)
        bump = self._update_member(draft, before, request, topics, now)
        self._refresh(draft, topics, now, bump=bump)
        self._retarget(draft, topics, now)
        timers = self._reconcile(draft, member_id, request)
        timers.append(_session(member_id, limits))
        after = draft.group.members[member_id]
        full = request.member_epoch == 0 or (
            request.rebalance_timeout_ms != -1
            and (request.topic_names is not None or request.topic_regex is not None)
            and request.owned is not None
        )
        assigned = partitions_of(after.assigned)
        reply = HeartbeatReply(
            ErrorCode.NONE,
            member_id=member_id,
            member_epoch=after.epoch,
            assignment=assigned if full or assigned != partitions_of(before.assigned) else None,
        )
        return Decision(reply, draft.records, timers, topics.version)

    def _member_for(self, draft: "_Draft", request: Heartbeat, member_id: str) -> ConsumerMember:
        """The member that this heartbeat speaks for, new if it joins; who must not speak is refused."""
        joins = request.member_epoch == 0
        if request.instance_id is None:
            member = self.members.get(member_id)
            if member is None and not joins:
                raise Refusal(
                    ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.id}."
                )
            if member is not None and not joins:
                self._check_epoch(member, request)
            return member or ConsumerMember(member_id)
        known = self.static_members.get(request.instance_id)
        holder = self.members[known] if known is not None else None
        if not joins:
            self._check_static(holder, request)
            assert holder is not None
            self._check_epoch(holder, request)
            return holder
        if holder is None:
            return self.members.get(member_id) or ConsumerMember(member_id)
        if holder.epoch == LEAVES_FOR_A_WHILE:
            return self._replace_static(draft, holder, member_id)
        raise Refusal(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {request.instance_id} cannot join the group because the "
            f"instance id is owned by {holder.id} member.",
        )

    def _check_static(self, holder: ConsumerMember | None, request: Heartbeat) -> None:
        if holder is None:
            raise Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {request.instance_id} is unknown.")
        if holder.id != request.member_id:
            raise Refusal(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {request.member_id} with instance id {request.instance_id} was fenced by member "
                f"{holder.id}.",
            )

    def _check_epoch(self, member: ConsumerMember, request: Heartbeat) -> None:
        """A smaller epoch passes only as the one before, with nothing owned that is not assigned: the reply was lost."""
        if request.member_epoch == member.epoch:
            return
        size = "greater" if request.member_epoch > member.epoch else "smaller"
        lost_reply = request.member_epoch == member.previous_epoch and is_subset(
            request.owned, member.assigned
        )
        if size == "greater" or not lost_reply:
            raise Refusal(
                ErrorCode.FENCED_MEMBER_EPOCH,
                f"The consumer group member has a {size} member epoch ({request.member_epoch}) than the one known by "
                f"the group coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
            )

    def _replace_static(self, draft: "_Draft", old: ConsumerMember, member_id: str) -> ConsumerMember:
        """The static member came back: the new member id inherits everything."""
        target = self.target.get(old.id, {})
        new = replace(old, id=member_id, epoch=0, previous_epoch=0, state=MemberState.STABLE, revoking={})
        draft.remove_member(old.id)
        draft.put_member(new)
        draft.put_target(member_id, target)
        draft.put_current(new)
        return new

    def _update_member(
        self, draft: "_Draft", before: ConsumerMember, request: Heartbeat, topics: Topics, now: Millis
    ) -> bool:
        """Keeps what the heartbeat says about the member; tells whether the group must be assigned anew."""
        after = replace(
            before,
            instance_id=request.instance_id if request.instance_id is not None else before.instance_id,
            rack_id=request.rack_id if request.rack_id is not None else before.rack_id,
            rebalance_timeout_ms=before.rebalance_timeout_ms
            if request.rebalance_timeout_ms == -1
            else request.rebalance_timeout_ms,
            assignor=request.assignor if request.assignor is not None else before.assignor,
            topic_names=before.topic_names
            if request.topic_names is None
            else tuple(sorted(dict.fromkeys(request.topic_names))),
            topic_regex=request.topic_regex if request.topic_regex is not None else before.topic_regex,
            client_id=request.client_id,
            client_host=request.client_host,
        )
        is_new = before.id not in draft.group.members
        if after == before and not is_new:
            return False
        if after.topic_regex and after.topic_regex not in draft.group.regexes:
            try:
                found = _resolve(after.topic_regex, topics)
            except BadPattern as bad:
                raise Refusal(
                    ErrorCode.INVALID_REGULAR_EXPRESSION,
                    f"SubscribedTopicRegex `{after.topic_regex}` is not a valid regular expression: {bad}.",
                ) from bad
            draft.put_regex(after.topic_regex, ResolvedRegex(found, 0, now))
        draft.put_member(after)
        draft.drop_unused_regexes()
        return (after.topic_names, after.topic_regex) != (before.topic_names, before.topic_regex)

    def _refresh(self, draft: "_Draft", topics: Topics, now: Millis, *, bump: bool) -> None:
        """Looks at the topics if the group or the topics changed; a difference raises the group epoch.

        A group begins in epoch 1, so its first subscription makes it 2, as in Kafka 4.3.
        """
        if topics.version != self.topics_version:
            for regex, known in sorted(draft.group.regexes.items()):
                found = _resolve(regex, topics)
                if found != known.topics:
                    draft.put_regex(regex, ResolvedRegex(found, 0, now))
        elif not bump:
            return
        metadata_hash = _metadata_hash(draft.group.subscribed_topics(), topics)
        if bump or metadata_hash != self.metadata_hash:
            draft.put_epoch((self.epoch or FIRST_EPOCH) + 1, metadata_hash)
        elif self.epoch == 0:
            draft.put_epoch(FIRST_EPOCH, metadata_hash)

    def _retarget(self, draft: "_Draft", topics: Topics, now: Millis) -> None:
        group = draft.group
        if group.epoch <= group.target_epoch:
            return
        counts: dict[TopicId, int] = {}
        specs: dict[str, MemberSpec] = {}
        for member_id, member in group.members.items():
            wanted: list[TopicId] = []
            for name in sorted(group.topics_of(member)):
                found = topics.find(name)
                if found is not None:
                    counts[found[0]] = found[1]
                    wanted.append(found[0])
            specs[member_id] = MemberSpec(
                member.instance_id, frozenset(wanted), group.target.get(member_id, {})
            )
        targets = ASSIGNORS[group.preferred_assignor()](specs, counts)
        for member_id in sorted(targets):
            if draft.group.target.get(member_id) != targets[member_id]:
                draft.put_target(member_id, targets[member_id])
        draft.put_target_epoch(group.epoch, now)

    def _reconcile(self, draft: "_Draft", member_id: str, request: Heartbeat) -> list[Arm | Cancel]:
        group = draft.group
        before = group.members[member_id]
        if before.is_reconciled_to(group.target_epoch):
            return []  # nearly every heartbeat
        taken = {
            (topic, partition)
            for other in group.members.values()
            if other.id != member_id
            for held in (other.assigned, other.revoking)
            for topic, partitions in held.items()
            for partition in partitions
        }
        after = reconcile(
            before,
            target=group.target.get(member_id, {}),
            target_epoch=group.target_epoch,
            owned=request.owned,
            is_free=lambda topic, partition: (topic, partition) not in taken,
        )
        if after == before:
            return []
        draft.put_current(after)
        if after.state is MemberState.UNREVOKED_PARTITIONS:
            return [_rebalance(after)]
        return [Cancel(rebalance_key(member_id))]

    def _leave(self, draft: "_Draft", request: Heartbeat, topics: Topics) -> Decision:
        reply = HeartbeatReply(ErrorCode.NONE, member_id=request.member_id, member_epoch=request.member_epoch)
        if request.instance_id is None:
            member = self.members.get(request.member_id)
            if member is None:
                raise Refusal(
                    ErrorCode.UNKNOWN_MEMBER_ID,
                    f"Member {request.member_id} is not a member of group {self.id}.",
                )
            return self._fence(draft, member, reply, topics)
        known = self.static_members.get(request.instance_id)
        holder = self.members[known] if known is not None else None
        self._check_static(holder, request)
        assert holder is not None
        if request.member_epoch == LEAVES:
            return self._fence(draft, holder, reply, topics)
        draft.put_current(replace(holder, epoch=LEAVES_FOR_A_WHILE, revoking={}))
        return Decision(reply, draft.records)

    def remove(
        self, requests: tuple[tuple[str, str | None], ...], topics: Topics
    ) -> tuple[list[ErrorCode], Decision]:
        """LeaveGroup of members by (member id, instance id): an administrator's way to put them out.

        One error per request, in order; the group epoch rises once for all of them.
        """
        draft = _Draft(self)
        errors: list[ErrorCode] = []
        timers: list[Arm | Cancel] = []
        for member_id, instance_id in requests:
            known = member_id
            if instance_id is not None:
                known = draft.group.static_members.get(instance_id, "")
                if known and member_id and known != member_id:
                    errors.append(ErrorCode.FENCED_INSTANCE_ID)
                    continue
            if known not in draft.group.members:
                errors.append(ErrorCode.UNKNOWN_MEMBER_ID)
                continue
            errors.append(ErrorCode.NONE)
            draft.remove_member(known)
            timers += [Cancel(session_key(known)), Cancel(rebalance_key(known))]
        if draft.records:
            draft.drop_unused_regexes()
            draft.put_epoch(self.epoch + 1, _metadata_hash(draft.group.subscribed_topics(), topics))
        return errors, Decision(HeartbeatReply(ErrorCode.NONE), draft.records, timers)

    def _fence(
        self, draft: "_Draft", member: ConsumerMember, reply: HeartbeatReply, topics: Topics
    ) -> Decision:
        """The member goes: its partitions are free at once, the others are assigned anew at their next heartbeat."""
        draft.remove_member(member.id)
        draft.drop_unused_regexes()
        draft.put_epoch(self.epoch + 1, _metadata_hash(draft.group.subscribed_topics(), topics))
        return Decision(
            reply, draft.records, [Cancel(session_key(member.id)), Cancel(rebalance_key(member.id))]
        )


class _Draft:
    """The group as it will be: every record is applied to a copy as soon as it is decided."""

    __slots__ = ("_touched", "group", "records")

    def __init__(self, group: ConsumerGroup) -> None:
        self.group = group
        self.records: list[Entry] = []
        self._touched = False

    def put(self, key: record.Key, value: record.Value | None) -> None:
        if not self._touched:
            self.group = self.group.copy()
            self._touched = True
        self.records.append((key, value))
        self.group.apply(key, value)

    def put_epoch(self, epoch: int, metadata_hash: int) -> None:
        self.put(
            record.ConsumerGroupMetadataKey(self.group.id),
            record.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
        )

    def put_member(self, member: ConsumerMember) -> None:
        value = record.ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=list(member.topic_names),
            subscribed_topic_regex=member.topic_regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.assignor,
        )
        self.put(record.ConsumerGroupMemberMetadataKey(self.group.id, member.id), value)

    def put_target(self, member_id: str, target: Assignment) -> None:
        value = record.ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[
                record.TargetPartitions(topic_id=topic, partitions=sorted(target[topic]))
                for topic in sorted(target)
            ]
        )
        self.put(record.ConsumerGroupTargetAssignmentMemberKey(self.group.id, member_id), value)

    def put_target_epoch(self, epoch: int, now: Millis) -> None:
        self.put(
            record.ConsumerGroupTargetAssignmentMetadataKey(self.group.id),
            record.ConsumerGroupTargetAssignmentMetadataValue(
                assignment_epoch=epoch, assignment_timestamp=now
            ),
        )

    def put_current(self, member: ConsumerMember) -> None:
        value = record.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=int(member.state),
            assigned_partitions=_kept(member.assigned),
            partitions_pending_revocation=_kept(member.revoking),
        )
        self.put(record.ConsumerGroupCurrentMemberAssignmentKey(self.group.id, member.id), value)

    def put_regex(self, regex: str, resolved: ResolvedRegex) -> None:
        value = record.ConsumerGroupRegularExpressionValue(
            topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp
        )
        self.put(record.ConsumerGroupRegularExpressionKey(self.group.id, regex), value)

    def remove_member(self, member_id: str) -> None:
        self.put(record.ConsumerGroupCurrentMemberAssignmentKey(self.group.id, member_id), None)
        self.put(record.ConsumerGroupTargetAssignmentMemberKey(self.group.id, member_id), None)
        self.put(record.ConsumerGroupMemberMetadataKey(self.group.id, member_id), None)

    def drop_unused_regexes(self) -> None:
        used = {member.topic_regex for member in self.group.members.values()}
        for regex in sorted(self.group.regexes):
            if regex not in used:
                self.put(record.ConsumerGroupRegularExpressionKey(self.group.id, regex), None)


def _kept(held: Held) -> list[record.AssignedPartitions]:
    return [
        record.AssignedPartitions(
            topic_id=topic,
            partitions=sorted(held[topic]),
            assignment_epochs=[held[topic][each] for each in sorted(held[topic])],
        )
        for topic in sorted(held)
    ]


def _held(kept: list[record.AssignedPartitions], member_epoch: int) -> Held:
    """Records without epochs are of Kafka before 4.3: the member epoch is the best that is known."""
    held: Held = {}
    for each in kept:
        epochs = each.assignment_epochs or [member_epoch] * len(each.partitions)
        held[TopicId(each.topic_id)] = dict(zip(each.partitions, epochs, strict=False))
    return held


def _session(member_id: str, limits: Limits) -> Arm:
    return Arm(session_key(member_id), limits.session_timeout_ms, SessionTimeout(member_id))


def _rebalance(member: ConsumerMember) -> Arm:
    return Arm(
        rebalance_key(member.id), member.rebalance_timeout_ms, RebalanceTimeout(member.id, member.epoch)
    )


@lru_cache(maxsize=256)
def _pattern(text: str) -> Pattern:
    return Pattern(text)


def _resolve(regex: str, topics: Topics) -> frozenset[str]:
    pattern = _pattern(regex)
    return frozenset(name for name in topics.names() if pattern.matches(name))


def _metadata_hash(names: Iterable[str], topics: Topics) -> int:
    """64 bits that differ when a subscribed topic comes, goes, grows or is made anew; 0 for no topics."""
    parts: list[bytes] = []
    for name in sorted(names):
        found = topics.find(name)
        if found is not None:
            parts.append(struct.pack(">16sI", found[0], found[1]) + name.encode() + b"\0")
    if not parts:
        return 0
    (value,) = struct.unpack(">q", hashlib.blake2b(b"".join(parts), digest_size=8).digest())
    return value
