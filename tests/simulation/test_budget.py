"""The pieces of the budget: together they are all of it, and each is run once, by whoever takes it first."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from oncelog.sim.runs import Result
from oncelog.sim.scenes import TWICE, Cut, Scene, points
from tests.simulation import budget
from tests.simulation.budget import (
    BY_NAME,
    PIECES,
    PLACE,
    POINT_PIECES,
    SEED_PIECES,
    SHARES,
    Beside,
    Found,
    Piece,
    is_played_again,
    result_of,
)

ROOT = Path(__file__).parent.parent.parent
PIECE = SEED_PIECES["core"][3]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(PLACE, str(tmp_path))
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is run; nothing of it takes time."""
    found: list[object] = []

    def run(piece: Piece) -> Found:
        found.append(piece)
        return Found(Counter({"core seeds": 7}), ["seed 3 is wrong"])

    monkeypatch.setattr(budget, "WORK", dict.fromkeys(budget.WORK, run))
    return found


@pytest.mark.parametrize("every", [1, 3])
def test_the_pieces_of_a_scene_are_all_of_its_points(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[tuple[Cut, ...], int]] = []

    def note(_: Scene, cuts: list[Cut], dice: int, found: Found) -> None:
        seen.append((tuple(cuts), dice))
        found.counts["exhaustive crash points"] += 1

    name = "no transactions"
    monkeypatch.setattr(budget, "_crash", note)
    monkeypatch.setattr(budget, "EVERY", every)
    for piece in POINT_PIECES:
        if piece.scene == name:
            budget.WORK[piece.kind](piece)
    assert Counter(seen) == Counter(((cut,), dice) for cut, dice in points(BY_NAME[name], 0, every))


def test_the_pieces_are_all_seeds_once() -> None:
    for profile, pieces in SEED_PIECES.items():
        seeds = [seed for piece in pieces for seed in range(piece.share, 5000, piece.of)]
        assert sorted(seeds) == list(range(5000)), profile


def test_every_piece_has_a_file_of_its_own() -> None:
    assert len({piece.file for piece in PIECES}) == len(PIECES)
    assert all("/" not in piece.file for piece in PIECES)
    assert {piece.scene for piece in PIECES if piece.kind == "points"} == set(BY_NAME)
    assert sum(piece.kind == "twice" for piece in PIECES) == len(TWICE) * SHARES


def test_who_takes_it_first_runs_it_and_others_are_told(place: Path, asked: list[object]) -> None:
    assert place.is_dir()
    first, second = result_of(PIECE), result_of(PIECE)
    assert asked == [PIECE]
    assert first == second == Found(Counter({"core seeds": 7}), ["seed 3 is wrong"])


def test_without_a_place_each_runs_its_own(asked: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLACE, raising=False)
    result_of(PIECE)
    result_of(PIECE)
    assert asked == [PIECE, PIECE]


def test_who_died_is_not_waited_for(place: Path) -> None:
    died = subprocess.Popen([sys.executable, "-c", ""])
    died.wait()
    (place / f"{PIECE.file}.taken").write_text(f"{died.pid}\n")
    with pytest.raises(AssertionError, match="is gone and has told nothing"):
        result_of(PIECE)


def test_the_processes_beside_run_pieces_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("ONCELOG_SIM_SEEDS", "1"), ("ONCELOG_SIM_WIRE_SEEDS", "1")):
        monkeypatch.setenv(name, count)
    monkeypatch.delenv("ONCELOG_SIM_POINTS", raising=False)
    monkeypatch.setenv(PLACE, "")  # comes back when the test ends
    beside = Beside(1)
    place = Path(os.environ[PLACE])
    beside.begin()
    try:
        first = PIECES[0]
        while not (place / f"{first.file}.json").exists():
            assert beside.processes[0].poll() is None
            time.sleep(0.05)
        assert result_of(first).wrong == []
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, beside.processes[0].pid) == min(own + 19, 19)
    finally:
        beside.end()
    assert not place.exists()
    assert all(process.poll() is not None for process in beside.processes)


def test_they_end_when_the_tests_were_killed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCELOG_SIM_SEEDS", "1")
    monkeypatch.setenv("ONCELOG_SIM_WIRE_SEEDS", "1")
    monkeypatch.delenv("ONCELOG_SIM_POINTS", raising=False)
    asked = [sys.executable, "-m", "tests.simulation.budget"]
    first = f"{place}/{PIECES[0].file}.taken"
    script = (
        "import os, subprocess, time\n"
        f"process = subprocess.Popen({asked}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "print(process.pid, flush=True)\n"
        f"while not os.path.exists({first!r}): time.sleep(0.01)\n"
    )
    path = os.pathsep.join(each for each in sys.path if each)
    killed = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    with suppress(psutil.NoSuchProcess):
        left = psutil.Process(int(killed.stdout))
        while left.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.05)
    assert len(list(place.glob("*.taken"))) < len(PIECES) // 2


@pytest.mark.parametrize(("digest", "wrong"), [("a", ""), ("b", ""), ("a", "Broken")])
def test_a_wire_seed_that_plays_otherwise_with_the_lane_is_told(
    digest: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[int] = []

    @contextmanager
    def no_lane() -> Generator[list[object]]:
        yield []

    def run(seed: int, _: str) -> Result:
        again.append(seed)
        return Result(seed, digest=digest, wrong=wrong)

    def run_all(seeds: Iterable[int], _: str) -> Iterator[Result]:
        return (Result(seed, digest="a") for seed in seeds)

    for name, stands_in in (
        ("run_seed", run),
        ("run_seeds", run_all),
        ("with_lane", no_lane),
        ("why_not", lambda: None),
    ):
        monkeypatch.setattr(budget, name, stands_in)
    monkeypatch.setitem(budget.SEEDS, "wire", 500)
    found = [budget.WORK["wire"](piece) for piece in SEED_PIECES["wire"]]
    assert sorted(again) == [seed for seed in range(500) if is_played_again(seed)]
    assert 40 < len(again) < 100
    assert sum(each.counts["wire seeds played again with the lane"] for each in found) == len(again)
    assert bool(found[0].wrong) == (digest != "a" or bool(wrong))
