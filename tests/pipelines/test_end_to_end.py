"""Every pipeline on a real Spark, whose driver and JVM are killed with kill -9 at known points of transactions."""

import shutil
from pathlib import Path

import pytest

import oncelog
from oncelog.cli.main import main
from oncelog.pipelines import PIPELINES
from tests.oracle import Oracle
from tests.pipelines.trial import DECIDED, UNDECIDED, Trial
from tests.toolchains import ROOT

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]

KILLS = {
    "refunds": DECIDED,
    "clicks": DECIDED,
    "clicks-final": UNDECIDED,
    "router": UNDECIDED,
    "enrichment": "before_complete",  # every partition has its marker
}


def test_exactly_once_through_a_kill_at_a_known_point_of_each(
    tmp_path: Path, either: oncelog.Broker | Oracle
) -> None:
    assert KILLS.keys() == PIPELINES.keys()
    trial = Trial(either, list(KILLS), tmp_path, rows=1000)
    with trial.running(rows_per_batch=500) as supervisor:
        for name, point in KILLS.items():
            trial.kill_at(either, supervisor, name, point)
    assert supervisor.progress.restarts == len(KILLS), trial.told
    verdicts = {name: trial.verdict(name) for name in KILLS}
    assert {name: verdict for name, verdict in verdicts.items() if not verdict.holds} == {}
    for verdict in verdicts.values():
        assert verdict.rows_in == 1000
        assert all(verdict.rows_out.values()), verdict


def test_the_command_line_runs_one_for_real(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "pipeline",
        "router",
        "--rows",
        "500",
        "--master",
        "local[2]",
        "--conf",
        "spark.ui.enabled=false",
    ]
    assert main(words) == 0
    found = capsys.readouterr()
    assert "router: the proof holds" in found.err
    figures = dict(line.split("\t") for line in found.out.splitlines()[1:])
    assert figures["rows in"] == "500"
    assert int(figures["rows out, t2"]) + int(figures["rows out, t3"]) == 500


def test_without_the_skip_rule_the_same_kill_makes_duplicates(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(
        ROOT / "src" / "oncelog", broken / "oncelog", ignore=shutil.ignore_patterns("__pycache__")
    )
    plan = broken / "oncelog" / "spark" / "sink_plan.py"
    rule = "        return Verdict.SKIP\n"
    assert plan.read_text().count(rule) == 1
    plan.write_text(plan.read_text().replace(rule, "        return Verdict.WRITE\n"))
    with oncelog.Broker() as broker:
        trial = Trial(broker, ["refunds"], tmp_path, rows=600)
        with trial.running(rows_per_batch=600, python_path=[broken]) as supervisor:
            trial.kill_at(broker, supervisor, "refunds", DECIDED)
        verdict = trial.verdict("refunds")
        assert not verdict.holds
        assert verdict.duplicates == sum(verdict.rows_out.values()) // 2 > 0  # all of the only micro-batch
        assert (verdict.lost, verdict.torn, verdict.wrong, verdict.pending) == (0, 0, 0, 0)
