"""The counts of simulated runs are told at the end, also when several workers ran them."""

import os
import subprocess
import sys
from pathlib import Path

from tests.simulation.summary import totals

ROOT = Path(__file__).parent.parent.parent


def test_the_process_that_sums_up_tells_the_counts(tmp_path: Path) -> None:
    """With several workers it collects nothing itself, and so loads no conftest.py but the uppermost."""
    place = tmp_path / "tests" / "simulation"
    place.mkdir(parents=True)
    (place / "test_counts.py").write_text(
        "def test_counts(record_property):\n    record_property('core crashes', 1234)\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "1",
            "-p",
            "no:cacheprovider",
            "-p",
            "tests.conftest",
            "tests",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1,234  core crashes" in done.stdout


def test_what_is_promised_is_summed_over_both_profiles() -> None:
    total = totals(
        [
            {"core committed": 5, "core aborted": 2, "core random kills and cuts": 3, "core crashes": 9},
            {"wire copied": 1, "wire random kills and cuts": 4, "wire disk faults": 2},
        ]
    )
    assert total["transactions"] == 8
    assert total["random kills and cuts"] == 7
    assert total["random crashes"] == 9
    assert total["core crashes"] == 9
