"""The simulator's first story: 200 seeds in which nothing acknowledged is lost, doubled or moved."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

from oncelog.engine.memory import MemoryDisk
from oncelog.errors import OncelogError
from oncelog.ports import File
from oncelog.sim.log_story import LogStory, Violation
from oncelog.sim.world import World
from oncelog.tasks import Future, resolved

SEEDS = 200
BLOCKS = 8


@pytest.mark.parametrize("block", range(BLOCKS))
def test_seeds_keep_the_invariants_of_the_log(block: int) -> None:
    crashes = acked = 0
    for seed in range(block, SEEDS, BLOCKS):
        outcome = LogStory(seed).run()
        crashes += outcome.crashes
        acked += outcome.acked
    assert crashes > SEEDS // BLOCKS  # at least the last look's own crash and some more: the faults do happen
    assert acked > 50 * SEEDS // BLOCKS


def test_a_seed_is_repeated_bit_for_bit_in_another_process_with_another_hash_seed() -> None:
    wanted = [LogStory(seed).run().digest for seed in range(5)]
    script = "from oncelog.sim.log_story import LogStory\nfor s in range(5): print(LogStory(s).run().digest)"
    for hash_seed in ("0", "1"):
        found = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(path for path in sys.path if path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.split() == wanted


def failing(seeds: Sequence[int]) -> list[int]:
    found: list[int] = []
    for seed in seeds:
        try:
            LogStory(seed).run()
        except (Violation, OncelogError):  # a broken promise, or a start that refuses what it finds
            found.append(seed)
    return found


def test_removing_the_sync_makes_seeds_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def lie(self: MemoryDisk, files: Sequence[File]) -> Future[None]:  # noqa: ARG001  # the disk's signature
        return resolved(None)

    monkeypatch.setattr(MemoryDisk, "sync", lie)
    assert len(failing(range(40))) >= 5


def test_forgetting_the_crash_makes_nothing_fail() -> None:
    """The control: without faults the same story has nothing to complain about."""
    for seed in range(5):
        story = LogStory(seed)
        story.world.crash = lambda kept: None  # noqa: ARG005
        assert story.run().acked > 0


def test_a_world_without_broker_is_noticed() -> None:
    world = World(0, {})

    async def wait_for_ever() -> None:
        await Future[None]()

    with pytest.raises(AssertionError, match="everybody waits"):
        world.run(wait_for_ever(), limit_steps=100)
