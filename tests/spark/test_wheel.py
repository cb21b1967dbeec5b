"""oncelog[spark] as people install it: from a wheel, and as a zip for executors that have none. `make spark-wheel` lets pip do all of it."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.spark.wheel import build_wheel, python_with_dependencies, run_there, zip_of_the_package
from tests.toolchains import ROOT

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


def test_a_wheel_in_an_empty_environment_reads_and_writes_exactly_once(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [each for each in names if each.endswith(".dist-info/METADATA")]
        said = archive.read(metadata).decode()
    assert {each for each in names if each.startswith("tests/") or each.endswith(".pyc")} == set()
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["spark"]
    named = {re.split(r"[<>=\[]", each)[0] for each in wanted}
    extra = re.findall(r"Requires-Dist: ([\w.-]+).*extra == 'spark'", said)
    assert set(extra) == named
    python = python_with_dependencies(tmp_path / "empty")
    (folder,) = (tmp_path / "empty" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # all that pip does with a wheel of Python alone
    said = run_there(python, "local[2]")
    assert "rows 1000 different 1000" in said
    assert f"from {folder}" in said


def test_executors_that_get_a_zip_of_the_package(tmp_path: Path) -> None:
    """The driver's Python finds oncelog, that of the workers only what `addPyFile` sends them."""
    python = python_with_dependencies(tmp_path / "bare")
    zipped = zip_of_the_package(tmp_path)
    said = run_there(python, "local-cluster[2,1,1024]", zipped, path=str(ROOT / "src"))
    assert "rows 1000 different 1000" in said
