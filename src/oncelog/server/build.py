"""Compiles a C file of this package when it is first wanted, and keeps the result in the user's cache.

What lies there runs with the broker's rights. So it is loaded only if nobody else can have put it there or changed it: folder and
file belong to this user and to nobody else, by their modes.
"""

import importlib.machinery
import importlib.util
import os
import platform
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
OTHERS_MAY_WRITE: Final = 0o022


class CannotBuild(OncelogError):
    """What is missing, or what the compiler said."""


def load(name: str) -> Any:
    """The module of NAME.c. Its file is named after all that it was made from: another Python or another source has another one."""
    source = Path(__file__).with_name(f"{name}.c")
    flags = [*FLAGS, *os.environ.get("CFLAGS", "").split(), f"-I{sysconfig.get_paths()['include']}"]
    suffix = sysconfig.get_config_var("EXT_SUFFIX")  # a home may be shared by machines of several kinds
    made_of = repr((sys.version, suffix, platform.machine(), flags)).encode() + source.read_bytes()
    built = _cache(source) / f"{name}-{sha256(made_of).hexdigest()[:16]}.so"
    try:
        is_old = built.exists()
        if not is_old:
            _compile(source, flags, built)
        _refuse_if_others_write(built.parent, built)
        try:
            return _imported(name, built)
        except ImportError:
            if not is_old:
                raise
        _compile(source, flags, built)  # what a crash of the machine left of it, say
        return _imported(name, built)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise CannotBuild(f"{source.name}: {why}") from None


def _cache(source: Path) -> Path:
    try:
        parent = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as why:  # a user without a home, as containers have them
        raise CannotBuild(f"{source.name}: no XDG_CACHE_HOME, and {why}") from None
    if not parent.is_absolute():
        raise CannotBuild(f"{source.name}: wanted an absolute path as XDG_CACHE_HOME, found {parent}")
    return parent / "oncelog"


def _refuse_if_others_write(*paths: Path) -> None:
    for each in paths:
        found = each.lstat()
        if found.st_uid != os.geteuid() or found.st_mode & OTHERS_MAY_WRITE:
            raise CannotBuild(
                f"{each}: wanted what this user owns and nobody else may write, found "
                f"owner {found.st_uid} and mode {found.st_mode & 0o7777:o}"
            )


def _imported(name: str, built: Path) -> Any:
    full = f"{__package__}.built.{name}"
    loader = importlib.machinery.ExtensionFileLoader(full, str(built))
    spec = importlib.util.spec_from_file_location(full, built, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _compile(source: Path, flags: list[str], built: Path) -> None:
    compiler = next((found for each in ("cc", "gcc", "clang") if (found := shutil.which(each))), None)
    if compiler is None:
        raise CannotBuild(f"{source.name}: wanted cc, gcc or clang on the PATH, found none")
    built.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_if_others_write(built.parent)
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:  # several may build at once
        made = Path(folder) / built.name
        words = [compiler, *flags, str(source), "-o", str(made)]
        said = subprocess.run(words, capture_output=True, check=False, timeout=GRACE_S)
        if said.returncode != 0:
            raise CannotBuild(f"{compiler} {source.name}: {said.stderr.decode(errors='replace').strip()}")
        made.chmod(0o700)
        with made.open("rb") as file:
            os.fsync(file.fileno())
        made.replace(built)
