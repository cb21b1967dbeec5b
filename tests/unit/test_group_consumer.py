"""KIP-848 groups, every row of spec 1.18, asked through the handlers."""

from typing import Any

import pytest

from oncelog.broker.handlers import (
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    describe_groups,
    list_groups,
)
from oncelog.errors import ErrorCode
from oncelog.group.consumer import ConsumerGroup
from oncelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from oncelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    RequestTopicPartitions,
)
from oncelog.protocol.messages.delete_groups import DeleteGroupsRequest
from oncelog.protocol.messages.describe_groups import DescribeGroupsRequest
from oncelog.protocol.messages.list_groups import ListGroupsRequest
from tests.unit.group_world import World
from tests.unit.test_group_classic import FORMED_MS, beat, join, leave, stable, sync
from tests.unit.test_group_offsets import commit, delete, fetch, txn_commit

E = ErrorCode
Owned = dict[str, tuple[int, ...]]


def hb(
    world: World,
    member: str = "a",
    epoch: int = 0,
    *,
    group: str = "g",
    topics: tuple[str, ...] | None = None,
    regex: str | None = None,
    owned: Owned | None = None,
    instance: str | None = None,
    rack: str | None = None,
    assignor: str | None = None,
    rebalance_ms: int = -1,
    version: int = 1,
) -> Any:
    """A heartbeat with just these fields."""
    partitions = None
    if owned is not None:
        partitions = [
            RequestTopicPartitions(topic_id=world.engine.topics[name].id, partitions=list(indexes))
            for name, indexes in owned.items()
        ]
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=epoch,
        instance_id=instance,
        rack_id=rack,
        rebalance_timeout_ms=rebalance_ms,
        subscribed_topic_names=None if topics is None else list(topics),
        subscribed_topic_regex=regex,
        server_assignor=assignor,
        topic_partitions=partitions,
    )
    return world.ask(consumer_group_heartbeat, request, version)


def enter(world: World, member: str = "a", topics: tuple[str, ...] | None = ("t",), **how: Any) -> Any:
    """A full request, as it is sent to join."""
    asked: dict[str, Any] = {"rebalance_ms": 5000, **how}
    return hb(world, member, topics=topics, owned={}, **asked)


def told(world: World, answer: Any) -> Owned | None:
    """The assignment of an answer, by names."""
    if answer.assignment is None:
        return None
    names = {topic.id: topic.name for topic in world.engine.topics.values()}
    return {names[each.topic_id]: tuple(each.partitions) for each in answer.assignment.topic_partitions}


def error(answer: Any) -> ErrorCode:
    return ErrorCode(answer.error_code)


# --- refusals ---

INVALID: list[tuple[str, dict[str, Any], ErrorCode]] = [
    ("empty group id", {"group": ""}, E.INVALID_REQUEST),
    ("blank group id", {"group": "  "}, E.INVALID_REQUEST),
    ("empty instance id", {"instance": ""}, E.INVALID_REQUEST),
    ("empty rack id", {"rack": ""}, E.INVALID_REQUEST),
    ("v1 empty member id, joining", {"member": ""}, E.INVALID_REQUEST),
    ("v1 empty member id, epoch 1", {"member": "", "epoch": 1}, E.INVALID_REQUEST),
    ("v0 empty member id, epoch 1", {"member": "", "epoch": 1, "version": 0}, E.INVALID_REQUEST),
    ("v0 empty member id, leaving", {"member": "", "epoch": -1, "version": 0}, E.INVALID_REQUEST),
    ("v0 empty member id, joining", {"member": "", "version": 0}, E.NONE),
    ("join without rebalance timeout", {"rebalance_ms": -1}, E.INVALID_REQUEST),
    ("join without owned partitions", {"owned": None}, E.INVALID_REQUEST),
    ("join with owned partitions", {"owned": {"t": (0,)}}, E.INVALID_REQUEST),
    ("join without subscription", {"topics": None}, E.INVALID_REQUEST),
    ("join with an empty subscription", {"topics": ()}, E.NONE),
    ("epoch -3", {"epoch": -3}, E.INVALID_REQUEST),
    ("static leave without instance", {"epoch": -2}, E.INVALID_REQUEST),
    ("unknown assignor", {"assignor": "lucky"}, E.UNSUPPORTED_ASSIGNOR),
    ("range", {"assignor": "range"}, E.NONE),
    ("uniform", {"assignor": "uniform"}, E.NONE),
    ("bad pattern", {"topics": None, "regex": "["}, E.INVALID_REGULAR_EXPRESSION),
    ("pattern that RE2 refuses", {"topics": None, "regex": "(?=t)t"}, E.INVALID_REGULAR_EXPRESSION),
    ("unknown group, epoch 1", {"epoch": 1}, E.GROUP_ID_NOT_FOUND),
    ("unknown group, leaving", {"epoch": -1}, E.GROUP_ID_NOT_FOUND),
]


@pytest.mark.parametrize(("name", "how", "wanted"), INVALID, ids=[each[0] for each in INVALID])
def test_heartbeat_refusals_1_18(name: str, how: dict[str, Any], wanted: ErrorCode) -> None:
    world = World()
    full: dict[str, Any] = {"member": "a", "topics": ("t",), "owned": {}, "rebalance_ms": 5000}
    answer = hb(world, **{**full, **how})
    assert error(answer) is wanted, name
    assert (answer.error_message is None) == (wanted is E.NONE)
    if wanted is not E.NONE:
        assert world.records_written() == 0


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ({"member": "stranger", "epoch": 2}, E.UNKNOWN_MEMBER_ID),
        ({"member": "stranger", "epoch": -1}, E.UNKNOWN_MEMBER_ID),
        ({"epoch": 9}, E.FENCED_MEMBER_EPOCH),
        ({"epoch": 2}, E.FENCED_MEMBER_EPOCH),  # the one before last
        ({"epoch": 3}, E.FENCED_MEMBER_EPOCH),  # the one before, without saying what it owns
        (
            {"epoch": 3, "owned": {"t": (0,)}},
            E.NONE,
        ),  # ... with a part of what is assigned: the reply was lost
        ({"epoch": 3, "owned": {"t": (0, 2), "u": (0,)}}, E.FENCED_MEMBER_EPOCH),
        ({"epoch": 4}, E.NONE),
        ({"epoch": 2, "instance": "nobody"}, E.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeat_of_a_group_1_18(how: dict[str, Any], wanted: ErrorCode) -> None:
    world = World()
    enter(world, topics=("t",))
    assert hb(world, epoch=2, topics=("u",), owned={"t": (0, 1, 2)}, rebalance_ms=5000).member_epoch == 2
    assert hb(world, epoch=2, owned={}).member_epoch == 3
    assert hb(world, epoch=3, topics=("t",), owned={}, rebalance_ms=5000).member_epoch == 4
    assert error(hb(world, **how)) is wanted


def test_a_fenced_member_may_join_again_with_epoch_0() -> None:
    world = World()
    enter(world)
    hb(world, epoch=2, topics=("t", "u"), owned={"t": (0, 1, 2)})
    hb(world, epoch=3, topics=("t",), owned={"t": (0, 1, 2), "u": (0, 1)})
    hb(world, epoch=3, owned={"t": (0, 1, 2)})
    answer = enter(world)
    assert (error(answer), told(world, answer)) == (E.NONE, {"t": (0, 1, 2)})


# --- joining and reconciling ---


def test_the_first_member_gets_everything_at_once_1_18() -> None:
    world = World()
    answer = enter(world, topics=("t", "u", "missing"))
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("a", 2, 5000)
    assert told(world, answer) == {"t": (0, 1, 2), "u": (0, 1)}
    again = hb(world, epoch=2)
    assert (again.member_epoch, again.assignment) == (2, None)


def test_v0_members_are_named_by_the_coordinator_1_18() -> None:
    answer = enter(World(), "", version=0)
    assert len(answer.member_id) == 22


def test_a_second_member_gets_what_the_first_gives_up() -> None:
    world = World()
    enter(world)
    second = enter(world, "b")
    assert (second.member_epoch, told(world, second)) == (3, {})
    first = hb(world, epoch=2)  # told to give up, epoch unchanged
    assert first.member_epoch == 2
    assert told(world, first) == {"t": (0, 1)}
    assert told(world, hb(world, "b", 3)) is None
    done = hb(world, epoch=2, owned={"t": (0, 1)})
    assert (done.member_epoch, done.assignment) == (3, None)
    assert told(world, hb(world, "b", 3)) == {"t": (2,)}


def test_a_member_that_says_at_once_what_it_owns_moves_on() -> None:
    world = World()
    enter(world)
    enter(world, "b")
    answer = hb(world, epoch=2, owned={"t": (0, 1)})
    assert (answer.member_epoch, told(world, answer)) == (3, {"t": (0, 1)})


def test_a_member_that_does_not_give_up_in_time_is_put_out() -> None:
    world = World()
    enter(world)
    enter(world, "b")
    hb(world, epoch=2)
    world.loop.advance(4000)
    assert error(hb(world, epoch=2)) is E.NONE
    world.loop.advance(1000)
    assert error(hb(world, epoch=2)) is E.UNKNOWN_MEMBER_ID
    assert told(world, hb(world, "b", 3)) == {"t": (0, 1, 2)}


def test_giving_up_ends_the_rebalance_timeout() -> None:
    world = World()
    enter(world)
    enter(world, "b")
    hb(world, epoch=2)
    hb(world, epoch=2, owned={"t": (0, 1)})
    world.loop.advance(10_000)
    assert error(hb(world, epoch=3)) is E.NONE


def test_a_silent_member_is_put_out_after_the_session_timeout() -> None:
    world = World()
    enter(world)
    enter(world, "b")
    world.loop.advance(44_000)
    hb(world, "b", 3)
    world.loop.advance(1_000)
    assert error(hb(world, epoch=2)) is E.UNKNOWN_MEMBER_ID
    assert told(world, hb(world, "b", 3)) == {"t": (0, 1, 2)}


def test_leaving_frees_the_partitions_1_18() -> None:
    world = World()
    enter(world)
    enter(world, "b")
    answer = hb(world, epoch=-1)
    assert (error(answer), answer.member_id, answer.member_epoch) == (E.NONE, "a", -1)
    assert (answer.heartbeat_interval_ms, answer.assignment) == (0, None)
    moved = hb(world, "b", 3)
    assert (moved.member_epoch, told(world, moved)) == (4, {"t": (0, 1, 2)})


def test_an_idle_heartbeat_writes_nothing() -> None:
    world = World()
    enter(world)
    before = world.records_written()
    for _ in range(3):
        world.loop.advance(5000)
        assert hb(world, epoch=2).member_epoch == 2
    assert hb(world, epoch=2, topics=("t",), owned={"t": (0, 1, 2)}, rebalance_ms=5000).member_epoch == 2
    assert world.records_written() == before


@pytest.mark.parametrize(
    ("how", "full"),
    [
        ({"topics": ("t",), "owned": {"t": (0, 1, 2)}, "rebalance_ms": 5000}, True),
        ({"regex": "", "owned": {"t": (0, 1, 2)}, "rebalance_ms": 5000}, True),
        ({"owned": {"t": (0, 1, 2)}, "rebalance_ms": 5000}, False),
        ({"topics": ("t",), "rebalance_ms": 5000}, False),
        ({"topics": ("t",), "owned": {"t": (0, 1, 2)}}, False),
    ],
)
def test_a_full_request_is_told_its_assignment_again(how: dict[str, Any], full: bool) -> None:
    world = World()
    enter(world)
    assert (told(world, hb(world, epoch=2, **how)) == {"t": (0, 1, 2)}) is full


def test_who_leaves_leaves_nothing_behind() -> None:
    world = World()
    enter(world, topics=None, regex="t")
    enter(world, "b", instance="i")
    hb(world, epoch=-1)
    group = world.shard("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert (sorted(group.members), sorted(group.target), group.regexes) == (["b"], ["b"], {})
    hb(world, "b", -1, instance="i")
    assert (group.members, group.target, group.static_members) == ({}, {}, {})


def test_a_full_group_refuses() -> None:
    world = World(group_consumer_max_size=1)
    enter(world)
    assert error(enter(world, "b")) is E.GROUP_MAX_SIZE_REACHED
    assert error(hb(world, epoch=2)) is E.NONE


def test_a_new_topic_and_more_partitions_are_assigned() -> None:
    world = World()
    enter(world, topics=("t", "later"))
    world.engine.add_topic("later", 1)
    world.groups.topics_changed()
    assert told(world, hb(world, epoch=2)) == {"t": (0, 1, 2), "later": (0,)}
    world.engine.add_topic("later2", 1)  # not subscribed: nothing changes
    world.groups.topics_changed()
    assert hb(world, epoch=3).member_epoch == 3


def test_topics_are_looked_at_again_after_a_second_without_being_told() -> None:
    world = World()
    enter(world, topics=("later",))
    world.engine.add_topic("later", 1)
    world.loop.advance(1000)
    assert told(world, hb(world, epoch=2)) == {"later": (0,)}


def test_a_deleted_topic_is_taken_away() -> None:
    world = World()
    enter(world, topics=("t", "u"))
    world.engine.topics.pop("u")
    world.call(world.groups.topic_deleted("u"))
    answer = hb(world, epoch=2)
    assert told(world, answer) == {"t": (0, 1, 2)}


@pytest.mark.parametrize(("assignor", "first"), [("range", {"t": (0, 1), "u": (0,)}), ("uniform", None)])
def test_the_assignor_of_the_members_is_used(assignor: str, first: Owned | None) -> None:
    world = World()
    enter(world, topics=("t", "u"), assignor=assignor)
    enter(world, "b", topics=("t", "u"), assignor=assignor)
    got = told(world, hb(world, epoch=2))
    assert got is not None
    if first is not None:
        assert got == first
    assert sum(map(len, got.values())) in (2, 3)
    assert described(world).assignor_name == assignor


def test_a_changed_subscription_is_followed() -> None:
    world = World()
    enter(world)
    answer = hb(world, epoch=2, topics=("u",), owned={"t": (0, 1, 2)})
    assert (answer.member_epoch, told(world, answer)) == (2, {})
    done = hb(world, epoch=2, owned={})
    assert (done.member_epoch, told(world, done)) == (3, {"u": (0, 1)})


# --- patterns ---


def test_a_pattern_subscribes_to_what_matches_wholly_and_follows_new_topics() -> None:
    world = World()
    world.engine.add_topic("tt", 1)
    answer = enter(world, topics=None, regex="t+")
    assert told(world, answer) == {"t": (0, 1, 2), "tt": (0,)}
    world.engine.add_topic("ttt", 1)
    world.engine.add_topic("xtx", 1)
    world.groups.topics_changed()
    assert told(world, hb(world, epoch=2)) == {"t": (0, 1, 2), "tt": (0,), "ttt": (0,)}
    world.restart()
    group = world.shard("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert group.is_subscribed_to("ttt")


def test_a_pattern_beside_names_and_its_end() -> None:
    world = World()
    assert told(world, enter(world, topics=("u",), regex="t")) == {"t": (0, 1, 2), "u": (0, 1)}
    answer = hb(world, epoch=2, regex="", owned={"u": (0, 1)})
    assert told(world, answer) == {"u": (0, 1)}
    group = world.shard("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert group.regexes == {}


# --- static members ---


def test_a_static_member_leaves_for_a_while_and_comes_back_1_18() -> None:
    world = World()
    enter(world, instance="i")
    enter(world, "b")
    hb(world, epoch=2, instance="i", owned={"t": (0, 1)})
    hb(world, "b", 3)
    away = hb(world, epoch=-2, instance="i")
    assert (error(away), away.member_epoch) == (E.NONE, -2)
    assert told(world, hb(world, "b", 3)) is None  # its partitions wait for it
    back = enter(world, "a2", instance="i")
    assert (back.member_id, back.member_epoch, told(world, back)) == ("a2", 3, {"t": (0, 1)})
    assert error(hb(world, epoch=3, instance="i")) is E.FENCED_INSTANCE_ID
    assert error(hb(world, "a2", 2, instance="i")) is E.FENCED_MEMBER_EPOCH
    assert sorted(each.member_id for each in described(world).members) == ["a2", "b"]


def test_a_static_member_that_stays_away_is_put_out() -> None:
    world = World()
    enter(world, instance="i")
    hb(world, epoch=-2, instance="i")
    enter(world, "b")
    world.loop.advance(44_000)
    hb(world, "b", 3)
    world.loop.advance(1_000)
    assert told(world, hb(world, "b", 3)) == {"t": (0, 1, 2)}


def test_an_instance_in_use_is_not_released_1_18() -> None:
    world = World()
    enter(world, instance="i")
    assert error(enter(world, "b", instance="i")) is E.UNRELEASED_INSTANCE_ID
    assert error(enter(world, instance="i")) is E.UNRELEASED_INSTANCE_ID  # the same process, as Kafka does
    assert error(hb(world, "b", 2, instance="i")) is E.FENCED_INSTANCE_ID
    assert error(hb(world, "b", -1, instance="i")) is E.FENCED_INSTANCE_ID
    assert error(hb(world, epoch=-1, instance="i")) is E.NONE
    assert error(enter(world, "b", instance="i")) is E.NONE


def test_a_member_that_takes_another_instance_id_gives_the_first_back() -> None:
    world = World()
    enter(world, instance="i")
    assert error(enter(world, instance="j")) is E.NONE
    assert error(hb(world, epoch=-1, instance="j")) is E.NONE
    assert error(hb(world, "b", -1, instance="i")) is E.UNKNOWN_MEMBER_ID


# --- offsets ---


def test_v107_commits_of_a_kip_848_member() -> None:
    world = World()
    enter(world)
    hb(world, epoch=2, topics=("u",), owned={"t": (0, 1, 2)})
    hb(world, epoch=2, owned={})
    hb(world, epoch=3, topics=("t",), owned={})  # t is assigned anew, in epoch 3
    assert commit(world, member="a", generation=4) is E.NONE
    assert txn_commit(world, member="a", generation=4) == [E.NONE]
    for older in (0, 1, 2, 9):
        assert txn_commit(world, member="a", generation=older) == [E.ILLEGAL_GENERATION]
        assert commit(world, member="a", generation=older) is E.STALE_MEMBER_EPOCH
    assert commit(world, member="a", generation=9, version=9) is E.STALE_MEMBER_EPOCH
    assert commit(world, member="a", generation=4, version=8) is E.UNSUPPORTED_VERSION
    assert commit(world, member="stranger", generation=4) is E.UNKNOWN_MEMBER_ID
    assert commit(world) is E.UNKNOWN_MEMBER_ID
    assert txn_commit(world) == [E.NONE]


def test_an_older_epoch_may_commit_what_it_still_holds_1_16() -> None:
    world = World()
    enter(world)
    enter(world, "b")
    hb(world, epoch=2, owned={"t": (0, 1)})
    assert commit(world, member="a", generation=2) is E.NONE  # t-0 is held since epoch 1
    assert commit(world, member="a", generation=2, partition=2) is E.STALE_MEMBER_EPOCH  # given up
    assert commit(world, member="a", generation=0) is E.STALE_MEMBER_EPOCH
    world.restart()
    assert commit(world, member="a", generation=2) is E.NONE
    assert commit(world, member="a", generation=0) is E.STALE_MEMBER_EPOCH


def test_fetch_checks_member_and_epoch_1_16() -> None:
    world = World()
    enter(world)
    assert fetch(world) == (E.NONE, -1)
    assert fetch(world, member="a", epoch=2) == (E.NONE, -1)
    assert fetch(world, member="a", epoch=0) == (E.STALE_MEMBER_EPOCH, -2)
    assert fetch(world, member="stranger", epoch=2) == (E.UNKNOWN_MEMBER_ID, -2)
    assert fetch(world, member=None, epoch=0) == (E.UNKNOWN_MEMBER_ID, -2)
    assert fetch(world, member="a", epoch=-1) == (E.STALE_MEMBER_EPOCH, -2)


def test_offset_delete_spares_subscribed_topics() -> None:
    world = World()
    enter(world)
    commit(world, member="a", generation=2)
    assert delete(world, 0) == [E.GROUP_SUBSCRIBED_TO_TOPIC]
    assert delete(world, 0, topic="u") == [E.NONE]


# --- the two kinds of groups ---


def test_a_classic_group_with_members_is_no_consumer_group() -> None:
    world = World()
    stable(world)
    assert error(enter(world)) is E.GROUP_ID_NOT_FOUND
    assert error(hb(world, epoch=2)) is E.GROUP_ID_NOT_FOUND


def test_an_empty_classic_group_gives_way_and_keeps_its_offsets() -> None:
    world = World()
    (member,) = stable(world)
    commit(world, 5, generation=1, member=member)
    leave(world, (member, None))
    assert error(enter(world)) is E.NONE
    world.restart()
    assert fetch(world) == (E.NONE, 5)
    assert described(world).group_state == "Stable"


def test_a_kip_848_group_with_members_takes_no_classic_ones() -> None:
    world = World()
    enter(world, instance="i")
    assert error(world.call(join(world))) is E.INCONSISTENT_GROUP_PROTOCOL
    assert error(world.call(sync(world, "a", 1))) is E.UNKNOWN_MEMBER_ID
    assert beat(world, "a", 1) is E.UNKNOWN_MEMBER_ID
    assert beat(world, "b", 1, instance="i") is E.FENCED_INSTANCE_ID
    assert beat(world, "b", 1, instance="nobody") is E.UNKNOWN_MEMBER_ID


def test_leave_group_puts_members_of_a_kip_848_group_out() -> None:
    world = World()
    enter(world)
    enter(world, "b", instance="i")
    enter(world, "c")
    answer = leave(world, ("a", None), ("z", None), ("z", "i"), ("", "nobody"), ("", "i"))
    assert [each.error_code for each in answer.members] == [0, 25, 82, 25, 0]
    group = described(world)
    assert [each.member_id for each in group.members] == ["c"]
    assert group.group_epoch == 5  # 2, 3 and 4 with each that joined, 5 for both that left
    assert leave(world, ("c", None), version=2).error_code == E.NONE
    assert leave(world, ("c", None), version=2).error_code == E.UNKNOWN_MEMBER_ID
    world.loop.advance(60_000)
    assert described(world).group_epoch == 6


def test_who_wants_nothing_changes_nothing() -> None:
    world = World()
    answer = enter(world, topics=())
    assert (answer.member_epoch, told(world, answer)) == (1, {})
    assert enter(world, "b").member_epoch == 2
    assert enter(world, "c", topics=()).member_epoch == 2
    assert described(world).group_epoch == 2


def test_an_empty_kip_848_group_gives_way_to_a_classic_one() -> None:
    world = World()
    enter(world)
    hb(world, epoch=-1)
    commit(world, 5)
    task = world.begin(join(world, version=3))
    world.loop.advance(FORMED_MS)
    assert error(task.result()) is E.NONE
    world.restart()
    listed = world.ask(list_groups, ListGroupsRequest(), 5).groups
    assert [(each.group_id, each.group_type) for each in listed] == [("g", "classic")]
    assert fetch(world) == (E.NONE, 5)


# --- describe, list, delete ---


def described(world: World, group: str = "g", version: int = 1) -> Any:
    request = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    return world.ask(consumer_group_describe, request, version).groups[0]


def test_describe_tells_present_and_target_assignment() -> None:
    world = World()
    enter(world, rack="r")
    enter(world, "b")
    group = described(world)
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    assert (group.assignor_name, group.authorized_operations) == ("uniform", 3400)
    first = group.members[0]
    assert (first.member_id, first.member_epoch, first.rack_id, first.member_type) == ("a", 2, "r", 1)
    assert (first.client_id, first.client_host, first.subscribed_topic_names) == ("c", "/127.0.0.1", ["t"])
    names = [(each.topic_name, each.partitions) for each in first.assignment.topic_partitions]
    assert names == [("t", [0, 1, 2])]
    assert [each.partitions for each in first.target_assignment.topic_partitions] == [[0, 1]]
    hb(world, epoch=2, owned={"t": (0, 1)})
    hb(world, "b", 3)
    assert described(world).group_state == "Stable"


def test_describe_of_what_is_not_there() -> None:
    world = World()
    stable(world, group="classic")
    assert error(described(world, "unknown")) is E.GROUP_ID_NOT_FOUND
    assert described(world, "classic").error_message == "Group classic is not a consumer group."
    assert error(described(world, "")) is E.INVALID_GROUP_ID


def test_a_kip_848_group_is_no_classic_group_to_describe_groups() -> None:
    world = World()
    enter(world)
    group = world.ask(describe_groups, DescribeGroupsRequest(groups=["g"]), 6).groups[0]
    assert (error(group), group.group_state) == (E.GROUP_ID_NOT_FOUND, "Dead")
    assert group.error_message == "Group g is not a classic group."


def test_list_and_delete() -> None:
    world = World()
    enter(world)
    commit(world, member="a", generation=2)
    listed = world.ask(list_groups, ListGroupsRequest(types_filter=["CONSUMER"]), 5).groups
    assert [(each.protocol_type, each.group_state) for each in listed] == [("consumer", "Stable")]
    request = DeleteGroupsRequest(groups_names=["g"])
    assert world.ask(delete_groups, request, 2).results[0].error_code == E.NON_EMPTY_GROUP
    hb(world, epoch=-1)
    assert world.ask(delete_groups, request, 2).results[0].error_code == E.NONE
    world.restart()
    assert world.shard("g").groups == {}
    assert world.shard("g").offsets == {}


def test_members_go_on_after_a_restart() -> None:
    world = World()
    enter(world)
    enter(world, "b")
    hb(world, epoch=2)
    before = world.shard("g")
    world.restart()
    assert world.shard("g") == before
    assert hb(world, epoch=2).member_epoch == 2
    world.loop.advance(5000)  # the time to give up began again with the load
    assert error(hb(world, epoch=2)) is E.UNKNOWN_MEMBER_ID
