"""The coordinator around the rules: its topic, loading, failed writes, timers."""

from dataclasses import replace
from typing import Any

import pytest

from oncelog.broker.handlers import consumer_group_heartbeat
from oncelog.errors import ErrorCode, StorageFault
from oncelog.group.consumer import ConsumerGroup
from oncelog.model import CONSUMER_OFFSETS, Acks, Origin
from oncelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from oncelog.record.batch import NewRecord, build_batch
from oncelog.record.offsets import OffsetCommitKey, OffsetCommitValue, encode_key, encode_value
from tests.unit.group_world import World
from tests.unit.test_group_classic import (
    FORMED_MS,
    beat,
    deleted,
    described,
    error_of,
    join,
    listed,
    new_id,
    stable,
    sync,
)
from tests.unit.test_group_consumer import enter, hb, told
from tests.unit.test_group_offsets import P7, commit, delete, fetch, fetch_all, mark, txn_commit

E = ErrorCode


def test_the_topic_is_made_once_and_as_kafka_makes_it() -> None:
    world = World(offsets_partitions=7)
    world.engine.topics.pop(CONSUMER_OFFSETS)
    world.restart()
    first, second = (world.begin(world.groups.ensure_topic()) for _ in range(2))
    assert first.result() is second.result()
    topic = world.engine.topics[CONSUMER_OFFSETS]
    assert len(topic.partitions) == 7
    assert topic.configs == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    assert commit(world) is E.NONE


def test_groups_are_spread_over_the_partitions_trap_12() -> None:
    world = World(offsets_partitions=50)
    assert world.groups.partition_of("t1") == 45
    assert world.groups.partition_of("refunds-1") == 39
    commit(world, group="t1")
    assert [log.log_end_offset for log in world.engine.logs()].index(1) == 45


def test_while_a_partition_is_loaded_its_groups_are_not_there() -> None:
    world = World(offsets_partitions=1)
    (member,) = stable(world)
    commit(world, 5, generation=1, member=member)
    log = world.log("g")
    log.high_watermark, above = 0, log.high_watermark  # the log cannot be read yet
    world.restart()
    assert commit(world, 6, generation=1, member=member) is E.COORDINATOR_LOAD_IN_PROGRESS
    assert fetch(world) == (E.COORDINATOR_LOAD_IN_PROGRESS, -2)
    assert error_of(world.begin(join(world))) is E.COORDINATOR_LOAD_IN_PROGRESS
    assert error_of(world.begin(sync(world, member, 1))) is E.REBALANCE_IN_PROGRESS
    assert beat(world, member, 1) is E.NONE
    assert ErrorCode(described(world).error_code) is E.COORDINATOR_LOAD_IN_PROGRESS
    assert ErrorCode(enter(world).error_code) is E.COORDINATOR_LOAD_IN_PROGRESS
    assert mark(world, commit=True) is E.NOT_LEADER_OR_FOLLOWER
    log.high_watermark = above
    world.loop.advance(10)
    assert fetch(world) == (E.NONE, 5)
    assert beat(world, member, 1) is E.NONE


def test_a_topic_that_is_deleted_while_its_offsets_are_loaded() -> None:
    world = World(offsets_partitions=1)
    commit(world, 5)
    log = world.log("g")
    log.high_watermark, above = 0, log.high_watermark
    world.restart()
    world.call(world.groups.topic_deleted("t"))
    log.high_watermark = above
    world.loop.advance(10)
    assert fetch_all(world) == {}


def test_records_that_we_do_not_know_are_skipped_at_load() -> None:
    world = World(offsets_partitions=1)
    commit(world, 5)
    key = OffsetCommitKey("g", "t", 1)
    value = OffsetCommitValue(offset=7, commit_timestamp=1)
    newer = b"\x00\x63" + encode_value(key, value)[2:]
    share_group = b"\x00\x0a\x00\x01x"
    world.log("g").append(
        build_batch(
            [
                NewRecord(encode_key(key), newer, 1),
                NewRecord(share_group, b"\0\0", 1),
                NewRecord(None, b"", 1),
            ]
        ),
        **coordinator_append(),
    )
    world.restart()
    assert fetch_all(world) == {("t", 0): 5}


def test_a_simple_group_without_offsets_is_still_listed_after_a_restart() -> None:
    world = World(offsets_partitions=1)
    commit(world, 5)
    assert delete(world, 0) == [E.NONE]
    assert listed(world) == ["g"]
    world.restart()
    assert listed(world) == ["g"]


def test_only_the_last_of_many_commits_counts_at_load() -> None:
    world = World(offsets_partitions=1)
    for offset in range(500):
        commit(world, offset, partition=offset % 3)
    txn_commit(world, 1000)
    commit(world, 600, partition=1)
    mark(world, commit=True)
    before = world.shard("g").offsets
    world.restart()
    assert world.shard("g").offsets == before
    assert fetch_all(world) == {("t", 0): 1000, ("t", 1): 600, ("t", 2): 497}


def coordinator_append() -> dict[str, Any]:
    return {"acks": Acks.ALL, "origin": Origin.COORDINATOR}


def test_a_failed_write_is_forgotten_and_the_log_is_read_again() -> None:
    world = World(offsets_partitions=1)
    commit(world, 5)
    log = world.log("g")
    log.held = True
    waits = world.begin(enter_later(world))
    assert not waits.done()
    log.held = False
    log.fail(StorageFault("disk is gone"))
    world.loop.run()
    assert error_of(waits) is E.NOT_COORDINATOR
    assert listed(world) == ["g"]
    assert fetch(world) == (E.NONE, 5)


def enter_later(world: World) -> Any:
    request = ConsumerGroupHeartbeatRequest(
        group_id="h",
        member_id="a",
        rebalance_timeout_ms=5000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    return world.handle(consumer_group_heartbeat, request, 1)


def test_waiting_members_are_sent_away_when_the_log_is_read_again() -> None:
    world = World(offsets_partitions=1)
    leader, _ = stable(world, 2)
    waits = world.begin(join(world, member=leader))
    log = world.log("g")
    log.held = True
    begun = world.begin(enter_later(world))
    log.held = False
    log.fail(StorageFault("disk is gone"))
    world.loop.run()
    assert error_of(waits) is E.NOT_COORDINATOR
    assert error_of(begun) is E.NOT_COORDINATOR
    assert beat(world, leader, 1) is E.NONE  # the group is as its record says: Stable


def test_a_refused_heartbeat_record_leaves_the_group_as_it_was() -> None:
    world = World()
    enter(world)
    world.log("g").refuse = E.NOT_ENOUGH_REPLICAS
    assert ErrorCode(enter(world, "b").error_code) is E.COORDINATOR_NOT_AVAILABLE
    world.log("g").refuse = None
    assert hb(world, epoch=2).member_epoch == 2
    group = world.shard("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert sorted(group.members) == ["a"]


def test_a_refused_static_replacement_is_undone() -> None:
    world = World()
    task = world.begin(join(world, instance="i"))
    world.loop.advance(FORMED_MS)
    member = task.result().member_id
    world.call(sync(world, member, 1, {member: b"x"}, instance="i"))
    world.log("g").refuse = E.NOT_ENOUGH_REPLICAS
    refused = world.call(join(world, instance="i"))
    assert (ErrorCode(refused.error_code), refused.member_id) == (E.COORDINATOR_NOT_AVAILABLE, "")
    assert beat(world, member, 1, instance="i") is E.NONE
    assert world.call(sync(world, member, 1, instance="i")).assignment == b"x"


@pytest.mark.parametrize("version", [3, 9])
def test_a_group_whose_first_record_is_refused_was_never_there(version: int) -> None:
    world = World()
    idle = world.loop.armed()
    world.log("g").refuse = E.NOT_ENOUGH_REPLICAS
    error = error_of(world.begin(join(world, version=version)))
    assert error is (E.COORDINATOR_NOT_AVAILABLE if version == 3 else E.MEMBER_ID_REQUIRED)
    assert listed(world) == []
    assert world.loop.armed() == idle


def test_a_refused_marker_is_answered_as_the_log_says() -> None:
    world = World()
    txn_commit(world, 5)
    world.log("g").refuse = E.NOT_ENOUGH_REPLICAS
    assert mark(world, commit=True) is E.NOT_ENOUGH_REPLICAS
    assert fetch(world, stable_only=True) == (E.UNSTABLE_OFFSET_COMMIT, -1)


def test_a_stable_group_has_one_timer_per_member() -> None:
    world = World()
    idle = world.loop.armed()
    stable(world, 3)
    assert world.loop.armed() == idle + 3


@pytest.mark.parametrize(("limit", "state"), [(2, "Stable"), (1, "PreparingRebalance")])
def test_a_loaded_group_that_is_over_the_limit_rebalances(limit: int, state: str) -> None:
    world = World()
    stable(world, 2)
    world.config = replace(world.config, group_max_size=limit)
    world.restart()
    assert described(world).group_state == state


def test_heartbeats_do_not_pile_up_timers() -> None:
    world = World()
    (member,) = stable(world)
    enter(world, group="h")
    before = world.loop.armed()
    for _ in range(50):
        beat(world, member, 1)
        hb(world, epoch=2, group="h")
    assert world.loop.armed() == before


def test_no_timer_is_left_when_nobody_is() -> None:
    world = World()
    idle = world.loop.armed()
    (member,) = stable(world)
    enter(world, group="h")
    hb(world, epoch=-1, group="h")
    world.loop.advance(60_000)
    assert beat(world, member, 1) is E.UNKNOWN_MEMBER_ID
    assert world.loop.armed() == idle


def test_a_deleted_group_takes_its_timers_along() -> None:
    world = World()
    idle = world.loop.armed()
    new_id(world)  # an empty group, with a timer for the member that was given an id
    assert world.loop.armed() == idle + 1
    assert deleted(world, "g") == {"g": E.NONE}
    assert world.loop.armed() == idle
    enter(world)
    hb(world, epoch=-1)
    assert deleted(world, "g") == {"g": E.NONE}
    assert world.loop.armed() == idle


def test_a_write_that_landed_elsewhere_is_not_trusted() -> None:
    world = World(offsets_partitions=1)
    commit(world, 5)
    log = world.log("g")
    log.displace = 1
    assert commit(world, 6) is E.NOT_COORDINATOR
    log.displace = 0
    world.loop.advance(10)
    assert fetch(world) == (E.NONE, 6)  # the log has it, at the place that it was read from
    found = world.shard("g").offsets["g"].find("t", 0)
    assert found is not None
    assert found.record_offset == 1


def test_a_stop_while_loading_ends_the_loading() -> None:
    world = World(offsets_partitions=1)
    commit(world, 5)
    log = world.log("g")
    log.high_watermark = 0
    world.restart()
    world.call(world.groups.stop())
    world.loop.run()
    assert world.loop.armed() <= 1  # the sleep that it was in
    world.loop.advance(1000)
    assert world.loop.armed() == 0


@pytest.mark.parametrize(("count", "written"), [(1000, 1), (1001, 2)])
def test_many_tombstones_are_split_over_batches(count: int, written: int) -> None:
    world = World(offsets_partitions=1)
    world.engine.add_topic("wide", count)
    for partition in range(count):
        commit(world, partition, topic="wide", partition=partition)
    batches_before = len(world.log("g").batches)
    world.engine.topics.pop("wide")
    world.call(world.groups.topic_deleted("wide"))
    assert len(world.log("g").batches) - batches_before == written
    assert fetch_all(world) == {}


def test_deleting_the_topic_itself_forgets_all_groups() -> None:
    world = World()
    member = new_id(world)
    waits = world.begin(join(world, member=member))
    commit(world, 5, group="h")
    world.engine.topics.pop(CONSUMER_OFFSETS)
    world.call(world.groups.topic_deleted(CONSUMER_OFFSETS))
    world.loop.run()
    assert error_of(waits) is E.NOT_COORDINATOR
    assert commit(world) is E.NOT_COORDINATOR
    world.call(world.groups.ensure_topic())
    assert fetch(world, group="h") == (E.NONE, -1)


def test_markers_wait_for_their_turn_in_the_log() -> None:
    world = World(offsets_partitions=1)
    log = world.log("g")
    txn_commit(world, 5)
    log.held = True
    waits = world.begin(
        world.groups.write_marker(0, producer=P7, coordinator_epoch=0, commit=True, transaction_version=1)
    )
    stopped = world.begin(
        world.groups.write_marker(9, producer=P7, coordinator_epoch=0, commit=True, transaction_version=1)
    )
    assert stopped.result() is E.UNKNOWN_TOPIC_OR_PARTITION
    assert not waits.done()
    log.sync()
    world.loop.run()
    assert waits.result() is E.NONE


def test_after_the_stop_nobody_coordinates() -> None:
    world = World()
    enter(world)
    world.call(world.groups.stop())
    assert commit(world) is E.COORDINATOR_NOT_AVAILABLE
    assert told(world, hb(world, epoch=1)) is None
    world.loop.advance(100_000)
    assert world.records_written() > 0
