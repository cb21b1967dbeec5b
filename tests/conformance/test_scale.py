"""Sizes that nobody tries by hand: a thousand connections, thousands of partitions, a large log (issue 3, shown 6).

The same code as bench/scale.py with less. Bounds of time are loose, for a busy machine; what must not happen for every
partition is counted.
"""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from bench import scale
from oncelog.client.easy import create_topic
from oncelog.protocol.header import request_frame
from oncelog.protocol.messages.api_versions import ApiVersionsRequest
from tests.processes import ServedBroker

# Runs the broker in a process that writes a letter for every sync of a file or a directory.
COUNTED: Final = """
import os, runpy, sys
letters = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def counted(call, letter):
    def run(descriptor):
        os.write(letters, letter)
        return call(descriptor)
    return run
os.fdatasync, os.fsync = counted(os.fdatasync, b"f"), counted(os.fsync, b"d")
sys.argv = sys.argv[4:]
runpy.run_module("oncelog.cli.main", run_name="__main__", alter_sys=True)
"""


def quiet(_: str) -> None:
    return


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ServedBroker]:
    with ServedBroker(tmp_path / "data", durability="process") as running:
        yield running


def test_1000_connections_are_open_and_served(broker: ServedBroker) -> None:
    found = scale.connections(broker, 1000, seconds=3, say=quiet)
    assert found["open all and answer each once, s"] < 15
    assert found["answer each idle one again, s"] < 10
    assert found["round trips/s of 200 busy ones"] > 100
    assert found["round trip max, ms"] < 5_000
    assert found["memory of one connection, KB"] < 60
    assert broker.stop() == 0


@pytest.mark.parametrize("topics", [1, 2_000])
def test_2000_partitions_serve_stop_start_and_recover(tmp_path: Path, topics: int) -> None:
    letters = tmp_path / "syncs"
    launcher = (sys.executable, "-c", COUNTED, str(letters))
    with ServedBroker(tmp_path / "data", durability="process", launcher=launcher) as broker:
        found = scale.partitions(broker, 2_000, topics=topics, used=100, say=quiet)
    # A topic comes into being with three syncs: two copies of a line, one directory. Nothing else is synced for each partition, used
    # or not.
    assert len(letters.read_text()) < 3 * topics + 1_000
    assert found["create, broker CPU s"] < 8
    assert found["start after a clean stop, s"] < 8
    assert found["start after a clean stop, broker CPU s"] < 1.5
    assert found["start after kill -9, s"] < 15
    assert found["start after kill -9, broker CPU s"] < 2.5
    assert found["first fetch, s"] < 2
    assert found["first Metadata of all, broker CPU s"] < 0.5
    assert found["start after a clean stop, RSS MB"] < 120


def test_100_mb_are_there_at_once_after_a_stop_and_soon_after_a_kill(broker: ServedBroker) -> None:
    found = scale.large_log(broker, 100_000_000, say=quiet)
    assert found["start after a clean stop, s"] < 5
    assert found["start after a clean stop, broker CPU s"] < 1.5
    # Beyond the interpreter's own modules it reads nothing; after a kill it reads the whole log.
    assert found["start after a clean stop, MB read"] < 40
    assert found["start after kill -9, every batch checked, MB read"] > 100
    assert found["first fetch at the beginning, clean, s"] < 2
    assert found["start after kill -9, every batch checked, s"] < 10
    assert found["start after kill -9, every batch checked, broker CPU s"] < 3
    assert found["after it, RSS MB"] < 150


def test_t8_short_of_descriptors_it_refuses_connections_and_goes_on(tmp_path: Path) -> None:
    """256 descriptors, 400 partitions, 300 connections: those it has are served, and every file can be opened."""
    launcher = ("sh", "-c", 'ulimit -n 256; exec "$@"', "sh")
    hello = bytes(request_frame(18, 0, 1, "test", ApiVersionsRequest()))
    places = [("t", partition) for partition in range(400)]
    doors: list[socket.socket] = []
    answered = 0
    with (
        ServedBroker(tmp_path / "data", launcher=launcher) as broker,
        scale.connect(broker.bootstrap) as door,
    ):
        create_topic(broker.bootstrap, "t", partitions=len(places))
        door.offered()
        try:
            while len(doors) < 300:
                doors.append(socket.create_connection(("127.0.0.1", broker.port), timeout=10))
            for each in doors:
                try:
                    each.sendall(hello)
                    answered += len(each.recv(4)) == 4
                except ConnectionError:
                    continue
            assert 30 <= answered < 200
            scale.produce(door, places)
            scale.check_all(door, places, 1)
        finally:
            for each in doors:
                each.close()
        assert broker.said().count("too many connections") == 300 - answered
        assert broker.stop() == 0


def test_the_soft_limit_of_descriptors_is_raised(tmp_path: Path) -> None:
    launcher = ("sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh")
    with ServedBroker(tmp_path / "data", launcher=launcher) as broker:
        limits = Path(f"/proc/{broker.process_id}/limits").read_text()
        soft, hard = next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[
            3:5
        ]
        assert soft == hard != "256"
