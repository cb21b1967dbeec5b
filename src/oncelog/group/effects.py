"""What a group's decision asks for: replies to waiting requests, timers, a record to write. The coordinator obeys it."""

from dataclasses import dataclass, field
from typing import NewType

from oncelog.errors import ErrorCode
from oncelog.record.offsets import GroupMetadataValue

Token = NewType("Token", int)  # names one waiting request; the coordinator knows whose it is


@dataclass(frozen=True, slots=True)
class MemberProtocol:
    """One way of assigning that a member offers, with what it tells the leader."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """What the leader is told about one member."""

    id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinReply:
    """The answer to a JoinGroup; a refusal says nothing about protocols."""

    error: ErrorCode
    member_id: str
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class SyncReply:
    error: ErrorCode
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class SessionTimeout:
    """A member was silent for too long."""

    member_id: str


@dataclass(frozen=True, slots=True)
class InitialDelayOver:
    """The wait of a new group for more members is over, unless one came in the meantime and time remains."""

    delay_ms: int
    remaining_ms: int


@dataclass(frozen=True, slots=True)
class JoinTimeout:
    """Members that have not rejoined by now are left behind."""


@dataclass(frozen=True, slots=True)
class SyncTimeout:
    """Members of this generation that have not synced by now are left behind."""

    generation: int


@dataclass(frozen=True, slots=True)
class RebalanceTimeout:
    """A KIP-848 member did not give up its partitions while in this member epoch."""

    member_id: str
    member_epoch: int


TimerEvent = SessionTimeout | InitialDelayOver | JoinTimeout | SyncTimeout | RebalanceTimeout
TimerKey = tuple[str, str]  # (kind, member id or ""), within one group


def session_key(member_id: str) -> TimerKey:
    return ("session", member_id)


def rebalance_key(member_id: str) -> TimerKey:
    return ("rebalance", member_id)


JOIN_KEY: TimerKey = ("join", "")
SYNC_KEY: TimerKey = ("sync", "")


@dataclass(frozen=True, slots=True)
class Arm:
    """Start this timer; one that runs under the same key is replaced."""

    key: TimerKey
    delay_ms: int
    event: TimerEvent


@dataclass(frozen=True, slots=True)
class Cancel:
    key: TimerKey


@dataclass(frozen=True, slots=True)
class AssignmentWritten:
    """Continue here when the leader's assignment is durable or was refused."""

    generation: int
    assignments: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class StaticMemberWritten:
    """Continue here when the new member id of a static member is durable or was refused (then all is as before)."""

    instance_id: str
    old_member_id: str
    new_member_id: str
    leader_before: str
    protocols_before: tuple[MemberProtocol, ...]
    rebalance_timeout_before_ms: int
    session_timeout_before_ms: int
    skip_assignment: bool  # JoinGroup v9+: the leader is told everything and told to assign nothing


@dataclass(frozen=True, slots=True)
class EmptyGroupWritten:
    """Nothing to do when the record is durable. `created`: the group was just made, and a refusal unmakes it."""

    created: bool


WriteEvent = AssignmentWritten | StaticMemberWritten | EmptyGroupWritten


@dataclass(frozen=True, slots=True)
class WriteGroup:
    """Write this snapshot of the group, and tell the group about it afterwards."""

    value: GroupMetadataValue
    then: WriteEvent


@dataclass(slots=True)
class Effects:
    replies: list[tuple[Token, JoinReply | SyncReply]] = field(
        default_factory=list[tuple[Token, "JoinReply | SyncReply"]]
    )
    timers: list[Arm | Cancel] = field(default_factory=list["Arm | Cancel"])
    write: WriteGroup | None = None
