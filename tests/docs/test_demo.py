"""`make demo` does what it says, and its judge is not easily pleased."""

import subprocess
import sys

import pytest

from examples.round_trip import Place, Verdict, judge
from tests.docs.tree import ROOT

RECORDS = [b"a", b"b", b"c"]
ACKED: dict[bytes, Place] = {b"a": (0, 0), b"b": (1, 0), b"c": (0, 1)}
LOG: list[tuple[Place, bytes]] = [((0, 0), b"a"), ((0, 1), b"c"), ((1, 0), b"b")]
SEEN = [b"b", b"a", b"c"]


def test_a_good_run_is_fine() -> None:
    verdict = judge(RECORDS, ACKED, LOG, SEEN)
    assert verdict == Verdict(
        acknowledged=3, stored=3, not_acknowledged=0, lost=0, doubled=0, missed=0, seen_again=0
    )
    assert verdict.is_fine


@pytest.mark.parametrize(
    ("what", "verdict"),
    [
        ("not_acknowledged", judge([*RECORDS, b"d"], ACKED, LOG, SEEN)),
        ("lost", judge(RECORDS, ACKED, LOG[:2], SEEN)),
        ("lost", judge(RECORDS, {**ACKED, b"a": (0, 1), b"c": (0, 0)}, LOG, SEEN)),
        ("doubled", judge(RECORDS, ACKED, [*LOG, ((1, 1), b"b")], SEEN)),
        ("missed", judge(RECORDS, ACKED, LOG, SEEN[:2])),
        ("seen_again", judge(RECORDS, ACKED, LOG, [*SEEN, b"a"])),
    ],
)
def test_a_bad_run_is_not_fine(what: str, verdict: Verdict) -> None:
    assert getattr(verdict, what) > 0
    assert not verdict.is_fine


def test_the_demo_survives_its_kills() -> None:
    done = subprocess.run(
        [sys.executable, "examples/round_trip.py", "--records", "3000", "--kills", "2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "3000 acknowledged, 3000 stored: 0 lost, 0 doubled; the group missed 0 and saw 0 again" in done.stdout
    )
    assert done.stdout.count("kill -9") == 3
