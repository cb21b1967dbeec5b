"""Compiled modules are taken when they are asked for, and never for other sources than those that are here."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oncelog import native
from oncelog.compiled import MODULES


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(native, "PLACES", (str(tmp_path),))
    return tmp_path


def built(place: Path, **changed: str) -> None:
    sources = {each: native.digest(native.source_of(each)) for each in MODULES} | changed
    (place / native.BUILT).write_text(json.dumps({"sources": sources, "libraries": {}}))


def test_every_module_of_the_table_is_there() -> None:
    assert [each for each in MODULES if not Path(native.source_of(each)).exists()] == []
    assert len(set(MODULES)) == len(MODULES)


def test_nothing_was_built() -> None:
    said = native.take()
    assert said is not None
    assert "nothing was built" in said


def test_a_changed_source_is_refused(place: Path) -> None:
    built(place, **{"oncelog.log.state": "0" * 64})
    assert native.take() == "oncelog.log.state was changed after the build; see `make native`"


def test_a_source_that_is_gone_is_refused(place: Path) -> None:
    built(place, **{"oncelog.log.no_such": "0" * 64})
    assert native.take() == "oncelog.log.no_such is gone; see `make native`"


def test_a_module_that_was_imported_before_is_refused(place: Path) -> None:
    """Half of it compiled would be two of each class."""
    built(place)
    importlib.import_module("oncelog.tasks")
    assert native.take() == "oncelog.tasks was imported already"


def started(wish: str, place: Path) -> subprocess.CompletedProcess[str]:
    script = f"from oncelog import native\nnative.PLACES = ({str(place)!r},)\nnative.take_if_asked()\nprint('went on')"
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": str(Path(native.PACKAGE).parent)}
    environment.pop(native.VARIABLE, None)
    before = f"import os\nimport oncelog\nos.environ[{native.VARIABLE!r}] = {wish!r}\n"
    return subprocess.run(
        [sys.executable, "-c", before + script], env=environment, capture_output=True, text=True
    )


def test_without_it_python_runs_and_says_so(place: Path) -> None:
    done = started("1", place)
    assert done.returncode == 0
    assert done.stdout == "went on\n"
    assert "not compiled, Python runs: nothing was built" in done.stderr


def test_who_requires_it_gets_it_or_an_error(place: Path) -> None:
    done = started("require", place)
    assert done.returncode == 1
    assert "the compiled hot path was required: nothing was built" in done.stderr


def test_who_does_not_ask_hears_nothing(place: Path) -> None:
    done = started("", place)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")
