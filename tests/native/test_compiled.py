"""The same tests and the same seeds on the compiled modules (decision 0023)."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oncelog.compiled import MODULES
from oncelog.native import VARIABLE
from tests.toolchains import CACHE, ROOT, Missing, leave_out
from tools import native

SEEDS = 6  # of each profile
PROFILES = ("core", "wire")
TESTS = (  # what tests the compiled modules most closely
    "tests/unit/test_hot_path.py",
    "tests/unit/test_log_state.py",
    "tests/unit/test_log_validate.py",
    "tests/unit/test_protocol_frame.py",
    "tests/unit/test_protocol_header.py",
    "tests/unit/test_protocol_messages.py",
    "tests/unit/test_record_batch.py",
    "tests/unit/test_server_sockets.py",
    "tests/unit/test_tasks.py",
    "tests/unit/test_txn_coordinator.py",
    "tests/unit/test_txn_recovery.py",
    "tests/unit/test_txn_stored.py",
    "tests/unit/test_txn_tables.py",
    "tests/unit/test_txn_two_phase.py",
)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Builds what tests/prepare.py has built already in a run of all tests."""
    lacks = native.missing()
    if lacks is not None:
        leave_out("the compiled hot path", Missing(lacks))
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "native.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        native.build()


def run(words: list[str], wish: str) -> str:
    environment = {**os.environ, VARIABLE: wish, "PYTHONPATH": os.pathsep.join(("src", ".")), "REQUIRE": ""}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_every_module_of_the_table_is_compiled() -> None:
    script = f"import importlib\nfor each in {MODULES!r}: print(importlib.import_module(each).__file__)"
    found = run(["-c", script], "require").split()
    assert [Path(each).suffix for each in found] == [".so"] * len(MODULES)


def test_not_asked_for_it_is_not_there() -> None:
    assert run(["-c", "import oncelog.tasks; print(oncelog.tasks.__file__[-3:])"], "") == ".py\n"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", [0, 1])
def test_the_tests_of_the_hot_path_pass(part: int) -> None:
    half = TESTS[part::2]
    said = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *half], "require")
    assert " passed" in said


@pytest.mark.timeout(300)
def test_the_simulator_tells_the_same_story_for_each_seed() -> None:
    script = (
        "from oncelog.sim.runs import run_seed\n"
        f"for profile in {PROFILES!r}:\n"
        f"    for seed in range({SEEDS}):\n"
        "        found = run_seed(seed, profile)\n"
        "        assert not found.wrong, found.wrong\n"
        "        print(profile, seed, found.digest)\n"
    )
    assert run(["-c", script], "require") == run(["-c", script], "0")
