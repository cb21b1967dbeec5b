"""The supervisor with children that are a few lines of Python: restarts, back-off, kills, ends."""

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oncelog.pipelines.run import follow, gist
from oncelog.pipelines.supervise import Ended, Progress, Restarts, Supervisor
from oncelog.pipelines.watch import Position

AT_ONCE = Restarts(first_s=0.01, longest_s=0.01, attempts=4)

# Each life appends a line to the file named by its first argument.
COUNTS = """
import pathlib, sys
lives = pathlib.Path(sys.argv[1])
with lives.open("a") as file: file.write("life\\n")
number = len(lives.read_text().splitlines())
def batch(number): print('{"batch": %d, "rows": 10}' % number, flush=True)
"""


class Bench:
    """Supervisors whose children are scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lives = folder / "lives"
        self.told: list[str] = []

    def supervisor(
        self, script: str, restarts: Restarts = AT_ONCE, clock: Callable[[], float] = time.monotonic
    ) -> Supervisor:
        words = [sys.executable, "-c", COUNTS + script, str(self.lives)]
        log = self.folder / "log"
        return Supervisor("p", words, log=log, restarts=restarts, tell=self.told.append, clock=clock)

    def count(self) -> int:
        return len(self.lives.read_text().splitlines()) if self.lives.exists() else 0


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, f"{what}: not within 30 s"
        time.sleep(0.01)


def in_thread(supervisor: Supervisor) -> tuple[threading.Thread, list[Ended]]:
    ends: list[Ended] = []
    thread = threading.Thread(target=lambda: ends.append(supervisor.run()), daemon=True)
    thread.start()
    return thread, ends


def test_a_child_that_ends_well_is_not_started_again(bench: Bench) -> None:
    supervisor = bench.supervisor("batch(0); batch(1)")
    assert supervisor.run() is Ended.DONE
    assert bench.count() == 1
    assert supervisor.progress == Progress("p", "done", batches=2)
    assert bench.told == []


def test_a_child_that_fails_is_started_again_and_a_repeated_batch_counts_once(bench: Bench) -> None:
    supervisor = bench.supervisor("batch(0)\nif number < 3: batch(number); sys.exit(7)\nbatch(3)")
    assert supervisor.run() is Ended.DONE
    assert bench.count() == 3
    assert supervisor.progress == Progress("p", "done", batches=4, restarts=2)
    assert [each for each in bench.told if "exit code 7" in each] == bench.told
    assert len(bench.told) == 2


def test_a_child_that_never_gets_anywhere_is_given_up_with_its_last_words(bench: Bench) -> None:
    supervisor = bench.supervisor("print('topic t1 is not there', file=sys.stderr); sys.exit(1)")
    assert supervisor.run() is Ended.GIVEN_UP
    assert bench.count() == 4
    assert "4 ends in a row without a new micro-batch" in bench.told[-1]
    assert bench.told[-1].endswith("topic t1 is not there")


def test_a_new_batch_forgives_the_failures_before_it(bench: Bench) -> None:
    supervisor = bench.supervisor("if number % 3 == 0: batch(number)\nsys.exit(0 if number == 10 else 1)")
    assert supervisor.run() is Ended.DONE
    assert bench.count() == 10


def test_a_repeated_batch_forgives_nothing(bench: Bench) -> None:
    supervisor = bench.supervisor("batch(5); sys.exit(1)")
    assert supervisor.run() is Ended.GIVEN_UP
    assert bench.count() == 4  # the first life brought a new batch, and counts as the first failure


@pytest.mark.parametrize(("life_s", "lives"), [(299.0, 4), (300.0, 9)])
def test_a_long_life_forgives_the_failures_before_it(bench: Bench, life_s: float, lives: int) -> None:
    """A stream on which nothing comes, and which fails once a day."""
    times = itertools.count(step=life_s)  # it looks when a life begins and when it is over
    supervisor = bench.supervisor("sys.exit(0 if number == 9 else 1)", clock=lambda: next(times))
    assert supervisor.run() is (Ended.DONE if lives == 9 else Ended.GIVEN_UP)
    assert bench.count() == lives


def test_the_waits_of_all_restarts_until_it_is_given_up() -> None:
    restarts = Restarts()
    waits = [restarts.wait_s(failures) for failures in range(1, restarts.attempts)]
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30]  # docs/pipelines.md says so


def test_the_wait_doubles_up_to_its_limit() -> None:
    restarts = Restarts(first_s=0.5, longest_s=3.0)
    assert [restarts.wait_s(failures) for failures in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_kill_takes_the_whole_group_and_the_next_life_follows(bench: Bench) -> None:
    # The grandchild plays the JVM: the same group, and it would outlive its parent.
    script = """
import subprocess, time
if number == 1:
    jvm = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    pathlib.Path(sys.argv[1] + ".jvm").write_text(str(jvm.pid))
    batch(0)
    time.sleep(600)
"""
    supervisor = bench.supervisor(script)
    thread, ends = in_thread(supervisor)
    wait_until(lambda: supervisor.progress.batches == 1, "the first batch")
    jvm = int(Path(f"{bench.lives}.jvm").read_text())
    running = supervisor.process_id
    assert running is not None
    assert supervisor.kill() == running
    assert supervisor.kill() is None  # one life, one kill
    thread.join(30)
    assert ends == [Ended.DONE]
    assert bench.count() == 2
    assert "signal 9 (SIGKILL)" in bench.told[0]
    wait_until(lambda: not is_alive(jvm), "the end of the grandchild")
    assert supervisor.kill() is None


def test_a_driver_that_dies_alone_leaves_no_jvm_behind(bench: Bench) -> None:
    script = """
import os, subprocess
if number == 1:
    jvm = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    pathlib.Path(sys.argv[1] + ".jvm").write_text(str(jvm.pid))
    os._exit(3)
"""
    supervisor = bench.supervisor(script)
    assert supervisor.run() is Ended.DONE  # it did not wait for the grandchild, which holds stdout open
    jvm = int(Path(f"{bench.lives}.jvm").read_text())
    wait_until(lambda: not is_alive(jvm), "the end of the grandchild")


def test_stop_closes_stdin_and_waits_for_the_end(bench: Bench) -> None:
    supervisor = bench.supervisor("batch(0); sys.stdin.read(); print('bye', file=sys.stderr)")
    thread, ends = in_thread(supervisor)
    wait_until(lambda: supervisor.progress.batches == 1, "the first batch")
    supervisor.stop()
    thread.join(30)
    assert ends == [Ended.STOPPED]
    assert supervisor.last_words() == "bye"
    assert supervisor.progress.state == "stopped"


def test_a_child_that_does_not_want_to_stop_is_killed(bench: Bench) -> None:
    supervisor = bench.supervisor("import time; batch(0); time.sleep(600)")
    thread, ends = in_thread(supervisor)
    wait_until(lambda: supervisor.progress.batches == 1, "the first batch")
    supervisor.stop(grace_s=0.05)
    thread.join(30)
    assert ends == [Ended.STOPPED]


def test_stop_does_not_wait_for_the_next_start(bench: Bench) -> None:
    supervisor = bench.supervisor("sys.exit(1)", Restarts(first_s=600.0, longest_s=600.0, attempts=9))
    thread, ends = in_thread(supervisor)
    wait_until(lambda: supervisor.progress.state == "restart in 600 s", "the wait")
    supervisor.stop()
    thread.join(30)
    assert ends == [Ended.STOPPED]
    assert bench.count() == 1


def test_what_is_no_report_is_passed_over(bench: Bench) -> None:
    supervisor = bench.supervisor("print('hello'); print('[1]'); print('{\"batch\": \"x\"}'); batch(0)")
    assert supervisor.run() is Ended.DONE
    assert supervisor.progress.batches == 1


def test_the_line_of_progress() -> None:
    progress = Progress("refunds", "running", batches=7, restarts=1)
    assert progress.shown() == "refunds  running"
    half = Progress("refunds", "running", batches=7, restarts=1, position=Position(done=1500, lag=1500))
    assert half.shown() == (
        "refunds  [############............]  1,500 of 3,000 rows, 7 batches, lag 1,500, 1 restarts  running"
    )
    empty = Progress("refunds", position=Position(done=0, lag=0))
    assert "[........................]  0 of 0 rows" in empty.shown()


def is_alive(process_id: int) -> bool:
    try:
        stat = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[STREAM_FAILED] Query x terminated\n=== plan ===\n", "[STREAM_FAILED] Query x terminated"),
        (
            (
                "[STREAM_FAILED] Query x\nTraceback (most recent call last):\n  File a\n"
                "oncelog.client.faults.Fenced: another one took over\n\tat org.apache.Java(X: 1)\n"
            ),
            "oncelog.client.faults.Fenced: another one took over",
        ),
        ("\n", "no reason given"),
    ],
)
def test_the_gist_of_a_failure(text: str, expected: str) -> None:
    assert gist(text) == expected


LEASH = """
import sys, threading
from oncelog.pipelines.run import Leash
over = threading.Event()
class Query:
    def stop(self):
        print("stopped", flush=True)
        over.set()
leash = Leash()
if sys.argv[1] == "running": leash.tie(Query())
print("ready", flush=True)
sys.exit(0 if over.wait(60) else 1)
"""


@pytest.mark.parametrize(("state", "said"), [("starting", ["ready"]), ("running", ["ready", "stopped"])])
def test_a_driver_ends_with_its_stdin(state: str, said: list[str]) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", LEASH, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    out, _ = child.communicate(timeout=30)  # closes stdin
    assert (["ready", *out.split()], child.returncode) == (said, 0)


class Query:
    """What `follow` wants of a streaming query; over when it has told all of its progress."""

    def __init__(self, *progress: dict[str, object]) -> None:
        self.recentProgress = list(progress)  # pyspark's name

    def awaitTermination(self, timeout: float) -> bool:  # noqa: ARG002, N802  # pyspark's name
        return True


def test_an_idle_query_tells_no_micro_batch(capsys: pytest.CaptureFixture[str]) -> None:
    """Spark tells of an idle stream under the number that its next micro-batch will have."""
    ran, idle = {"addBatch": 5, "triggerExecution": 9}, {"latestOffset": 1, "triggerExecution": 1}
    query = Query(
        {"batchId": 0, "numInputRows": 10, "durationMs": ran},
        {"batchId": 1, "numInputRows": 0, "durationMs": idle},
        {"batchId": 1, "numInputRows": 7, "durationMs": ran},
        {"batchId": 2, "numInputRows": 0, "durationMs": idle},
    )
    follow(query, lambda _: None)
    assert capsys.readouterr().out.splitlines() == ['{"batch": 0, "rows": 10}', '{"batch": 1, "rows": 7}']
