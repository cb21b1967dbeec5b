"""A quick part of the foreign suites on every `make test`; all of them by `make conformance-...`."""

from pathlib import Path

import pytest

from tests.conformance import targets
from tests.conformance.suites import franz_go, kafka_python
from tests.conformance.suites.command import Suite
from tests.conformance.suites.ledger import Ledger
from tests.toolchains import Missing, leave_out

# They wait 10 to 20 s for clocks of the client that no broker can hurry.
FRANZ_GO_SLOW = ("TestIssue337", "TestIssue434", "TestIssue523")
FRANZ_GO_RECORDS = "1000"


def run_part(suite: Suite, slow: tuple[str, ...], log: Path, racy: tuple[str, ...] = ()) -> None:
    """Everything listed but what is slow; the end of the log goes into the failure. `racy`: functions that fail now and
    then by the client's own fault: what failed of them is asked twice more."""
    ledger = Ledger.load(suite.name)
    with targets.run("oncelog", suite.settings) as bootstrap:
        outcomes = suite.run(bootstrap, skip=[*ledger.excluded, *slow], log=log)
        for again in (log.with_suffix(".again"), log.with_suffix(".last")):
            failed = {
                name.split("::")[-1].split("[")[0] for name, found in outcomes.items() if found == "fail"
            }
            asked = [name for name in racy if name in failed]
            if asked:
                outcomes |= suite.run(bootstrap, only=" or ".join(asked), skip=[*ledger.excluded], log=again)
    asked = [test for test in ledger.passes if test.split("/")[0] not in slow]
    verdict = ledger.judge(outcomes, asked)
    assert verdict.good, f"{verdict.text()}\n{log.read_text(errors='replace')[-8000:]}"


@pytest.mark.timeout(300)
def test_franz_go_suite_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGO_TEST_RECORDS", FRANZ_GO_RECORDS)
    try:
        franz_go.binary()
    except Missing as why:
        leave_out("franz-go's own tests", why)
    run_part(franz_go.SUITE, FRANZ_GO_SLOW, tmp_path / "log")


@pytest.mark.timeout(300)
def test_kafka_python_suite(tmp_path: Path) -> None:
    run_part(kafka_python.SUITE, (), tmp_path / "log", kafka_python.RACY)


def ledger(folder: Path, passes: str, excluded: str) -> Ledger:
    (folder / "some.passes").write_text(passes)
    (folder / "some.excluded").write_text(excluded)
    return Ledger.load("some", folder)


def test_ledger_notices_what_was_lost_and_what_has_no_reason(tmp_path: Path) -> None:
    kept = ledger(tmp_path, "A\nB\nC/part\n", "# no reason is enough, this is one\nD\n")
    verdict = kept.judge({"A": "pass", "B": "fail", "D/part": "fail", "E": "skip", "F": "pass"})
    assert verdict.lost == ("B: fail", "C/part: not run")
    assert verdict.unexplained == ("E: skip",)
    assert verdict.gained == ("F",)
    assert not verdict.good
    assert kept.judge({"A": "pass", "D": "fail"}, asked=["A"]).good


def test_ledger_grows_and_never_shrinks(tmp_path: Path) -> None:
    kept = ledger(tmp_path, "B\nA\n", "")
    kept.accept(["C"], tmp_path)
    assert (tmp_path / "some.passes").read_text() == "A\nB\nC\n"


@pytest.mark.parametrize(
    ("passes", "excluded", "wanted"),
    [
        ("A\n", "A\n", "before any '# reason' line"),
        ("A\n", "# why\nA\n", "listed as passing and as excluded: A"),
        ("A\nA\n", "", "holds a test twice"),
    ],
)
def test_ledger_refuses_lists_that_contradict(
    tmp_path: Path, passes: str, excluded: str, wanted: str
) -> None:
    with pytest.raises(ValueError, match=wanted):
        ledger(tmp_path, passes, excluded)
