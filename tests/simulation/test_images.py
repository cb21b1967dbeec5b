"""Power cuts on real files: 500 of the states that a recorded run could have left, and a real engine starts on each."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from oncelog.engine.disk import RealDisk
from tests.classic_world import World, batch_of
from tests.simulation.images import Change, Recorder, image

IMAGES = 500
BLOCKS = 5
CONFIGS: Mapping[str, str] = {"segment.bytes": "1024", "index.interval.bytes": "0"}


class Run:
    """One recorded run: what was changed on the disk, and after how many changes each value was acknowledged."""

    def __init__(self, directory: Path, *, syncs: bool = True) -> None:
        world = World(durability="power", settings={"log.flush.offset.checkpoint.interval.ms": "40"})
        recorder = Recorder(RealDisk(str(directory), world.loop))
        world.disk = recorder
        world.engine = world._engine()  # pyright: ignore[reportPrivateUsage]
        world.start().topic(configs=CONFIGS)
        self.born = len(recorder.changes)
        self.acked: list[tuple[int, int, bytes]] = []  # (changes before the ack, offset, value)
        open_since = -1
        for number in range(40):
            value = f"{number:04}{'x' * (number % 7) * 20}".encode()
            if number % 4 == 1:
                batch = batch_of(
                    value, producer_id=9, producer_epoch=0, base_sequence=number // 4, transactional=True
                )
                offset = world.put_verified(batch).base_offset
                open_since = number
            else:
                offset = world.put(value).base_offset
            self.acked.append((len(recorder.changes), offset, value))
            if open_since >= 0 and number == open_since + 2:
                world.run(
                    world.part().append_marker(
                        producer_id=9,
                        producer_epoch=0,
                        coordinator_epoch=0,
                        commit=number % 8 == 3,
                        transaction_version=0,
                    )
                )
                open_since = -1
            world.settle(5)
        self.changes: list[Change] = recorder.changes
        if not syncs:
            self.acked = [(0, offset, value) for _, offset, value in self.acked]
            self.changes = [
                each for each in self.changes if "sync" not in each.what or not each.path.endswith(".log")
            ]


def lost_after(run: Run, cut: int, directory: Path, dice: int) -> list[bytes]:
    """What was acknowledged before the cut and is not there after a start on what it left."""
    image(run.changes[:cut], directory, dice)
    world = World.on(str(directory), durability="power")
    try:
        world.start()
        found = world.values() if cut >= run.born else {}
    finally:
        world.close()
    return [value for at, offset, value in run.acked if at <= cut and found.get(offset) != value]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("recorded"))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_a_power_cut_leaves_holds_what_was_acknowledged(
    run: Run, tmp_path: Path, block: int
) -> None:
    assert len(run.changes) > 200
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
