"""How much of the simulator it takes to notice each broken copy of the code: `python -m tests.simulation.mutants`.

The mutants are those of tests/mutants, each of which a test of its own kills. Here nobody knows where to look: all of them are
tried with a few seeds, those that are left with flipped bits, power-cut images and crash points, then with more and more seeds,
up to what `make test` runs. The first broken promise ends it. `--results FILE` keeps what is known, also what was tried in vain,
so that a run that was stopped goes on where it ended; `--write` puts the table into docs/reliability.md.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.mutants.mutant import ROOT, Mutant, all_mutants

HERE = Path(__file__).parent
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- mutants: begin -->", "<!-- mutants: end -->"
STAGES = (
    "seeds 0 30",
    "seeds 30 100",
    "flips",
    "images",
    "points 12",
    "seeds 100 300",
    "points 1",
    "seeds 300 5000",
)
"""What is tried, one after the other: seeds from A to B, or every n-th crash point, also inside recoveries. All of it is part of
`make test`."""
BEYOND = (
    "src/oncelog/spark/",
    "src/oncelog/postgres/",
    "src/oncelog/inspect/",
    "src/oncelog/cli/",
    "src/oncelog/client/",
)
"""What the simulator does not run: clients of a broker, and who looks at it."""
OUT_OF_REACH = {
    "checkpoint_brings_deleted_records_back": "the broker refuses to delete records of __transaction_state",
    "expiry_of_ongoing": "a second lock on one door: only idle ids are listed for expiry at all",
    "guard_not_checked": "verification and append are one step here, so that a guard is never stale: a second lock on one door",
    "segments_go_before_the_snapshot_behind_them": "who deletes segments has waited until all is settled: a second lock on one door",
}
"""Mutants that no run can notice, and why."""
SCRIPT = """
import json, sys
from random import Random
def seeds(first, last):
    from oncelog.sim.runs import run_seeds
    for result in run_seeds(range(int(first), int(last)), "core"):
        if result.wrong:
            return f"seed {result.seed}", result.wrong
def flips():
    from tests.simulation.flips import all_silent
    for why in all_silent(500, 16):
        return "flips", why
def images():
    import tempfile
    from pathlib import Path
    from tests.simulation.test_images import IMAGES, Run, lost_after
    with tempfile.TemporaryDirectory() as directory:
        run = Run(Path(directory) / "recorded")
        for number in range(0, IMAGES, 2):
            cut = run.born + number * 7919 % (len(run.changes) - run.born + 1)
            lost = lost_after(run, cut, Path(directory) / str(number), number)
            if lost:
                return f"image {number}", f"{lost[0]} is not as it was"
def points(stride):
    from oncelog.sim.scenes import SCENES, TWICE, count_changes, points, points_in_recovery, run_point
    stride = int(stride)
    every = ((scene, [cut], dice) for scene in SCENES for cut, dice in points(scene, 0, stride))
    again = (
        (scene, list(cuts), dice)
        for scene in SCENES if scene.name in TWICE
        for at in range(1, count_changes(scene) + 1, stride)
        for cuts, dice in points_in_recovery(scene, at)
    )
    for these in (every, again):
        for scene, cuts, dice in these:
            try:
                run_point(scene, cuts, dice)
            except Exception as fault:
                return f"scene {scene.name!r}", f"{type(fault).__name__}: {fault}"
stage, *words = sys.argv[1].split()
try:
    found = {"seeds": seeds, "flips": flips, "images": images, "points": points}[stage](*words)
except Exception as fault:
    found = stage, f"{type(fault).__name__}: {fault}"
print(json.dumps(found))
"""
HUNG_S = 3_600


@dataclass(slots=True)
class Known:
    """What came of one mutant so far."""

    name: str
    text: str  # digest of the mutant and of what judges: another simulator may notice more, or less
    after: str = ""  # where it was noticed; empty: not yet
    why: str = ""
    in_vain: list[str] = field(default_factory=list[str])  # stages


def look_for(tree: Path, mutant: Mutant, stage: str) -> tuple[str, str] | None:
    target = tree / mutant.file
    whole = target.read_text(encoding="utf-8")
    target.write_text(mutant.broken(whole), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, stage],
            env={
                **os.environ,
                "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{ROOT}",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            timeout=HUNG_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return stage, "it never ended"
    finally:
        target.write_text(whole, encoding="utf-8")
    if done.returncode:
        return stage, done.stderr.strip().splitlines()[-1]
    found = json.loads(done.stdout.splitlines()[-1])
    return None if found is None else (found[0], (found[1].splitlines() or [""])[0])


def digest_of_judges() -> str:
    """Of the simulator and of the other tools that are used here."""
    found = hashlib.sha256(SCRIPT.encode())
    judges = [
        *(ROOT / "src" / "oncelog" / "sim").glob("*.py"),
        ROOT / "src" / "oncelog" / "engine" / "memory.py",
        *map(HERE.joinpath, ("flips.py", "images.py")),
    ]
    for path in sorted(judges):
        found.update(path.read_bytes())
    return found.hexdigest()


def row(mutant: Mutant, known: Known) -> str:
    if not known.after:
        tried = f"not by {', '.join(known.in_vain)}" if known.in_vain else "not tried yet"
        why = OUT_OF_REACH.get(mutant.name, tried)
        return f"| {mutant.name} | - | only by `{mutant.test}`; {why} |"
    why = known.why
    kind = f"`{why.split(': ')[1]}`" if why.startswith("Anomalies: ") else why[:90]
    return f"| {mutant.name} | {known.after} | {kind.replace('|', '/').replace('<', '(').replace('>', ')')} |"


def write_table(said: str, rows: list[str]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = "\n".join([said, "", "| mutant | noticed at | by what |", "|---|---|---|", *rows])
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument(
        "--stages", type=int, default=len(STAGES), help=f"how many of {', '.join(STAGES)}; default all"
    )
    parser.add_argument("--results", type=Path, help="a JSON file that keeps what is known of each mutant")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    asked = parser.parse_args()
    mutants = [
        each
        for each in all_mutants()
        if not each.file.startswith(BEYOND) and (not asked.names or each.name in asked.names)
    ]
    results: Path | None = asked.results
    kept: list[dict[str, Any]] = []
    if results is not None and results.exists():
        kept = json.loads(results.read_text(encoding="utf-8"))
    known = {str(each["name"]): Known(**each) for each in kept}
    judges = digest_of_judges()
    for mutant in mutants:
        text = hashlib.sha256(f"{mutant!r} {judges}".encode()).hexdigest()[:12]
        if mutant.name not in known or known[mutant.name].text != text:
            known[mutant.name] = Known(mutant.name, text)
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        tree = Path(directory)
        shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for stage in STAGES[: asked.stages]:
            for mutant in mutants:
                of = known[mutant.name]
                if of.after or stage in of.in_vain or mutant.name in OUT_OF_REACH:
                    continue
                found = look_for(tree, mutant, stage)
                if found is None:
                    of.in_vain.append(stage)
                else:
                    of.after, of.why = found
                    sys.stdout.write(row(mutant, of) + "\n")
                    sys.stdout.flush()
                if results is not None:
                    results.write_text(
                        json.dumps([asdict(each) for each in known.values()]), encoding="utf-8"
                    )
    rows = [row(mutant, known[mutant.name]) for mutant in mutants]
    count = sum(1 for each in mutants if known[each.name].after)
    said = (
        f"{count} of {len(mutants)} mutants are noticed by the simulator. The others have a test of their own that notices them; their "
        "rows say what was tried in vain, which may be less than what `make test` runs."
        f" Simulator {judges[:12]}."
    )
    sys.stdout.write("\n".join([*[each for each in rows if "| - |" in each], said]) + "\n")
    if asked.write:
        write_table(said, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
