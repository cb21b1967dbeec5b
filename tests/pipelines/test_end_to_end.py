"""Each pipeline on a real Spark, its driver and JVM killed with kill -9 at a known point of one of its transactions."""

from pathlib import Path

import pytest

import oncelog
from tests.pipelines.trial import Trial

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    ("name", "point"),
    [
        (
            "refunds",
            "after_prepare_commit",
        ),  # decided, and nobody was told: the micro-batch must not be written again
        ("clicks", "after_prepare_commit"),
        ("clicks-final", "after_ongoing"),
        ("router", "after_ongoing"),  # some rows are written, none is decided: all of them again
        ("enrichment", "before_complete"),
    ],
)
def test_exactly_once_through_a_kill(name: str, point: str, tmp_path: Path) -> None:
    with oncelog.Broker() as broker:
        trial = Trial(broker, name, tmp_path, rows=2500)
        with trial.running(rows_per_batch=500) as supervisor:
            trial.until(supervisor, lambda: supervisor.progress.batches > 0, "the first micro-batch")
            with broker.pause(at=point, transactional_id=trial.pipeline.transactional_id) as paused:
                paused.wait(120)
                assert supervisor.kill() is not None
        verdict = trial.verdict()
        assert verdict.holds, verdict
        assert verdict.rows_in == 2500
        assert all(verdict.rows_out.values()), verdict
        assert supervisor.progress.restarts == 1, trial.told
