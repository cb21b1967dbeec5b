"""How many seeds of the simulator it takes to notice each broken copy of the code: `python -m tests.simulation.mutants`.

The mutants are those of tests/mutants, each of which a test of its own kills. Here nobody knows where to look: seeds are
run from 0 on until one breaks a promise. `--write` puts the table into docs/reliability.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.mutant import ROOT, Mutant, all_mutants

DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- mutants: begin -->", "<!-- mutants: end -->"
SCRIPT = """
import json, sys
from oncelog.sim.runs import run_seeds
from oncelog.sim.scenes import SCENES, points, run_point
limit = int(sys.argv[1])
for result in run_seeds(range(limit), "core"):
    if result.wrong:
        print(json.dumps([result.seed + 1, result.wrong]))
        break
else:
    print(json.dumps([0, ""]))
"""
HUNG_S = 400


def seeds_until_found(tree: Path, mutant: Mutant, limit: int) -> tuple[int, str]:
    """(seeds, what was noticed); 0 seeds if none of them noticed."""
    target = tree / mutant.file
    whole = target.read_text(encoding="utf-8")
    target.write_text(mutant.broken(whole), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(limit)],
            env={**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=HUNG_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, "a seed never ended"
    finally:
        target.write_text(whole, encoding="utf-8")
    if done.returncode:
        return 1, done.stderr.strip().splitlines()[-1]
    seeds, wrong = json.loads(done.stdout.splitlines()[-1])
    return seeds, wrong.splitlines()[0] if wrong else ""


def row(mutant: Mutant, seeds: int, wrong: str, limit: int) -> str:
    kind = wrong.split(": ")[1] if wrong.startswith("Anomalies: ") else wrong[:90]
    kind = kind.replace("|", "/").replace("<", "(").replace(">", ")")
    return f"| {mutant.name} | {seeds or f'not in {limit}'} | {kind or '-'} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--seeds", type=int, default=300, help="give up after so many; default %(default)s")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    asked = parser.parse_args()
    mutants = [each for each in all_mutants() if not asked.names or each.name in asked.names]
    rows: list[str] = []
    found = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        tree = Path(directory)
        shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for mutant in mutants:
            seeds, wrong = seeds_until_found(tree, mutant, asked.seeds)
            found += seeds > 0
            rows.append(row(mutant, seeds, wrong, asked.seeds))
            sys.stdout.write(rows[-1] + "\n")
            sys.stdout.flush()
    said = f"{found} of {len(mutants)} mutants are noticed within {asked.seeds} seeds."
    sys.stdout.write(said + "\n")
    if asked.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        _, _, after = rest.partition(END)
        table = "\n".join([said, "", "| mutant | seeds until noticed | by what |", "|---|---|---|", *rows])
        DOCUMENT.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
