"""What tests with a real Spark share: one session per process, brokers to read from, and all of them on one worker."""

import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import oncelog
from tests.conformance import targets
from tests.oracle import Oracle
from tests.toolchains import Missing, leave_out

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "spark"
TIMEOUT_S = 300  # a first micro-batch imports pyspark in new processes, on a machine that may be busy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that uses Spark runs on the one worker that has it started, and may take its time."""
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        marked = any(mark.args == (GROUP,) for mark in item.iter_markers("xdist_group"))
        if "spark" in getattr(item, "fixturenames", ()) and not marked:
            item.add_marker(pytest.mark.xdist_group(GROUP))
            marked = True
        if marked and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """A Spark on two cores; stopped when the tests are over."""
    from oncelog.spark import session

    # foreachBatch waits for Spark with select(), which knows no file above 1023, and then hangs without a word.
    with open(os.devnull) as probe:  # noqa: PTH123  # for its number
        assert probe.fileno() < 900, f"an earlier test left {probe.fileno()} files open in this process"
    started = session(
        master="local[2,2]",  # a task that fails has a second attempt, as on a cluster
        app_name="oncelog-tests",
        **{
            "spark.ui.enabled": False,
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.sql.session.timeZone": "UTC",
        },
    )
    yield started
    started.stop()


@dataclass(frozen=True, slots=True)
class Stage:
    """A broker for tests that run the same on oncelog and on Apache Kafka."""

    name: str
    bootstrap: str


@pytest.fixture(scope="session", params=targets.chosen())
def stage(request: pytest.FixtureRequest) -> Generator[Stage]:
    """oncelog, embedded; with ORACLE=1 Apache Kafka too. Topics of one test are its own: use `topic`."""
    settings = {"log.cleaner.backoff.ms": "100"}
    with ExitStack() as stack:
        try:
            if request.param == "kafka":
                running: Oracle | oncelog.Broker = stack.enter_context(Oracle(settings))
            else:
                running = stack.enter_context(oncelog.Broker(settings=settings))
        except Missing as why:
            leave_out(f"comparison with {request.param}", why)
        yield Stage(request.param, running.bootstrap)


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    """An oncelog of this test alone, which it may stop, kill and restart."""
    with oncelog.Broker() as running:
        yield running
