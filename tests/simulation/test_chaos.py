"""A few seconds of `make chaos` with librdkafka: kills, stops, cuts and a full disk, and a clean history."""

from pathlib import Path

import pytest

from tests.simulation.chaos import run


@pytest.mark.xdist_group("chaos")
def test_real_clients_under_kills_stops_and_cuts(tmp_path: Path) -> None:
    report = run(8.0, tmp_path, ["librdkafka"], seed=1)
    assert report.anomalies == []
    assert report.clients == ["librdkafka"]
    assert report.kills > 0
    assert report.full_disks > 0 or any("mount" in each for each in report.left_out)
    assert report.committed > 0
    assert report.read_meanwhile > 0
    assert report.records_at_the_end >= report.committed
