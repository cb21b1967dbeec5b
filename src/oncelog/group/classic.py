"""One classic group: members join, a leader assigns, everybody syncs (spec 1.17). Decisions only; the coordinator obeys.

State            may follow on                          what it means
Empty            PreparingRebalance (or new)            no members; offsets may be kept
PreparingRebal.  Empty, CompletingRebalance, Stable     members are asked to rejoin; JoinGroups wait
CompletingReb.   PreparingRebalance                     a generation begins; SyncGroups wait for the leader's assignment
Stable           CompletingRebalance                    the assignment is durable
Dead             any                                    gone; whoever still holds it is told to look elsewhere
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from oncelog.errors import ErrorCode
from oncelog.group.effects import (
    JOIN_KEY,
    SYNC_KEY,
    Arm,
    AssignmentWritten,
    Cancel,
    Effects,
    EmptyGroupWritten,
    InitialDelayOver,
    JoinedMember,
    JoinReply,
    JoinTimeout,
    MemberProtocol,
    SessionTimeout,
    StaticMemberWritten,
    SyncReply,
    SyncTimeout,
    TimerEvent,
    Token,
    WriteEvent,
    WriteGroup,
    session_key,
)
from oncelog.group.subscription import MalformedSubscription, read_topics
from oncelog.model import Millis
from oncelog.record.offsets import GroupMetadataValue, MemberMetadata

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000  # a new member has no id to heartbeat with while it waits


class State(Enum):
    """By Kafka's names."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


MAY_REBALANCE: Final = frozenset({State.EMPTY, State.COMPLETING_REBALANCE, State.STABLE})


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that the rules need."""

    initial_rebalance_delay_ms: int
    max_size: int


@dataclass(frozen=True, slots=True)
class Join:
    """A JoinGroup request. `needs_member_id`: v4+; `skips_assignment`: v9+."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    needs_member_id: bool = True
    skips_assignment: bool = True


@dataclass(frozen=True, slots=True)
class Sync:
    """A SyncGroup request. `protocol_type` and `protocol`: v5+."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    assignments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Leave:
    member_id: str
    instance_id: str | None


@dataclass(slots=True)
class Member:
    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    join_token: Token | None = None
    sync_token: Token | None = None

    def metadata(self, protocol: str) -> bytes:
        for each in self.protocols:
            if each.name == protocol:
                return each.metadata
        raise AssertionError(f"member {self.id} offers no protocol {protocol!r}")

    def vote(self, candidates: frozenset[str]) -> str:
        """The first of its protocols that everybody has."""
        for each in self.protocols:
            if each.name in candidates:
                return each.name
        raise AssertionError(f"member {self.id} offers none of the group's protocols")


@dataclass(slots=True)
class ClassicGroup:
    id: str
    state: State = State.EMPTY
    previous_state: State = State.DEAD
    state_since: int = -1  # wall clock; -1 if unknown
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict[str, Member])
    static_members: dict[str, str] = field(default_factory=dict[str, str])  # instance id -> member id
    pending_join: dict[str, None] = field(
        default_factory=dict[str, None]
    )  # ids given out, not yet used (v4+)
    pending_sync: dict[str, None] = field(default_factory=dict[str, None])
    subscribed_topics: frozenset[str] | None = None  # None: not known
    new_member_added: bool = False

    # --- what is kept ---

    @staticmethod
    def replay(group_id: str, value: GroupMetadataValue) -> "ClassicGroup":
        """The group as its record tells it: Stable if it had members."""
        group = ClassicGroup(
            id=group_id,
            state=State.STABLE if value.members else State.EMPTY,
            state_since=value.current_state_timestamp,
            generation=value.generation,
            protocol_type=value.protocol_type or None,
            protocol=value.protocol,
            leader=value.leader,
        )
        for each in value.members:
            member = Member(
                id=each.member_id,
                instance_id=each.group_instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                rebalance_timeout_ms=each.session_timeout
                if each.rebalance_timeout == -1
                else each.rebalance_timeout,
                session_timeout_ms=each.session_timeout,
                protocols=(MemberProtocol(value.protocol or "", bytes(each.subscription)),),
                assignment=bytes(each.assignment),
            )
            group.members[member.id] = member
            if member.instance_id is not None:
                group.static_members[member.instance_id] = member.id
        group.subscribed_topics = group._compute_subscribed_topics()
        return group

    def record(self, assignments: Mapping[str, bytes]) -> GroupMetadataValue:
        """What is written to the log: members with their metadata for the chosen protocol."""
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp=self.state_since,
            members=[
                MemberMetadata(
                    member_id=member.id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol or ""),
                    assignment=assignments.get(member.id, b""),
                )
                for member in self.members.values()
            ],
        )

    def restored(self, limits: Limits, now: Millis) -> Effects:
        """After a load: sessions begin anew; a group that outgrew the limit rebalances."""
        effects = Effects()
        for member in self.members.values():
            self._arm_session(member, effects)
        if len(self.members) > limits.max_size:
            self._prepare_rebalance(limits, now, effects)
        return effects

    # --- questions ---

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def awaiting_join(self) -> int:
        return sum(member.join_token is not None for member in self.members.values())

    def all_joined(self) -> bool:
        return not self.pending_join and self.awaiting_join() == len(self.members)

    def supports(self, protocol_type: str, protocols: tuple[MemberProtocol, ...]) -> bool:
        if self.state is State.EMPTY:
            return bool(protocol_type) and bool(protocols)
        if self.protocol_type != protocol_type:
            return False
        common = self._common_protocols()
        return any(not self.members or each.name in common for each in protocols)

    def select_protocol(self) -> str:
        """Each member votes for the first of its protocols that all have; the most votes win, on a tie the earliest."""
        candidates = self._common_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            vote = member.vote(candidates)
            votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        if instance_id is not None:
            known = self.static_members.get(instance_id)
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check_offset_commit(
        self, *, member_id: str, instance_id: str | None, generation: int, transactional: bool
    ) -> ErrorCode:
        """May this client commit offsets now? (spec 1.16, 1.10, TRAP-34)"""
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if generation < 0 and self.state is State.EMPTY:
            return ErrorCode.NONE  # the admin client, or a consumer that assigns its partitions itself
        if generation >= 0 or member_id or instance_id is not None:
            error = self.check_member(member_id, instance_id)
            if error is not ErrorCode.NONE:
                return error
            if generation != self.generation:
                return ErrorCode.ILLEGAL_GENERATION
        elif not transactional and self.state is not State.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not transactional and self.state is State.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def check_offset_delete(self) -> ErrorCode:
        if self.state is State.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if self.state is not State.EMPTY and not self.uses_consumer_protocol:
            return ErrorCode.NON_EMPTY_GROUP
        return ErrorCode.NONE

    def check_delete(self) -> ErrorCode:
        if self.state is State.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if self.state is State.EMPTY else ErrorCode.NON_EMPTY_GROUP

    def offset_expiry_base(self, commit_timestamp: int) -> int | None:
        """From when the retention of an offset counts; None while it does not count at all."""
        if self.protocol_type is None:
            return commit_timestamp
        if self.state is State.EMPTY:
            return commit_timestamp if self.state_since == -1 else self.state_since
        if self.uses_consumer_protocol and self.subscribed_topics is not None and self.state is State.STABLE:
            return commit_timestamp
        return None

    # --- JoinGroup ---

    def join(
        self, request: Join, *, token: Token, new_member_id: str, created: bool, limits: Limits, now: Millis
    ) -> Effects:
        """`created`: the group was made for this request, which must leave a record of it. Uses `new_member_id` if needed."""
        effects = Effects()
        if not self._has_room(request.member_id, limits):
            self._remove(request.member_id)
            self._refuse(token, ErrorCode.GROUP_MAX_SIZE_REACHED, "", effects)
        elif not request.member_id:
            self._join_new(request, token, new_member_id, limits, now, effects)
        else:
            self._join_known(request, token, limits, now, effects)
        if created and effects.write is None:
            empty = GroupMetadataValue(
                protocol_type="",
                generation=0,
                protocol=None,
                leader=None,
                current_state_timestamp=self.state_since,
                members=[],
            )
            effects.write = WriteGroup(empty, EmptyGroupWritten(created=True))
        return effects

    def _has_room(self, member_id: str, limits: Limits) -> bool:
        if self.state is State.PREPARING_REBALANCE:
            # the waiting ones count, not the members: that lets the last to rejoin be the ones that are turned away
            known = self.members.get(member_id)
            if known is not None and known.join_token is not None:
                return True
            return self.awaiting_join() < limits.max_size
        if self.state in (State.COMPLETING_REBALANCE, State.STABLE):
            return member_id in self.members or len(self.members) < limits.max_size
        return True

    def _join_new(
        self, request: Join, token: Token, new_member_id: str, limits: Limits, now: Millis, effects: Effects
    ) -> None:
        if self.state is State.DEAD:
            self._refuse(token, ErrorCode.COORDINATOR_NOT_AVAILABLE, "", effects)
        elif not self.supports(request.protocol_type, request.protocols):
            self._refuse(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "", effects)
        elif request.instance_id is not None:
            old_member_id = self.static_members.get(request.instance_id)
            if old_member_id is None:
                self._add(request, token, new_member_id, limits, now, effects)
            else:
                self._replace_static(request, token, old_member_id, new_member_id, limits, now, effects)
        elif request.needs_member_id:
            self.pending_join[new_member_id] = None
            effects.timers.append(
                Arm(session_key(new_member_id), request.session_timeout_ms, SessionTimeout(new_member_id))
            )
            self._refuse(token, ErrorCode.MEMBER_ID_REQUIRED, new_member_id, effects)
        else:
            self._add(request, token, new_member_id, limits, now, effects)

    def _join_known(self, request: Join, token: Token, limits: Limits, now: Millis, effects: Effects) -> None:
        member_id = request.member_id
        if self.state is State.DEAD:
            return self._refuse(token, ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id, effects)
        if not self.supports(request.protocol_type, request.protocols):
            return self._refuse(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id, effects)
        if member_id in self.pending_join:
            if request.instance_id is not None:  # ids are given out to dynamic members only
                return self._refuse(token, ErrorCode.UNKNOWN_SERVER_ERROR, member_id, effects)
            return self._add(request, token, member_id, limits, now, effects)
        error = self.check_member(member_id, request.instance_id)
        if error is not ErrorCode.NONE:
            return self._refuse(token, error, member_id, effects)
        member = self.members[member_id]
        if self.state is State.EMPTY:
            return self._refuse(token, ErrorCode.UNKNOWN_MEMBER_ID, member_id, effects)
        unchanged = member.protocols == request.protocols
        if (self.state is State.COMPLETING_REBALANCE and unchanged) or (
            self.state is State.STABLE and unchanged and member_id != self.leader
        ):
            # the reply got lost, or a follower asks again: the present generation is the answer
            effects.replies.append((token, self._join_reply(member)))
            return None
        self._update(member, request, token, effects)
        return self._rebalance_or_complete(limits, now, effects)

    def _add(
        self, request: Join, token: Token, member_id: str, limits: Limits, now: Millis, effects: Effects
    ) -> None:
        if self.state is State.PREPARING_REBALANCE and self.previous_state is State.EMPTY:
            self.new_member_added = True
        if not self.members:
            self.protocol_type = request.protocol_type
        if self.leader is None:
            self.leader = member_id
        member = Member(
            id=member_id,
            instance_id=request.instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=request.protocols,
            is_new=True,
            join_token=token,
        )
        self.members[member_id] = member
        if request.instance_id is not None:
            self.static_members[request.instance_id] = member_id
        self.pending_join.pop(member_id, None)
        effects.timers.append(
            Arm(session_key(member_id), NEW_MEMBER_JOIN_TIMEOUT_MS, SessionTimeout(member_id))
        )
        self._rebalance_or_complete(limits, now, effects)

    def _update(self, member: Member, request: Join, token: Token, effects: Effects) -> None:
        if member.join_token is not None and member.join_token != token:
            # the client gave up on its first JoinGroup and sent another: whoever still reads the first may rejoin
            self._refuse(member.join_token, ErrorCode.REBALANCE_IN_PROGRESS, member.id, effects)
        member.protocols = request.protocols
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        member.join_token = token

    def _replace_static(
        self,
        request: Join,
        token: Token,
        old_member_id: str,
        new_member_id: str,
        limits: Limits,
        now: Millis,
        effects: Effects,
    ) -> None:
        """A static member came back under a new member id: whoever used the old one is fenced."""
        assert request.instance_id is not None
        leader_before = self.leader or ""
        before = self.members[old_member_id]
        member = self._rename_static(request.instance_id, old_member_id, new_member_id, effects)
        self._arm_session(member, effects)
        self._update(member, request, token, effects)
        if self.state is State.STABLE:
            if self.protocol == self.select_protocol():
                written = StaticMemberWritten(
                    instance_id=request.instance_id,
                    old_member_id=old_member_id,
                    new_member_id=new_member_id,
                    leader_before=leader_before,
                    protocols_before=before.protocols,
                    rebalance_timeout_before_ms=before.rebalance_timeout_ms,
                    session_timeout_before_ms=before.session_timeout_ms,
                    skip_assignment=request.skips_assignment,
                )
                assignments = {each.id: each.assignment for each in self.members.values()}
                effects.write = WriteGroup(self.record(assignments), written)
                return
            self._rebalance_or_complete(limits, now, effects)
        elif self.state is State.COMPLETING_REBALANCE:
            # the leader may already assign to the old member id: begin again
            self._prepare_rebalance(limits, now, effects)
        else:
            self._complete_if_all_joined(now, effects)

    def _rename_static(
        self, instance_id: str, old_member_id: str, new_member_id: str, effects: Effects
    ) -> Member:
        old = self.members.pop(old_member_id)
        if old.join_token is not None:
            effects.replies.append((old.join_token, JoinReply(ErrorCode.FENCED_INSTANCE_ID, old_member_id)))
        if old.sync_token is not None:
            effects.replies.append((old.sync_token, SyncReply(ErrorCode.FENCED_INSTANCE_ID)))
        member = Member(
            id=new_member_id,
            instance_id=old.instance_id,
            client_id=old.client_id,
            client_host=old.client_host,
            rebalance_timeout_ms=old.rebalance_timeout_ms,
            session_timeout_ms=old.session_timeout_ms,
            protocols=old.protocols,
            assignment=old.assignment,
        )
        self.members[new_member_id] = member
        if self.leader == old_member_id:
            self.leader = new_member_id
        self.static_members[instance_id] = new_member_id
        self.pending_sync.pop(old_member_id, None)
        effects.timers.append(Cancel(session_key(old_member_id)))
        return member

    # --- SyncGroup, Heartbeat, LeaveGroup ---

    def sync(self, request: Sync, *, token: Token) -> Effects:
        effects = Effects()
        error = self._check_sync(request)
        if error is not ErrorCode.NONE:
            effects.replies.append((token, SyncReply(error)))
        elif self.state is State.PREPARING_REBALANCE:
            effects.replies.append((token, SyncReply(ErrorCode.REBALANCE_IN_PROGRESS)))
        elif self.state is State.COMPLETING_REBALANCE:
            self._wait_for_assignment(request, token, effects)
        else:
            self._synced(request.member_id, effects)
            member = self.members[request.member_id]
            effects.replies.append(
                (token, SyncReply(ErrorCode.NONE, self.protocol_type, self.protocol, member.assignment))
            )
        return effects

    def _check_sync(self, request: Sync) -> ErrorCode:
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = self.check_member(request.member_id, request.instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if _differ(request.protocol_type, self.protocol_type) or _differ(request.protocol, self.protocol):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _wait_for_assignment(self, request: Sync, token: Token, effects: Effects) -> None:
        member = self.members[request.member_id]
        if member.sync_token is not None:
            # a second SyncGroup of the same member: the first answer is no longer waited for
            effects.replies.append((member.sync_token, SyncReply(ErrorCode.REBALANCE_IN_PROGRESS)))
        member.sync_token = token
        self._synced(member.id, effects)
        if member.id == self.leader:
            assignments = {each: bytes(request.assignments.get(each, b"")) for each in self.members}
            effects.write = WriteGroup(
                self.record(assignments), AssignmentWritten(self.generation, assignments)
            )

    def _synced(self, member_id: str, effects: Effects) -> None:
        self.pending_sync.pop(member_id, None)
        if not self.pending_sync:
            effects.timers.append(Cancel(SYNC_KEY))

    def heartbeat(
        self, *, member_id: str, instance_id: str | None, generation: int
    ) -> tuple[ErrorCode, Effects]:
        effects = Effects()
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, effects
        error = self.check_member(member_id, instance_id)
        if error is not ErrorCode.NONE:
            return error, effects
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION, effects
        if self.state is State.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID, effects
        self._arm_session(self.members[member_id], effects)
        rebalancing = self.state is State.PREPARING_REBALANCE
        return (ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE), effects

    def offset_committed(self, member_id: str) -> Effects:
        """An offset commit shows that the member lives."""
        effects = Effects()
        member = self.members.get(member_id)
        if member is not None and self.state in (State.STABLE, State.PREPARING_REBALANCE):
            self._arm_session(member, effects)
        return effects

    def leave(
        self, requests: tuple[Leave, ...], *, limits: Limits, now: Millis
    ) -> tuple[list[ErrorCode], Effects]:
        """One error code per request, in order."""
        effects = Effects()
        if self.state is State.DEAD:
            return [ErrorCode.COORDINATOR_NOT_AVAILABLE for _ in requests], effects
        errors = [self._leave_one(request, effects) for request in requests]
        if ErrorCode.NONE in errors:
            if self.state in (State.STABLE, State.COMPLETING_REBALANCE):
                self._rebalance_or_complete(limits, now, effects)
            elif self.state is State.PREPARING_REBALANCE:
                self._complete_if_all_joined(now, effects)
        return errors, effects

    def _leave_one(self, request: Leave, effects: Effects) -> ErrorCode:
        member_id = request.member_id
        if not member_id:  # an administrator names the instance only
            found = self.static_members.get(request.instance_id) if request.instance_id is not None else None
            if found is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            member_id = found
        elif member_id in self.pending_join:
            self._remove(member_id)
            effects.timers.append(Cancel(session_key(member_id)))
            return ErrorCode.NONE
        else:
            error = self.check_member(member_id, request.instance_id)
            if error is not ErrorCode.NONE:
                return error
        effects.timers.append(Cancel(session_key(member_id)))
        self._dismiss(self.members[member_id], effects)
        return ErrorCode.NONE

    # --- timers and finished writes ---

    def on_timer(self, event: TimerEvent, *, limits: Limits, now: Millis) -> Effects:
        effects = Effects()
        if self.state is State.DEAD:
            return effects
        match event:
            case SessionTimeout(member_id):
                self._session_over(member_id, limits, now, effects)
            case InitialDelayOver(delay_ms, remaining_ms):
                self._initial_delay_over(delay_ms, remaining_ms, limits, now, effects)
            case JoinTimeout():
                if self.state is State.PREPARING_REBALANCE:
                    self._complete_join(now, effects)
            case SyncTimeout(generation):
                self._sync_over(generation, limits, now, effects)
            case _:
                raise AssertionError(f"classic group {self.id} has no timer {event}")
        return effects

    def on_written(self, event: WriteEvent, error: ErrorCode, *, limits: Limits, now: Millis) -> Effects:
        """The record of a decision is durable, or was refused with `error`."""
        effects = Effects()
        match event:
            case AssignmentWritten(generation, assignments):
                # another member may have joined in the meantime: then the rebalance has already begun anew
                if self.state is State.COMPLETING_REBALANCE and generation == self.generation:
                    self._spread(assignments, error, effects)
                    if error is ErrorCode.NONE:
                        self._move(State.STABLE, now)
                    else:
                        self._rebalance_or_complete(limits, now, effects)
            case StaticMemberWritten():
                self._static_member_written(event, error, effects)
            case EmptyGroupWritten():
                pass  # of a refusal the coordinator takes care: the group was never there
        return effects

    def _static_member_written(self, event: StaticMemberWritten, error: ErrorCode, effects: Effects) -> None:
        member = self.members.get(event.new_member_id)
        if member is None:
            return
        token = member.join_token
        if error is not ErrorCode.NONE:
            member.join_token = None
            if token is not None:
                effects.replies.append(
                    (
                        token,
                        JoinReply(
                            error, "", self.generation, self.protocol_type, self.protocol, event.leader_before
                        ),
                    )
                )
            back = self._rename_static(event.instance_id, event.new_member_id, event.old_member_id, effects)
            back.protocols = event.protocols_before
            back.rebalance_timeout_ms = event.rebalance_timeout_before_ms
            back.session_timeout_ms = event.session_timeout_before_ms
            self._arm_session(back, effects)
        elif token is not None and self.state is State.STABLE:
            member.join_token = None
            if event.skip_assignment:
                reply = self._join_reply(member, skip_assignment=member.id == self.leader)
            else:
                # an old client that is told of itself as leader would assign: it hears the former leader's id instead
                reply = JoinReply(
                    ErrorCode.NONE,
                    member.id,
                    self.generation,
                    self.protocol_type,
                    self.protocol,
                    event.leader_before,
                )
            effects.replies.append((token, reply))

    def _session_over(self, member_id: str, limits: Limits, now: Millis, effects: Effects) -> None:
        if member_id in self.pending_join:
            self._remove(member_id)
            if self.state is State.PREPARING_REBALANCE and self.all_joined():
                self._complete_join(now, effects)
            return
        member = self.members.get(member_id)
        if member is None:
            return
        if not member.is_new and (member.join_token is not None or member.sync_token is not None):
            return  # it waits for us, not we for it; its session begins anew with the reply
        self._dismiss(member, effects)
        if self.state in (State.STABLE, State.COMPLETING_REBALANCE):
            self._rebalance_or_complete(limits, now, effects)
        elif self.state is State.PREPARING_REBALANCE and self.all_joined():
            self._complete_join(now, effects)

    def _initial_delay_over(
        self, delay_ms: int, remaining_ms: int, limits: Limits, now: Millis, effects: Effects
    ) -> None:
        if self.state is not State.PREPARING_REBALANCE:
            return
        if self.new_member_added and remaining_ms:
            self.new_member_added = False
            longer_ms = min(limits.initial_rebalance_delay_ms, remaining_ms)
            left_ms = max(remaining_ms - delay_ms, 0)
            effects.timers.append(Arm(JOIN_KEY, longer_ms, InitialDelayOver(longer_ms, left_ms)))
        else:
            self._complete_join(now, effects)

    def _sync_over(self, generation: int, limits: Limits, now: Millis, effects: Effects) -> None:
        if generation != self.generation or self.state not in (State.COMPLETING_REBALANCE, State.STABLE):
            return
        if self.pending_sync:
            for member_id in list(self.pending_sync):
                self._remove(member_id)
                effects.timers.append(Cancel(session_key(member_id)))
            self._prepare_rebalance(limits, now, effects)

    # --- the rebalance ---

    def _rebalance_or_complete(self, limits: Limits, now: Millis, effects: Effects) -> None:
        if self.state in MAY_REBALANCE:
            self._prepare_rebalance(limits, now, effects)
        else:
            self._complete_if_all_joined(now, effects)

    def _prepare_rebalance(self, limits: Limits, now: Millis, effects: Effects) -> None:
        if self.state is State.COMPLETING_REBALANCE:
            self._spread({}, ErrorCode.REBALANCE_IN_PROGRESS, effects)
        self.pending_sync.clear()
        effects.timers.append(Cancel(SYNC_KEY))
        initial = self.state is State.EMPTY
        self._move(State.PREPARING_REBALANCE, now)
        if initial:
            delay_ms = limits.initial_rebalance_delay_ms
            remaining_ms = max(self.rebalance_timeout_ms() - delay_ms, 0)
            self.new_member_added = False
            effects.timers.append(Arm(JOIN_KEY, delay_ms, InitialDelayOver(delay_ms, remaining_ms)))
        elif self.all_joined():
            self._complete_join(now, effects)
        else:
            effects.timers.append(Arm(JOIN_KEY, self.rebalance_timeout_ms(), JoinTimeout()))

    def _complete_if_all_joined(self, now: Millis, effects: Effects) -> None:
        initial = self.previous_state is State.EMPTY  # waits for its delay
        if self.state is State.PREPARING_REBALANCE and not initial and self.all_joined():
            self._complete_join(now, effects)

    def _complete_join(self, now: Millis, effects: Effects) -> None:
        effects.timers.append(Cancel(JOIN_KEY))
        for member in list(self.members.values()):
            if member.join_token is None and member.instance_id is None:
                self._remove(member.id)
                effects.timers.append(Cancel(session_key(member.id)))
        if self.members and not self._leader_has_joined():
            # only silent static members are left: wait until they come or their sessions end
            effects.timers.append(Arm(JOIN_KEY, self.rebalance_timeout_ms(), JoinTimeout()))
            return
        self.generation += 1
        self.pending_sync.clear()
        if not self.members:
            self.protocol = None
            self.subscribed_topics = self._compute_subscribed_topics()
            self._move(State.EMPTY, now)
            effects.write = WriteGroup(self.record({}), EmptyGroupWritten(created=False))
            return
        self.protocol = self.select_protocol()
        self.subscribed_topics = self._compute_subscribed_topics()
        self._move(State.COMPLETING_REBALANCE, now)
        for member in self.members.values():
            if member.join_token is not None:
                effects.replies.append((member.join_token, self._join_reply(member)))
                member.join_token = None
            self._arm_session(member, effects)
            member.is_new = False
            self.pending_sync[member.id] = None
        effects.timers.append(Arm(SYNC_KEY, self.rebalance_timeout_ms(), SyncTimeout(self.generation)))

    def _leader_has_joined(self) -> bool:
        """Elects the first member that rejoined if the leader did not."""
        leader = self.members.get(self.leader) if self.leader is not None else None
        if leader is not None and leader.join_token is not None:
            return True
        for member in self.members.values():
            if member.join_token is not None:
                self.leader = member.id
                return True
        return False

    def _spread(self, assignments: Mapping[str, bytes], error: ErrorCode, effects: Effects) -> None:
        """Answers every waiting SyncGroup."""
        fine = error is ErrorCode.NONE
        for member in self.members.values():
            member.assignment = assignments.get(member.id, b"") if fine else b""
            if member.sync_token is None:
                continue
            reply = SyncReply(
                error,
                self.protocol_type if fine else None,
                self.protocol if fine else None,
                member.assignment,
            )
            effects.replies.append((member.sync_token, reply))
            member.sync_token = None
            self._arm_session(member, effects)

    # --- small steps ---

    def dismiss_all(self, error: ErrorCode, now: Millis) -> Effects:
        """The group goes away: whoever waits is told so, and no timer is left."""
        effects = Effects()
        for member in self.members.values():
            if member.join_token is not None:
                effects.replies.append((member.join_token, JoinReply(error, member.id)))
                member.join_token = None
            if member.sync_token is not None:
                effects.replies.append((member.sync_token, SyncReply(error)))
                member.sync_token = None
        self._move(State.DEAD, now)
        return effects

    def _dismiss(self, member: Member, effects: Effects) -> None:
        if member.join_token is not None:
            self._refuse(member.join_token, ErrorCode.UNKNOWN_MEMBER_ID, "", effects)
        if member.sync_token is not None:
            effects.replies.append((member.sync_token, SyncReply(ErrorCode.UNKNOWN_MEMBER_ID)))
        self._remove(member.id)

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_join.pop(member_id, None)
        self.pending_sync.pop(member_id, None)

    def _refuse(self, token: Token, error: ErrorCode, member_id: str, effects: Effects) -> None:
        effects.replies.append((token, JoinReply(error, member_id)))

    def _join_reply(self, member: Member, *, skip_assignment: bool = False) -> JoinReply:
        protocol = self.protocol or ""
        everybody = tuple(
            JoinedMember(each.id, each.instance_id, each.metadata(protocol)) for each in self.members.values()
        )
        return JoinReply(
            ErrorCode.NONE,
            member.id,
            self.generation,
            self.protocol_type,
            self.protocol,
            self.leader or "",
            everybody if member.id == self.leader else (),
            skip_assignment,
        )

    def _arm_session(self, member: Member, effects: Effects) -> None:
        effects.timers.append(
            Arm(session_key(member.id), member.session_timeout_ms, SessionTimeout(member.id))
        )

    def _move(self, state: State, now: Millis) -> None:
        self.previous_state, self.state = self.state, state
        self.state_since = now

    def _common_protocols(self) -> frozenset[str]:
        counts: dict[str, int] = {}
        for member in self.members.values():
            for name in {each.name: None for each in member.protocols}:
                counts[name] = counts.get(name, 0) + 1
        return frozenset(name for name, count in counts.items() if count == len(self.members))

    def _compute_subscribed_topics(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        if self.members and self.protocol is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            try:
                topics.update(read_topics(member.metadata(self.protocol or "")))
            except MalformedSubscription:
                return None  # the group lives on; only we do not know what it reads
        return frozenset(topics)


def _differ(asked: str | None, known: str | None) -> bool:
    return asked is not None and known is not None and asked != known
