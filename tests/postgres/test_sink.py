"""Micro-batches into PostgreSQL: rows and progress together or not at all, with a real Spark that is killed."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg
import pytest

from oncelog.client.cluster import Cluster
from oncelog.client.producer import Producer
from oncelog.postgres.sink import PROGRESS, PostgresSink, PostgresSinkRefused, zone_of
from tests.postgres.conftest import Shop
from tests.postgres.sink_job import ZONE, Job
from tests.postgres_server import Database
from tests.toolchains import ROOT

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def sink(dsn: str) -> PostgresSink:
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS refunds")
        connection.execute(f"DROP TABLE IF EXISTS {PROGRESS}")
        connection.execute("CREATE TABLE refunds (id bigint, note text CHECK (note <> 'bad'))")
    return PostgresSink(dsn, "refunds", "refunds")


def rows(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return [number for (number,) in connection.execute("SELECT id FROM refunds ORDER BY id")]


def test_a_repeated_micro_batch_is_passed_over(dsn: str, sink: PostgresSink) -> None:
    names = ["id", "note"]
    assert sink.write([(1, "a"), (2, "b")], names, query_id="q", batch_id=0) == 2
    assert sink.write([(1, "a"), (2, "b")], names, query_id="q", batch_id=0) is None
    assert sink.write([(3, None)], names, query_id="q", batch_id=1) == 1
    assert sink.write([(1, "a")], names, query_id="q", batch_id=0) is None
    assert rows(dsn) == [1, 2, 3]


def test_a_failed_micro_batch_leaves_neither_rows_nor_progress(dsn: str, sink: PostgresSink) -> None:
    names = ["id", "note"]
    with pytest.raises(psycopg.errors.CheckViolation):
        sink.write([(1, "a"), (2, "bad")], names, query_id="q", batch_id=0)
    assert rows(dsn) == []
    assert sink.write([(1, "a")], names, query_id="q", batch_id=0) == 1


def test_rows_without_their_progress_are_not_in(dsn: str, sink: PostgresSink) -> None:
    names = ["id", "note"]
    assert sink.write([(1, "a")], names, query_id="q", batch_id=0) == 1
    with psycopg.connect(dsn) as connection:
        connection.execute(f"ALTER TABLE {PROGRESS} ADD CHECK (batch_id < 1)")
    with pytest.raises(psycopg.errors.CheckViolation):
        sink.write([(2, "b")], names, query_id="q", batch_id=1)
    assert rows(dsn) == [1]


def test_another_query_or_a_gap_is_refused(dsn: str, sink: PostgresSink) -> None:
    names = ["id", "note"]
    sink.write([(1, "a")], names, query_id="q", batch_id=0)
    with pytest.raises(PostgresSinkRefused, match="belongs to Spark query q, found other"):
        sink.write([(2, "a")], names, query_id="other", batch_id=0)
    with pytest.raises(PostgresSinkRefused, match="wanted micro-batch 1, found 5"):
        sink.write([(2, "a")], names, query_id="q", batch_id=5)
    assert rows(dsn) == [1]


@pytest.mark.parametrize("batch_id", [0, 1])  # the first one makes the row that is locked
def test_two_drivers_of_one_name_take_turns(dsn: str, sink: PostgresSink, batch_id: int) -> None:
    names = ["id", "note"]
    if batch_id:
        sink.write([(0, "a")], names, query_id="q", batch_id=0)
    begun, go_on = threading.Event(), threading.Event()

    def slowly() -> Iterator[tuple[int, str]]:
        yield 1, "a"
        begun.set()
        assert go_on.wait(30)
        yield 2, "b"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(sink.write, slowly(), names, query_id="q", batch_id=batch_id)
        assert begun.wait(30)
        second = pool.submit(sink.write, [(1, "a"), (2, "b")], names, query_id="q", batch_id=batch_id)
        with pytest.raises(TimeoutError):
            second.result(0.5)
        assert rows(dsn) == list(range(batch_id))
        go_on.set()
        assert first.result(30) == 2
        assert second.result(30) is None
    assert rows(dsn) == [*range(batch_id), 1, 2]


ZONES = """
# spark.sql.session.timeZone  hours from UTC in January
  UTC                         0
  Z                           0
  Europe/Berlin               1
  America/New_York            -5
  +02:00                      2
  UTC-3                       -3
  GMT+05:30                   5.5
"""


@pytest.mark.parametrize("line", [line.split() for line in ZONES.splitlines() if line and line[0] != "#"])
def test_a_time_zone_by_the_names_that_spark_takes(line: list[str]) -> None:
    january = datetime(2026, 1, 1, tzinfo=zone_of(line[0]))
    assert january.utcoffset() == timedelta(hours=float(line[1]))


@pytest.mark.parametrize("name", ["", "Nowhere/Town", "../etc", "+xx"])
def test_a_time_zone_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(PostgresSinkRefused, match=r"spark\.sql\.session\.timeZone: wanted"):
        zone_of(name)


# With a real Spark


def drive(job: Job) -> int:
    process = subprocess.Popen(
        job.words(),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "TZ": "Europe/Berlin"},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(180)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def fill(shop: Shop, numbers: Iterable[int]) -> None:
    """Evenly: each micro-batch takes the next ones of all partitions."""
    with Cluster(shop.bootstrap) as cluster, Producer(cluster) as producer:
        for number in numbers:
            producer.send(shop.orders, b"%d" % number, partition=number % 3)


def written(dsn: str) -> int:
    """The last micro-batch that is in the table."""
    with psycopg.connect(dsn) as connection:
        found = connection.execute(f"SELECT batch_id FROM {PROGRESS}").fetchone()
    assert found is not None
    return found[0]


def known_to_spark(checkpoint: Path) -> int:
    return max(int(each.name) for each in (checkpoint / "commits").iterdir() if each.name.isdecimal())


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("sink")
def test_kills_of_driver_and_database_neither_lose_nor_double_rows(
    dsn: str, database: Database, shop: Shop, tmp_path: Path
) -> None:
    fill(shop, range(600))
    job = Job(shop.bootstrap, shop.orders, dsn, str(tmp_path))

    assert drive(replace(job, victim="driver", micro_batch=1)) == -signal.SIGKILL
    assert (written(dsn), known_to_spark(tmp_path)) == (1, 0)  # so micro-batch 1 will be repeated
    before = len(rows(dsn))
    assert 0 < before < 300
    assert drive(replace(job, victim="driver", micro_batch=2, row=50)) == -signal.SIGKILL  # inside COPY
    assert (written(dsn), known_to_spark(tmp_path)) == (1, 1)
    assert len(rows(dsn)) == before  # nothing of the half micro-batch
    for row in (50, -1):
        dying = replace(
            job, victim="database", micro_batch=written(dsn) + 2, row=row, database=database.process_id
        )
        assert drive(dying) not in (0, -signal.SIGKILL)  # the query failed
        wait_for_the_end_of(database)
        database.start()
        assert written(dsn) == dying.micro_batch - (row == 50)
    assert drive(job) == 0
    assert rows(dsn) == list(range(600))


def wait_for_the_end_of(database: Database) -> None:
    deadline = time.monotonic() + 30
    while database.is_running():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("sink")
def test_executors_that_die_inside_a_copy_neither_lose_nor_double_rows(
    dsn: str, shop: Shop, tmp_path: Path
) -> None:
    """In processes of their own: Spark does their tasks again and the copy goes on, or the query fails and is started again."""
    fill(shop, range(300))
    job = Job(shop.bootstrap, shop.orders, dsn, str(tmp_path), master="local-cluster[2,1,1024]")
    if drive(replace(job, victim="executors", micro_batch=1, row=10)) != 0:
        assert len(rows(dsn)) < 300
        assert drive(job) == 0
    assert rows(dsn) == list(range(300))


# Five minutes before the clocks of the driver go back: its local times come twice.
FIRST = int(datetime(2026, 10, 25, 0, 55, tzinfo=UTC).timestamp())


@pytest.mark.timeout(400)
def test_a_repeated_micro_batch_is_executed_and_moments_stay_what_they_are(
    dsn: str, shop: Shop, tmp_path: Path
) -> None:
    """Counts by event time: a micro-batch that is passed over must move state and watermark nevertheless."""
    with psycopg.connect(dsn) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {PROGRESS}, minutes")
        connection.execute(
            "CREATE TABLE minutes (at timestamptz, local timestamp, shown timestamp, several timestamptz[], "
            "never timestamptz, n bigint)"
        )
    fill(shop, range(FIRST, FIRST + 900))
    job = Job(shop.bootstrap, shop.orders, dsn, str(tmp_path), query="minutes", windows=True)
    for micro_batch in (3, 6):  # each is in the table, and Spark does not know it
        assert drive(replace(job, victim="driver", micro_batch=micro_batch)) == -signal.SIGKILL
        assert (written(dsn), known_to_spark(tmp_path)) == (micro_batch, micro_batch - 1)
    assert drive(job) == 0
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "SELECT at, local, shown, several, never, n FROM minutes ORDER BY at"
        ).fetchall()
    minutes = [datetime.fromtimestamp(FIRST + 60 * each, UTC) for each in range(14)]
    local = [each.astimezone(ZoneInfo(ZONE)).replace(tzinfo=None) for each in minutes]
    assert found == [(at, here, here, [at, None], None, 60) for at, here in zip(minutes, local, strict=True)]
