"""Invariant 17 with a real process: transactions, retention and restarts leave no file open that is gone, and memory does not grow."""

import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from oncelog.client.easy import create_topic
from tests.clients import transactional
from tests.processes import ServedBroker

SETTINGS = {
    "log.segment.bytes": "16384",
    "log.retention.bytes": "32768",
    "log.retention.check.interval.ms": "100",
    "log.segment.delete.delay.ms": "50",
}
ROUND = 150  # transactions
GROWTH_LIMIT_BYTES = 16 << 20
FILES_LIMIT = 150


def work(producer: Producer, rounds: int) -> None:
    for number in range(rounds):
        producer.begin_transaction()
        for partition in range(2):
            producer.produce("t", b"x" * 500, partition=partition)
        if number % 5 == 4:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)


def gone(process_id: int) -> list[str]:
    """Files that the process has open although they are deleted."""
    found: list[str] = []
    for each in Path(f"/proc/{process_id}/fd").iterdir():
        try:
            target = str(each.readlink())
        except FileNotFoundError:
            continue
        if target.endswith(" (deleted)") and (".log" in target or "index" in target or ".checks" in target):
            found.append(target)
    return found


@pytest.mark.timeout(240)
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_nothing_is_left_open_and_memory_stays(tmp_path: Path) -> None:
    with ServedBroker(tmp_path, settings=SETTINGS) as broker:
        create_topic(broker.bootstrap, "t", partitions=2)
        producer = transactional(broker.bootstrap)
        work(producer, ROUND)
        broker.kill()
        broker.start()
        work(producer, ROUND)  # closed segments that recovery has written indexes for go too
        process = psutil.Process(broker.process_id)
        before = process.memory_info().rss
        work(producer, 2 * ROUND)
        grown = process.memory_info().rss - before
        deadline = time.monotonic() + 30
        while left := gone(broker.process_id):
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
        assert process.num_fds() < FILES_LIMIT
        assert grown < GROWTH_LIMIT_BYTES
        assert broker.stop() == 0
