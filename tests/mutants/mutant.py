"""Broken copies of the code, and the test that notices each: `make mutants` breaks them one by one and all must be killed.

A mutant is a file `*.mutant`: a head of `name: value` lines (why, file, test), then the words as they stand in the file after a
line `<<<<`, and the broken ones after a line `====`, up to `>>>>`. The code is broken in a copy of the tree, never here.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
FORM = re.compile(r"\A(?P<head>.*?)^<<<<\n(?P<old>.*?)^====\n(?P<new>.*?)^>>>>\n\Z", re.DOTALL | re.MULTILINE)
LIMIT_S = 180


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    why: str
    file: str
    test: str  # node id, or a test file
    old: str
    new: str

    def broken(self, text: str) -> str:
        """The file's text with the mutation; the words must stand there exactly once."""
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.name}: wanted its words once in {self.file}, found them {found} times")
        return text.replace(self.old, self.new)


def read(path: Path) -> Mutant:
    found = FORM.match(path.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{path.name}: wanted a head, then <<<<, ====, >>>> on lines of their own")
    head = dict(line.split(": ", 1) for line in found["head"].splitlines() if line)
    if set(head) != {"why", "file", "test"}:
        raise ValueError(f"{path.name}: wanted why, file and test in the head, found {sorted(head)}")
    return Mutant(path.stem, head["why"], head["file"], head["test"], found["old"], found["new"])


def all_mutants() -> list[Mutant]:
    return [read(path) for path in sorted(HERE.glob("*.mutant"))]


def run_on(tree: Path, mutant: Mutant) -> tuple[bool, str]:
    """Whether the mutant's test fails on the broken copy, and what pytest said last."""
    target = tree / mutant.file
    whole = target.read_text(encoding="utf-8")
    target.write_text(mutant.broken(whole), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", mutant.test],
            cwd=tree,
            env={
                **os.environ,
                "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True, f"the test hung for {LIMIT_S} s"
    finally:
        target.write_text(whole, encoding="utf-8")
    lines = [
        line for line in done.stdout.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))
    ] or done.stdout.splitlines()
    return done.returncode == 1, lines[0] if lines else done.stderr[-300:]


def copy_tree(to: Path) -> None:
    for name in ("src", "tests", "tools", "bench", "docs"):
        shutil.copytree(
            ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules", ".cache")
        )
    shutil.copy(ROOT / "pyproject.toml", to)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only these")
    asked = parser.parse_args()
    mutants = [each for each in all_mutants() if not asked.names or each.name in asked.names]
    alive: list[str] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        tree = Path(directory)
        copy_tree(tree)
        for mutant in mutants:
            killed, said = run_on(tree, mutant)
            sys.stdout.write(f"{'killed' if killed else 'ALIVE '} {mutant.name:40} {said}\n")
            sys.stdout.flush()
            if not killed:
                alive.append(mutant.name)
    sys.stdout.write(f"{len(mutants) - len(alive)} of {len(mutants)} mutants killed\n")
    return 1 if alive or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
