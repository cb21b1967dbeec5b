"""Bugs that the simulator found, each as small as it can be told. docs/reliability.md has them with their seeds."""

import pytest

from oncelog.engine.memory import MemoryDisk, MemoryFile
from tests.classic_world import World, batch_of


def is_durable(disk: MemoryDisk, path: str) -> bool:
    """Whether all of the file, and its name, would survive a power cut."""
    parent, name = disk._parent(path)  # pyright: ignore[reportPrivateUsage]
    file = disk.open(path)
    assert isinstance(file, MemoryFile)
    node = file._node  # pyright: ignore[reportPrivateUsage]
    return parent.durable.get(name) is node and node.durable == node.cache and node.changed_from is None


def test_seed_74_a_segment_that_begins_at_the_recovery_point_finds_its_predecessors_indexes_durable() -> None:
    """A checkpoint said "all below 5 is settled" of the active segment, which was true of its log only. The next batch
    rolled at just 5, and the power went: the start began at the new segment and trusted a torn transaction index."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024", "index.interval.bytes": "0"})
    while world.part().segments[-1].size < 900 if world.part().segments else True:
        world.put("x" * 100)
    world.settle(61_000)  # a checkpoint: the recovery point is the log end
    end = world.part().log_end_offset
    assert f"t 0 {end}\n".encode() in world.disk.open("recovery-point-offset-checkpoint").read(0, 100)
    seen: list[bool] = []

    def look(what: str, path: str) -> None:
        if what == "create" and path == f"t-0/{end:020}.log":
            seen.extend(
                is_durable(world.memory, f"t-0/{0:020}{suffix}") for suffix in (".index", ".timeindex")
            )

    world.memory.before_change = look
    world.put("y" * 200)
    assert seen == [True, True]


def test_scene_takeover_15_a_segment_made_before_a_kill_has_a_durable_name_before_it_is_used() -> None:
    """Killed between the creation of the first segment and its first batch. The next process took the empty file over
    and synced what it wrote into it, but never the directory: a power cut then lost the file with all it held."""
    world = World(durability="power").start()
    world.topic()
    made: list[str] = []

    class Killed(BaseException):
        pass

    def kill(what: str, path: str) -> None:
        if what == "write" and path.endswith(".log") and made:
            raise Killed
        if what == "create" and path.endswith(".log"):
            made.append(path)

    world.memory.before_change = kill
    with pytest.raises(Killed):
        world.put("never written")
    world.crash("process").start()
    world.put("acknowledged")
    assert is_durable(world.memory, made[0])
    world.crash("power").start()
    assert list(world.values().values()) == [b"acknowledged"]


def test_seed_446_a_transaction_whose_beginning_retention_took_is_still_open_after_a_kill() -> None:
    """A start from the first segment left the snapshot at its base out, as Kafka does, and forgot the transaction; the next
    start used a later snapshot and knew it again: the last stable offset went back."""
    world = World(durability="power").start()
    world.topic(configs={"segment.bytes": "1024", "retention.bytes": "1500"})
    world.put_verified(
        batch_of("undecided", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    )
    for _ in range(30):
        world.put("x" * 100)
        world.settle(10)
    world.run(world.engine.run_retention())
    start = world.part().log_start_offset
    assert start > 0
    assert world.part().last_stable_offset == start
    world.crash("process").start()
    assert world.part().last_stable_offset == start
    assert [each.transaction_start_offset for each in world.part().producers()] == [0]


def test_seed_446_segments_go_only_when_the_snapshot_behind_them_is_written() -> None:
    world = World(durability="power").start()
    part = world.topic(configs={"segment.bytes": "1024", "retention.bytes": "0"})
    firsts: set[int] = set()
    for number in range(40):
        world.put("x" * 100, producer_id=7, producer_epoch=0, base_sequence=number)
        part.begin_retention()
        part.end_retention()
        first = part.segments[0].base_offset
        firsts.add(first)
        assert not first or world.memory.exists(f"t-0/{first:020}.snapshot")
    assert len(firsts) > 2
