"""What all tests share: Hypothesis settings, and REQUIRE=all, under which nothing may be skipped."""

import os
import signal
from collections.abc import Generator, Sequence
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings

from tests.simulation import summary
from tests.simulation.budget import Beside

# A busy machine is slow now and then: no deadline per example, and examples that can be repeated from the printed blob.
settings.register_profile(
    "oncelog", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("oncelog")

# A shell lets what it starts in the background ignore Ctrl-C, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Spark's JVMs live for seconds here: compiling for speed that they never reach cost a tenth of the time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

REQUIRE_ALL = os.environ.get("REQUIRE") == "all"
BESIDE = pytest.StashKey[Beside]()


def refuse_skip(outcome: str, reason: object) -> str | None:
    """The text of the failure that a skip becomes when everything is required, or None."""
    if outcome != "skipped" or not REQUIRE_ALL:
        return None
    text = cast(tuple[object, ...], reason)[-1] if isinstance(reason, tuple) else reason
    return f"skipped, but REQUIRE=all allows no skips: {text}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    failure = None if hasattr(report, "wasxfail") else refuse_skip(report.outcome, report.longrepr)
    if failure is not None:
        report.outcome = "failed"
        report.longrepr = failure
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    failure = refuse_skip(report.outcome, report.longrepr)
    if failure is not None:
        report.outcome = "failed"
        report.longrepr = failure
    return report


def pytest_configure(config: pytest.Config) -> None:
    """Where several workers run thousands of seeds, more of them run beside the tests."""
    workers = config.getoption("numprocesses", None)
    if workers and "ONCELOG_SIM_SEEDS" in os.environ and not hasattr(config, "workerinput"):
        config.stash[BESIDE] = Beside(int(workers))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    if BESIDE in node.config.stash and any("::test_core_seeds_keep_every_promise" in each for each in ids):
        node.config.stash[BESIDE].begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    if BESIDE in config.stash:
        config.stash[BESIDE].end()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Pieces of the simulator's budget come last: most of them were run beside the other tests by then. Tests of Apache Kafka
    alone are not part of a run without it: `make oracle` has them (ORACLE=1)."""
    items.sort(key=lambda item: "piece" in getattr(item, "fixturenames", ()))
    if os.environ.get("ORACLE"):
        return
    left_out = [item for item in items if item.get_closest_marker("needs_oracle") is not None]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    summary.tell(terminalreporter)
