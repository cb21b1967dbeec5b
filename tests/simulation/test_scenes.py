"""A crash before every change of the disk in thirteen scenes, and inside the recovery that follows.

All points with ONCELOG_SIM_POINTS=all, as in `make test`; else every fifteenth.
"""

import os

import pytest

from oncelog.engine.memory import MemoryDisk
from oncelog.sim.scenes import (
    SCENES,
    TWICE,
    Cut,
    Play,
    Scene,
    count_changes,
    outcomes,
    points,
    points_in_recovery,
    run_point,
)

EVERY = 1 if os.environ.get("ONCELOG_SIM_POINTS") == "all" else 15
SHARES = 4  # of what one scene takes longest for
BY_NAME = {scene.name: scene for scene in SCENES}


def told(scene: Scene, cuts: list[Cut], dice: int, fault: Exception) -> str:
    return f"{scene.name}: {cuts} with dice {dice}: {type(fault).__name__}: {fault}"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_crash_before_every_change_of_the_disk(name: str, record_property: object) -> None:
    scene = BY_NAME[name]
    wrong: list[str] = []
    tried = 0
    for cut, dice in points(scene, 0, EVERY):
        tried += 1
        try:
            assert run_point(scene, [cut], dice).world.crashes == 2  # this one, and the one of the last look
        except Exception as fault:  # noqa: BLE001  # all of them are told
            wrong.append(told(scene, [cut], dice, fault))
    assert not wrong, "\n".join(wrong[:10])
    assert tried >= count_changes(scene) * len(outcomes(scene)) // EVERY
    assert callable(record_property)
    record_property("exhaustive crash points", tried)


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("name", TWICE)
def test_a_crash_inside_the_recovery_from_a_crash(name: str, share: int, record_property: object) -> None:
    scene = BY_NAME[name]
    wrong: list[str] = []
    tried = 0
    for at in range(1 + share * EVERY, count_changes(scene) + 1, EVERY * SHARES):
        for first, second in points_in_recovery(scene, at, "power", at % 3):
            tried += 1
            try:
                run_point(scene, [first, second], at % 3)
            except Exception as fault:  # noqa: BLE001  # all of them are told
                wrong.append(told(scene, [first, second], at % 3, fault))
    assert not wrong, "\n".join(wrong[:10])
    assert tried > 5
    assert callable(record_property)
    record_property("exhaustive crash points", tried)


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
