"""How much of the simulator it takes to notice each broken copy of the code: `python -m tests.simulation.mutants`.

The mutants are those of tests/mutants, each of which a test of its own kills. Here nobody knows where to look: all of them are
tried with a few seeds, those that are left with flipped bits, power-cut images and crash points, then with more and more seeds,
up to what `make test` runs. The first broken promise ends it. `--results FILE` keeps what is known, also what was tried in vain,
so that a run that was stopped goes on where it ended; `--write` puts the table into docs/reliability.md, where rows of mutants that
were not asked for stay as they are. Each row says of which simulator it is.
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
    "src/oncelog/pipelines/",
    "src/oncelog/cost/",
)
"""What the simulator does not run: clients of a broker, and who looks at it."""
EQUIVALENT = {
    "checkpoint_brings_deleted_records_back": (
        "The log start of `__transaction_state` moves only when somebody gives this topic another `cleanup.policy`, for DeleteRecords of it is refused and retention "
        "leaves alone what is only compacted (`tests/simulation/test_mutants.py::test_the_log_start_of_the_transaction_log_does_not_move`). Then retention deletes what "
        "transactions rely on, and no promise holds in sound code either."
    ),
    "guard_not_checked": (
        "A batch with a guard is appended in the same step in which the coordinator said that its transaction is open there, so without the check just those are "
        "accepted whose guard went with the transaction before, and these are right too "
        "(`tests/simulation/test_mutants.py::test_the_word_of_the_coordinator_and_the_append_are_one_step`). A batch without one is of a transaction that was open "
        "there; if that was ended meanwhile, its epoch is older now. The check is for a broker that waits in between."
    ),
}
"""Mutants that break no promise, whatever happens, and why. They have no row."""
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
OLDER = "older"  # than rows say of which simulator they are
DIGITS = 12  # of a digest


@dataclass(slots=True)
class Known:
    """What came of one mutant so far."""

    name: str
    text: str  # digest of the mutant and of what judges: another simulator may notice more, or less
    judges: str = OLDER
    after: str = ""  # where it was noticed; empty: not yet
    why: str = ""
    in_vain: list[str] = field(default_factory=list[str])  # stages


def concerned() -> list[Mutant]:
    """Those that the simulator must notice."""
    return [
        each for each in all_mutants() if not each.file.startswith(BEYOND) and each.name not in EQUIVALENT
    ]


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
        return f"| {mutant.name} | - | only by `{mutant.test}`; {tried} | {known.judges} |"
    why = known.why
    kind = f"`{why.split(': ')[1]}`" if why.startswith("Anomalies: ") else why[:90]
    kind = kind.replace("|", "/").replace("<", "(").replace(">", ")")
    return f"| {mutant.name} | {known.after} | {kind} | {known.judges} |"


def rows_in(text: str) -> dict[str, list[str]]:
    """The cells of each row of the table in the document, by the name of the mutant."""
    table = text.partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {cells[0]: cells for cells in rows[1:]}


def write_table(rows: list[str]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    there = {name: f"| {' | '.join(cells)} |" for name, cells in rows_in(text).items()}
    there |= {line.strip("| ").split(" | ")[0]: line for line in rows}
    kept = [there[each.name] for each in concerned() if each.name in there]
    table = [said(kept), "", "| mutant | noticed at | by what | simulator |", "|---|---|---|---|", *kept]
    table += ["", "These have no row, for they break no promise, whatever happens:"]
    table += [f"- `{name}`. {why}" for name, why in sorted(EQUIVALENT.items())]
    DOCUMENT.write_text("\n".join([before + BEGIN, *table, END + after]), encoding="utf-8")


def said(rows: list[str]) -> str:
    count = sum("| - |" not in each for each in rows)
    return f"{count} of {len(rows)} mutants are noticed by the simulator."


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
    mutants = [each for each in concerned() if not asked.names or each.name in asked.names]
    results: Path | None = asked.results
    kept: list[dict[str, Any]] = []
    if results is not None and results.exists():
        kept = json.loads(results.read_text(encoding="utf-8"))
    known = {str(each["name"]): Known(**each) for each in kept}
    judges = digest_of_judges()
    for mutant in mutants:
        text = hashlib.sha256(f"{mutant!r} {judges}".encode()).hexdigest()[:12]
        if mutant.name not in known or known[mutant.name].text != text:
            known[mutant.name] = Known(mutant.name, text, judges[:DIGITS])
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        tree = Path(directory)
        shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for stage in STAGES[: asked.stages]:
            for mutant in mutants:
                of = known[mutant.name]
                if of.after or stage in of.in_vain:
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
    sys.stdout.write("\n".join([*[each for each in rows if "| - |" in each], said(rows)]) + "\n")
    if asked.write:
        write_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
