"""The Sparks that we say we support are those that `make spark-versions` and the lock files have."""

import re
import tomllib

import pytest

from tests.spark.versions import OLDER, TESTS, pins
from tests.toolchains import ROOT

DEV = (ROOT / "requirements/dev.lock").read_text(encoding="utf-8")
OLD = (ROOT / f"requirements/spark-{OLDER}.lock").read_text(encoding="utf-8")


def pinned(text: str) -> tuple[int, int]:
    (found,) = re.findall(r"^pyspark==(\d+)\.(\d+)\.", text, re.MULTILINE)
    return int(found[0]), int(found[1])


def test_the_range_of_the_extra_goes_from_the_older_spark_to_the_pinned_one() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["spark"]
    (wanted,) = [each for each in extras if each.startswith("pyspark")]
    (major, oldest), (_, newest) = pinned(OLD), pinned(DEV)
    assert wanted == f"pyspark>={major}.{oldest},<{major}.{newest + 1}"
    assert f"PySpark {major}.{oldest} and {major}.{newest}" in (ROOT / "docs/spark.md").read_text()


def test_only_the_entry_of_pyspark_is_another() -> None:
    made, before = pins(DEV, OLD).splitlines(), DEV.splitlines()
    assert pinned("\n".join(made)) == pinned(OLD)
    at = next(number for number, line in enumerate(made) if line.startswith("pyspark=="))
    entry = OLD.splitlines()[1:]  # behind its comment: the version and its hashes
    assert made[at : at + len(entry)] == entry
    assert len(entry) == 2
    assert (made[:at], made[at + 2 :]) == (before[:at], before[at + 2 :])
    with pytest.raises(ValueError, match="wanted one entry for pyspark, found 0"):
        pins("pandas==2.3.3\n", OLD)


def test_what_runs_on_it_is_there() -> None:
    assert [each for each in TESTS if not (ROOT / each).is_file()] == []
