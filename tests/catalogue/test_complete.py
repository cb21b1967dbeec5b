"""The catalogue is complete: every bug of the specification once, every named test exists, every gap has a reason."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.catalogue.catalogue import CATALOGUE, Bug

ROOT = Path(__file__).parents[2]
SPECIFICATION = ROOT / "docs/spec/09-reliability.md"
RANGES = (("B", 60), ("R", 12), ("J", 20))
IDS = [f"{letter}{number}" for letter, last in RANGES for number in range(1, last + 1)]
SENTENCE = re.compile(r"[A-Z][^.]{30,}\.")


@cache
def named_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(
        each.name for each in tree.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")
    )


def ids_in(name: str) -> set[str]:
    """B10 and J7 of `test_b10_something_j7`."""
    return {word.upper() for word in name.split("_") if re.fullmatch(r"[bjr][0-9]{1,2}", word)}


def test_every_bug_is_listed_once_and_in_order() -> None:
    assert [bug.id for bug in CATALOGUE] == IDS


def test_the_specification_has_the_same_bugs() -> None:
    found = re.findall(r"^\| ([BRJ][0-9]+) \|", SPECIFICATION.read_text(), re.MULTILINE)
    assert sorted(found) == sorted(IDS)


@pytest.mark.parametrize("bug", CATALOGUE, ids=[bug.id for bug in CATALOGUE])
def test_a_bug_has_tests_that_exist_or_a_reason(bug: Bug) -> None:
    assert bool(bug.tests) != bool(bug.reason)
    assert len(bug.what) > 10
    assert len(set(bug.tests)) == len(bug.tests)
    for each in bug.tests:
        path, _, name = each.partition("::")
        assert name in named_in(path), each
    if bug.reason:
        assert SENTENCE.fullmatch(bug.reason), bug.reason


def test_what_this_folder_tests_is_in_the_table() -> None:
    listed = {(bug.id, each) for bug in CATALOGUE for each in bug.tests}
    for path in sorted((ROOT / "tests/catalogue").glob("test_*.py")):
        where = path.relative_to(ROOT).as_posix()
        for name in sorted(named_in(where)):
            for bug in ids_in(name):
                assert (bug, f"{where}::{name}") in listed, f"{name} is not listed for {bug}"
