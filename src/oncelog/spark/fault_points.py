"""Named places of the sink at which a test lets things go wrong. A testing seam: one look at the environment, nothing more, when off.

ONCELOG_SPARK_FAULT=POINT:ACTION[:NTH]   at the NTH passage of POINT (the first), counted over all processes and restarts
ONCELOG_SPARK_FAULT_DIR=DIRECTORY        where the passages are counted; `driver` and `broker` hold process ids, one per line
"""

import fcntl
import os
import signal
from pathlib import Path
from typing import Final

from oncelog.errors import OncelogError

FAULT: Final = "ONCELOG_SPARK_FAULT"
DIRECTORY: Final = "ONCELOG_SPARK_FAULT_DIR"

MID_TASK: Final = "mid_task"  # a task has some of its rows acknowledged
AFTER_FLUSH: Final = "after_flush"  # a task has all of its rows acknowledged
BEFORE_OFFSETS: Final = "before_offsets"  # all tasks are done; the driver is about to commit offsets
BEFORE_END_TXN: Final = "before_end_txn"
AFTER_END_TXN: Final = "after_end_txn"  # the commit is decided and answered
BEFORE_COMMIT_LOG: Final = "before_commit_log"  # the last moment before Spark goes on to write its commit log
POINTS: Final = (MID_TASK, AFTER_FLUSH, BEFORE_OFFSETS, BEFORE_END_TXN, AFTER_END_TXN, BEFORE_COMMIT_LOG)

RAISE: Final = "raise"
KILL_WORKER: Final = "kill_worker"  # kill -9 of the Python process that passes
KILL_EXECUTOR: Final = (
    "kill_executor"  # kill -9 of the executors' JVMs, and of this process if it is a task's
)
KILL_DRIVER: Final = "kill_driver"  # kill -9 of the processes named in `driver`, and of this one
KILL_BROKER: Final = "kill_broker"  # kill -9 of the process named in `broker`; the one that passes goes on
ACTIONS: Final = (RAISE, KILL_WORKER, KILL_EXECUTOR, KILL_DRIVER, KILL_BROKER)


class Injected(OncelogError):
    """A fault that a test has asked for."""


def reach(point: str) -> None:
    """Called by the sink at each point."""
    asked = os.environ.get(FAULT)
    if asked:
        _Armed(asked, Path(os.environ[DIRECTORY])).reach(point)


def enter_task() -> None:
    """Called by each task at its beginning: who wants to kill executors must know them."""
    if os.environ.get(FAULT):
        folder = Path(os.environ[DIRECTORY]) / "executors"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(_executor_of(os.getpid()))).touch()


class _Armed:
    def __init__(self, asked: str, directory: Path) -> None:
        self.point, _, rest = asked.partition(":")
        self.action, _, nth = rest.partition(":")
        self.nth = int(nth or 1)
        self.directory = directory
        if self.point not in POINTS or self.action not in ACTIONS:
            raise Injected(f"{FAULT}: wanted POINT:ACTION[:NTH] of {POINTS} and {ACTIONS}, found {asked!r}")

    def reach(self, point: str) -> None:
        if point == self.point and self._count(point) == self.nth:
            (self.directory / f"{point}.fired").touch()
            getattr(self, f"_{self.action}")()

    def _count(self, point: str) -> int:
        with (self.directory / f"{point}.passed").open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # ends with the file
            file.write(".")
            file.flush()
            return file.tell()

    def _raise(self) -> None:
        raise Injected(f"fault at {self.point}, asked for by {FAULT}")

    def _kill_worker(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _kill_executor(self) -> None:
        for file in (self.directory / "executors").iterdir():
            _kill(int(file.name))
            file.unlink()
        if self.point in (MID_TASK, AFTER_FLUSH):
            self._kill_worker()

    def _kill_driver(self) -> None:
        self._kill_all("driver")
        self._kill_worker()

    def _kill_broker(self) -> None:
        self._kill_all("broker")

    def _kill_all(self, name: str) -> None:
        for line in (self.directory / name).read_text().split():
            _kill(int(line))


def _kill(process_id: int) -> None:
    try:
        os.kill(process_id, signal.SIGKILL)
    except ProcessLookupError:
        return  # it was faster


def _executor_of(process_id: int) -> int:
    """The JVM above a Python worker: worker, perhaps pyspark's daemon, JVM."""
    while process_id > 1 and Path(f"/proc/{process_id}/comm").read_text().strip() != "java":
        # After the name, which may hold blanks and brackets: state, parent.
        process_id = int(Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[1])
    return process_id
