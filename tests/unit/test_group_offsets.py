"""Committed offsets, every row of spec 1.16 and the group's side of 1.10, asked through the handlers."""

from typing import Any

import pytest

from oncelog.broker.handlers import delete_groups, offset_commit, offset_delete, offset_fetch
from oncelog.errors import ErrorCode
from oncelog.group.offsets import Committed, GroupOffsets
from oncelog.group.shard import OffsetCommit, OffsetToCommit
from oncelog.model import NO_TOPIC_ID, Producer, ProducerEpoch, ProducerId
from oncelog.protocol.messages.delete_groups import DeleteGroupsRequest
from oncelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from oncelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from oncelog.record.batch import read_header
from tests.unit.group_world import World
from tests.unit.test_group_classic import (
    FORMED_MS,
    described,
    join,
    leave,
    listed,
    new_id,
    stable,
    subscription,
    sync,
)

E = ErrorCode
DAY_MS = 86_400_000
P7 = Producer(ProducerId(7), ProducerEpoch(0))
P0 = Producer(ProducerId(0), ProducerEpoch(3))  # producer id 0 is a real one (TRAP-13)


def commit(
    world: World,
    offset: int = 5,
    *,
    group: str = "g",
    topic: str = "t",
    partition: int = 0,
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    metadata: str | None = "",
    leader_epoch: int = -1,
    retention_ms: int = -1,
    version: int = 9,
) -> ErrorCode:
    """One partition; the topic's id is sent where the version wants it."""
    known = world.engine.topics.get(topic)
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        retention_time_ms=retention_ms,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=bytes(15) + b"\xff" if known is None else known.id,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        committed_leader_epoch=leader_epoch,
                        committed_metadata=metadata,
                    )
                ],
            )
        ],
    )
    answer = world.ask(offset_commit, request, version)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def fetch(
    world: World,
    *,
    group: str = "g",
    topic: str = "t",
    partition: int = 0,
    stable_only: bool = False,
    member: str | None = None,
    epoch: int = -1,
    version: int = 9,
) -> tuple[ErrorCode, int]:
    """(error, offset) of one partition, or (group error, -2)."""
    known = world.engine.topics.get(topic)
    topic_id = bytes(15) + b"\xff" if known is None else known.id
    request = OffsetFetchRequest(
        group_id=group,
        topics=[OffsetFetchRequestTopic(name=topic, partition_indexes=[partition])],
        groups=[
            OffsetFetchRequestGroup(
                group_id=group,
                member_id=member,
                member_epoch=epoch,
                topics=[
                    OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=[partition])
                ],
            )
        ],
        require_stable=stable_only,
    )
    answer = world.ask(offset_fetch, request, version)
    if version >= 8:
        answer = answer.groups[0]
    if answer.error_code:
        return ErrorCode(answer.error_code), -2
    found = answer.topics[0].partitions[0]
    return ErrorCode(found.error_code), found.committed_offset


def fetch_all(world: World, group: str = "g", version: int = 9) -> dict[tuple[str, int], int]:
    request = OffsetFetchRequest(
        group_id=group, topics=None, groups=[OffsetFetchRequestGroup(group_id=group, topics=None)]
    )
    answer = world.ask(offset_fetch, request, version)
    topics = answer.groups[0].topics if version >= 8 else answer.topics
    if version >= 10:
        names = {topic.id: topic.name for topic in world.engine.topics.values()}
        return {
            (names[t.topic_id], p.partition_index): p.committed_offset for t in topics for p in t.partitions
        }
    return {(t.name, p.partition_index): p.committed_offset for t in topics for p in t.partitions}


def txn_commit(
    world: World,
    offset: int = 5,
    producer: Producer = P7,
    *,
    group: str = "g",
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    metadata: tuple[str, ...] = ("",),
) -> list[ErrorCode]:
    """What the handler of TxnOffsetCommit asks for when the transaction is fine: partitions 0, 1, ... of t."""
    topic = world.engine.topics["t"]
    request = OffsetCommit(
        group_id=group,
        member_id=member,
        instance_id=instance,
        generation=generation,
        offsets=tuple(
            OffsetToCommit("t", index, topic.id, offset, -1, text) for index, text in enumerate(metadata)
        ),
        version=3,
        transactional=True,
    )
    decision = world.call(world.groups.commit_offsets(request, producer))
    return [decision.error] * len(metadata) if decision.error else decision.answers


def mark(world: World, *, commit: bool, producer: Producer = P7, group: str = "g") -> ErrorCode:
    return world.call(
        world.groups.write_marker(
            world.groups.partition_of(group),
            producer=producer,
            coordinator_epoch=0,
            commit=commit,
            transaction_version=2,
        )
    )


# --- OffsetCommit ---

COMMITS: list[tuple[str, dict[str, Any], ErrorCode]] = [
    ("v10 unknown topic id", {"topic": "nope", "version": 10}, E.UNKNOWN_TOPIC_ID),
    ("unknown topic", {"topic": "nope"}, E.UNKNOWN_TOPIC_OR_PARTITION),
    ("unknown partition", {"partition": 3}, E.UNKNOWN_TOPIC_OR_PARTITION),
    ("negative partition", {"partition": -1}, E.UNKNOWN_TOPIC_OR_PARTITION),
    (
        "topic before group",
        {"topic": "nope", "group": "unknown", "generation": 1},
        E.UNKNOWN_TOPIC_OR_PARTITION,
    ),
    ("unknown group without generation", {"group": "new"}, E.NONE),
    ("empty group id", {"group": ""}, E.NONE),
    ("V109 v8", {"group": "new", "generation": 1, "version": 8}, E.ILLEGAL_GENERATION),
    ("V109 v9", {"group": "new", "generation": 1, "version": 9}, E.GROUP_ID_NOT_FOUND),
    ("V109 v10", {"group": "new", "generation": 1, "version": 10}, E.GROUP_ID_NOT_FOUND),
    ("v2 to new group", {"group": "new", "version": 2}, E.NONE),
    ("no member on a group with members", {}, E.UNKNOWN_MEMBER_ID),
    ("unknown member", {"member": "stranger", "generation": 1}, E.UNKNOWN_MEMBER_ID),
    ("unknown instance", {"member": "*", "instance": "nobody", "generation": 1}, E.UNKNOWN_MEMBER_ID),
    ("wrong generation", {"member": "*", "generation": 2}, E.ILLEGAL_GENERATION),
    ("generation without member", {"generation": 1}, E.UNKNOWN_MEMBER_ID),
    ("generation 0 of an older client", {"member": "*", "generation": 0}, E.ILLEGAL_GENERATION),
    ("right", {"member": "*", "generation": 1}, E.NONE),
    ("metadata of 4096", {"group": "new", "metadata": "x" * 4096}, E.NONE),
    ("metadata of 4097", {"group": "new", "metadata": "x" * 4097}, E.OFFSET_METADATA_TOO_LARGE),
    (
        "metadata in UTF-16 units",
        {"group": "new", "metadata": "\U0001f600" * 2049},
        E.OFFSET_METADATA_TOO_LARGE,
    ),
    ("null metadata", {"group": "new", "metadata": None}, E.NONE),
]


@pytest.mark.parametrize(("name", "how", "error"), COMMITS, ids=[each[0] for each in COMMITS])
def test_commit_row_by_row_1_16(name: str, how: dict[str, Any], error: ErrorCode) -> None:
    world = World()
    (member,) = stable(world)
    asked: dict[str, Any] = {key: member if value == "*" else value for key, value in how.items()}
    assert commit(world, **asked) is error, name


def test_commit_generation_minus_1_on_an_empty_group_takes_any_member_1_16() -> None:
    world = World()
    (member,) = stable(world)
    leave(world, (member, None))
    assert commit(world, member="whoever") is E.NONE
    assert commit(world, generation=1, member=member) is E.UNKNOWN_MEMBER_ID


def test_commit_while_the_group_completes_1_16() -> None:
    world = World()
    member = new_id(world)
    world.begin(join(world, member=member))
    world.loop.advance(FORMED_MS)
    assert commit(world, generation=1, member=member) is E.REBALANCE_IN_PROGRESS


def test_commit_while_the_group_prepares_is_fine_1_16() -> None:
    world = World()
    leader, follower = stable(world, 2)
    world.begin(join(world, member=leader))
    assert commit(world, generation=1, member=follower) is E.NONE


def test_commit_of_a_fenced_instance_1_16() -> None:
    world = World()
    task = world.begin(join(world, instance="i"))
    world.loop.advance(FORMED_MS)
    old = task.result().member_id
    world.call(sync(world, old, 1, instance="i"))
    world.call(join(world, instance="i"))
    assert commit(world, generation=1, member=old, instance="i") is E.FENCED_INSTANCE_ID


def test_commit_keeps_the_session_alive() -> None:
    world = World()
    (member,) = stable(world)
    for _ in range(4):
        world.loop.advance(9_000)
        assert commit(world, generation=1, member=member) is E.NONE


def test_commit_answers_each_partition_for_itself_b10() -> None:
    world = World()
    request = OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=p, committed_offset=9, committed_metadata=m)
                    for p, m in ((0, "fine"), (1, "x" * 5000), (7, ""))
                ],
            )
            for topic in ("t", "nope")
        ],
    )
    answer = world.ask(offset_commit, request, 9)
    told = {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions}
    assert told == {
        ("t", 0): 0,
        ("t", 1): 12,
        ("t", 7): 3,
        ("nope", 0): 3,
        ("nope", 1): 3,
        ("nope", 7): 3,
    }
    assert fetch_all(world) == {("t", 0): 9}


def test_commit_answers_when_it_is_durable_and_not_before() -> None:
    world = World()
    world.log("g").held = True
    topic = world.engine.topics["t"]
    request = OffsetCommit("g", "", None, -1, (OffsetToCommit("t", 0, topic.id, 4, -1, ""),), 9)
    waits = world.begin(world.groups.commit_offsets(request))
    reads = world.begin(
        world.groups.fetch_offsets(
            "g", member_id=None, member_epoch=-1, partitions=[("t", NO_TOPIC_ID, 0)], require_stable=False
        )
    )
    assert not waits.done()
    assert not reads.done()
    world.log("g").sync()
    world.loop.run()
    assert waits.result().answers == [E.NONE]
    found = reads.result()
    assert not isinstance(found, ErrorCode)
    assert found[0].value is not None


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
        (E.INVALID_PRODUCER_EPOCH, E.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_refused_append_changes_nothing(refusal: ErrorCode, error: ErrorCode) -> None:
    world = World()
    world.log("g").refuse = refusal
    assert commit(world) is error
    assert world.shard("g").groups == {}
    assert world.shard("g").offsets == {}


def test_before_the_topic_is_there_nobody_coordinates() -> None:
    world = World()
    world.engine.topics.pop("__consumer_offsets")
    world.restart()
    assert commit(world) is E.NOT_COORDINATOR
    assert fetch(world) == (E.NOT_COORDINATOR, -2)
    assert listed(world) == []


# --- OffsetFetch ---


@pytest.mark.parametrize("version", range(1, 11))
def test_fetch_in_every_version_1_16(version: int) -> None:
    world = World()
    assert fetch(world, version=version) == (E.NONE, -1)
    commit(world, 8)
    assert fetch(world, version=version) == (E.NONE, 8)
    assert fetch(world, partition=1, version=version) == (E.NONE, -1)
    assert fetch(world, group="unknown", version=version) == (E.NONE, -1)


def test_fetch_tells_leader_epoch_and_metadata_1_16() -> None:
    world = World()
    commit(world, 8, leader_epoch=4, metadata="note")
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0, 1])]
            )
        ]
    )
    there, missing = world.ask(offset_fetch, request, 9).groups[0].topics[0].partitions
    assert (there.committed_offset, there.committed_leader_epoch, there.metadata) == (8, 4, "note")
    assert (missing.committed_offset, missing.committed_leader_epoch, missing.metadata) == (-1, -1, "")


@pytest.mark.parametrize("version", [2, 7, 8, 9, 10])
def test_fetch_of_all_lists_only_what_is_committed_1_16(version: int) -> None:
    world = World()
    assert fetch_all(world, version=version) == {}
    commit(world, 1)
    commit(world, 2, topic="u", partition=1)
    txn_commit(world, 9, metadata=("", "", ""))
    assert fetch_all(world, version=version) == {("t", 0): 1, ("u", 1): 2}


@pytest.mark.parametrize("version", [1, 5, 8])
def test_fetch_of_a_topic_without_partitions_tells_the_topic(version: int) -> None:
    request = OffsetFetchRequest(
        group_id="g",
        topics=[OffsetFetchRequestTopic(name="t")],
        groups=[OffsetFetchRequestGroup(group_id="g", topics=[OffsetFetchRequestTopics(name="t")])],
    )
    answer = World().ask(offset_fetch, request, version)
    topics = answer.groups[0].topics if version >= 8 else answer.topics
    assert [(each.name, each.partitions) for each in topics] == [("t", [])]


def test_fetch_of_many_groups_v8_1_16() -> None:
    world = World()
    commit(world, 1, group="a")
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group, topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
            )
            for group in ("a", "b")
        ]
    )
    groups = world.ask(offset_fetch, request, 8).groups
    assert [(each.group_id, each.topics[0].partitions[0].committed_offset) for each in groups] == [
        ("a", 1),
        ("b", -1),
    ]


def test_fetch_by_an_unknown_topic_id_1_16() -> None:
    assert fetch(World(), topic="nope", version=10) == (E.UNKNOWN_TOPIC_ID, -1)


def test_offsets_of_an_earlier_topic_of_the_same_name_are_not_told() -> None:
    world = World()
    commit(world, 8)
    world.engine.add_topic("t", 3)
    assert fetch(world, version=10) == (E.NONE, -1)
    commit(world, 2)
    assert fetch(world, version=10) == (E.NONE, 2)


@pytest.mark.parametrize(("version", "error"), [(1, (E.NOT_COORDINATOR, -1)), (2, (E.NOT_COORDINATOR, -2))])
def test_fetch_errors_of_old_versions(version: int, error: tuple[ErrorCode, int]) -> None:
    world = World()
    world.engine.topics.pop("__consumer_offsets")
    world.restart()
    assert fetch(world, version=version) == error


# --- pending offsets ---


def test_v103_pending_only() -> None:
    world = World()
    assert txn_commit(world, 5) == [E.NONE]
    assert fetch(world, stable_only=True) == (E.UNSTABLE_OFFSET_COMMIT, -1)
    assert fetch(world) == (E.NONE, -1)


def test_v103_another_partition_is_not_held_up() -> None:
    world = World()
    txn_commit(world, 5)
    commit(world, 3, partition=1)
    assert fetch(world, partition=1, stable_only=True) == (E.NONE, 3)


def test_v104_trap_32_plain_commit_beside_a_pending_one() -> None:
    world = World()
    txn_commit(world, 5)
    commit(world, 3)
    assert fetch(world, stable_only=True) == (E.UNSTABLE_OFFSET_COMMIT, -1)
    assert fetch(world) == (E.NONE, 3)


def test_v105_trap_33_the_later_record_wins() -> None:
    world = World()
    txn_commit(world, 5)
    commit(world, 3)
    assert mark(world, commit=True) is E.NONE
    assert fetch(world, stable_only=True) == (E.NONE, 3)
    txn_commit(world, 9)
    mark(world, commit=True)
    assert fetch(world, stable_only=True) == (E.NONE, 9)


def test_abort_drops_what_was_pending() -> None:
    world = World()
    commit(world, 3)
    txn_commit(world, 5)
    mark(world, commit=False)
    assert fetch(world, stable_only=True) == (E.NONE, 3)
    world.restart()
    assert fetch(world, stable_only=True) == (E.NONE, 3)


def test_two_producers_may_hold_the_same_partition_4_8() -> None:
    world = World()
    txn_commit(world, 5, P7)
    txn_commit(world, 6, P0)
    mark(world, commit=True, producer=P7)
    assert fetch(world, stable_only=True) == (E.UNSTABLE_OFFSET_COMMIT, -1)
    mark(world, commit=False, producer=P0)
    assert fetch(world, stable_only=True) == (E.NONE, 5)


def test_a_marker_of_an_unknown_producer_means_nothing_4_8() -> None:
    world = World()
    commit(world, 3)
    assert mark(world, commit=True, producer=P0) is E.NONE
    assert fetch(world, stable_only=True) == (E.NONE, 3)


def test_b13_the_marker_is_answered_after_the_offsets_are_visible_and_durable() -> None:
    world = World()
    txn_commit(world, 5)
    world.log("g").held = True
    waits = world.begin(
        world.groups.write_marker(
            world.groups.partition_of("g"),
            producer=P7,
            coordinator_epoch=0,
            commit=True,
            transaction_version=1,
        )
    )
    assert not waits.done()
    found = world.shard("g").offsets["g"].find("t", 0)
    assert found is not None
    world.log("g").sync()
    world.loop.run()
    assert waits.result() is E.NONE
    assert fetch(world, stable_only=True) == (E.NONE, 5)


def test_b10_a_commit_too_large_leaves_nothing_pending() -> None:
    world = World()
    assert txn_commit(world, metadata=("x" * 5000, "")) == [E.OFFSET_METADATA_TOO_LARGE, E.NONE]
    assert fetch(world, stable_only=True) == (E.NONE, -1)
    assert fetch(world, partition=1, stable_only=True) == (E.UNSTABLE_OFFSET_COMMIT, -1)
    mark(world, commit=True)
    assert fetch(world, partition=1, stable_only=True) == (E.NONE, 5)


def test_fmt_4_the_batches_are_kafkas() -> None:
    world = World()
    commit(world)
    txn_commit(world, producer=P0)
    plain, transactional = (read_header(each) for each in world.log("g").batches)
    assert (plain.attributes, plain.producer_id, plain.producer_epoch, plain.base_sequence) == (0, -1, -1, 0)
    assert (transactional.attributes, transactional.producer_id) == (0x10, 0)
    assert (transactional.producer_epoch, transactional.base_sequence) == (3, 0)


def test_v102_txn_commit_to_an_empty_or_unknown_group() -> None:
    world = World()
    (member,) = stable(world)
    leave(world, (member, None))
    assert txn_commit(world, generation=3, member="m") == [E.UNKNOWN_MEMBER_ID]
    assert txn_commit(world, generation=0) == [E.UNKNOWN_MEMBER_ID]
    assert txn_commit(world, generation=-1, member="m") == [E.NONE]
    assert txn_commit(world, group="unknown", generation=3) == [E.ILLEGAL_GENERATION]


def test_v106_trap_34_txn_commit_to_a_stable_group() -> None:
    world = World()
    (member,) = stable(world)
    assert txn_commit(world, generation=1, member=member) == [E.NONE]
    assert txn_commit(world, generation=0, member=member) == [E.ILLEGAL_GENERATION]
    assert txn_commit(world, generation=1, member="stranger") == [E.UNKNOWN_MEMBER_ID]
    assert txn_commit(world) == [E.NONE]
    world.begin(join(world, version=3))
    assert txn_commit(world, generation=1, member=member) == [E.NONE]  # the rebalance does not matter


def test_v108_delete_group_drops_pending_offsets() -> None:
    world = World()
    txn_commit(world, 5)
    request = DeleteGroupsRequest(groups_names=["g"])
    assert world.ask(delete_groups, request, 2).results[0].error_code == E.NONE
    mark(world, commit=True)
    assert fetch(world, stable_only=True) == (E.NONE, -1)
    assert listed(world) == []
    world.restart()
    assert fetch(world, stable_only=True) == (E.NONE, -1)
    assert listed(world) == []


def test_pending_offsets_are_pending_after_a_restart_5_3() -> None:
    world = World()
    txn_commit(world, 5)
    world.restart()
    assert fetch(world, stable_only=True) == (E.UNSTABLE_OFFSET_COMMIT, -1)
    mark(world, commit=True)
    world.restart()
    assert fetch(world, stable_only=True) == (E.NONE, 5)


# --- OffsetDelete ---


def delete(world: World, *partitions: int, group: str = "g", topic: str = "t") -> Any:
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=p) for p in partitions]
            )
        ],
    )
    answer = world.ask(offset_delete, request, 0)
    if answer.error_code:
        return ErrorCode(answer.error_code)
    return [ErrorCode(each.error_code) for each in answer.topics[0].partitions]


def test_delete_row_by_row_1_16() -> None:
    world = World()
    assert delete(world, 0, group="unknown") is E.GROUP_ID_NOT_FOUND
    assert delete(world, 0, group="unknown", topic="nope") is E.GROUP_ID_NOT_FOUND
    assert delete(world, 0, group="") is E.INVALID_GROUP_ID
    commit(world, 5)
    assert delete(world, 0, 1, 7) == [E.NONE, E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION]
    assert delete(world, 0, topic="nope") == [E.UNKNOWN_TOPIC_OR_PARTITION]
    assert fetch(world) == (E.NONE, -1)
    assert world.shard("g").offsets == {}


def test_delete_from_a_group_with_members_1_16() -> None:
    world = World()
    (member,) = stable(world, metadata=subscription("t"))
    commit(world, 5, generation=1, member=member)
    commit(world, 6, topic="u", generation=1, member=member)
    assert delete(world, 0) == [E.GROUP_SUBSCRIBED_TO_TOPIC]
    assert delete(world, 0, topic="u") == [E.NONE]
    assert fetch_all(world) == {("t", 0): 5}


def test_delete_from_a_group_of_another_protocol_1_16() -> None:
    world = World()
    ids = [new_id(world, protocol_type="connect")]
    world.begin(join(world, member=ids[0], protocol_type="connect"))
    assert delete(world, 0) is E.NON_EMPTY_GROUP


def test_delete_takes_pending_offsets_too() -> None:
    world = World()
    txn_commit(world, 5)
    assert delete(world, 0) == [E.NONE]
    mark(world, commit=True)
    assert fetch(world) == (E.NONE, -1)


# --- retention and deleted topics ---


def test_offsets_of_a_simple_group_expire_after_their_retention() -> None:
    world = World()
    commit(world, 5)
    world.loop.advance(6 * DAY_MS)
    commit(world, 6, partition=1)
    world.loop.advance(DAY_MS)
    assert fetch_all(world) == {("t", 1): 6}
    world.loop.advance(6 * DAY_MS)
    assert listed(world) == []
    world.restart()
    assert listed(world) == []


def test_offsets_of_a_group_with_members_do_not_expire_until_it_is_empty() -> None:
    world = World(group_max_session_timeout_ms=2_000_000_000)
    (member,) = stable(world, session_ms=2_000_000_000)
    commit(world, 5, generation=1, member=member)
    world.loop.advance(8 * DAY_MS)
    assert fetch_all(world) == {("t", 0): 5}
    leave(world, (member, None))
    world.loop.advance(6 * DAY_MS)
    assert fetch_all(world) == {("t", 0): 5}
    world.loop.advance(DAY_MS + 600_000)
    assert fetch_all(world) == {}
    assert described(world).group_state == "Dead"


def test_offsets_of_topics_no_longer_subscribed_expire() -> None:
    world = World(group_max_session_timeout_ms=2_000_000_000)
    (member,) = stable(world, session_ms=2_000_000_000)
    commit(world, 5, generation=1, member=member)
    commit(world, 6, topic="u", generation=1, member=member)
    world.loop.advance(8 * DAY_MS)
    assert fetch_all(world) == {("t", 0): 5}


def test_r10_an_offset_with_a_pending_value_does_not_expire() -> None:
    world = World()
    commit(world, 5)
    txn_commit(world, 6)
    world.loop.advance(8 * DAY_MS)
    assert fetch(world) == (E.NONE, 5)
    mark(world, commit=True)
    assert fetch(world, stable_only=True) == (E.NONE, 6)


def test_a_group_with_only_pending_values_is_not_removed() -> None:
    world = World()
    txn_commit(world, 6)
    world.loop.advance(8 * DAY_MS)
    assert listed(world) == ["g"]


def test_a_commit_with_its_own_retention_v4_expires_by_it() -> None:
    world = World()
    commit(world, 5, version=4, retention_ms=3_600_000, leader_epoch=3)
    world.loop.advance(3_000_000)
    assert fetch(world) == (E.NONE, 5)
    before = world.shard("g").offsets
    world.restart()
    assert world.shard("g").offsets == before
    world.loop.advance(1_200_000)
    assert fetch(world) == (E.NONE, -1)


def test_a_deleted_topic_takes_its_offsets_with_it() -> None:
    world = World()
    commit(world, 5)
    commit(world, 6, topic="u")
    txn_commit(world, 7, group="h")
    world.engine.topics.pop("t")
    world.call(world.groups.topic_deleted("t"))
    mark(world, commit=True, group="h")
    world.restart()
    assert fetch_all(world) == {("u", 0): 6}
    assert fetch_all(world, "h") == {}


# --- the pure value ---


def test_the_pure_offsets_end_where_they_began() -> None:
    offsets = GroupOffsets()
    offsets.stage(7, "t", 0, Committed(1, -1, "", 0, record_offset=4))
    offsets.commit("t", 0, Committed(2, -1, "", 0, record_offset=5))
    assert list(offsets.partitions()) == [("t", 0)]
    offsets.remove("t", 0)
    assert offsets.is_empty
    offsets.end_transaction(7, commit=True)
    assert offsets.is_empty
