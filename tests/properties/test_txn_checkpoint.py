"""A start from the checkpoint of __transaction_state knows what a replay of the whole logs would know, whatever happened.

One history of a few ids goes on over several lives: states, tombstones, rolled and cleaned segments, deleted records,
checkpoints after every few records. The machine goes down before each change of the disk in turn, keeping the page cache
or not, and goes on from there; after every start both ways of loading are held against each other.
"""

import contextlib
from collections.abc import Callable
from random import Random
from typing import Any, Literal, cast

import pytest

from oncelog.broker.counters import Counters
from oncelog.broker.transaction_log import CHECKPOINT, TransactionLog
from oncelog.errors import ErrorCode, StorageFault
from oncelog.model import (
    TRANSACTION_STATE,
    Acks,
    Millis,
    Producer,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from oncelog.txn.state import Bump, State, Txn
from tests.classic_world import World

Kept = Literal["process", "power"]
PARTITIONS = 2
IDS = [f"refunds-{number}" for number in range(5)]
STATES = [state for state in State if state < State.DEAD]
UNDER_WAY = (State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT)
FROM_CHECKPOINT = "txn.load.partitions_from_checkpoint"


class Crash(Exception):
    """The machine goes down here."""


class WithoutNotes:
    """The same engine without checkpoints."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def note(self, name: str) -> None:
        del name

    async def keep_note(self, name: str, data: bytes) -> None:
        del name, data


class Story:
    """One machine. `random` decides the history and nothing else, so that every crash meets the same one."""

    def __init__(self, seed: int, durability: str) -> None:
        self.random = Random(f"history {seed}")
        self.world = World(
            seed=seed,
            settings={
                "durability": durability,
                "transaction.state.log.num.partitions": str(PARTITIONS),
                "transaction.state.log.segment.bytes": "1024",
                # 4,000: the cleaner gets at what was written behind the checkpoint (seed 2001216)
                "transaction.state.log.checkpoint.bytes": self.random.choice(["1", "4000"]),
                "log.cleaner.delete.retention.ms": "0",
            },
        )
        self.number = 0
        self.from_checkpoint = 0
        self.world.start()
        self.log = self.load()

    def load(self, engine: Any = None) -> TransactionLog:
        world, counters = self.world, Counters()
        log = TransactionLog(
            cast(Any, engine or world.engine), world.loop, world.clock, world.config, counters, _raise
        )
        world.run(log.load())
        self.from_checkpoint += counters.get(FROM_CHECKPOINT)
        return log

    def up(self) -> None:
        """The next life, and the property."""
        self.world.start()
        plain = known(self.load(WithoutNotes(self.world.engine)))
        bumps = bumps_known(self.load(WithoutNotes(self.world.engine)))
        self.log = self.load()
        under_way = sorted(txn.transactional_id for txn in self.log.under_way())
        assert under_way == [name for name, txn in plain.items() if txn.state in UNDER_WAY]
        assert known(self.log) == plain
        assert bumps_known(self.log) == bumps

    def down(self, kept: Kept) -> None:
        self.world.crash(kept)

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        fate, world = self.random.random(), self.world
        if fate < 0.75:
            self.write(self.random.choice(IDS))
        elif fate < 0.83 and TRANSACTION_STATE in world.engine.topics:
            name = self.random.choice(IDS)
            partition = self.log.partition_of(name)
            world.run(self.log.forget(partition, [name], world.clock.wall_ms()))
        elif fate < 0.9:
            world.settle(self.random.choice([1, 20]))
        elif fate < 0.97 and TRANSACTION_STATE in world.engine.topics:
            world.run(world.engine.run_cleaner(TRANSACTION_STATE, self.random.randrange(PARTITIONS)))
        elif TRANSACTION_STATE in world.engine.topics:
            part = world.part(TRANSACTION_STATE, self.random.randrange(PARTITIONS))
            at = self.random.randint(part.log_start_offset, part.high_watermark)
            assert world.run(part.delete_records(at)) is ErrorCode.NONE

    def write(self, name: str) -> None:
        self.number += 1
        state = self.random.choice(STATES)
        producer = Producer(ProducerId(self.number), ProducerEpoch(self.number % 7))
        txn = Txn(
            transactional_id=name,
            producer=producer,
            previous_producer_id=producer.id,
            timeout_ms=60_000,
            state=state,
            partitions=(TopicPartition("t", self.number % 3),) if state == State.ONGOING else (),
            update_ms=Millis(self.number),
        )
        acks = Acks.LEADER if self.random.random() < 0.3 else Acks.ALL
        bump = None
        if self.random.random() < 0.3:
            bump = Bump("timeout", Millis(self.number), None, producer)
        assert self.world.run(self.log.write(txn, acks, bump)) is ErrorCode.NONE

    def stop(self) -> None:
        self.world.run(self.log.checkpoint())
        self.world.stop()


def _raise(_: str, fault: BaseException) -> None:
    if not isinstance(fault, Crash | StorageFault):
        raise fault


def known(log: TransactionLog) -> dict[str, Txn]:
    return {
        txn.transactional_id: txn for txn in sorted(log.all_but(()), key=lambda txn: txn.transactional_id)
    }


def bumps_known(log: TransactionLog) -> dict[str, Bump | None]:
    return {name: log.bump_of(name) for name in IDS}


def until(changes: int) -> Callable[[str, str], None]:
    """For MemoryDisk.before_change: dies before the change of this number."""

    def count(_what: str, _path: str) -> None:
        nonlocal changes
        changes -= 1
        if changes < 0:
            raise Crash

    return count


def goes_on(seed: int, durability: str, kept: Kept, changes: int) -> tuple[bool, int]:
    """Whether the history came so far, and how many partitions were taken from a checkpoint in all its lives."""
    story = Story(seed, durability)
    story.world.memory.before_change = until(changes)
    died = True
    with contextlib.suppress(Crash, StorageFault):
        story.live(25)
        story.stop()
        died = False
    if died:
        story.down(kept)
    else:
        story.world.crash("process")
    story.up()
    story.live(4)  # on a log that may have been cut: the old checkpoint must not be believed again
    story.down("process")
    story.up()
    story.live(4)
    story.stop()
    story.world.crash("process")
    story.up()
    return died, story.from_checkpoint


@pytest.mark.parametrize("kept", ["process", "power"])
@pytest.mark.parametrize("durability", ["process", "power"])
def test_rec_8_a_checkpoint_and_its_tail_are_the_whole_log_at_every_crash(
    durability: str, kept: Kept
) -> None:
    for seed in (1, 2):
        changes, used, died = 0, 0, True
        while died:
            died, taken = goes_on(seed, durability, kept, changes)
            used += taken
            changes += 1
        assert changes > 60
        assert used > changes  # of three starts each: not always the long way round


@pytest.mark.parametrize("durability", ["process", "power"])
def test_rec_8_random_lives(durability: Literal["process", "power"]) -> None:
    for seed in range(40):
        story = Story(seed, durability)
        for _ in range(6):
            story.live(story.random.randint(1, 40))
            if story.random.random() < 0.25:
                story.stop()
                story.world.crash("process")
            else:
                story.down("process" if story.random.random() < 0.4 else "power")
            story.up()
        assert story.world.memory.exists(CHECKPOINT), seed


def test_the_same_seed_gives_the_same_history() -> None:
    def digest(seed: int) -> tuple[object, ...]:
        story = Story(seed, "power")
        story.live(60)
        story.down("power")
        story.up()
        file = story.world.memory.open(CHECKPOINT)
        return (
            known(story.log),
            story.world.loop.steps,
            story.world.memory.syncs,
            file.read(0, file.size()),
        )

    assert digest(5) == digest(5)
