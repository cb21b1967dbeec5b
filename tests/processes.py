"""`oncelog serve` as a process of its own, for tests that kill it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.oracle.kafka import free_ports


class ServedBroker:
    """Starts, kills and restarts one broker on the same port and directory.

    `launcher`: words before the command, for a broker that lives under limits.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        durability: str = "process",
        settings: Mapping[str, str] | None = None,
        launcher: Sequence[str] = (),
        advertise: str | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.port = free_ports(1)[0]
        self.launcher = launcher
        self._command = [sys.executable, "-m", "oncelog.cli.main", "serve", "--listen", self.bootstrap]
        self._command += ["--data-dir", str(data_dir), "--durability", durability]
        if advertise is not None:
            self._command += ["--advertise", advertise]
        for name, value in {"group.initial.rebalance.delay.ms": "0", **(settings or {})}.items():
            self._command += ["--set", f"{name}={value}"]
        self._process: subprocess.Popen[str] | None = None
        # A file, not a pipe: a broker with much to say must not wait for us to read it.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 it is wanted after the process has ended

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
        self._errors.seek(0)
        self._errors.truncate()
        self._process = subprocess.Popen(
            [*self.launcher, *self._command],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ.copy(),
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != f"oncelog ready on {self.bootstrap}":
            code = self.wait(limit_s)
            raise AssertionError(
                f"wanted 'oncelog ready on {self.bootstrap}', found {line!r} and exit code {code}; "
                f"stderr: {self.said()[-2000:]}"
            )
        return time.monotonic() - begun

    def said(self) -> str:
        """What it wrote to stderr since its last start."""
        number = self._errors.fileno()
        # The place where the broker writes next is ours too: it must not move.
        return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")

    def wait(self, limit_s: float = 30.0) -> int:
        """The exit code of a broker that ends by itself."""
        assert self._process is not None
        self._process.communicate(timeout=limit_s)
        code = self._process.returncode
        self._process = None
        return code

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        return self.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.kill()
        self._errors.close()
