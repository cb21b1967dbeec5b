"""A few seconds of `make chaos` with librdkafka, as writer and as copier: kills, stops, cuts and a full disk, and a clean history."""

import socket
from pathlib import Path

import pytest

from tests.simulation.chaos import Proxy, run


@pytest.mark.parametrize("who_leaves", ["broker", "client"])
def test_the_proxy_tells_each_side_that_the_other_has_gone_also_one_that_only_waits(who_leaves: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy(listener.getsockname()[1], seed=0)
        client = socket.create_connection(("127.0.0.1", proxy.port), timeout=5)
        broker, _ = listener.accept()
        broker.settimeout(5)
        client.sendall(b"?")
        assert broker.recv(1) == b"?"
        leaves, stays = (broker, client) if who_leaves == "broker" else (client, broker)
        leaves.close()
        assert stays.recv(1) == b""
        stays.close()
        proxy.close()


@pytest.mark.xdist_group("chaos")
def test_real_clients_under_kills_stops_and_cuts(tmp_path: Path) -> None:
    report = run(8.0, tmp_path, ["librdkafka"], seed=1)
    assert report.anomalies == []
    assert report.silent == []
    assert report.clients == ["librdkafka"]
    assert report.copiers == ["librdkafka, classic", "librdkafka, consumer"]
    assert report.copied > 0
    assert report.kills > 0
    assert report.full_disks > 0 or any("mount" in each for each in report.left_out)
    assert report.committed > 0
    assert report.read_meanwhile > 0
    assert report.records_at_the_end >= report.committed
