"""The kept mutants fit the code as it is, and two of them are killed here; `make mutants` kills them all."""

import tempfile
from pathlib import Path

import pytest

from tests.mutants.mutant import ROOT, Mutant, all_mutants, copy_tree, run_on

MUTANTS = all_mutants()
LEAST = 60
SAMPLE = ("end_txn_commits_an_abort", "sequence_gap_accepted")


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= LEAST


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_code_and_names_a_test_that_exists(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    broken = mutant.broken(text)
    assert broken != text
    if mutant.file.endswith(".py"):
        compile(broken, mutant.file, "exec")
    file, _, name = mutant.test.partition("::")
    assert (ROOT / file).is_file()
    assert name.partition("[")[0] in (ROOT / file).read_text(encoding="utf-8")


def test_a_sample_is_killed_and_the_whole_code_is_not() -> None:
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory)
        copy_tree(tree)
        for name in SAMPLE:
            killed, said = run_on(tree, by_name[name])
            assert killed, said
        sound = by_name[SAMPLE[0]]
        unharmed = Mutant("none", "", sound.file, sound.test, sound.old, sound.old)
        killed, said = run_on(tree, unharmed)
        assert not killed, said


def test_enough_mutants_of_the_published_table_are_noticed_by_the_simulator() -> None:
    """Made by `python -m tests.simulation.mutants --write`."""
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    table = text.partition("<!-- mutants: begin -->")[2].partition("<!-- mutants: end -->")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    noticed = {row[0].removeprefix("| ") for row in rows if row[1] != "-"}
    assert noticed <= {mutant.name for mutant in MUTANTS}
    assert len(noticed) >= LEAST
