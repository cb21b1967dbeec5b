"""A crash before every change of the disk in each scene, and inside the recovery that follows.

How many of them: see budget.py.
"""

from collections.abc import Callable
from typing import Literal

import pytest

from oncelog.engine.memory import MemoryDisk
from oncelog.sim.scenes import Cut, Play, points, points_in_recovery, run_point
from tests.simulation.budget import BY_NAME, PATIENCE_S, POINT_PIECES, TWICE_PIECES, Piece, check


def name_of(piece: Piece) -> str:
    return f"{piece.scene} {piece.share}"


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("piece", POINT_PIECES, ids=name_of)
def test_a_crash_before_every_change_of_the_disk(
    piece: Piece, record_property: Callable[[str, object], None]
) -> None:
    check(piece, record_property)


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("piece", TWICE_PIECES, ids=name_of)
def test_a_crash_inside_the_recovery_from_a_crash(
    piece: Piece, record_property: Callable[[str, object], None]
) -> None:
    check(piece, record_property)


def test_some_kills_come_in_the_middle_of_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[float] = []
    crash = MemoryDisk.crash

    def noted(disk: MemoryDisk, kept: Literal["process", "power"]) -> None:
        parts.append(disk.faults.part_before_crash)
        crash(disk, kept)

    monkeypatch.setattr(MemoryDisk, "crash", noted)
    for at in range(20, 80, 6):
        run_point(BY_NAME["small segments"], [Cut(at, "process")], 0)
    assert any(part == 0 for part in parts)
    assert any(0 < part < 1 for part in parts)


def test_a_point_is_repeated_bit_for_bit() -> None:
    scene = BY_NAME["cleaning"]
    digests = {Play(scene, [Cut(40, "power")], 1).run().digest for _ in range(2)}
    assert len(digests) == 1
    assert digests != {Play(scene, [Cut(40, "power")], 2).run().digest}


def test_the_fixed_outcomes_are_tried_at_every_change() -> None:
    scene = BY_NAME["timeout"]
    every = list(points(scene))
    at = {cut.at for cut, _ in every}
    for kept, dice in (("process", "lost"), ("power", "lost"), ("power", "kept"), ("power", "names")):
        assert {cut.at for cut, found in every if (cut.kept, found) == (kept, dice)} == at


def test_a_stop_may_be_cut_off_and_what_follows_it_is_counted_too() -> None:
    """The crashes that belong to a scene take no turn from those that are asked for."""
    scene = BY_NAME["clean stop"]
    whole = Play(scene)
    whole.run()
    assert whole.world.clean_stops == 1
    assert whole.world.crashes == 3  # its own two, and the last
    for at, stops in ((30, 0), (whole.changes, 1)):
        play = run_point(scene, [Cut(at, "process")], "lost")
        assert play.cuts_made == 1
        assert play.world.clean_stops == stops
        assert play.world.crashes == 4


def test_a_second_crash_soon_after_a_recovery_comes_behind_it() -> None:
    scene = BY_NAME["checkpoints"]
    every = list(points_in_recovery(scene, 74))
    assert len(every) == scene.soon
    for cuts, dice in every:
        play = run_point(scene, cuts, dice)
        assert play.cuts_made == 2
        assert play.world.crashes_in_recovery == 0


def test_a_forgotten_directory_sync_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool has teeth: without the sync of directories (B53) some point loses what was acknowledged."""
    scene = BY_NAME["no transactions"]
    every = list(points(scene, 0, 10))

    def forget(self: MemoryDisk, path: str) -> None: ...

    monkeypatch.setattr(MemoryDisk, "sync_directory", forget)
    wrong = 0
    for cut, dice in every:
        try:
            run_point(scene, [cut], dice)
        except Exception:  # noqa: BLE001
            wrong += 1
    assert wrong
