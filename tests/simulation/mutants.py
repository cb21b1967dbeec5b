"""How many seeds of the simulator it takes to notice each broken copy of the code: `python -m tests.simulation.mutants`.

The mutants are those of tests/mutants, each of which a test of its own kills. Here nobody knows where to look: seeds are
run from 0 on until one breaks a promise, then crash points of the fixed scenes. `--write` puts the table into
docs/reliability.md. With `--results` a run that was stopped goes on where it ended.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.mutants.mutant import ROOT, Mutant, all_mutants

DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- mutants: begin -->", "<!-- mutants: end -->"
SCRIPT = """
import json, sys
from oncelog.sim.runs import run_seeds
from oncelog.sim.scenes import SCENES, points, run_point
def found():
    for result in run_seeds(range(int(sys.argv[1])), "core"):
        if result.wrong:
            return str(result.seed + 1), result.wrong
    tried = 0
    for scene in SCENES:
        for cut, dice in points(scene, 0, int(sys.argv[2])):
            tried += 1
            try:
                run_point(scene, [cut], dice)
            except Exception as fault:
                return f"crash point {tried}", f"{type(fault).__name__}: {fault}"
    return "", ""
print(json.dumps(found()))
"""
HUNG_S = 900


class Noticed(NamedTuple):
    name: str
    after: str  # seeds, or crash points behind all seeds; empty: not at all
    why: str


def look_for(tree: Path, mutant: Mutant, seeds: int, stride: int) -> Noticed:
    target = tree / mutant.file
    whole = target.read_text(encoding="utf-8")
    target.write_text(mutant.broken(whole), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(seeds), str(stride)],
            env={**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=HUNG_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Noticed(mutant.name, "1", "a seed never ended")
    finally:
        target.write_text(whole, encoding="utf-8")
    if done.returncode:
        return Noticed(mutant.name, "1", done.stderr.strip().splitlines()[-1])
    after, why = json.loads(done.stdout.splitlines()[-1])
    return Noticed(mutant.name, after, why.splitlines()[0] if why else "")


def row(mutant: Mutant, noticed: Noticed) -> str:
    if not noticed.after:
        return f"| {mutant.name} | - | only by `{mutant.test}` |"
    why = noticed.why
    kind = f"`{why.split(': ')[1]}`" if why.startswith("Anomalies: ") else why[:90]
    return (
        f"| {mutant.name} | {noticed.after} | {kind.replace('|', '/').replace('<', '(').replace('>', ')')} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--seeds", type=int, default=300, help="give up after so many; default %(default)s")
    parser.add_argument(
        "--stride", type=int, default=9, help="then every n-th crash point; default %(default)s"
    )
    parser.add_argument(
        "--results", type=Path, help="one JSON line for each mutant; those in it are not tried again"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    asked = parser.parse_args()
    mutants = [each for each in all_mutants() if not asked.names or each.name in asked.names]
    known: dict[str, Noticed] = {}
    results: Path | None = asked.results
    if results is not None and results.exists():
        lines = results.read_text(encoding="utf-8").splitlines()
        known = {found.name: found for found in (Noticed(*json.loads(line)) for line in lines)}
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        tree = Path(directory)
        shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for mutant in mutants:
            if mutant.name not in known:
                found = known[mutant.name] = look_for(tree, mutant, asked.seeds, asked.stride)
                if results is not None:
                    with results.open("a", encoding="utf-8") as out:
                        out.write(json.dumps(found) + "\n")
            sys.stdout.write(row(mutant, known[mutant.name]) + "\n")
            sys.stdout.flush()
    count = sum(1 for each in mutants if known[each.name].after)
    said = (
        f"{count} of {len(mutants)} mutants are noticed within {asked.seeds} seeds and every {asked.stride}th crash point; "
        "the others by the test of their own that is named."
    )
    sys.stdout.write(said + "\n")
    if asked.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        _, _, after = rest.partition(END)
        rows = [row(mutant, known[mutant.name]) for mutant in mutants]
        table = "\n".join([said, "", "| mutant | seeds until noticed | by what |", "|---|---|---|", *rows])
        DOCUMENT.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
