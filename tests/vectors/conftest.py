"""The brokers that vectors are played on, and the list of differences at the end of a run with ORACLE=1."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.targets import chosen
from tests.oracle import Oracle
from tests.processes import ServedBroker
from tests.toolchains import Missing, leave_out
from tests.vectors.play import Broker, Rows, Target, differences

TRANSCRIPTS: dict[tuple[str, str], Rows] = {}


# Both know the name: transactions that time out end within two seconds and not within ten (V59).
QUICK_TIMEOUTS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
KAFKAS_TIMING = {"end.txn.reply": "prepared"}


@contextmanager
def start(name: str, folder: Path, extra: Mapping[str, str] | None = None) -> Generator[Target]:
    """ "oncelog", "prepared" (oncelog with Kafka's timing of EndTxn) or "kafka"; `extra` settings both know."""
    broker: Broker
    settings = {**QUICK_TIMEOUTS, **(KAFKAS_TIMING if name == "prepared" else {}), **(extra or {})}
    try:
        with (
            Oracle(settings, heap="400m")
            if name == "kafka"
            else ServedBroker(folder / "data", settings=settings) as broker
        ):
            yield Target(name, broker, TRANSCRIPTS)
    except Missing as why:
        leave_out(f"comparison with {name}", why)


@pytest.fixture(scope="session", params=chosen())
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A broker for all vectors that can live with what others did to it."""
    with start(request.param, tmp_path_factory.mktemp("vectors")) as found:
        yield found


@pytest.fixture(params=chosen())
def fresh_target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    """A broker that nobody has spoken to yet, and that may be killed."""
    with start(request.param, tmp_path) as found:
        yield found


@pytest.fixture(params=[8, 9, 12, 13])
def produce_version(request: pytest.FixtureRequest) -> int:
    """Before and after flexible encoding, the newest with names, and topic ids."""
    return request.param


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not {"oncelog", "kafka"} <= {target for _, target in TRANSCRIPTS}:
        return
    found = differences(TRANSCRIPTS)
    terminalreporter.section("vectors: oncelog beside Apache Kafka")
    for line in found:
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"{len(found)} differences in {len(TRANSCRIPTS)} transcripts")
