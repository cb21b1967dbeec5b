"""Power cuts on real files: 500 of the states that a recorded run could have left, and a real engine starts on each."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from oncelog.engine.disk import RealDisk
from oncelog.engine.port import Appended, ProducerView, Refused
from oncelog.log.state import Guard
from oncelog.model import Acks
from oncelog.record.aborted import AbortedEntry
from oncelog.tasks import Future
from tests.classic_world import World, batch_of
from tests.simulation.images import Change, Recorder, image

IMAGES = 500
BLOCKS = 5
CONFIGS: Mapping[str, str] = {"segment.bytes": "1024", "index.interval.bytes": "0"}


class Seen(NamedTuple):
    """What a log says when it ends at some offset."""

    producers: list[ProducerView]
    aborted: list[AbortedEntry]


class Run:
    """One recorded run: what was changed on the disk, after how many changes each value was acknowledged, and what the log said at
    each of its ends."""

    def __init__(self, directory: Path, *, syncs: bool = True) -> None:
        world = World(durability="power", settings={"log.flush.offset.checkpoint.interval.ms": "40"})
        recorder = Recorder(RealDisk(str(directory), world.loop))
        world.disk = recorder
        world.engine = world._engine()  # pyright: ignore[reportPrivateUsage]
        world.start().topic(configs=CONFIGS)
        self.born = len(recorder.changes)
        self.acked: list[tuple[int, int, bytes]] = []  # (changes before the ack, offset, value)
        self.sent: dict[int, bytes] = {}
        self.ends: dict[int, Seen] = {0: seen(world)}
        self.overlaps = 0
        waiting: list[Future[Appended | Refused]] = []

        def append(value: bytes, batch: bytes, guard: Guard | None = None) -> None:
            offset = world.part().log_end_offset
            self.sent[offset] = value
            done = world.part().append(batch, acks=Acks.ALL, guard=guard)
            done.add_callback(lambda _: self.acked.append((len(recorder.changes), offset, value)))
            self.ends[world.part().log_end_offset] = seen(world)
            self.overlaps += bool(waiting)
            waiting.append(done)

        open_since = -1
        for number in range(40):
            value = f"{number:04}{'x' * (number % 7) * 20}".encode()
            if number % 4 == 1:
                batch = batch_of(
                    value, producer_id=9, producer_epoch=0, base_sequence=number // 4, transactional=True
                )
                append(value, batch, world.guard_for(batch))
                open_since = number
            else:
                append(value, batch_of(value))
            if number % 3:  # the others meet a sync that is under way
                world.settle(1)
                continue
            for each in waiting:
                world.run(each)
            waiting.clear()
            if open_since >= 0:
                marker = world.part().append_marker(
                    producer_id=9,
                    producer_epoch=0,
                    coordinator_epoch=0,
                    commit=number % 2 == 0,
                    transaction_version=0,
                )
                self.ends[world.part().log_end_offset] = seen(world)
                world.run(marker)
                open_since = -1
            world.settle(5)
        self.changes: list[Change] = recorder.changes
        if not syncs:
            self.acked = [(0, offset, value) for _, offset, value in self.acked]
            self.changes = [
                each
                for each in self.changes
                if "sync" not in each.what or "directory" in each.what or ".log" not in each.path
            ]


def seen(world: World) -> Seen:
    part = world.part()
    return Seen(
        sorted(part.producers(), key=lambda each: each.producer_id),
        [entry for segment in part.segments for entry in segment.aborted()],
    )


def lost_after(run: Run, cut: int, directory: Path, dice: int) -> list[object]:
    """What a start on what a cut has left tells otherwise than it was: values that were acknowledged before it and are not
    there, values that were not sent, and another state than the log had when it ended there."""
    image(run.changes[:cut], directory, dice)
    world = World.on(str(directory), durability="power")
    try:
        world.start()
        if cut < run.born:
            return []
        found = world.values()
        end, state = world.part().log_end_offset, seen(world)
    finally:
        world.close()
    wrong: list[object] = [
        value for at, offset, value in run.acked if at <= cut and found.get(offset) != value
    ]
    wrong += [each for each in found.items() if run.sent.get(each[0]) != each[1]]
    if run.ends.get(end) != state:
        wrong.append((end, run.ends.get(end), state))
    return wrong


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("recorded"))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_a_power_cut_leaves_holds_what_was_acknowledged(
    run: Run, tmp_path: Path, block: int
) -> None:
    assert len(run.changes) > 200
    assert run.overlaps > 20
    random = Random(f"cuts {block}")
    for number in range(block, IMAGES, BLOCKS):
        cut = run.born + (number * 7919 + random.randrange(5)) % (len(run.changes) - run.born + 1)
        directory = tmp_path / str(number)
        assert lost_after(run, cut, directory, number) == [], f"cut after {cut} changes, dice {number}"


def test_a_run_without_syncs_loses_something(tmp_path: Path) -> None:
    """The images have teeth: with the syncs of the log files taken out, some cut loses what was acknowledged."""
    run = Run(tmp_path / "recorded", syncs=False)
    losses = 0
    for number in range(20):
        try:
            losses += bool(lost_after(run, len(run.changes), tmp_path / str(number), number))
        except Exception:  # noqa: BLE001  # a start that refuses what it finds has noticed too
            losses += 1
    assert losses
