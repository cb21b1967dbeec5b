"""The classic engine: topics, appends, reads, offsets by time, retention, deletion, and faults of the disk."""

import pathlib

import pytest

from oncelog.engine.classic.checkpoints import CLEAN_SHUTDOWN
from oncelog.engine.classic.engine import ClassicEngine
from oncelog.engine.classic.segment import LOG, OFFSET_INDEX, SNAPSHOT, TRANSACTION_INDEX, file_name
from oncelog.engine.memory import MemoryDisk, MemoryFile
from oncelog.engine.port import AbortedTransaction, Appended, Engine, OffsetAt, Partition, Read, Refused
from oncelog.errors import BadConfig, ErrorCode, OncelogError, StorageFault
from oncelog.model import Acks, Isolation
from oncelog.record.batch import NewRecord, batches, build_batch
from oncelog.tasks import sleep, spawn
from tests.classic_world import World, batch_of

RU, RC = Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED
SMALL = {"segment.bytes": "1024"}


def test_the_engine_keeps_to_its_port() -> None:
    """The type checker holds one against the other."""
    world = World().start()
    partition: Partition = world.topic()
    engine: Engine = world.engine
    assert engine.topics["t"].partitions == [partition]
    assert engine.now_ms() == world.clock.wall_ms()


def transaction(world: World, producer_id: int, value: str, sequence: int = 0, epoch: int = 0) -> Appended:
    return world.put_verified(
        batch_of(
            value,
            now=world.clock.wall_ms(),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        ),
    )


def end(world: World, producer_id: int, *, commit: bool, epoch: int = 0) -> Appended | Refused:
    return world.run(
        world.part().append_marker(
            producer_id=producer_id,
            producer_epoch=epoch,
            coordinator_epoch=0,
            commit=commit,
            transaction_version=1,
        )
    )


def offset_at(world: World, timestamp: int, isolation: Isolation = RU) -> OffsetAt:
    return world.run(world.part().offset_at(timestamp, isolation))


# Topics


def test_create_append_read_restart(tmp_path: pathlib.Path) -> None:
    world = World.on(str(tmp_path)).start()
    world.topic()
    assert world.put("a", "b").base_offset == 0
    assert world.put("c").base_offset == 2
    assert world.values() == {0: b"a", 1: b"b", 2: b"c"}
    world.stop()
    world.again()
    assert world.part().log_end_offset == 3
    assert world.part().leader_epoch == 1
    assert world.values() == {0: b"a", 1: b"b", 2: b"c"}
    assert world.put("d").base_offset == 3
    world.again()
    assert world.values() == {0: b"a", 1: b"b", 2: b"c", 3: b"d"}
    world.stop()
    assert sorted(path.name for path in (tmp_path / "t-0").iterdir()) == [
        "00000000000000000000.log",
        "partition.metadata",
    ]
    world.again()
    world.put("e" * 5000)
    world.stop()
    assert sorted(path.name for path in (tmp_path / "t-0").iterdir()) == [
        "00000000000000000000.checks",
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000005.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]


def test_topics_their_ids_partitions_and_configs_last() -> None:
    world = World().start()
    world.topic("a", 2, {"retention.ms": "5000"})
    world.topic("b")
    topic_id = world.engine.topics["a"].id
    world.run(world.engine.create_partitions("a", 5))
    world.run(world.engine.set_topic_configs("a", {"retention.ms": "6000"}))
    world.run(world.engine.set_topic_configs("b", {"cleanup.policy": "compact"}))
    world.run(world.engine.delete_topic("b"))
    world.topic("b", 3)
    cluster_id = world.engine.cluster_id
    for clean in (False, True, False):
        if clean:
            world.stop()
            world.again()
        else:
            world.crash("power").start()
        assert {name: len(topic.partitions) for name, topic in world.engine.topics.items()} == {
            "a": 5,
            "b": 3,
        }
        assert world.engine.topic_by_id(topic_id) is world.engine.topics["a"]
        assert world.engine.topics["a"].configs == {"retention.ms": "6000"}
        assert world.part("a", 4).config.retention_ms == 6000
        assert world.engine.topics["b"].configs == {}
        assert world.engine.cluster_id == cluster_id
    assert world.part("a", 0).leader_epoch == world.part("a", 4).leader_epoch == 3


def test_t18_names_that_leave_the_directory_are_refused() -> None:
    world = World().start()
    for name in ("", ".", "..", "../x", "a/b", "a\0b", "x" * 250, "ä", "a b"):
        with pytest.raises(OncelogError, match="topic name"):
            world.run(world.engine.create_topic(name, 1, {}))
    world.run(world.engine.create_topic("x" * 249, 1, {}))
    world.run(world.engine.delete_topic("x" * 249))
    with pytest.raises(BadConfig):
        world.run(world.engine.create_topic("fine", 1, {"no.such.config": "1"}))


def test_deleted_topics_are_gone_and_their_waiters_told() -> None:
    world = World(durability="power").start()
    world.topic()
    world.put("a")
    part = world.part()
    waiting = part.append(batch_of("b", now=world.clock.wall_ms()), acks=Acks.ALL)
    world.run(world.engine.delete_topic("t"))
    assert world.run(waiting) in (Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), Appended(1, 1, -1, 0))
    late = world.run(part.append(batch_of("c", now=world.clock.wall_ms()), acks=Acks.ALL))
    assert late == Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    read = world.run(part.read(0, max_bytes=100, isolation=RU, at_least_one_batch=True))
    assert read.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.settle(1000)
    assert not [name for name in world.disk.list("") if name.startswith("t-")]
    world.topic()
    assert world.part().log_end_offset == 0
    world.crash("power").start()
    assert world.part().log_end_offset == 0
    assert not world.engine.failed.done()


def test_a_deletion_that_a_crash_interrupts_is_finished() -> None:
    """At every change of the disk: afterwards the topic is whole or gone."""
    for after in range(1, 40):
        world = World(seed=after).start()
        world.topic()
        world.put("a")
        crash_after(world, after)
        done = False
        try:
            world.run(world.engine.delete_topic("t"))
            done = True
        except ZeroDivisionError:
            pass
        world.crash("power" if after % 2 else "process").start()
        if "t" in world.engine.topics:
            assert not done
        else:
            assert not [
                name for name in world.disk.list("") if name.startswith("t-") and "delete" not in name
            ]
        if done:
            break
    else:
        pytest.fail("the deletion never came to its end")


def crash_after(world: World, changes: int) -> None:
    left = changes

    def die(_what: str, _path: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            raise ZeroDivisionError

    world.memory.before_change = die


def test_strays_are_set_aside_and_empty_leftovers_removed() -> None:
    world = World().start()
    world.topic()
    world.disk.make_directory("left-0")
    world.disk.make_directory("other-7")
    world.disk.open("other-7/00000000000000000000.log", create=True).append((b"somebody's",))
    world.disk.make_directory("gone-0.0123-delete")
    world.disk.open("gone-0.0123-delete/00000000000000000000.log", create=True).append((b"deleted",))
    world.crash("process").start()
    names = world.disk.list("")
    assert "left-0" not in names
    assert not [name for name in names if name.startswith("gone-")]
    assert [name for name in names if name.startswith("other-7.") and name.endswith("-stray")]


def test_a_directory_of_another_node_is_refused() -> None:
    world = World(settings={"node.id": "3"}).start()
    world.stop()
    other = World(settings={"node.id": "4"})
    other.engine = ClassicEngine(world.disk, other.loop, other.clock, _Zeros(), other.config)
    with pytest.raises(BadConfig, match=r"node.id: meta.properties says 3, found 4"):
        other.start()


class _Zeros:
    def token_bytes(self, count: int) -> bytes:
        return bytes(count)


# Appends and reads


def test_refusals_carry_the_log_start_offset_where_kafka_does() -> None:
    world = World().start()
    world.topic(configs={"max.message.bytes": "200"})
    world.put("a")
    now = world.clock.wall_ms()
    broken = bytearray(batch_of("x", now=now))
    broken[-1] ^= 1
    assert world.send(bytes(broken)) == Refused(ErrorCode.CORRUPT_MESSAGE)
    assert world.send(batch_of("x" * 300, now=now)) == Refused(ErrorCode.MESSAGE_TOO_LARGE)
    assert world.send(batch_of("x", now=now, base_offset=5)) == Refused(ErrorCode.INVALID_RECORD, None, 0)
    gap = batch_of("x", now=now, producer_id=1, producer_epoch=0, base_sequence=0)
    assert isinstance(world.send(gap), Appended)
    gap = batch_of("x", now=now, producer_id=1, producer_epoch=0, base_sequence=2)
    assert world.send(gap) == Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None, 0)
    late = world.send(batch_of("x", now=now + 7_200_000))
    assert isinstance(late, Refused)
    assert late.error is ErrorCode.INVALID_TIMESTAMP
    assert late.record_errors
    assert world.part().log_end_offset == 2


def test_t27_the_memory_of_a_request_may_be_reused() -> None:
    world = World().start()
    world.topic()
    memory = bytearray(batch_of("precious", now=world.clock.wall_ms()))
    world.run(world.part().append(memoryview(memory), acks=Acks.ALL))
    memory[:] = bytes(len(memory))
    assert world.values() == {0: b"precious"}


def test_log_append_time_is_written_and_answered() -> None:
    world = World().start()
    world.topic(configs={"message.timestamp.type": "LogAppendTime"})
    found = world.send(batch_of("a", now=5))
    assert isinstance(found, Appended)
    assert found.log_append_time_ms == world.clock.wall_ms()
    ((_, header),) = batches(world.read().records)
    assert header.attributes & 0x08
    assert header.max_timestamp == found.log_append_time_ms
    world.crash("process").start()  # the CRC was computed anew, or recovery would cut it
    assert world.values() == {0: b"a"}


def test_trap_30_reads_give_whole_batches_within_limits() -> None:
    world = World().start()
    world.topic()
    for value in ("a", "b", "c", "d"):
        world.put(value, value, value)
    size = world.part().size_bytes // 4

    def offsets(read: Read) -> list[int]:
        return [header.base_offset for _, header in batches(read.records)]

    assert offsets(world.read(0)) == [0, 3, 6, 9]
    assert offsets(world.read(4)) == [3, 6, 9]  # from the middle of a batch
    assert offsets(world.read(5, max_bytes=2 * size)) == [3, 6]
    assert offsets(world.read(5, max_bytes=2 * size + 60)) == [3, 6]
    assert offsets(world.read(0, max_bytes=size - 1)) == [0]
    assert offsets(world.read(0, max_bytes=0)) == [0]
    assert offsets(world.read(0, max_bytes=size - 1, one=False)) == []
    assert offsets(world.read(0, max_bytes=0, one=False)) == []
    assert offsets(world.read(3, max_bytes=size, one=False)) == [3]
    assert offsets(world.read(12)) == []
    assert world.read(13) == Read(ErrorCode.OFFSET_OUT_OF_RANGE, b"", -1, -1, -1, None)
    assert world.read(-1).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert world.read(12) == Read(ErrorCode.NONE, b"", 12, 12, 0, None)
    assert world.read(12, committed=True) == Read(ErrorCode.NONE, b"", 12, 12, 0, ())


def test_reads_over_many_segments_in_any_order() -> None:
    world = World().start()
    world.topic(configs={**SMALL, "index.interval.bytes": "100"})
    for value in range(200):
        world.put(f"{value}" * 10)
    assert len(world.part().segments) > 10
    world.settle()
    indexes = [name for name in world.disk.list("t-0") if name.endswith(OFFSET_INDEX)]
    assert len(indexes) > 10
    assert all(world.disk.open(f"t-0/{name}").size() >= 8 * 3 for name in indexes)
    for clean in (None, True, False):
        if clean:
            world.stop()
            world.again()
        elif clean is False:
            world.crash("process").start()
        for offset in (0, 199, 7, 100, 101, 99, 150):
            (_, header), *_ = batches(world.read(offset, max_bytes=1).records)
            assert header.base_offset == offset
        assert list(world.values()) == list(range(200))


def test_available_bytes_is_close_and_never_zero_when_there_is_something() -> None:
    world = World(durability="power").start()
    world.topic(configs={**SMALL, "index.interval.bytes": "100"})
    part = world.part()
    assert part.available_bytes(0, RU, 100) == 0
    for value in range(60):
        world.put(f"{value}" * 10)
    total = part.size_bytes
    assert abs(part.available_bytes(0, RU, 10**6) - total) < 300
    assert part.available_bytes(0, RU, 500) >= 500
    assert part.available_bytes(59, RU, 100) >= 1
    assert part.available_bytes(60, RU, 100) == 0
    assert part.available_bytes(99, RU, 100) == 0
    part.append(batch_of("not durable", now=world.clock.wall_ms()), acks=Acks.ALL)
    assert part.available_bytes(60, RU, 100) == 0
    transaction(world, 1, "open")
    assert part.available_bytes(60, RU, 100) >= 1
    assert part.available_bytes(60, RC, 100) >= 1
    assert part.available_bytes(61, RC, 100) == 0


def test_watchers_hear_of_every_move() -> None:
    world = World(durability="power").start()
    world.topic()
    heard: list[int] = []
    stop = world.part().watch(lambda: heard.append(world.part().high_watermark))
    world.put("a")
    world.put("b")
    assert heard == [1, 2]
    world.run(world.part().delete_records(1))
    assert heard == [1, 2, 2]
    stop()
    stop()
    world.put("c")
    assert heard == [1, 2, 2]


def test_v80_to_v84_lso_and_aborted_lists() -> None:
    world = World().start()
    world.topic()
    for producer_id, value in enumerate("ABC"):
        transaction(world, producer_id, value)
    end(world, 1, commit=False)
    assert world.part().last_stable_offset == 0
    assert world.read(0, committed=True) == Read(ErrorCode.NONE, b"", 4, 0, 0, ())
    transaction(world, 1, "B2", sequence=1)
    end(world, 0, commit=False)
    assert world.part().last_stable_offset == 2
    assert list(world.values(committed=True)) == [
        0,
        1,
    ]  # aborted ones too: it is the reader who leaves them out
    end(world, 2, commit=True)
    assert world.part().last_stable_offset == 4
    end(world, 1, commit=True)
    assert world.part().last_stable_offset == 8
    a, b = AbortedTransaction(0, 0), AbortedTransaction(1, 1)
    found = [world.read(offset, committed=True).aborted for offset in (0, 3, 4, 6)]
    assert found == [(a, b), (a, b), (a,), ()]
    assert world.read(0).aborted is None
    entries = [tuple(entry) for entry in world.part().segments[0].aborted()]
    assert entries == [(1, 1, 3, 0), (0, 0, 5, 2)]
    assert [view.transaction_start_offset for view in world.part().producers()] == [-1, -1, -1]


def test_open_transactions_are_told_by_epoch() -> None:
    world = World().start()
    world.topic()
    transaction(world, 1, "a")
    part = world.part()
    assert part.has_open_transaction(1, 0)
    assert not part.has_open_transaction(1, 1)
    assert not part.has_open_transaction(2, 0)
    (view,) = part.producers()
    assert (view.producer_id, view.epoch, view.last_sequence, view.transaction_start_offset) == (1, 0, 0, 0)
    end(world, 1, commit=True)
    assert not part.has_open_transaction(1, 0)
    assert end(world, 1, commit=True, epoch=-1) == Refused(ErrorCode.INVALID_PRODUCER_EPOCH, None, 0)


# By time


def test_v90_offsets_by_time_and_special_values() -> None:
    world = World().start()
    world.topic(configs={**SMALL, "index.interval.bytes": "100"})
    assert offset_at(world, -1) == OffsetAt(0, -1, 0)
    assert offset_at(world, -2) == OffsetAt(0, -1, 0)
    assert offset_at(world, -3) == OffsetAt(-1, -1, -1)
    start = world.clock.wall_ms() - 10_000
    times = [start + at * 10 for at in range(60)]
    times[31] = start + 5000  # out of order, the largest, and not the first of its batch
    for at in range(0, 60, 2):
        world.send(build_batch([NewRecord(None, b"x" * 40, times[at]), NewRecord(None, b"y", times[at + 1])]))
    assert len(world.part().segments) > 3
    for clean in (None, True, False):
        if clean is not None:
            _ = (world.stop(), world.again()) if clean else world.crash("process").start()
        epoch = 0
        assert offset_at(world, start) == OffsetAt(0, start, epoch)
        assert offset_at(world, start + 1) == OffsetAt(1, start + 10, epoch)
        assert offset_at(world, start + 290) == OffsetAt(29, start + 290, epoch)
        assert offset_at(world, start + 291) == OffsetAt(30, start + 300, epoch)
        assert offset_at(world, start + 301) == OffsetAt(31, start + 5000, epoch)
        assert offset_at(world, start + 590) == OffsetAt(31, start + 5000, epoch)
        assert offset_at(world, start + 5000) == OffsetAt(31, start + 5000, epoch)
        assert offset_at(world, start + 5001) == OffsetAt(-1, -1, -1)
        assert offset_at(world, -3) == OffsetAt(31, start + 5000, epoch)
        assert offset_at(world, -1) == OffsetAt(60, -1, world.part().leader_epoch)
        assert [offset_at(world, special).offset for special in (-2, -4, -5, -6, -7)] == [0, 0, -1, -1, -1]


def test_trap_31_times_beyond_the_isolation_limit_are_not_found() -> None:
    world = World().start()
    world.topic()
    world.put("a")
    world.settle(50)
    first = world.clock.wall_ms()
    transaction(world, 1, "open")
    assert offset_at(world, first) == OffsetAt(1, first, 0)
    assert offset_at(world, first, RC) == OffsetAt(-1, -1, -1)
    assert offset_at(world, -3, RC) == OffsetAt(-1, -1, -1)
    assert offset_at(world, -1, RC).offset == 1
    world.settle(50)
    later = world.clock.wall_ms()
    end(world, 1, commit=True)
    assert offset_at(world, later, RC) == OffsetAt(2, later, 0)  # control records count
    assert offset_at(world, -3, RC) == OffsetAt(2, later, 0)


# Group commit


def test_power_mode_acks_and_shows_nothing_before_the_sync() -> None:
    world = World(durability="power").start()
    world.topic()
    world.put("a")
    part = world.part()
    everyone = part.append(batch_of("b", now=world.clock.wall_ms()), acks=Acks.ALL)
    leader = part.append(batch_of("c", now=world.clock.wall_ms()), acks=Acks.LEADER)
    assert (everyone.done(), leader.done()) == (False, True)
    assert (part.log_end_offset, part.high_watermark) == (3, 1)
    assert list(world.values()) == [0]
    world.run(everyone)
    assert part.high_watermark == 3


def test_power_mode_one_round_serves_all_that_came_before_it() -> None:
    world = World(durability="power").start()
    world.topic("t", 4)
    for index in range(4):
        world.run(world.part("t", index).append(batch_of("first", now=world.clock.wall_ms()), acks=Acks.ALL))
    syncs = world.memory.syncs
    sent = [
        world.part("t", at % 4).append(batch_of("x", now=world.clock.wall_ms()), acks=Acks.ALL)
        for at in range(100)
    ]
    for each in sent:
        world.run(each)
    assert world.memory.syncs - syncs == 4


def test_power_mode_a_duplicate_waits_for_the_first_one() -> None:
    """Its answer must not be safer than the batch: the ack of a copy in the page cache would be a lie."""
    world = World(durability="power").start()
    world.topic()
    now = world.clock.wall_ms()
    batch = batch_of("a", now=now, producer_id=1, producer_epoch=0, base_sequence=0)
    first = world.part().append(batch, acks=Acks.ALL)
    second = world.part().append(batch, acks=Acks.ALL)
    assert not second.done()
    assert world.run(second) == Appended(0, 0, now, 0, duplicate=True)  # TRAP-17: with the time of the batch
    assert world.run(first) == Appended(0, 0, -1, 0)
    assert len(world.values()) == 1


def test_trap_21_lso_passes_only_durable_markers() -> None:
    world = World(durability="power").start()
    world.topic()
    transaction(world, 1, "a")
    part = world.part()
    marker = part.append_marker(
        producer_id=1, producer_epoch=0, coordinator_epoch=0, commit=True, transaction_version=1
    )
    assert not marker.done()
    assert (part.last_stable_offset, part.high_watermark, part.log_end_offset) == (0, 1, 2)
    world.run(marker)
    assert part.last_stable_offset == 2


def test_flush_messages_1_waits_in_process_mode_too() -> None:
    world = World().start()
    world.topic(configs={"flush.messages": "1"})
    sent = world.part().append(batch_of("a", now=world.clock.wall_ms()), acks=Acks.ALL)
    assert not sent.done()
    world.run(sent)
    world.crash("power").start()
    assert world.values() == {0: b"a"}


def test_flush_ms_and_flush_messages_sync_in_the_background() -> None:
    for configs in ({"flush.ms": "50"}, {"flush.messages": "2"}):
        world = World().start()
        world.topic(configs=configs)
        world.put("a")
        world.put("b")
        syncs = world.memory.syncs
        world.settle(200)
        assert world.memory.syncs > syncs


# Faults


def test_a_failed_sync_acks_nothing_ever_again() -> None:
    world = World(durability="power").start()
    world.topic()
    world.put("a")
    world.memory.faults.syncs_until_error = 1
    sent = [
        world.part().append(batch_of(value, now=world.clock.wall_ms()), acks=Acks.ALL) for value in ("b", "c")
    ]
    for each in sent:
        with pytest.raises(StorageFault, match="fdatasync"):
            world.run(each)
    assert isinstance(world.engine.failed.result(), StorageFault)
    with pytest.raises(StorageFault):
        world.put("d")
    assert world.part().high_watermark == 1
    with pytest.raises(StorageFault):
        world.stop()
    assert not world.disk.exists(CLEAN_SHUTDOWN)
    world.crash("power").start()
    assert world.values()[0] == b"a"


def test_after_a_fault_of_the_engine_no_stop_is_called_clean() -> None:
    """The disk may still take the file: it would say of a log that nobody looked after that it is whole."""
    world = World().start()
    world.topic()
    world.put("a")
    world.engine.failed.set_result(StorageFault("a chore in the background failed"))
    with pytest.raises(StorageFault, match="a chore"):
        world.stop()
    assert not world.disk.exists(CLEAN_SHUTDOWN)


@pytest.mark.parametrize("space", [0, 1, 60, 61, 68, 200])
def test_b55_a_full_disk_refuses_and_leaves_a_whole_log(space: int) -> None:
    world = World().start()
    world.topic()
    world.put("a")
    size = world.part().size_bytes
    world.memory.faults.space_left_bytes = space
    for _ in range(space // size):
        world.put("b")
    with pytest.raises(StorageFault, match="No space left"):
        world.put("c")
    kept = world.part().log_end_offset
    assert kept == 1 + space // size
    assert world.part().size_bytes == kept * size
    assert world.engine.failed.done()
    world.crash("process").start()
    assert world.part().log_end_offset == kept
    assert world.put("c").base_offset == kept


def test_b40_a_failed_transaction_index_stops_everything_before_a_reader_passes() -> None:
    world = World().start()
    world.topic()
    transaction(world, 1, "aborted")
    world.memory.faults.writes_until_error = 1
    world.memory.faults.only_paths_with = TRANSACTION_INDEX
    with pytest.raises(StorageFault):
        end(world, 1, commit=False)
    assert world.part().last_stable_offset == 0
    with pytest.raises(StorageFault):
        world.put("same offset?")
    world.crash("process").start()
    assert world.read(committed=True).aborted == (AbortedTransaction(1, 0),)
    assert world.part().log_end_offset == 2


def test_b47_a_failed_append_leaves_the_producer_as_it_was() -> None:
    world = World().start()
    world.topic()
    world.put("a", producer_id=1, producer_epoch=0, base_sequence=0)
    before = world.part().state.producers[1].as_tuple()
    world.memory.faults.writes_until_error = 1
    with pytest.raises(StorageFault):
        world.put("b", producer_id=1, producer_epoch=0, base_sequence=1)
    assert world.part().state.producers[1].as_tuple() == before
    world.crash("process").start()
    assert world.put("b", producer_id=1, producer_epoch=0, base_sequence=1).base_offset == 1


# Segments come and go


def test_3_5_segments_roll_by_size_age_index_and_their_snapshots_stay() -> None:
    world = World().start()
    world.topic("t", configs=SMALL)
    for _ in range(40):
        world.put("x" * 100, producer_id=1, producer_epoch=0, base_sequence=world.part().log_end_offset)
    bases = [segment.base_offset for segment in world.part().segments]
    assert len(bases) > 3
    assert all(segment.size <= 1024 for segment in world.part().segments)
    world.settle()
    names = world.disk.list("t-0")
    assert [name for name in names if name.endswith(SNAPSHOT)] == [
        file_name(base, SNAPSHOT) for base in bases[1:]
    ]
    world.run(world.engine.set_topic_configs("t", {"segment.ms": "1000"}))
    world.put("before")
    world.settle(1500)
    world.put("after")
    assert world.part().segments[-1].base_offset == 41
    world.run(world.engine.set_topic_configs("t", {"segment.index.bytes": "16", "index.interval.bytes": "0"}))
    count = len(world.part().segments)
    for _ in range(8):
        world.put("x")
    assert len(world.part().segments) >= count + 2


def test_recovery_point_follows_rolls_and_syncs() -> None:
    world = World().start()
    world.topic(configs=SMALL)
    for _ in range(20):
        world.put("x" * 100)
    world.settle()
    assert world.part().recovery_point == world.part().segments[-1].base_offset
    safe = World(durability="power").start()
    safe.topic()
    safe.put("a")
    assert safe.part().recovery_point == 1
    safe.settle(61_000)
    text = safe.disk.open("recovery-point-offset-checkpoint")
    assert text.read(0, 100).split() == [b"0", b"1", b"t", b"0", b"1"]
    syncs = safe.memory.syncs
    safe.settle(61_000)
    assert safe.memory.syncs == syncs  # what says nothing new is not written again


def test_a_deletion_does_not_wait_for_the_end_of_all_load() -> None:
    world = World(durability="power").start()
    world.topic("busy")
    world.topic("gone")
    deleted: list[bool] = []

    async def load() -> None:
        for _ in range(2000):
            world.part("busy").append(batch_of("x", now=world.clock.wall_ms()), acks=Acks.LEADER)
            await sleep(world.loop, 0.05)  # always something for the next round
            if deleted:
                return
        raise AssertionError("the deletion waited until the load was over")

    async def delete() -> None:
        await sleep(world.loop, 1)
        await world.engine.delete_topic("gone")
        deleted.append(True)

    loading, deleting = spawn(world.loop, load()), spawn(world.loop, delete())
    world.run(loading)
    world.run(deleting)


def test_deleting_empty_topics_leaves_the_checkpoints_alone() -> None:
    """Each of ten thousand deletions would write ten thousand lines again."""
    world = World().start()
    world.topic("used")
    for number in range(20):
        world.topic(f"t{number}")
    world.run(world.engine.delete_topic("t0"))  # the files of an earlier process are not believed
    written: list[str] = []
    rename = world.memory.rename

    def counting(path: str, to: str) -> None:
        written.append(to)
        rename(path, to)

    world.memory.rename = counting
    for number in range(1, 20):
        world.run(world.engine.delete_topic(f"t{number}"))
    assert [name for name in written if name.endswith("checkpoint")] == []
    assert len(written) == 19
    world.run(world.part("used").append(batch_of("x", now=world.clock.wall_ms()), acks=Acks.ALL))
    world.run(world.part("used").delete_records(1))
    world.run(world.engine.delete_topic("used"))
    assert "log-start-offset-checkpoint" in written
    world.topic("used")
    world.crash("process").start()
    assert world.part("used").log_start_offset == 0


def test_retention_by_size_and_time() -> None:
    world = World(durability="power").start()
    world.topic(configs={**SMALL, "retention.bytes": "3000", "file.delete.delay.ms": "1000"})
    for value in range(60):
        world.put(f"{value:0100}")
    before = world.part().size_bytes
    world.run(world.engine.run_retention())
    part = world.part()
    assert 3000 <= part.size_bytes < 3000 + 1024 < before
    start = part.log_start_offset
    assert start == part.segments[0].base_offset > 0
    assert world.read(start - 1).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert list(world.values()) == list(range(start, 60))
    assert [name for name in world.disk.list("t-0") if name.endswith(".deleted")]
    world.settle(2000)
    assert not [name for name in world.disk.list("t-0") if name.endswith(".deleted")]
    world.crash("power").start()
    assert world.part().log_start_offset == start
    world.run(world.engine.set_topic_configs("t", {"retention.ms": "1000", **SMALL}))
    world.settle(3000)
    world.run(world.engine.run_retention())
    assert (world.part().log_start_offset, world.part().log_end_offset) == (world.part().log_end_offset,) * 2
    end_offset = world.part().log_end_offset
    assert world.values() == {}
    world.crash("process").start()
    assert world.part().log_end_offset == end_offset
    assert world.put("next").base_offset == end_offset


def test_retention_does_not_show_the_log_start_of_a_delete_records_that_waits() -> None:
    world = World(durability="power").start()
    part = world.topic(configs={**SMALL, "retention.bytes": "3000"})
    for value in range(60):
        world.put(f"{value:0100}")
    start = part.begin_retention()
    assert start is not None
    deleting = spawn(world.loop, part.delete_records(50))
    assert part.stored_log_start == 50 > start  # on its way to the disk
    part.end_retention(start)
    assert part.log_start_offset == start
    assert world.run(deleting) is ErrorCode.NONE
    assert part.log_start_offset == 50


def test_retention_of_many_partitions_writes_the_log_starts_once() -> None:
    """With a write and a sync for each, ten thousand quiet partitions that grow old together would take minutes."""
    world = World().start()
    world.topic(partitions=30, configs={**SMALL, "retention.ms": "1000", "file.delete.delay.ms": "0"})
    for index in range(30):
        batch = batch_of("old", now=world.clock.wall_ms())
        assert isinstance(world.run(world.part(index=index).append(batch, acks=Acks.ALL)), Appended)
    world.settle(3000)
    written: list[str] = []
    rename = world.memory.rename

    def counting(path: str, to: str) -> None:
        written.append(to)
        # Durable before the first segment goes, or what was deleted comes back after a crash.
        assert not to.endswith(".deleted") or "log-start-offset-checkpoint" in written
        rename(path, to)

    world.memory.rename = counting
    world.run(world.engine.run_retention())
    assert [world.part(index=index).log_start_offset for index in range(30)] == [1] * 30
    assert written.count("log-start-offset-checkpoint") == 1
    assert len([name for name in written if name.endswith(".log.deleted")]) == 30


def test_retention_runs_by_itself() -> None:
    world = World(settings={"log.retention.check.interval.ms": "500"}).start()
    world.topic(configs={"retention.ms": "1000"})
    world.put("old")
    world.settle(3000)
    assert world.part().log_start_offset == 1


def test_trap_25_delete_records_lasts_and_forgets_no_producer() -> None:
    world = World(durability="power").start()
    world.topic(configs=SMALL)
    for value in range(30):
        world.put(f"{value:0100}", producer_id=1, producer_epoch=0, base_sequence=value)
    part = world.part()
    assert world.run(part.delete_records(31)) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert world.run(part.delete_records(-2)) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert world.run(part.delete_records(17)) is ErrorCode.NONE
    assert world.run(part.delete_records(5)) is ErrorCode.NONE
    assert part.log_start_offset == 17
    assert part.segments[0].base_offset <= 17 < part.segments[1].base_offset
    assert list(world.values(17)) == [*range(17, 30)]
    gap = batch_of("x", now=world.clock.wall_ms(), producer_id=1, producer_epoch=0, base_sequence=31)
    assert world.send(gap) == Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None, 17)
    world.crash("power").start()
    assert world.part().log_start_offset == 17
    assert world.run(world.part().delete_records(-1)) is ErrorCode.NONE
    assert world.part().log_start_offset == 30 == world.part().log_end_offset
    world.crash("process").start()
    assert world.part().log_start_offset == 30 == world.part().log_end_offset
    assert world.put("x", producer_id=1, producer_epoch=0, base_sequence=30).base_offset == 30


def test_ps_12_idle_producers_are_forgotten() -> None:
    world = World(
        settings={"producer.id.expiration.ms": "1000", "producer.id.expiration.check.interval.ms": "500"}
    )
    world.start()
    world.topic()
    world.put("a", producer_id=1, producer_epoch=0, base_sequence=0)
    assert len(world.part().producers()) == 1
    world.settle(2000)
    assert not world.part().producers()


def test_b50_no_snapshots_pile_up() -> None:
    world = World().start()
    world.topic()
    for _ in range(6):
        world.put("a", producer_id=1, producer_epoch=0, base_sequence=world.part().log_end_offset)
        world.stop()
        world.again()
    assert len([name for name in world.disk.list("t-0") if name.endswith((SNAPSHOT, ".batches"))]) <= 2


def test_a_clean_start_opens_no_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World().start()
    world.topic("t", 50)
    for index in range(50):
        world.run(world.part("t", index).append(batch_of("x", now=world.clock.wall_ms()), acks=Acks.ALL))
    world.stop()
    opened: list[str] = []
    original = MemoryDisk.open

    def noted(disk: MemoryDisk, path: str, *, create: bool = False) -> MemoryFile:
        opened.append(path)
        return original(disk, path, create=create)

    monkeypatch.setattr(MemoryDisk, "open", noted)
    world.again()
    assert not [path for path in opened if path.startswith("t-")]
    assert world.part("t", 7).log_end_offset == 1
    assert [path for path in opened if path.endswith(LOG)] == [f"t-7/{file_name(0, LOG)}"]
