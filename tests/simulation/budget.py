"""What `make test` runs of the simulator, in pieces: seeds of both profiles, and the crash points of each scene.

A piece is run once, by whoever takes it first: the test that asks for it, or one of the processes that tests/conftest.py starts
beside the tests (`python -m tests.simulation.budget`). These have the lowest priority, so they get what the tests leave of the
cores while they wait for brokers, JVMs and timeouts. Without them, and without ONCELOG_SIM_PIECES, each test runs its own.

How much: ONCELOG_SIM_SEEDS and ONCELOG_SIM_WIRE_SEEDS, a few by default; every fifteenth crash point, or each with
ONCELOG_SIM_POINTS=all.
"""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from oncelog.sim.plan import draw
from oncelog.sim.runs import Result, little_garbage, run_seed, run_seeds
from oncelog.sim.scenes import (
    SCENES,
    TWICE,
    Cut,
    Dice,
    Scene,
    count_changes,
    outcomes,
    points,
    points_in_recovery,
    run_point,
)
from tests.simulation.lanes import why_not, with_lane

PLACE = "ONCELOG_SIM_PIECES"  # the directory that all processes of one run share
SEEDS = {
    "core": int(os.environ.get("ONCELOG_SIM_SEEDS", "100")),
    "wire": int(os.environ.get("ONCELOG_SIM_WIRE_SEEDS", "20")),
}
EVERY = 1 if os.environ.get("ONCELOG_SIM_POINTS") == "all" else 15
IS_WHOLE = SEEDS["core"] >= 5000 and SEEDS["wire"] >= 500 and EVERY == 1
BY_NAME = {scene.name: scene for scene in SCENES}
SHARES = 4  # of a scene: no piece takes much longer than ten seconds
PAUSE_S = 0.1
PATIENCE_S = 900  # with the lowest priority, on a busy machine


class Piece(NamedTuple):
    """One share of what there is to do."""

    kind: str  # core, wire, points, twice
    scene: str
    share: int
    of: int

    @property
    def file(self) -> str:
        return "-".join(f"{each}" for each in self).replace(" ", "_")


BLOCKS = {"core": 50, "wire": 10}
SEED_PIECES = {
    profile: [Piece(profile, "", share, count) for share in range(count)] for profile, count in BLOCKS.items()
}
POINT_PIECES = [Piece("points", name, share, SHARES) for name in BY_NAME for share in range(SHARES)]
TWICE_PIECES = [Piece("twice", name, share, SHARES) for name in TWICE for share in range(SHARES)]
PIECES = [*POINT_PIECES, *TWICE_PIECES, *SEED_PIECES["wire"], *SEED_PIECES["core"]]


@dataclass(slots=True)
class Found:
    """What came of a piece."""

    counts: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])


def _seeds(piece: Piece) -> Found:
    found = Found()
    has_lane = piece.kind == "wire" and why_not() is None
    for result in run_seeds(range(piece.share, SEEDS[piece.kind], piece.of), piece.kind):
        found.counts += Counter({f"{piece.kind} {name}": count for name, count in result.counts.items()})
        found.counts[f"{piece.kind} seeds"] += 1
        if result.wrong:
            found.wrong.append(f"oncelog sim {result.seed} --profile {piece.kind}: {result.wrong}")
        elif piece.kind == "wire" and has_lane and is_played_again(result.seed):
            _play_again(result, found)
    return found


def is_played_again(seed: int) -> bool:
    """Half of the seeds whose broker the express lane may serve: it leaves durability=power to Python."""
    return seed // BLOCKS["wire"] % 2 == 0 and draw(seed).settings["durability"] == "process"


def _play_again(plain: Result, found: Found) -> None:
    """The seed once more with the express lane: all that its clients are told, and the disk, must be the same."""
    with with_lane() as lanes:
        result = run_seed(plain.seed, "wire")
    found.counts["wire seeds played again with the lane"] += 1
    found.counts["requests that the lane served"] += sum(lane.served for lane in lanes)
    if result.wrong or result.digest != plain.digest:
        found.wrong.append(
            f"seed {plain.seed} --profile wire is another one with the lane: {result.wrong or result.digest}"
        )


def _points(piece: Piece) -> Found:
    scene = BY_NAME[piece.scene]
    found = Found()
    with little_garbage():
        for cut, dice in points(scene, piece.share * EVERY, EVERY * piece.of):
            _crash(scene, [cut], dice, found)
    least = count_changes(scene) * len(outcomes(scene)) // (EVERY * piece.of)
    assert found.counts["exhaustive crash points"] >= least
    return found


def _twice(piece: Piece) -> Found:
    scene = BY_NAME[piece.scene]
    found = Found()
    with little_garbage():
        for at in range(1 + piece.share * EVERY, count_changes(scene) + 1, EVERY * piece.of):
            for cuts, dice in points_in_recovery(scene, at):
                _crash(scene, cuts, dice, found)
    assert found.counts["exhaustive crash points"] > 5
    return found


def _crash(scene: Scene, cuts: Sequence[Cut], dice: Dice, found: Found) -> None:
    found.counts["exhaustive crash points"] += 1
    try:
        made = run_point(scene, cuts, dice).cuts_made
        assert len(cuts) > 1 or made == 1
    except Exception as fault:  # noqa: BLE001  # all of them are told
        found.wrong.append(f"{scene.name}: {cuts} with dice {dice}: {type(fault).__name__}: {fault}")
    if found.counts["exhaustive crash points"] % 8 == 0:  # a point is an eighth of a seed
        gc.collect()


WORK: Mapping[str, Callable[[Piece], Found]] = {
    "core": _seeds,
    "wire": _seeds,
    "points": _points,
    "twice": _twice,
}


# Whoever takes it first


def _take(place: Path, piece: Piece) -> bool:
    """Writes our number down; False if somebody has it already."""
    try:
        with (place / f"{piece.file}.taken").open("x") as file:
            file.write(f"{os.getpid()}\n")
    except FileExistsError:
        return False
    return True


def _run_and_tell(place: Path, piece: Piece) -> Found:
    found = WORK[piece.kind](piece)
    whole = place / f"{piece.file}.json.{os.getpid()}"
    whole.write_text(json.dumps([found.counts, found.wrong]))
    whole.rename(place / f"{piece.file}.json")
    return found


def result_of(piece: Piece) -> Found:
    """What came of the piece: found here, or by who took it."""
    if PLACE not in os.environ:
        return WORK[piece.kind](piece)
    place = Path(os.environ[PLACE])
    if _take(place, piece):
        return _run_and_tell(place, piece)
    while True:
        is_over = _is_gone(place, piece)
        told = place / f"{piece.file}.json"
        if told.exists():
            counts, wrong = json.loads(told.read_text())
            return Found(Counter(counts), wrong)
        assert not is_over, f"who ran {piece} is gone and has told nothing"
        time.sleep(PAUSE_S)


def check(piece: Piece, record_property: Callable[[str, object], None]) -> Counter[str]:
    """For tests: nothing is wrong, and the counts go into the report."""
    found = result_of(piece)
    assert not found.wrong, "\n".join(found.wrong[:10])
    for name, count in found.counts.items():
        record_property(name, count)
    return found.counts


def _is_gone(place: Path, piece: Piece) -> bool:
    taken = (place / f"{piece.file}.taken").read_text()
    if not taken.endswith("\n"):
        return False  # being written
    try:
        os.kill(int(taken), 0)
    except ProcessLookupError:
        return True
    return False


class Beside:
    """The processes beside the tests, as many as there are workers."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._place = tempfile.mkdtemp(prefix="oncelog-pieces-")
        self.processes: list[subprocess.Popen[bytes]] = []
        os.environ[PLACE] = self._place  # for the workers too

    def begin(self) -> None:
        if not self.processes:
            asked = [sys.executable, "-m", "tests.simulation.budget"]
            path = os.pathsep.join(each for each in sys.path if each)
            self.processes = [
                subprocess.Popen(
                    asked,
                    cwd=Path(__file__).parent.parent.parent,
                    env={**os.environ, "PYTHONPATH": path},
                    stdin=subprocess.DEVNULL,
                )
                for _ in range(self._workers)
            ]

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        os.environ.pop(PLACE, None)
        shutil.rmtree(self._place, ignore_errors=True)


def main() -> None:
    os.nice(19)
    place = Path(os.environ[PLACE])
    parent = os.getppid()
    for piece in PIECES:
        if os.getppid() != parent:
            return  # the tests were killed
        if _take(place, piece):
            _run_and_tell(place, piece)


if __name__ == "__main__":
    main()
