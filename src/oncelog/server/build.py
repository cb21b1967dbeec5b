"""Compiles a C file of this package when it is first wanted, and keeps the result in the user's cache."""

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from oncelog.errors import OncelogError

FLAGS: Final = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra")
GRACE_S: Final = 120.0


class CannotBuild(OncelogError):
    """What is missing, or what the compiler said."""


def load(name: str) -> Any:
    """The module of NAME.c. Its file is named after all that it was made from: another Python or another source has another one."""
    source = Path(__file__).with_name(f"{name}.c")
    flags = [*FLAGS, *os.environ.get("CFLAGS", "").split(), f"-I{sysconfig.get_paths()['include']}"]
    made_from = sha256(repr((sys.version, flags)).encode() + source.read_bytes()).hexdigest()[:16]
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oncelog"
    except RuntimeError as why:  # a user without a home, as containers have them
        raise CannotBuild(f"{source.name}: no XDG_CACHE_HOME, and {why}") from None
    built = folder / f"{name}-{made_from}.so"
    try:
        if not built.exists():
            _compile(source, flags, built)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise CannotBuild(f"{source.name}: {why}") from None
    loader = importlib.machinery.ExtensionFileLoader(name, str(built))
    spec = importlib.util.spec_from_file_location(name, built, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _compile(source: Path, flags: list[str], built: Path) -> None:
    compiler = next((found for each in ("cc", "gcc", "clang") if (found := shutil.which(each))), None)
    if compiler is None:
        raise CannotBuild(f"{source.name}: wanted cc, gcc or clang on the PATH, found none")
    built.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:  # several may build at once
        made = Path(folder) / built.name
        words = [compiler, *flags, str(source), "-o", str(made)]
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=GRACE_S)
        if said.returncode != 0:
            raise CannotBuild(f"{compiler} {source.name}: {said.stderr.strip()}")
        made.replace(built)
