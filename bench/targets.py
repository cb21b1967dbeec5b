"""The two brokers under test, each in a process of its own: oncelog and Apache Kafka."""

import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import psutil

from bench import raw
from tests.oracle import Oracle, free_ports


class Target(Protocol):
    """A broker that can be started, measured and stopped."""

    name: str

    @property
    def bootstrap(self) -> str: ...
    def start(self) -> float:
        """Starts the process and returns the monotonic time of that moment; the caller finds out when it answers."""
        ...

    def process_id(self) -> int: ...
    def halt(self) -> None:
        """Stops the process and keeps the data: `start` goes on from there."""
        ...

    def stop(self) -> None:
        """Stops the process and removes the data."""
        ...


class OncelogTarget:
    """`oncelog serve` from this tree."""

    def __init__(self, settings: Mapping[str, str] | None = None, durability: str = "process") -> None:
        self.name = "oncelog" if durability == "process" else f"oncelog durability={durability}"
        self._settings = dict(settings or {})
        self._durability = durability
        self._dir = Path(tempfile.mkdtemp(prefix="bench-oncelog-"))
        self._port = free_ports(1)[0]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> float:
        begun = time.monotonic()
        command = [sys.executable, "-m", "oncelog.cli.main", "serve", "--listen", self.bootstrap]
        command += ["--data-dir", str(self._dir), "--durability", self._durability]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ.copy())
        return begun

    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    def halt(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def stop(self) -> None:
        self.halt()
        shutil.rmtree(self._dir, ignore_errors=True)


class KafkaTarget:
    """Apache Kafka 4.3.1 with its defaults (heap 1 GiB), as tests/oracle runs it."""

    name = "Apache Kafka"

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._oracle = Oracle(dict(settings or {}), heap="1g", warm=False)
        self._oracle_dir = self._oracle.dir

    @property
    def bootstrap(self) -> str:
        return self._oracle.bootstrap

    def format(self) -> None:
        """Formats the storage, so that a measured start is the start alone."""
        self._oracle.start()
        self._oracle.stop()

    def start(self) -> float:
        begun = time.monotonic()
        self._oracle.start()
        return begun

    def process_id(self) -> int:
        return self._oracle.process_id

    def halt(self) -> None:
        self._oracle.stop()

    def stop(self) -> None:
        self.halt()
        shutil.rmtree(self._oracle_dir, ignore_errors=True)


def cpu_seconds(process_id: int) -> float:
    """User and system time that the broker's process has used."""
    times = psutil.Process(process_id).cpu_times()
    return times.user + times.system


def resident_mb(process_id: int) -> float:
    return psutil.Process(process_id).memory_info().rss / 1e6


class OtherLoad:
    """The share of the machine that neither what is measured nor this process used: the noise of a run."""

    def __init__(self, measured: Callable[[], float]) -> None:
        self._measured = measured
        self._begun = time.monotonic()
        self._busy = self._machine()
        self._ours = self._known()

    @staticmethod
    def _machine() -> float:
        times = psutil.cpu_times()
        return times.user + times.system + getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0)

    def _known(self) -> float:
        own = os.times()
        return self._measured() + own.user + own.system

    def share(self) -> float:
        """Cores kept busy by others, divided by the cores there are."""
        elapsed = time.monotonic() - self._begun
        others = (self._machine() - self._busy) - (self._known() - self._ours)
        return max(others, 0.0) / elapsed / (os.cpu_count() or 1)


def wait_ready(target: Target) -> None:
    """Until it gives producer ids."""
    host, port = target.bootstrap.split(":")
    for _ in range(2400):
        try:
            with socket.create_connection((host, int(port)), timeout=1) as door:
                raw.new_producer_id(door)
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{target.name} did not start")


def machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
