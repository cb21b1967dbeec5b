"""`oncelog serve` as a process of its own, for tests that kill it."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.oracle.kafka import free_ports


class ServedBroker:
    """Starts, kills and restarts one broker on the same port and directory."""

    def __init__(self, data_dir: Path, *, durability: str = "process", settings: Mapping[str, str] | None = None) -> None:
        self.data_dir = data_dir
        self.port = free_ports(1)[0]
        self._command = [sys.executable, "-m", "oncelog.cli.main", "serve", "--listen", self.bootstrap]
        self._command += ["--data-dir", str(data_dir), "--durability", durability]
        for name, value in {"group.initial.rebalance.delay.ms": "0", **(settings or {})}.items():
            self._command += ["--set", f"{name}={value}"]
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, limit_s: float = 60.0) -> float:
        """Returns the seconds until it said that it is ready."""
        begun = time.monotonic()
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ.copy()
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != f"oncelog ready on {self.bootstrap}":
            _, said = self._process.communicate(timeout=limit_s)
            raise AssertionError(f"wanted 'oncelog ready on {self.bootstrap}', found {line!r}; stderr: {said[-2000:]}")
        return time.monotonic() - begun

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()
        self._process = None

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        self._process.communicate(timeout=30)
        code = self._process.returncode
        self._process = None
        return code

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.kill()
