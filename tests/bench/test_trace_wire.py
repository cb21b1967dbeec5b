"""What the record of requests costs over sockets: that the two sides are what they are called, whoever serves the requests."""

import shutil

import pytest

from bench import trace_wire
from bench.trace_wire import NATIVE, PYTHON, WITH, WITHOUT
from oncelog.errors import OncelogError
from tests.toolchains import Missing, leave_out, program
from tools import benchmarks_doc


@pytest.mark.timeout(120)
@pytest.mark.parametrize("hot_path", [PYTHON, NATIVE])
def test_each_side_keeps_requests_or_none_and_the_lane_serves_them_or_not(hot_path: str) -> None:
    if not any(shutil.which(each) for each in ("cc", "gcc", "clang")):
        try:
            program("cc")
        except Missing as why:
            leave_out("the load over sockets", why)
    with trace_wire.switched(hot_path) as broker:
        for side in (WITH, WITHOUT, WITHOUT, WITH):
            run = broker.loaded(side, 0.5)  # refuses a run that was not what it is counted as
            assert run["transactions"] > 0


CASES = """
# hot path  side            transactions  kept  served  refused
  python    with-the-trace  100           200   0       no
  python    with-the-trace  100           199   0       yes
  python    with-the-trace  100           200   1       yes
  python    without         100           0     0       no
  python    without         100           1     0       yes
  native    with-the-trace  100           200   200     no
  native    with-the-trace  100           200   0       yes
  native    with-the-trace  100           0     200     yes
  native    without         100           0     200     no
  native    without         100           200   200     yes
  native    without         100           0     99      yes
"""


@pytest.mark.parametrize("case", [each.split() for each in CASES.strip().splitlines()[1:]])
def test_a_run_that_was_not_what_it_is_counted_as_ends_the_measurement(case: list[str]) -> None:
    hot_path, side, transactions, kept, served, refused = case
    words = {"kept": int(kept), "served": int(served)}
    if refused == "no":
        trace_wire.check(hot_path, side.replace("-", " "), int(transactions), **words)
        return
    with pytest.raises(OncelogError, match=f"hot.path={hot_path}"):
        trace_wire.check(hot_path, side.replace("-", " "), int(transactions), **words)


def test_the_document_has_rows_for_both_and_says_what_is_missing() -> None:
    middle = {"median": 1.01, "interval_95": [1.0, 1.02], "quartiles": [0.99, 1.03]}
    wire = {
        "command": "python -m bench.trace_wire --hot-path native",
        "load": "some load",
        "cpu_ratio": middle,
        "time_ratio": middle,
        "medians": {WITH: {"other_load_share": 0.02}},
    }
    told = benchmarks_doc.trace_cost({"python": None, "native": wire}, None)
    assert told.count("`hot.path=native`") == 3
    assert "1.010 | 1.000 to 1.020 | 0.990 to 1.030" in told
    assert told.endswith("Not measured over sockets: `hot.path=python`.")
