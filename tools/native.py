"""Compiles the hot path with mypyc (decision 0023): `python -m tools.native`, or `make native`.

The modules of oncelog.compiled are compiled from a copy of the sources; the libraries go to .cache/native, where oncelog.native finds them. Nothing is
done if they are there already, built from the same sources. Needs a C compiler and the headers of Python.

mypyc is not Python everywhere. Before anything is compiled, tools.native_checks looks for the places that we met, and mypy for code that it
believes to be out of reach; a finding fails the build.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, Final

from oncelog import native
from oncelog.compiled import MODULES

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ROOT / "src" / "oncelog"
OPTIONS: Final = ("--warn-unreachable", "--follow-imports=silent", "--no-incremental")
OPTIMIZE: Final = "2"


class CannotBuild(Exception):
    """What is missing, or what the checks found."""


def place() -> Path:
    return ROOT / ".cache" / "native" / native.TAG


def stamp() -> dict[str, Any]:
    """What the build depends on besides the sources."""
    from mypy.version import __version__

    return {"modules": list(MODULES), "mypyc": __version__, "python": sys.version, "optimize": OPTIMIZE}


def is_built() -> bool:
    file = place() / native.BUILT
    if not file.exists():
        return False
    built = json.loads(file.read_text())
    return built["stamp"] == stamp() and native.why_not(built) is None


def missing() -> str | None:
    """What this machine lacks for a build."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"a C compiler ({compiler})"
    header = Path(sysconfig.get_path("include")) / "Python.h"
    return None if header.exists() else f"the headers of Python ({header.name})"


def build(jobs: int = 2) -> None:
    """Compiles, unless it is done already."""
    if is_built():
        return
    lacks = missing()
    if lacks is not None:
        raise CannotBuild(f"wanted {lacks}, found none")
    place().parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="build-", dir=place().parent))
    try:
        shutil.copytree(
            SOURCES, work / "oncelog", ignore=shutil.ignore_patterns("__pycache__", "*.so", "_native")
        )
        done = subprocess.run(
            [sys.executable, "-m", "tools.native_compile", str(work), str(jobs)],
            cwd=ROOT,
            env={**os.environ, native.VARIABLE: "0", "PYTHONPATH": os.pathsep.join(("src", "."))},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise CannotBuild(done.stdout)
        made = work / "made"
        read = json.loads((work / "read.json").read_text())
        built = {
            "stamp": stamp(),
            "sources": {module: native.digest(native.source_of(module)) for module in read},
            "libraries": {
                _module_of(each.relative_to(made)): str(each.relative_to(made)) for each in made.rglob("*.so")
            },
        }
        (made / native.BUILT).write_text(json.dumps(built, indent=1) + "\n")
        old = place().with_name(f"{native.TAG}.old-{os.getpid()}")
        if place().exists():
            place().rename(old)
        made.rename(place())
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _module_of(library: Path) -> str:
    name = ".".join(library.parts)
    for suffix in EXTENSION_SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix).removesuffix(".__init__")
    raise CannotBuild(f"no module: {library}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2, help="C compilers at once")
    asked = parser.parse_args()
    try:
        build(asked.jobs)
    except CannotBuild as why:
        sys.stderr.write(f"make native: {why}\n")
        return 1
    print(f"compiled: {len(MODULES)} modules in {place().relative_to(ROOT)}; ONCELOG_NATIVE=1 takes them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
