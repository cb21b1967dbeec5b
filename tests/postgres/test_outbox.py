"""The outbox: every row once, in the order of transactions, whatever is killed when."""

import itertools
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from oncelog.client.cluster import Cluster
from oncelog.client.faults import Fenced, TimedOut, Unreachable
from oncelog.postgres.outbox import OutboxRefused, Position, Shipper, make_outbox
from tests.oracle import Oracle
from tests.postgres.conftest import Shop
from tests.toolchains import ROOT


@pytest.fixture(autouse=True)
def table(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS outbox")
    make_outbox(dsn)


def insert(dsn: str, topic: str, first: int, count: int) -> None:
    with psycopg.connect(dsn) as connection:
        for number in range(first, first + count):
            connection.execute(
                "INSERT INTO outbox (topic, key, value) VALUES (%s, %s, %s)",
                (topic, b"k%d" % (number % 7), b"%d" % number),
            )


def shipper(
    dsn: str,
    shop: Shop,
    *,
    rows_at_once: int = 1000,
    reached: Callable[[str], None] | None = None,
) -> Shipper:
    return Shipper(
        dsn,
        Cluster(shop.bootstrap),
        transactional_id=shop.transactional_id,
        progress_topic=shop.audit,
        rows_at_once=rows_at_once,
        reached=reached,
    )


def values(shop: Shop, topic: str | None = None) -> list[int]:
    return sorted(int(each.value or b"") for each in shop.read(topic or shop.orders))


def test_rows_are_shipped_once_and_in_order(dsn: str, shop: Shop) -> None:
    insert(dsn, shop.orders, 0, 50)
    insert(dsn, shop.audit, 50, 5)
    one = shipper(dsn, shop, rows_at_once=20)
    assert [one.ship() for _ in range(4)] == [20, 20, 15, 0]
    assert values(shop) == list(range(50))
    assert values(shop, shop.audit) == list(range(50, 55))
    by_key: dict[bytes | None, list[int]] = {}
    for each in shop.read(shop.orders):
        by_key.setdefault(each.key, []).append(int(each.value or b""))
    assert all(found == sorted(found) for found in by_key.values())
    another = shipper(dsn, shop)
    assert another.ship() == 0  # it goes on where the first one stood
    insert(dsn, shop.orders, 100, 3)
    assert another.ship() == 3
    insert(dsn, shop.orders, 200, 1)
    with pytest.raises(Fenced):
        one.ship()


def test_a_row_of_a_transaction_that_commits_late_is_not_missed(dsn: str, shop: Shop) -> None:
    one = shipper(dsn, shop)
    with psycopg.connect(dsn) as late:
        late.execute("INSERT INTO outbox (topic, value) VALUES (%s, '1')", (shop.orders,))  # committed last
        insert(dsn, shop.orders, 2, 3)
        assert one.ship() == 0  # they are younger than a transaction that is still open
        late.commit()
    assert one.ship() == 4
    assert values(shop) == [1, 2, 3, 4]


@pytest.mark.parametrize("step", ["written", "offsets", "ended"])
def test_a_crash_at_any_step_neither_loses_nor_doubles(dsn: str, shop: Shop, step: str) -> None:
    insert(dsn, shop.orders, 0, 10)

    def crash(reached: str) -> None:
        if reached == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shipper(dsn, shop, reached=crash).ship()
    assert values(shop) == (list(range(10)) if step == "ended" else [])
    assert shipper(dsn, shop).ship() == (0 if step == "ended" else 10)
    assert values(shop) == list(range(10))


def test_a_position_of_somebody_else_is_refused(dsn: str, shop: Shop) -> None:
    from oncelog.client.admin import Admin
    from oncelog.model import TopicPartition

    with Cluster(shop.bootstrap) as cluster:
        Admin(cluster).commit_offsets(
            shop.transactional_id, {TopicPartition(shop.audit, 0): 5}, metadata="mine"
        )
    with pytest.raises(OutboxRefused, match="mine"):
        shipper(dsn, shop).open()
    assert Position(3, 4) < Position(3, 5) < Position(4, 0)


SCRIPT = """
import sys
from oncelog.client.cluster import Cluster
from oncelog.postgres.outbox import Shipper
dsn, bootstrap, name, topic = sys.argv[1:]
Shipper(dsn, Cluster(bootstrap), transactional_id=name, progress_topic=topic, rows_at_once=7).run(idle_s=0.01)
"""


@pytest.mark.timeout(180)
def test_kills_of_the_shipper_while_rows_come(dsn: str, shop: Shop) -> None:
    """kill -9 at random moments, and the broker restarted twice, while an application inserts."""
    rows, dice = 600, random.Random(5)
    stop = threading.Event()

    def feed() -> None:
        for first in range(0, rows, 5):
            insert(dsn, shop.orders, first, 5)
        stop.set()

    feeding = threading.Thread(target=feed)
    feeding.start()
    kills = 0
    deadline = time.monotonic() + 150
    while not (stop.is_set() and len(shop.read(shop.orders)) >= rows) and time.monotonic() < deadline:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, dsn, shop.bootstrap, shop.transactional_id, shop.audit],
            env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
            stderr=subprocess.DEVNULL,
        )
        before = len(shop.read(shop.orders))
        while (
            len(shop.read(shop.orders)) == before and process.poll() is None and time.monotonic() < deadline
        ):
            if stop.is_set() and before >= rows:
                break
            time.sleep(0.02)
        time.sleep(dice.random() * 0.3)
        process.kill()
        process.wait()
        kills += 1
        if kills in (3, 6):
            shop.broker.restart()
    feeding.join()
    assert values(shop) == list(range(rows))
    assert kills >= 3


def test_a_broker_that_goes_away_is_waited_for(dsn: str, shop: Shop) -> None:
    insert(dsn, shop.orders, 0, 20)
    over = threading.Event()
    shipped: list[int] = []
    one = shipper(dsn, shop, rows_at_once=20)
    working = threading.Thread(target=lambda: shipped.append(one.run(idle_s=0.01, until=over.is_set)))
    working.start()
    try:
        wait(lambda: values(shop) == list(range(20)))
        if isinstance(shop.broker, Oracle):
            shop.broker.stop()
        else:
            shop.broker.kill()
        insert(dsn, shop.orders, 20, 20)
        time.sleep(0.5)  # it finds nobody
        assert working.is_alive()
        shop.broker.start()
        wait(lambda: values(shop) == list(range(40)))
    finally:
        over.set()
        working.join(60)
    assert not working.is_alive()
    assert shipped == [40]


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("step", ["written", "offsets", "ended"])
def test_a_fault_that_may_pass_is_followed_by_another_try(dsn: str, shop: Shop, step: str) -> None:
    insert(dsn, shop.orders, 0, 20)
    faults: list[Exception] = [Unreachable("gone"), TimedOut("slow"), psycopg.OperationalError("away")]

    def fail(reached: str) -> None:
        if reached == step and faults:
            raise faults.pop(0)

    one = shipper(dsn, shop, reached=fail)
    one.run(idle_s=0.01, until=lambda: len(values(shop)) >= 20)
    assert values(shop) == list(range(20))


@pytest.mark.parametrize("fault", [Unreachable("gone"), psycopg.OperationalError("away")])
def test_nobody_for_too_long_is_a_fault(dsn: str, monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    tries: list[float] = []

    def ship(_: Shipper) -> int:
        tries.append(time.monotonic())
        raise fault

    monkeypatch.setattr(Shipper, "ship", ship)
    nobody = Shipper(dsn, Cluster("127.0.0.1:1"), transactional_id="nobody", progress_topic="none")
    with pytest.raises(type(fault)):
        nobody.run(patience_s=1.0)
    pauses = [after - before for before, after in itertools.pairwise(tries)]
    assert len(pauses) == 3  # 0.1, 0.2 and 0.4 s; another 0.8 would be too long
    assert pauses == sorted(pauses)


def test_a_successor_ends_the_run_at_once(dsn: str, shop: Shop) -> None:
    one = shipper(dsn, shop)
    one.open()
    shipper(dsn, shop).open()
    insert(dsn, shop.orders, 0, 3)
    with pytest.raises(Fenced):
        one.run(patience_s=60.0)
    assert values(shop) == []
