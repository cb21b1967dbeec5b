"""The main story: seeds of both profiles break no promise, are repeated bit for bit, and are told as lanes when they fail.

How many seeds: see budget.py.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oncelog as oncelog_package
from oncelog.broker.handlers import init_producer_id
from oncelog.cli.main import main
from oncelog.engine.memory import MemoryDisk
from oncelog.ports import File
from oncelog.protocol.messages.init_producer_id import InitProducerIdResponse
from oncelog.sim.check import Anomaly
from oncelog.sim.history import Poll
from oncelog.sim.invariants import Broken, Invariants
from oncelog.sim.runs import run_seed, run_seeds
from oncelog.sim.story import Story
from oncelog.sim.trace import lanes
from oncelog.tasks import Future, resolved
from tests.simulation.budget import (
    IS_WHOLE,
    PATIENCE_S,
    PIECES,
    PLACE,
    SEED_PIECES,
    SEEDS,
    Piece,
    check,
    is_played_again,
    result_of,
)
from tests.simulation.lanes import why_not
from tests.simulation.summary import totals

HERE = Path(__file__).parent


def kept_seeds() -> list[tuple[str, int]]:
    """Seeds that once failed, with the profile they failed in."""
    found: list[tuple[str, int]] = []
    for line in (HERE / "seeds.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            profile, seed, *_ = line.split()
            found.append((profile, int(seed)))
    return found


@pytest.mark.parametrize(("profile", "seed"), kept_seeds())
def test_a_seed_that_once_failed(profile: str, seed: int) -> None:
    assert run_seed(seed, profile).wrong == ""


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("piece", SEED_PIECES["core"], ids=lambda piece: str(piece.share))
def test_core_seeds_keep_every_promise(piece: Piece, record_property: Callable[[str, object], None]) -> None:
    total = check(piece, record_property)
    if SEEDS["core"] >= 1000:  # the faults do happen
        each = total["core seeds"]
        assert total["core crashes"] > 3 * each
        assert total["core committed"] + total["core aborted"] + total["core copied"] > 30 * each
        assert total["core crashes in recovery"] > 0
        assert total["core fenced"] > each


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("piece", SEED_PIECES["wire"], ids=lambda piece: str(piece.share))
def test_wire_seeds_keep_every_promise(piece: Piece, record_property: Callable[[str, object], None]) -> None:
    total = check(piece, record_property)
    if (
        SEEDS["wire"] >= 500
        and any(map(is_played_again, range(piece.share, 500, piece.of)))
        and not why_not()
    ):
        assert total["requests that the lane served"] > 0


PROMISED = {"transactions": 200_000, "random crashes": 20_000, "exhaustive crash points": 10_000}


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("piece", ["all of them"])  # last, as pieces are
def test_the_whole_budget_is_what_the_documents_promise(piece: str) -> None:
    """Asked of `make test` only, where others have run most pieces by now. A random crash is a kill, a cut of the power or a fault of the disk; the
    cut at the end of each seed is none."""
    if not IS_WHOLE or PLACE not in os.environ:
        return
    total = totals(result_of(each).counts for each in PIECES)
    less = {name: total[name] for name in PROMISED if total[name] < PROMISED[name]}
    assert not less, f"{piece}: wanted {PROMISED}, found {less}"
    assert total["core seeds"] >= 5_000
    assert total["wire seeds"] >= 500


PYTHONS = ("python3.11", "python3.12", "python3.13")


def other_pythons() -> dict[str, str]:
    """Name -> path of the other versions that we promise, where the machine has them: on the path, or kept by pyenv."""
    found: dict[str, str] = {}
    mine = f"python3.{sys.version_info.minor}"
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for name in PYTHONS:
        kept = sorted(str(path) for path in root.glob(f"versions/{name[6:]}.*/bin/{name}"))
        for each in [*kept, *filter(None, [shutil.which(name)])]:
            asked = [each, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"]
            said = subprocess.run(
                asked, capture_output=True, text=True, check=False
            )  # a shim may lead nowhere
            if name != mine and said.stdout.strip() == name:
                found[name] = each
                break
    return found


def test_a_seed_is_repeated_bit_for_bit_whatever_the_hash_seed_and_the_python(
    record_property: Callable[[str, object], None],
) -> None:
    """The other Pythons that are here have no packages: stand-ins in Python alone take their place. One that is not here is told in
    the counts at the end and is no failure, even where nothing may be left out: a distribution has one Python."""
    script = (
        "from oncelog.sim.runs import run_seed\n"
        "for p in ('core', 'wire'):\n"
        "    for s in range(2): print(run_seed(s, p).digest)"
    )
    found: list[list[str]] = []
    here = os.pathsep.join(path for path in sys.path if path)
    there = os.pathsep.join(
        [str(Path(oncelog_package.__file__ or "").parent.parent), str(HERE / "stand_ins")]
    )
    others = other_pythons()
    for python, path, hash_seed in [
        *((sys.executable, here, hash_seed) for hash_seed in ("0", "1", "random")),
        *((each, there, "random") for each in others.values()),
    ]:
        done = subprocess.run(
            [python, "-c", script],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{python}: {done.stderr}"
        found.append(done.stdout.split())
    assert len(found[0]) == 4
    assert all(each == found[0] for each in found[1:])
    for name in PYTHONS:
        is_here = name in others or name == f"python3.{sys.version_info.minor}"
        record_property(
            f"seeds compared on {name}{'' if is_here else ' (it is not here)'}", len(found[0]) * is_here
        )


def test_the_digest_holds_what_clients_were_told() -> None:
    """It held crashes and the disk only: a broker that answers a Fetch otherwise could pass for the same."""
    digests: set[str] = set()
    for number in range(2):
        story = Story(0)
        op = story.history.invoke(Poll(process="p", partition="pay-0"))
        op.high_watermark = number
        story.history.ok(op)
        digests.add(story.world.digest())
    assert len(digests) == 2


def test_the_digest_of_a_wire_seed_holds_every_byte_that_clients_were_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here one that no client looks at."""
    whole = run_seed(0, "wire")
    form = InitProducerIdResponse

    def otherwise(**fields: Any) -> InitProducerIdResponse:
        return form(**{**fields, "throttle_time_ms": 1})

    monkeypatch.setattr(init_producer_id, "InitProducerIdResponse", otherwise)
    again = run_seed(0, "wire")
    assert again.wrong == ""
    assert again.counts == whole.counts
    assert again.digest != whole.digest


def test_a_disk_that_lies_about_syncs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def lie(self: MemoryDisk, files: list[File]) -> Future[None]:  # noqa: ARG001  # the disk's signature
        return resolved(None)

    monkeypatch.setattr(MemoryDisk, "sync", lie)
    assert [result.seed for result in run_seeds(range(12), "core") if result.wrong]


def test_a_failure_is_told_as_lanes() -> None:
    story = Story(0)
    story.run()
    sends = [op.number for op in story.history.ops if op.f == "send"][:2]
    rows = lanes(story.history.ops, Anomaly("phantom", "", tuple(sends)).ops)
    assert any(row.lstrip().split(" ", 1)[0].isdigit() and "!send" in row for row in rows)
    assert story.history.ops[sends[0]].process[:20] in rows[0]


def test_what_broke_inside_the_broker_is_told_with_the_last_that_clients_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(_: Invariants) -> None:
        raise Broken("13: broken on purpose")

    monkeypatch.setattr(Invariants, "check_all_replays", breaks)
    assert main(["sim", "3"]) == 1
    said = capsys.readouterr()
    assert "13: broken on purpose" in said.err
    assert any(line.lstrip().split(" ", 1)[0].isdigit() and "!" in line for line in said.out.splitlines())


def oncelog(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "oncelog.cli.main", "sim", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_oncelog_sim_runs_many_seeds_and_one_in_full() -> None:
    many = oncelog("--seeds", "3..5", "--jobs", "2")
    assert many.returncode == 0, many.stderr
    assert "3  seeds\n" in many.stdout
    assert "0  seeds that broke a promise" in many.stdout
    one, again = oncelog("3", "--trace"), oncelog("3", "--trace")
    assert one.returncode == 0
    assert one.stdout == again.stdout
    assert "commit w0" in one.stdout
    assert oncelog("3", "--profile", "wire").returncode == 0
    assert oncelog("--seeds", "5..3").returncode == 2
    assert oncelog().returncode == 2
