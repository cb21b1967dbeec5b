"""The outbox: every row once, in the order of transactions, whatever is killed when."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

import oncelog
from oncelog.client.cluster import Cluster
from oncelog.client.faults import Fenced
from oncelog.postgres.outbox import OutboxRefused, Position, Shipper, make_outbox
from tests.postgres_server import postgres
from tests.toolchains import ROOT, Missing, leave_out


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    try:
        with postgres() as address:
            yield address
    except Missing as why:
        leave_out("PostgreSQL", why)


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        running.topic("orders", partitions=3)
        running.topic("audit", partitions=1)
        yield running


@pytest.fixture(autouse=True)
def table(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS outbox")
    make_outbox(dsn)


def insert(dsn: str, first: int, count: int, topic: str = "orders") -> None:
    with psycopg.connect(dsn) as connection:
        for number in range(first, first + count):
            connection.execute(
                "INSERT INTO outbox (topic, key, value) VALUES (%s, %s, %s)",
                (topic, b"k%d" % (number % 7), b"%d" % number),
            )


def shipper(
    dsn: str,
    broker: oncelog.Broker,
    *,
    rows_at_once: int = 1000,
    reached: Callable[[str], None] | None = None,
) -> Shipper:
    return Shipper(
        dsn,
        Cluster(broker.bootstrap),
        transactional_id="outbox-1",
        progress_topic="audit",
        rows_at_once=rows_at_once,
        reached=reached,
    )


def values(broker: oncelog.Broker, topic: str = "orders") -> list[int]:
    return sorted(int(each.value or b"") for each in broker.read(topic))


def test_rows_are_shipped_once_and_in_order(dsn: str, broker: oncelog.Broker) -> None:
    insert(dsn, 0, 50)
    insert(dsn, 50, 5, topic="audit")
    one = shipper(dsn, broker, rows_at_once=20)
    assert [one.ship() for _ in range(4)] == [20, 20, 15, 0]
    assert values(broker) == list(range(50))
    assert values(broker, "audit") == list(range(50, 55))
    by_key: dict[bytes | None, list[int]] = {}
    for each in broker.read("orders"):
        by_key.setdefault(each.key, []).append(int(each.value or b""))
    assert all(found == sorted(found) for found in by_key.values())
    another = shipper(dsn, broker)
    assert another.ship() == 0  # it goes on where the first one stood
    insert(dsn, 100, 3)
    assert another.ship() == 3
    insert(dsn, 200, 1)
    with pytest.raises(Fenced):
        one.ship()


def test_a_row_of_a_transaction_that_commits_late_is_not_missed(dsn: str, broker: oncelog.Broker) -> None:
    one = shipper(dsn, broker)
    with psycopg.connect(dsn) as late:
        late.execute("INSERT INTO outbox (topic, value) VALUES ('orders', '1')")  # a lower id, committed last
        insert(dsn, 2, 3)
        assert one.ship() == 0  # they are younger than a transaction that is still open
        late.commit()
    assert one.ship() == 4
    assert values(broker) == [1, 2, 3, 4]


@pytest.mark.parametrize("step", ["written", "offsets", "ended"])
def test_a_crash_at_any_step_neither_loses_nor_doubles(dsn: str, broker: oncelog.Broker, step: str) -> None:
    insert(dsn, 0, 10)

    def crash(reached: str) -> None:
        if reached == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shipper(dsn, broker, reached=crash).ship()
    assert values(broker) == (list(range(10)) if step == "ended" else [])
    assert shipper(dsn, broker).ship() == (0 if step == "ended" else 10)
    assert values(broker) == list(range(10))


def test_a_position_of_somebody_else_is_refused(dsn: str, broker: oncelog.Broker) -> None:
    from oncelog.client.admin import Admin
    from oncelog.model import TopicPartition

    with Cluster(broker.bootstrap) as cluster:
        Admin(cluster).commit_offsets("outbox-1", {TopicPartition("audit", 0): 5}, metadata="mine")
    with pytest.raises(OutboxRefused, match="mine"):
        shipper(dsn, broker).open()
    assert Position(3, 4) < Position(3, 5) < Position(4, 0)


SCRIPT = """
import sys
from oncelog.client.cluster import Cluster
from oncelog.postgres.outbox import Shipper
dsn, bootstrap = sys.argv[1:]
Shipper(dsn, Cluster(bootstrap), transactional_id="outbox-1", progress_topic="audit", rows_at_once=7).run(idle_s=0.01)
"""


@pytest.mark.timeout(180)
def test_kills_of_the_shipper_while_rows_come(dsn: str, broker: oncelog.Broker) -> None:
    """kill -9 at random moments, and the broker restarted twice, while an application inserts."""
    rows, dice = 600, random.Random(5)
    stop = threading.Event()

    def feed() -> None:
        for first in range(0, rows, 5):
            insert(dsn, first, 5)
        stop.set()

    feeding = threading.Thread(target=feed)
    feeding.start()
    kills = 0
    deadline = time.monotonic() + 150
    while not (stop.is_set() and len(broker.read("orders")) >= rows) and time.monotonic() < deadline:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, dsn, broker.bootstrap],
            env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
            stderr=subprocess.DEVNULL,
        )
        before = len(broker.read("orders"))
        while len(broker.read("orders")) == before and process.poll() is None and time.monotonic() < deadline:
            if stop.is_set() and before >= rows:
                break
            time.sleep(0.02)
        time.sleep(dice.random() * 0.3)
        process.kill()
        process.wait()
        kills += 1
        if kills in (3, 6):
            broker.restart()
    feeding.join()
    assert values(broker) == list(range(rows))
    assert kills >= 3
