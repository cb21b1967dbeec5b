"""A crash before every change of the disk in thirteen scenes, and inside the recovery that follows.

How many of them: see budget.py.
"""

from collections.abc import Callable
from typing import Literal

import pytest

from oncelog.engine.memory import MemoryDisk
from oncelog.sim.scenes import Cut, Play, points, run_point
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
