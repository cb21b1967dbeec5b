"""Bugs that the simulator found, each as small as it can be told. docs/reliability.md has them with their seeds."""

import pytest

from oncelog.engine.memory import MemoryDisk, MemoryFile
from tests.classic_world import World


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
