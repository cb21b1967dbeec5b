"""The brokers that conformance tests are pointed at: oncelog as a process of its own, and the oracle Kafka."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import oncelog
from tests.oracle import Oracle
from tests.toolchains import ROOT, Missing, leave_out

# Groups that rebalance in a fraction of a second; both brokers know these names.
QUICK_GROUPS: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.session.timeout.ms": "10000",
}
# Kafka refuses so short an interval unless its lower bounds are lowered too.
KAFKA_BOUNDS: Final[Mapping[str, str]] = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "1000",
}
START_LIMIT_S: Final = 20.0


def chosen() -> list[str]:
    """ORACLE=1 adds Apache Kafka to oncelog, ORACLE=only leaves oncelog out."""
    asked = os.environ.get("ORACLE", "")
    known = {"": ["oncelog"], "1": ["oncelog", "kafka"], "only": ["kafka"]}
    if asked not in known:
        raise ValueError(f"ORACLE in the environment: wanted 1, only or nothing, found {asked!r}")
    return known[asked]


@contextmanager
def run(target: str, settings: Mapping[str, str] | None = None) -> Generator[str]:
    """The bootstrap address of a fresh broker with quick groups and `settings`."""
    if target == "kafka":
        with Oracle({**QUICK_GROUPS, **KAFKA_BOUNDS, **(settings or {})}) as kafka:
            yield kafka.bootstrap
    else:
        with (
            tempfile.TemporaryDirectory(prefix="oncelog-") as folder,
            serve(Path(folder), {**QUICK_GROUPS, **(settings or {})}) as bootstrap,
        ):
            yield bootstrap


@contextmanager
def broker(target: str) -> Generator[oncelog.Broker | Oracle]:
    """A broker as tests hold it in their hands, with settings of its own; Apache Kafka is left out where it is not to be had."""
    try:
        with oncelog.Broker() if target == "oncelog" else Oracle() as found:
            yield found
    except Missing as why:
        leave_out(f"comparison with {target}", why)


@contextmanager
def serve(folder: Path, settings: Mapping[str, str]) -> Generator[str]:
    """`oncelog serve` on a free port until the block ends; its log is shown if it ends badly."""
    words = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(folder / "data")]
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    with (folder / "oncelog.log").open("w+b") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "oncelog.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert process.stdout is not None
        guard = threading.Timer(START_LIMIT_S, process.kill)
        guard.start()
        try:
            line = process.stdout.readline().strip()
            guard.cancel()
            if not line.startswith("oncelog ready on "):
                raise RuntimeError(
                    f"wanted 'oncelog ready on HOST:PORT', found {line!r}; {last_words(log.name)}"
                )
            yield line.removeprefix("oncelog ready on ")
        finally:
            guard.cancel()
            process.terminate()
            try:
                code = process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            process.stdout.close()
        if code != 0:
            raise RuntimeError(f"oncelog serve ended with exit code {code}; {last_words(log.name)}")


def last_words(log: str) -> str:
    """The end of the broker's stderr."""
    return "its stderr ends:\n" + Path(log).read_text(errors="replace")[-6000:]
