"""Power cuts and kills at random moments, one seed each: what was answered is still true afterwards.

Checked after every crash: each acknowledged batch is where its answer said, nothing is there twice, and what a reader was
given is still there (reliability 3.2, invariants 1, 2, 5, 6).
"""

import contextlib
from typing import Literal

import pytest

from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.port import Appended, Refused
from oncelog.errors import StorageFault
from oncelog.model import Acks
from oncelog.record.batch import batches, records_of
from oncelog.tasks import Future
from tests.classic_world import World, batch_of

SEEDS = 60
LIVES = 4


class Crash(Exception):
    """The machine goes down here."""


class Producer:
    """Sends batches in order, up to five in flight, and repeats after a crash what was not acknowledged."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.next_sequence = 0
        self.flying: dict[
            int, tuple[str, Future[Appended | Refused] | None]
        ] = {}  # sequence -> value, answer

    def batch(self, world: World, sequence: int, value: str) -> bytes:
        return batch_of(
            value,
            now=world.clock.wall_ms(),
            producer_id=self.producer_id,
            producer_epoch=0,
            base_sequence=sequence,
        )


class Story:
    def __init__(self, seed: int, mode: Literal["process", "power"]) -> None:
        self.seed = seed
        self.mode: Literal["process", "power"] = mode
        self.world = World(seed=seed, durability=mode)
        self.random = self.world.random
        self.producers = [Producer(each) for each in range(3)]
        self.acked: dict[tuple[int, int], tuple[str, int]] = {}  # (producer, sequence) -> value, offset
        self.seen: dict[int, bytes | None] = {}  # what readers were given

    def run(self) -> None:
        world = self.world.start()
        world.topic(
            configs={
                "segment.bytes": str(self.random.choice([1024, 3000, 10**6])),
                "index.interval.bytes": str(self.random.choice([0, 300])),
            }
        )
        for _ in range(LIVES):
            self.live(self.random.randint(1, 120))
            self.down()
            self.up()
            self.look()
            self.check()
        self.live(50)
        world.stop()
        world.again()
        self.check()

    def live(self, steps: int) -> None:
        for _ in range(steps):
            fate = self.random.random()
            if fate < 0.35:
                self.send(self.random.choice(self.producers))
            elif fate < 0.9:
                self.world.loop.step()
            elif fate < 0.93:
                self.look()
            self.collect()

    def send(self, producer: Producer) -> None:
        if len(producer.flying) < 5:
            sequence = producer.next_sequence
            producer.next_sequence += 1
            value = f"{producer.producer_id}/{sequence}" + "x" * self.random.choice([1, 50, 600])
            producer.flying[sequence] = (value, None)
        for sequence, (value, answer) in producer.flying.items():
            if answer is None:
                answer = self.world.part().append(producer.batch(self.world, sequence, value), acks=Acks.ALL)
                producer.flying[sequence] = (value, answer)

    def collect(self) -> None:
        for producer in self.producers:
            for sequence, (value, answer) in list(producer.flying.items()):
                if answer is not None and answer.done():
                    found = answer.result()
                    assert isinstance(found, Appended), found
                    self.acked[producer.producer_id, sequence] = (value, found.base_offset)
                    del producer.flying[sequence]

    def look(self) -> None:
        self.seen.update(self.world.values(committed=True))

    def down(self) -> None:
        """A mode that survives power cuts survives kills too, and a kill that a power cut follows."""
        self.world.crash("process" if self.random.random() < 0.3 else self.mode)
        for producer in self.producers:
            producer.flying = {sequence: (value, None) for sequence, (value, _) in producer.flying.items()}

    def up(self) -> None:
        """Starts again; one time in three the machine goes down once more while it recovers (B51)."""
        if self.random.random() < 0.35:
            left = self.random.randint(1, 25)

            def die(_what: str, _path: str) -> None:
                nonlocal left
                left -= 1
                if left <= 0:
                    raise Crash

            self.world.memory.before_change = die
            with contextlib.suppress(Crash, StorageFault):
                self.world.start()
            self.world.crash(self.mode)
        self.world.start()

    def check(self) -> None:
        part = self.world.part()
        found = stored(self.world, part)
        offsets = list(found)
        assert offsets == list(range(part.log_start_offset, part.log_end_offset))
        for (producer_id, sequence), (value, offset) in self.acked.items():
            assert found.get(offset) == (producer_id, sequence, value.encode()), (
                producer_id,
                sequence,
                offset,
            )
        identities = [(producer_id, sequence) for producer_id, sequence, _ in found.values()]
        assert len(identities) == len(set(identities))
        for offset in self.random.sample(
            offsets, min(len(offsets), 10)
        ):  # through the indexes of old segments
            position, header = next(batches(self.world.read(offset, max_bytes=1).records))
            assert (position, header.base_offset) == (0, offset)
        for offset, value in self.seen.items():
            assert found[offset][2] == value


def stored(world: World, part: ClassicPartition) -> dict[int, tuple[int, int, bytes | None]]:
    """offset -> producer id, sequence, value of everything in the log."""
    found: dict[int, tuple[int, int, bytes | None]] = {}
    at = part.log_start_offset
    while at < part.high_watermark:
        records = world.read(at, max_bytes=1 << 20).records
        for position, header in batches(records):
            for record in records_of(records[position : position + header.size], header):
                found[record.offset] = (header.producer_id, header.base_sequence, record.value)
            at = header.next_offset
    return found


@pytest.mark.parametrize("mode", ["process", "power"])
def test_acked_batches_survive_with_their_offsets_and_once(mode: Literal["process", "power"]) -> None:
    for seed in range(SEEDS):
        story = Story(seed, mode)
        try:
            story.run()
        except Exception as fault:
            raise AssertionError(f"seed {seed}, {mode}: {fault!r}") from fault


def test_the_same_seed_gives_the_same_story() -> None:
    def digest(seed: int) -> tuple[object, ...]:
        story = Story(seed, "power")
        story.run()
        return (
            sorted(story.acked.items()),
            sorted(story.seen.items()),
            story.world.loop.steps,
            story.world.memory.syncs,
        )

    for seed in (1, 2, 3):
        assert digest(seed) == digest(seed)
