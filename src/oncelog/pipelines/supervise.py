"""Runs a pipeline as a child process, restarts it after a failure or a kill, and says how far it is.

The child is told to end by the end of its stdin, so a supervisor that dies takes its pipeline along. It reports each
micro-batch as one line of JSON on stdout. It lives in a process group of its own: driver and JVM die together.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import IO, Any, Final

from oncelog.pipelines.watch import Position

BAR_CELLS: Final = 24
TAIL_LINES: Final = 15


@dataclass(frozen=True, slots=True)
class Restarts:
    """How long to wait before the next start: longer after each end, up to a limit. A new micro-batch forgives the ends before it,
    and so does a life that was long: a stream on which nothing comes may end now and then.
    """

    first_s: float = 1.0
    longest_s: float = 30.0
    attempts: int = 12  # so many ends in a row, and it is given up: after some four minutes
    long_life_s: float = 300.0

    def wait_s(self, failures: int) -> float:
        """After so many failures in a row (1 or more)."""
        return min(self.first_s * 2 ** (failures - 1), self.longest_s)


class Ended(Enum):
    """Why a supervised pipeline no longer runs."""

    DONE = "done"  # by itself, exit code 0
    STOPPED = "stopped"  # because it was asked to
    GIVEN_UP = "given up"  # it failed again and again


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known of a run; `shown` makes a line of it."""

    name: str
    state: str = "starting"
    batches: int = 0  # of all lives; one that was repeated counts once
    restarts: int = 0
    position: Position | None = None

    def shown(self) -> str:
        at = self.position
        if at is None:
            return f"{self.name}  {self.state}"
        total = at.done + at.lag
        full = BAR_CELLS * at.done // total if total else 0
        bar = "#" * full + "." * (BAR_CELLS - full)
        counts = (
            f"{at.done:,} of {total:,} rows, {self.batches} batches, lag {at.lag:,}, {self.restarts} restarts"
        )
        return f"{self.name}  [{bar}]  {counts}  {self.state}"


class Supervisor:
    """One pipeline and its lives. `run` blocks; `stop`, `kill` and `progress` may be called from any thread.

    `log` takes what the child says on stderr, over all its lives. `tell` hears of every start and end.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        restarts: Restarts | None = None,
        environment: Mapping[str, str] | None = None,
        tell: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._command = list(command)
        self._log = log
        self._restarts = restarts or Restarts()
        self._environment = dict(environment if environment is not None else os.environ)
        self._tell = tell
        self._clock = clock
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._killed: subprocess.Popen[str] | None = None
        self._batches: set[int] = set()
        self._progress = Progress(name)

    @property
    def progress(self) -> Progress:
        with self._lock:
            return replace(self._progress, batches=len(self._batches))

    @property
    def process_id(self) -> int | None:
        """Of the driver that runs now, which is also the number of its process group."""
        with self._lock:
            return None if self._child is None else self._child.pid

    def run(self) -> Ended:
        failures = 0
        while not self._stopping.is_set():
            known, began = len(self._batches), self._clock()
            code = self._live()
            if self._stopping.is_set():
                break
            if code == 0:
                self._say("done")
                return Ended.DONE
            forgiven = len(self._batches) > known or self._clock() - began >= self._restarts.long_life_s
            failures = 1 if forgiven else failures + 1
            if failures >= self._restarts.attempts:
                self._say("given up")
                self._tell(
                    f"{self._name}: {failures} ends in a row without a new micro-batch, the last one {_how(code)}; "
                    f"its last words:\n{self.last_words()}"
                )
                return Ended.GIVEN_UP
            wait_s = self._restarts.wait_s(failures)
            self._say(f"restart in {wait_s:g} s", restarted=True)
            why = f": {self.last_words(1)}" if code > 0 else ""
            self._tell(f"{self._name}: the driver ended {_how(code)}{why}; next start in {wait_s:g} s")
            self._stopping.wait(wait_s)
        self._say("stopped")
        return Ended.STOPPED

    def stop(self, grace_s: float = 30.0) -> None:
        """Asks the child to end; kills it if it does not within the time. `run` returns when it is gone."""
        self._stopping.set()
        with self._lock:
            child = self._child
        if child is not None:
            _close(child.stdin)
            killer = threading.Timer(grace_s, self.kill)
            killer.daemon = True
            killer.start()

    def kill(self) -> int | None:
        """kill -9 to driver and JVM; the number of their group, or None if none was running or it is killed already."""
        with self._lock:
            if self._child is None or self._child is self._killed:
                return None
            self._killed = self._child
            _kill_group(self._child)
            return self._child.pid

    def last_words(self, count: int = TAIL_LINES) -> str:
        """The last lines that the child said on stderr."""
        with self._log.open(encoding="utf-8", errors="replace") as lines:
            return "".join(deque((line for line in lines if line.strip()), count)).rstrip()

    def _live(self) -> int:
        """One life of the child; its exit code."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("a", encoding="utf-8") as errors:
            child = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=self._environment,
                start_new_session=True,
            )
        with self._lock:
            self._child = child
        self._say("starting")
        hearing = threading.Thread(target=self._hear, args=(child.stdout,), daemon=True)
        hearing.start()
        if self._stopping.is_set():  # asked while we started
            self.stop()
        # Not reaped yet: until we do, under the lock, its number stays its own and a kill meets nobody else.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            _kill_group(child)  # a driver that died alone leaves a JVM that must not write on
            code = child.wait()
            self._child = None
        hearing.join()
        _close(child.stdin)
        _close(child.stdout)
        return code

    def _hear(self, lines: IO[str] | None) -> None:
        assert lines is not None
        for line in lines:
            self._heard(line)

    def _heard(self, line: str) -> None:
        try:
            said: Any = json.loads(line)
            batch = int(said["batch"])
        except (ValueError, TypeError, KeyError):
            return  # something that user code printed
        with self._lock:
            self._batches.add(batch)
            self._progress = replace(self._progress, state="running")

    def _say(self, state: str, *, restarted: bool = False) -> None:
        with self._lock:
            count = self._progress.restarts + restarted
            self._progress = replace(self._progress, state=state, restarts=count)


def _kill_group(child: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _close(pipe: IO[str] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):  # the other end is gone already
            pipe.close()


def _how(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    return f"by signal {-code} ({signal.Signals(-code).name})"
