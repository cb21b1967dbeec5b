"""Classic groups, every row of spec 1.17, asked through the handlers."""

import struct
from typing import Any

import pytest

from oncelog.broker.handlers import (
    delete_groups,
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    sync_group,
)
from oncelog.errors import ErrorCode
from oncelog.group.classic import ClassicGroup
from oncelog.protocol.messages.delete_groups import DeleteGroupsRequest
from oncelog.protocol.messages.describe_groups import DescribeGroupsRequest
from oncelog.protocol.messages.heartbeat import HeartbeatRequest
from oncelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from oncelog.protocol.messages.list_groups import ListGroupsRequest
from oncelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from oncelog.tasks import Task
from tests.unit.group_world import World

E = ErrorCode
SESSION_MS = 10_000
REBALANCE_MS = 60_000
FORMED_MS = 30  # a new group waits 10 ms for more members, and once more if one came


def subscription(*topics: str) -> bytes:
    packed = b"".join(struct.pack(">h", len(each)) + each.encode() for each in topics)
    return struct.pack(">hi", 1, len(topics)) + packed + struct.pack(">i", -1) + struct.pack(">i", 0)


def join(
    world: World,
    group: str = "g",
    member: str = "",
    *,
    instance: str | None = None,
    protocols: tuple[str, ...] = ("range",),
    metadata: bytes | None = None,
    protocol_type: str = "consumer",
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    version: int = 9,
    client: str = "c",
) -> Any:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[
            JoinGroupRequestProtocol(name=name, metadata=subscription("t") if metadata is None else metadata)
            for name in protocols
        ],
    )
    return world.handle(join_group, request, version, client)


def sync(
    world: World,
    member: str,
    generation: int,
    assignments: dict[str, bytes] | None = None,
    *,
    group: str = "g",
    instance: str | None = None,
    version: int = 5,
    protocol_type: str | None = "consumer",
    protocol: str | None = "range",
) -> Any:
    request = SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignments=[
            SyncGroupRequestAssignment(member_id=each, assignment=content)
            for each, content in (assignments or {}).items()
        ],
    )
    return world.handle(sync_group, request, version)


def beat(
    world: World, member: str, generation: int, *, group: str = "g", instance: str | None = None
) -> ErrorCode:
    request = HeartbeatRequest(
        group_id=group, generation_id=generation, member_id=member, group_instance_id=instance
    )
    return ErrorCode(world.ask(heartbeat, request, 4).error_code)


def leave(world: World, *members: tuple[str, str | None], group: str = "g", version: int = 5) -> Any:
    request = LeaveGroupRequest(
        group_id=group,
        member_id=members[0][0] if version < 3 else "",
        members=[MemberIdentity(member_id=each, group_instance_id=instance) for each, instance in members],
    )
    return world.ask(leave_group, request, version)


def described(world: World, group: str = "g", version: int = 6) -> Any:
    return world.ask(describe_groups, DescribeGroupsRequest(groups=[group]), version).groups[0]


def new_id(world: World, group: str = "g", **how: Any) -> str:
    """A dynamic member that got its id and has not joined with it."""
    answer = world.call(join(world, group, **how))
    assert answer.error_code == E.MEMBER_ID_REQUIRED
    return answer.member_id


def stable(world: World, count: int = 1, group: str = "g", **how: Any) -> list[str]:
    """A Stable group of so many dynamic members in generation 1; the first is the leader."""
    ids = [new_id(world, group, **how) for _ in range(count)]
    tasks = [world.begin(join(world, group, each, **how)) for each in ids]
    world.loop.advance(FORMED_MS)
    answers = [task.result() for task in tasks]
    assert {each.error_code for each in answers} == {E.NONE}
    assert {each.generation_id for each in answers} == {1}
    syncs = [world.begin(sync(world, each, 1, group=group)) for each in ids[1:]]
    first = world.call(sync(world, ids[0], 1, {each: each.encode() for each in ids}, group=group))
    assert first.error_code == E.NONE
    assert all(task.result().assignment == each.encode() for task, each in zip(syncs, ids[1:], strict=True))
    return ids


def error_of(task: Task[Any]) -> ErrorCode:
    return ErrorCode(task.result().error_code)


# --- JoinGroup ---

REFUSED_JOINS: list[tuple[str, dict[str, Any], ErrorCode]] = [
    ("empty group id", {"group": ""}, E.INVALID_GROUP_ID),
    ("session timeout too low", {"session_ms": 5_999}, E.INVALID_SESSION_TIMEOUT),
    ("session timeout too high", {"session_ms": 1_800_001}, E.INVALID_SESSION_TIMEOUT),
    ("empty group id before session timeout", {"group": "", "session_ms": 1}, E.INVALID_GROUP_ID),
    ("unknown group with a member id", {"member": "m"}, E.UNKNOWN_MEMBER_ID),
    ("no protocols", {"protocols": ()}, E.INCONSISTENT_GROUP_PROTOCOL),
    ("no protocol type", {"protocol_type": ""}, E.INCONSISTENT_GROUP_PROTOCOL),
    ("v4+ dynamic", {"version": 4}, E.MEMBER_ID_REQUIRED),
]


@pytest.mark.parametrize(("name", "how", "error"), REFUSED_JOINS, ids=[each[0] for each in REFUSED_JOINS])
def test_join_refusals_of_a_new_group_1_17(name: str, how: dict[str, Any], error: ErrorCode) -> None:
    world = World()
    answer = world.call(join(world, **how))
    assert ErrorCode(answer.error_code) is error, name
    assert answer.generation_id == -1


def test_join_without_protocols_leaves_the_empty_group_created_1_17() -> None:
    world = World()
    world.call(join(world, protocols=()))
    assert described(world).group_state == "Empty"
    world.restart()
    assert described(world).group_state == "Empty"


def test_join_of_an_unknown_member_creates_nothing_1_17() -> None:
    world = World()
    world.call(join(world, member="m"))
    assert described(world).group_state == "Dead"
    assert world.records_written() == 0


def test_member_id_is_client_id_and_a_uuid_1_17() -> None:
    world = World()
    member = new_id(world, client="my-client")
    assert member == "my-client-00000000-0000-4000-8000-000000000001"


def test_a_static_member_id_begins_with_the_instance_id() -> None:
    world = World()
    task = world.begin(join(world, instance="i"))
    world.loop.advance(FORMED_MS)
    assert task.result().member_id.startswith("i-0000")


def test_v3_join_needs_no_second_round() -> None:
    world = World()
    task = world.begin(join(world, version=3))
    world.loop.advance(FORMED_MS)
    answer = task.result()
    assert answer.error_code == E.NONE
    assert answer.leader == answer.member_id


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"protocol_type": "connect"}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ("other",)}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"member": "stranger"}, E.UNKNOWN_MEMBER_ID),
        ({"member": "stranger", "instance": "nobody"}, E.UNKNOWN_MEMBER_ID),
    ],
)
def test_join_refusals_of_a_group_with_members_1_17(how: dict[str, Any], error: ErrorCode) -> None:
    world = World()
    stable(world)
    assert ErrorCode(world.call(join(world, **how)).error_code) is error


def test_join_of_a_full_group_1_17() -> None:
    world = World(group_max_size=1)
    stable(world)
    answer = world.call(join(world))
    assert (answer.error_code, answer.member_id) == (E.GROUP_MAX_SIZE_REACHED, "")


def test_join_reply_of_leader_and_follower_1_17() -> None:
    world = World()
    ids = [new_id(world) for _ in range(2)]
    tasks = [world.begin(join(world, member=each)) for each in ids]
    world.loop.advance(FORMED_MS)
    leader, follower = (task.result() for task in tasks)
    assert [each.member_id for each in leader.members] == ids
    assert leader.members[1].metadata == subscription("t")
    assert follower.members == []
    assert (follower.leader, follower.protocol_type, follower.protocol_name) == (ids[0], "consumer", "range")


@pytest.mark.parametrize(("version", "protocol"), [(6, ""), (7, None)])
def test_protocol_name_is_null_only_from_v7_1_17(version: int, protocol: str | None) -> None:
    world = World()
    stable(world)
    answer = world.call(join(world, member="stranger", version=version))
    assert (answer.error_code, answer.protocol_name) == (E.UNKNOWN_MEMBER_ID, protocol)


def test_the_protocol_with_most_votes_wins_among_the_common_ones() -> None:
    world = World()
    offers = [("a", "b", "c"), ("b", "a"), ("b", "a", "c")]
    ids = [new_id(world, protocols=each) for each in offers]
    tasks = [world.begin(join(world, member=m, protocols=p)) for m, p in zip(ids, offers, strict=True)]
    world.loop.advance(FORMED_MS)
    assert {task.result().protocol_name for task in tasks} == {"b"}


def test_initial_delay_is_extended_by_new_members_up_to_the_rebalance_timeout() -> None:
    world = World(group_initial_rebalance_delay_ms=3000)
    tasks: list[Task[Any]] = []
    for _ in range(3):
        tasks.append(world.begin(join(world, version=3, rebalance_ms=7000)))
        world.loop.advance(2000)
    assert not any(
        task.done() for task in tasks
    )  # 6 s: at 3 s extended to 6 s, at 6 s once more by what remains
    world.loop.advance(999)
    assert not any(task.done() for task in tasks)
    world.loop.advance(3000)
    assert {task.result().generation_id for task in tasks} == {1}


def test_initial_delay_ends_when_nobody_new_came() -> None:
    world = World(group_initial_rebalance_delay_ms=3000)
    task = world.begin(join(world, version=3))
    world.loop.advance(2999)
    assert not task.done()
    world.loop.advance(1)
    assert error_of(task) is E.NONE


def test_a_second_member_makes_the_first_rejoin() -> None:
    world = World()
    (first,) = stable(world)
    second = new_id(world)
    waits = world.begin(join(world, member=second))
    assert beat(world, first, 1) is E.REBALANCE_IN_PROGRESS
    assert described(world).group_state == "PreparingRebalance"
    again = world.call(join(world, member=first))
    assert (again.generation_id, again.leader) == (2, first)
    assert waits.result().generation_id == 2


def test_rejoin_of_a_follower_with_the_same_metadata_changes_nothing() -> None:
    world = World()
    leader, follower = stable(world, 2)
    answer = world.call(join(world, member=follower))
    assert (answer.error_code, answer.generation_id, answer.leader) == (E.NONE, 1, leader)
    assert beat(world, leader, 1) is E.NONE


def test_rejoin_of_the_leader_forces_a_rebalance() -> None:
    world = World()
    leader, follower = stable(world, 2)
    waits = world.begin(join(world, member=leader))
    assert not waits.done()
    assert beat(world, follower, 1) is E.REBALANCE_IN_PROGRESS


def test_rejoin_with_other_metadata_forces_a_rebalance() -> None:
    world = World()
    leader, follower = stable(world, 2)
    waits = world.begin(join(world, member=follower, metadata=subscription("u")))
    assert not waits.done()
    assert beat(world, leader, 1) is E.REBALANCE_IN_PROGRESS


def test_a_lost_join_reply_is_given_again_while_the_group_completes() -> None:
    world = World()
    member = new_id(world)
    world.begin(join(world, member=member))
    world.loop.advance(FORMED_MS)
    answer = world.call(join(world, member=member))
    assert (answer.generation_id, [each.member_id for each in answer.members]) == (1, [member])


def test_members_that_do_not_rejoin_in_time_are_left_behind() -> None:
    world = World()
    leader, follower = stable(world, 2)
    waits = world.begin(join(world, member=leader))
    for _ in range(REBALANCE_MS // 5000):
        beat(world, follower, 1)
        world.loop.advance(5000)
    assert waits.result().generation_id == 2
    assert beat(world, follower, 2) is E.UNKNOWN_MEMBER_ID


def test_a_pending_member_that_never_joins_does_not_hold_the_group_up() -> None:
    world = World()
    leader, follower = stable(world, 2)
    new_id(world)
    waits = [world.begin(join(world, member=each)) for each in (leader, follower)]
    assert not any(task.done() for task in waits)
    world.loop.advance(SESSION_MS)
    assert {task.result().generation_id for task in waits} == {2}


def test_a_second_join_of_a_waiting_member_ends_the_first() -> None:
    world = World()
    leader, _ = stable(world, 2)
    first = world.begin(join(world, member=leader))
    second = world.begin(join(world, member=leader))
    assert error_of(first) is E.REBALANCE_IN_PROGRESS
    assert not second.done()


@pytest.mark.parametrize("session_ms", [6_000, 1_800_000])
def test_session_timeouts_at_the_limits_are_fine(session_ms: int) -> None:
    world = World()
    assert new_id(world, session_ms=session_ms)


def test_when_the_leader_leaves_another_leads() -> None:
    world = World()
    leader, second, third = stable(world, 3)
    leave(world, (leader, None))
    waits = world.begin(join(world, member=third))
    answer = world.call(join(world, member=second))
    assert (answer.leader, waits.result().leader) == (second, second)


def test_when_the_leader_does_not_rejoin_another_leads() -> None:
    world = World()
    task = [world.begin(join(world, instance=each)) for each in ("i", "j")]
    world.loop.advance(FORMED_MS)
    leader, follower = (each.result().member_id for each in task)
    world.begin(sync(world, follower, 1, instance="j"))
    world.call(sync(world, leader, 1, instance="i"))
    waits = world.begin(join(world, member=follower, instance="j", metadata=subscription("u")))
    for _ in range(REBALANCE_MS // 5000):
        beat(world, leader, 1, instance="i")
        world.loop.advance(5000)
    assert (waits.result().leader, len(waits.result().members)) == (
        follower,
        2,
    )  # the static one keeps its place


def test_a_session_that_ends_during_a_rebalance_completes_it() -> None:
    world = World()
    leader, _ = stable(world, 2)
    waits = world.begin(join(world, member=leader))
    world.loop.advance(SESSION_MS)
    assert waits.result().generation_id == 2


def test_a_full_group_turns_the_last_to_rejoin_away() -> None:
    world = World(group_max_size=2)
    leader, follower = stable(world, 2)
    late = new_id_in_rebalance(world, leader)
    waits = world.begin(join(world, member=late))
    answer = world.call(join(world, member=follower))
    assert (ErrorCode(answer.error_code), answer.member_id) == (E.GROUP_MAX_SIZE_REACHED, "")
    assert beat(world, follower, 1) is E.UNKNOWN_MEMBER_ID
    world.loop.advance(REBALANCE_MS)
    assert waits.result().generation_id == 2


def new_id_in_rebalance(world: World, leader: str) -> str:
    """The group is full, but while it rebalances only those that wait are counted."""
    world.begin(join(world, member=leader))
    return new_id(world)


def test_a_member_that_joins_later_does_not_extend_the_delay_of_a_former_start() -> None:
    world = World(group_initial_rebalance_delay_ms=3000)
    first = world.begin(join(world, version=3))
    world.loop.advance(3000)
    member = first.result().member_id
    world.call(sync(world, member, 1))
    second = world.begin(join(world, version=3))
    world.call(join(world, member=member))
    assert second.result().generation_id == 2  # at once: this rebalance is not the first


def test_a_new_member_does_not_wait_for_ever() -> None:
    world = World()
    (member,) = stable(world, rebalance_ms=3_600_000)
    waits = world.begin(join(world, version=3))
    for _ in range(60):
        assert not waits.done()
        world.loop.advance(5000)
        beat(world, member, 1)
    assert error_of(waits) is E.UNKNOWN_MEMBER_ID


# --- static members ---


def static(world: World, *instances: str) -> list[str]:
    tasks = [world.begin(join(world, instance=each)) for each in instances]
    world.loop.advance(FORMED_MS)
    ids = [task.result().member_id for task in tasks]
    waits = [world.begin(sync(world, m, 1, instance=i)) for m, i in zip(ids[1:], instances[1:], strict=True)]
    first = sync(world, ids[0], 1, {each: b"a-" + each.encode() for each in ids}, instance=instances[0])
    assert world.call(first).error_code == E.NONE
    assert all(error_of(each) is E.NONE for each in waits)
    return ids


def test_a_static_member_comes_back_without_a_rebalance_1_17() -> None:
    world = World()
    leader, old = static(world, "i", "j")
    answer = world.call(join(world, instance="j"))
    assert (answer.error_code, answer.generation_id, answer.leader) == (E.NONE, 1, leader)
    assert answer.member_id != old
    assert answer.skip_assignment is False
    assert beat(world, leader, 1, instance="i") is E.NONE
    got = world.call(sync(world, answer.member_id, 1, instance="j"))
    assert got.assignment == b"a-" + old.encode()
    assert beat(world, old, 1, instance="j") is E.FENCED_INSTANCE_ID


@pytest.mark.parametrize(("version", "skips"), [(9, True), (8, False)])
def test_a_static_leader_comes_back_1_17(version: int, skips: bool) -> None:
    world = World()
    old, _ = static(world, "i", "j")
    answer = world.call(join(world, instance="i", version=version))
    assert answer.error_code == E.NONE
    assert answer.skip_assignment is skips
    assert answer.leader == (answer.member_id if skips else old)
    assert len(answer.members) == (2 if skips else 0)


def test_the_new_id_of_a_static_member_survives_a_restart() -> None:
    world = World()
    static(world, "i", "j")
    back = world.call(join(world, instance="j")).member_id
    world.restart()
    assert beat(world, back, 1, instance="j") is E.NONE


def test_a_static_member_with_another_protocol_forces_a_rebalance() -> None:
    world = World()
    task = world.begin(join(world, instance="i", protocols=("a", "b")))
    world.loop.advance(FORMED_MS)
    member = task.result().member_id
    world.call(sync(world, member, 1, instance="i", protocol="a"))
    answer = world.call(join(world, instance="i", protocols=("b",)))
    assert (answer.generation_id, answer.protocol_name) == (2, "b")


def test_an_instance_that_left_joins_as_a_new_member() -> None:
    world = World()
    leader, away = static(world, "i", "j")
    leave(world, (away, "j"))
    back = world.begin(join(world, instance="j"))
    answer = world.call(join(world, member=leader, instance="i"))
    assert answer.generation_id == 2
    assert sorted(each.group_instance_id for each in answer.members) == ["i", "j"]
    assert back.result().generation_id == 2


def test_a_static_member_that_comes_back_leaves_no_timer_behind() -> None:
    world = World()
    static(world, "i", "j")
    before = world.loop.armed()
    for _ in range(5):
        world.call(join(world, instance="j"))
    assert world.loop.armed() == before


@pytest.mark.parametrize("ask", ["join", "sync", "heartbeat", "leave"])
def test_an_instance_that_another_member_id_owns_is_fenced_1_17(ask: str) -> None:
    world = World()
    static(world, "i")
    answers: dict[str, Any] = {
        "join": lambda: world.call(join(world, member="old", instance="i")).error_code,
        "sync": lambda: world.call(sync(world, "old", 1, instance="i")).error_code,
        "heartbeat": lambda: beat(world, "old", 1, instance="i"),
        "leave": lambda: leave(world, ("old", "i")).members[0].error_code,
    }
    assert ErrorCode(answers[ask]()) is E.FENCED_INSTANCE_ID


def test_a_static_member_may_stay_away_for_its_session_timeout() -> None:
    world = World()
    leader, away = static(world, "i", "j")
    for _ in range(3):
        world.loop.advance(SESSION_MS / 4)
        assert beat(world, leader, 1, instance="i") is E.NONE
    world.loop.advance(SESSION_MS / 4)
    assert beat(world, leader, 1, instance="i") is E.REBALANCE_IN_PROGRESS
    again = world.call(join(world, member=leader, instance="i"))
    assert [each.group_instance_id for each in again.members] == ["i"]
    assert beat(world, away, 2, instance="j") is E.UNKNOWN_MEMBER_ID


def test_only_silent_static_members_hold_the_join_until_one_comes() -> None:
    world = World()
    first, second = static(world, "i", "j")
    leave(world, ("", "i"))
    assert described(world).group_state == "PreparingRebalance"
    assert beat(world, first, 1, instance="i") is E.UNKNOWN_MEMBER_ID
    answer = world.call(join(world, member=second, instance="j"))
    assert (answer.generation_id, answer.leader) == (2, second)


def test_a_static_member_that_returns_while_syncs_wait_begins_a_new_rebalance() -> None:
    world = World()
    tasks = [world.begin(join(world, instance=each)) for each in ("i", "j")]
    world.loop.advance(FORMED_MS)
    leader, follower = (task.result().member_id for task in tasks)
    waits = world.begin(sync(world, follower, 1, instance="j"))
    back = world.begin(join(world, instance="j"))
    assert error_of(waits) is E.FENCED_INSTANCE_ID
    assert error_of(world.begin(sync(world, leader, 1, {}, instance="i"))) is E.REBALANCE_IN_PROGRESS
    again = world.call(join(world, member=leader, instance="i"))
    assert again.generation_id == 2
    assert back.result().generation_id == 2


# --- SyncGroup ---


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"protocol_type": None}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": None}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"group": "", "protocol": None}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"group": ""}, E.INVALID_GROUP_ID),
        ({"group": "unknown"}, E.UNKNOWN_MEMBER_ID),
        ({"member": "stranger"}, E.UNKNOWN_MEMBER_ID),
        ({"member": "stranger", "generation": 9}, E.UNKNOWN_MEMBER_ID),
        ({"generation": 0}, E.ILLEGAL_GENERATION),
        ({"generation": 2, "protocol": "other"}, E.ILLEGAL_GENERATION),
        ({"protocol": "other"}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({}, E.NONE),
        ({"version": 4, "protocol_type": None, "protocol": None}, E.NONE),
    ],
)
def test_sync_row_by_row_1_17(how: dict[str, Any], error: ErrorCode) -> None:
    world = World()
    (member,) = stable(world)
    asked: dict[str, Any] = {"member": member, "generation": 1, **how}
    answer = world.call(sync(world, **asked))
    assert ErrorCode(answer.error_code) is error
    assert answer.assignment == (member.encode() if error is E.NONE else b"")


def test_sync_while_the_group_prepares_1_17() -> None:
    world = World()
    leader, follower = stable(world, 2)
    world.begin(join(world, member=leader))
    assert error_of(world.begin(sync(world, follower, 1))) is E.REBALANCE_IN_PROGRESS


def test_sync_waits_for_the_leader_and_its_record_1_17() -> None:
    world = World()
    ids = [new_id(world) for _ in range(2)]
    for each in ids:
        world.begin(join(world, member=each))
    world.loop.advance(FORMED_MS)
    follower = world.begin(sync(world, ids[1], 1))
    assert not follower.done()
    world.log("g").held = True
    leader = world.begin(sync(world, ids[0], 1, {ids[0]: b"x"}))
    assert not leader.done()
    assert described_when_synced(world).group_state == "Stable"
    assert (leader.result().assignment, follower.result().assignment) == (b"x", b"")


def described_when_synced(world: World) -> Any:
    """The log becomes durable, then the group is looked at."""
    world.log("g").held = False
    world.log("g").sync()
    world.loop.run()
    return described(world)


def test_a_record_that_is_refused_costs_the_assignment_1_17() -> None:
    world = World()
    member = new_id(world)
    world.begin(join(world, member=member))
    world.loop.advance(FORMED_MS)
    world.log("g").refuse = E.MESSAGE_TOO_LARGE
    answer = world.call(sync(world, member, 1, {member: b"x"}))
    assert (ErrorCode(answer.error_code), answer.assignment) == (E.UNKNOWN_SERVER_ERROR, b"")
    assert described(world).group_state == "PreparingRebalance"


def test_a_member_that_never_syncs_is_left_behind() -> None:
    world = World()
    ids = [new_id(world, session_ms=1_800_000) for _ in range(2)]
    for each in ids:
        world.begin(join(world, member=each, session_ms=1_800_000))
    world.loop.advance(FORMED_MS)
    leader = world.call(sync(world, ids[0], 1, dict.fromkeys(ids, b"x")))
    assert leader.error_code == E.NONE
    world.loop.advance(REBALANCE_MS)
    assert beat(world, ids[0], 1) is E.REBALANCE_IN_PROGRESS
    assert beat(world, ids[1], 1) is E.UNKNOWN_MEMBER_ID


def test_a_new_member_during_the_sync_ends_the_waiting_ones() -> None:
    world = World()
    ids = [new_id(world) for _ in range(2)]
    for each in ids:
        world.begin(join(world, member=each))
    world.loop.advance(FORMED_MS)
    waits = world.begin(sync(world, ids[1], 1))
    world.begin(join(world, version=3))
    assert error_of(waits) is E.REBALANCE_IN_PROGRESS


def test_a_join_while_the_assignment_is_being_written_wins() -> None:
    world = World()
    member = new_id(world)
    world.begin(join(world, member=member))
    world.loop.advance(FORMED_MS)
    world.log("g").held = True
    leader = world.begin(sync(world, member, 1, {member: b"x"}))
    world.begin(join(world, version=3))
    assert error_of(leader) is E.REBALANCE_IN_PROGRESS
    assert described_when_synced(world).group_state == "PreparingRebalance"


def test_a_second_sync_of_a_waiting_member_ends_the_first() -> None:
    world = World()
    ids = [new_id(world) for _ in range(2)]
    for each in ids:
        world.begin(join(world, member=each))
    world.loop.advance(FORMED_MS)
    first, second = (world.begin(sync(world, ids[1], 1)) for _ in range(2))
    assert error_of(first) is E.REBALANCE_IN_PROGRESS
    world.call(sync(world, ids[0], 1))
    assert error_of(second) is E.NONE


def test_a_member_that_leaves_while_it_syncs_is_told_and_not_waited_for() -> None:
    world = World()
    ids = [new_id(world) for _ in range(2)]
    for each in ids:
        world.begin(join(world, member=each))
    world.loop.advance(FORMED_MS)
    waits = world.begin(sync(world, ids[1], 1))
    leave(world, (ids[1], None))
    assert error_of(waits) is E.UNKNOWN_MEMBER_ID
    answer = world.call(join(world, member=ids[0]))
    assert (answer.generation_id, len(answer.members)) == (2, 1)
    world.call(sync(world, ids[0], 2))
    for _ in range(REBALANCE_MS // 5000 + 1):
        world.loop.advance(5000)
        assert beat(world, ids[0], 2) is E.NONE  # nobody of an earlier generation is still missed


# --- Heartbeat ---


@pytest.mark.parametrize(
    ("member", "generation", "group", "error"),
    [
        ("*", 1, "", E.INVALID_GROUP_ID),
        ("*", 1, "unknown", E.UNKNOWN_MEMBER_ID),
        ("stranger", 1, "g", E.UNKNOWN_MEMBER_ID),
        ("*", 0, "g", E.ILLEGAL_GENERATION),
        ("*", 2, "g", E.ILLEGAL_GENERATION),
        ("*", 1, "g", E.NONE),
    ],
)
def test_heartbeat_row_by_row_1_17(member: str, generation: int, group: str, error: ErrorCode) -> None:
    world = World()
    (known,) = stable(world)
    assert beat(world, known if member == "*" else member, generation, group=group) is error


def test_heartbeat_while_the_group_completes_is_fine_1_17() -> None:
    world = World()
    member = new_id(world)
    world.begin(join(world, member=member))
    world.loop.advance(FORMED_MS)
    assert described(world).group_state == "CompletingRebalance"
    assert beat(world, member, 1) is E.NONE


def test_a_silent_member_is_put_out_after_its_session_timeout() -> None:
    world = World()
    (member,) = stable(world)
    world.loop.advance(SESSION_MS - 1)
    assert beat(world, member, 1) is E.NONE
    world.loop.advance(SESSION_MS - 1)
    assert described(world).group_state == "Stable"
    world.loop.advance(1)
    assert described(world).group_state == "Empty"
    assert beat(world, member, 1) is E.UNKNOWN_MEMBER_ID


def test_a_waiting_member_needs_no_heartbeat() -> None:
    world = World()
    leader, follower = stable(world, 2)
    waits = world.begin(join(world, member=leader))
    for _ in range(8):
        world.loop.advance(5000)
        assert beat(world, follower, 1) is E.REBALANCE_IN_PROGRESS
    assert not waits.done()
    assert world.call(join(world, member=follower)).generation_id == 2
    assert waits.result().generation_id == 2


# --- LeaveGroup ---


def test_leave_v3_answers_per_member_1_17() -> None:
    world = World()
    first, second = stable(world, 2)
    pending = new_id(world)
    answer = leave(world, (first, None), ("stranger", None), ("", "nobody"), (pending, None))
    assert answer.error_code == E.NONE
    assert [each.error_code for each in answer.members] == [0, 25, 25, 0]
    assert [each.member_id for each in answer.members] == [first, "stranger", "", pending]
    assert beat(world, second, 1) is E.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("version", [0, 1, 2])
def test_leave_before_v3_answers_at_the_top_1_17(version: int) -> None:
    world = World()
    (member,) = stable(world)
    assert leave(world, ("stranger", None), version=version).error_code == E.UNKNOWN_MEMBER_ID
    assert leave(world, (member, None), version=version).error_code == E.NONE
    assert leave(world, (member, None), version=version, group="unknown").error_code == E.UNKNOWN_MEMBER_ID


def test_leave_of_an_unknown_group_v3_is_an_error_per_member_1_17() -> None:
    answer = leave(World(), ("m", None), group="unknown")
    assert (answer.error_code, answer.members[0].error_code) == (E.NONE, E.UNKNOWN_MEMBER_ID)
    assert leave(World(), ("m", None), group="").error_code == E.INVALID_GROUP_ID


def test_leave_of_a_static_member_by_instance_only() -> None:
    world = World()
    static(world, "i", "j")
    answer = leave(world, ("", "j"))
    assert (answer.members[0].error_code, answer.members[0].member_id) == (0, "")
    assert described(world).group_state == "PreparingRebalance"


def test_the_last_to_leave_makes_the_group_empty_and_that_lasts() -> None:
    world = World()
    (member,) = stable(world)
    leave(world, (member, None))
    assert described(world).group_state == "Empty"
    world.restart()
    group = described(world)
    assert (group.group_state, group.protocol_type, group.members) == ("Empty", "consumer", [])


def test_an_empty_group_has_no_leader_and_no_protocol() -> None:
    world = World()
    (member,) = stable(world)
    leave(world, (member, None))
    world.restart()
    group = world.shard("g").groups["g"]
    assert isinstance(group, ClassicGroup)
    assert (group.generation, group.leader, group.protocol) == (2, None, None)


def test_leave_completes_a_rebalance_that_waited_for_it() -> None:
    world = World()
    leader, follower = stable(world, 2)
    waits = world.begin(join(world, member=leader))
    leave(world, (follower, None))
    assert waits.result().generation_id == 2


def test_a_member_that_leaves_while_it_waits_is_told() -> None:
    world = World()
    leader, _ = stable(world, 2)
    waits = world.begin(join(world, member=leader))
    leave(world, (leader, None))
    assert error_of(waits) is E.UNKNOWN_MEMBER_ID


# --- Describe, List, Delete ---


@pytest.mark.parametrize(("version", "error"), [(0, E.NONE), (5, E.NONE), (6, E.GROUP_ID_NOT_FOUND)])
def test_v110_describe_of_an_unknown_group(version: int, error: ErrorCode) -> None:
    group = described(World(), "unknown", version)
    assert (ErrorCode(group.error_code), group.group_state) == (error, "Dead")
    assert group.error_message == ("Group unknown not found." if version == 6 else None)


def test_describe_of_a_stable_group_tells_metadata_and_assignment() -> None:
    world = World()
    (member,) = stable(world)
    group = described(world)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    told = group.members[0]
    assert (told.member_id, told.client_id, told.client_host) == (member, "c", "/127.0.0.1")
    assert (told.member_metadata, told.member_assignment) == (subscription("t"), member.encode())


def test_describe_of_a_rebalancing_group_tells_no_metadata() -> None:
    world = World()
    leader, _ = stable(world, 2)
    world.begin(join(world, member=leader))
    group = described(world)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [each.member_metadata for each in group.members] == [b"", b""]
    assert group.members[0].member_assignment == leader.encode()  # the last one, as long as there is no other


def test_describe_tells_authorized_operations_only_when_asked() -> None:
    world = World()
    stable(world)
    for asked, told in ((False, -(2**31)), (True, 3400)):
        request = DescribeGroupsRequest(groups=["g"], include_authorized_operations=asked)
        assert world.ask(describe_groups, request, 6).groups[0].authorized_operations == told


def listed(world: World, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[str]:
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    return sorted(each.group_id for each in world.ask(list_groups, request, 5).groups)


def test_list_filters_by_state_and_type_1_17() -> None:
    world = World()
    stable(world, group="running")
    world.call(join(world, "fresh", protocols=()))
    assert listed(world) == ["fresh", "running"]
    assert listed(world, states=("stable",)) == ["running"]
    assert listed(world, states=(" EMPTY ", "Dead")) == ["fresh"]
    assert listed(world, types=("Classic",)) == ["fresh", "running"]
    assert listed(world, types=("consumer",)) == []
    assert listed(world, types=("nonsense",)) == []
    told = {each.group_id: each for each in world.ask(list_groups, ListGroupsRequest(), 5).groups}
    assert (told["running"].protocol_type, told["running"].group_state) == ("consumer", "Stable")
    assert (told["fresh"].protocol_type, told["fresh"].group_type) == ("", "classic")


def deleted(world: World, *groups: str) -> dict[str, ErrorCode]:
    results = world.ask(delete_groups, DeleteGroupsRequest(groups_names=list(groups)), 2).results
    return {each.group_id: ErrorCode(each.error_code) for each in results}


def test_delete_row_by_row_1_17() -> None:
    world = World()
    (member,) = stable(world)
    assert deleted(world, "g", "unknown") == {"g": E.NON_EMPTY_GROUP, "unknown": E.GROUP_ID_NOT_FOUND}
    leave(world, (member, None))
    assert deleted(world, "g") == {"g": E.NONE}
    assert described(world).group_state == "Dead"
    world.restart()
    assert described(world).group_state == "Dead"


# --- restart ---


def test_a_stable_group_goes_on_after_a_restart() -> None:
    world = World()
    leader, follower = stable(world, 2)
    world.restart()
    assert beat(world, leader, 1) is E.NONE
    assert world.call(sync(world, follower, 1)).assignment == follower.encode()
    world.loop.advance(SESSION_MS - 1)
    assert beat(world, leader, 1) is E.NONE
    world.loop.advance(1)
    assert beat(world, leader, 1) is E.REBALANCE_IN_PROGRESS  # the follower's session began with the load


def test_a_group_that_had_not_synced_is_gone_after_a_restart_1_17() -> None:
    world = World()
    member = new_id(world)
    world.begin(join(world, member=member))
    world.loop.advance(FORMED_MS)
    world.restart()
    assert beat(world, member, 1) is E.UNKNOWN_MEMBER_ID


def test_syncs_that_wait_at_the_stop_are_told_to_look_elsewhere() -> None:
    world = World()
    ids = [new_id(world) for _ in range(2)]
    for each in ids:
        world.begin(join(world, member=each))
    world.loop.advance(FORMED_MS)
    waits = world.begin(sync(world, ids[1], 1))
    world.call(world.groups.stop())
    world.loop.run()
    assert error_of(waits) is E.NOT_COORDINATOR


def test_requests_that_wait_at_the_stop_are_told_to_look_elsewhere() -> None:
    world = World()
    leader, _ = stable(world, 2)
    waits = world.begin(join(world, member=leader))
    world.call(world.groups.stop())
    world.loop.run()
    assert error_of(waits) is E.NOT_COORDINATOR
    assert world.loop.armed() == 0
