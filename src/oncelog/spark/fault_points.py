"""Named places of the sink at which a test lets things go wrong. A testing seam: one look at the environment, nothing more, when off.

ONCELOG_SPARK_FAULT=POINT:ACTION[:NTH],...  at the NTH (first) passage of POINT, counted over all processes and restarts
ONCELOG_SPARK_FAULT_DIR=DIRECTORY           where passages are counted; its files `driver` and `broker` hold process ids
"""

import fcntl
import os
import signal
from dataclasses import dataclass
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


def is_armed() -> bool:
    return bool(os.environ.get(FAULT))


def reach(point: str) -> None:
    """Called by the sink at each point."""
    asked = os.environ.get(FAULT)
    if not asked:
        return
    directory = Path(os.environ[DIRECTORY])
    passage = _count(directory / f"{point}.passed")
    for each in read_faults(asked):
        if (each.point, each.nth) == (point, passage):
            each.note(directory).touch()
            _ACTIONS[each.action](point, directory)


@dataclass(frozen=True, slots=True)
class Fault:
    point: str
    action: str
    nth: int

    def __str__(self) -> str:
        return f"{self.point}:{self.action}:{self.nth}"

    def note(self, directory: Path) -> Path:
        """The file that is there from the moment at which the fault happens."""
        return directory / f"{self.point}.{self.nth}.fired"


def read_faults(asked: str) -> list[Fault]:
    """ValueError if it is not POINT:ACTION[:NTH], with commas."""
    found: list[Fault] = []
    for word in asked.split(","):
        point, _, rest = word.strip().partition(":")
        action, _, nth = rest.partition(":")
        if point not in POINTS or action not in ACTIONS or not (nth or "1").isdecimal():
            raise ValueError(
                f"{FAULT}: wanted POINT:ACTION[:NTH] of {', '.join(POINTS)} and {', '.join(ACTIONS)}, found {word!r}"
            )
        found.append(Fault(point, action, int(nth or 1)))
    return found


def enter_task() -> None:
    """Called by each task at its beginning: who wants to kill executors must know them."""
    if os.environ.get(FAULT):
        folder = Path(os.environ[DIRECTORY]) / "executors"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(_executor_of(os.getpid()))).touch()


def _count(path: Path) -> int:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # ends with the file
        file.write(".")
        file.flush()
        return os.fstat(file.fileno()).st_size


def _raise(point: str, _: Path) -> None:
    raise Injected(f"fault at {point}, asked for by {FAULT}")


def _kill_worker(_point: str, _directory: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_executor(point: str, directory: Path) -> None:
    for file in (directory / "executors").iterdir():
        _kill(int(file.name))
        file.unlink()
    if point in (MID_TASK, AFTER_FLUSH):
        _kill_worker(point, directory)


def _kill_driver(point: str, directory: Path) -> None:
    _kill_named(directory / "driver")
    _kill_worker(point, directory)


def _kill_broker(_: str, directory: Path) -> None:
    _kill_named(directory / "broker")


_ACTIONS: Final = {
    RAISE: _raise,
    KILL_WORKER: _kill_worker,
    KILL_EXECUTOR: _kill_executor,
    KILL_DRIVER: _kill_driver,
    KILL_BROKER: _kill_broker,
}
assert tuple(_ACTIONS) == ACTIONS


def _kill_named(path: Path) -> None:
    for word in path.read_text().split():
        _kill(int(word))


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
