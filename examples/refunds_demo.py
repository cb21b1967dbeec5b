"""`make demo`: refunds on Spark, whose driver is killed with kill -9 three times in the middle of its work; then we count.

A broker runs as a process of its own. Settlements are fed to it while the refunds pipeline turns each one that came back
into a refund and an audit row. Driver and JVM are killed at random moments of running transactions, and right after
a commit of which Spark does not know yet. The proof: every refund is there once, with its audit row. It is counted with our
own client and again with librdkafka. Then the same rows and kills with Spark's own Kafka sink.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from examples import connector
from examples.builtin_sink import SUFFIX
from oncelog.client.admin import LATEST, Admin
from oncelog.client.cluster import Cluster
from oncelog.client.visible import ReadRecord
from oncelog.model import Isolation
from oncelog.pipelines import PARTITIONS, PIPELINES, Run
from oncelog.pipelines.feed import Feeder, make_topics
from oncelog.pipelines.proof import Logs, Verdict, judge_refunds, read_logs
from oncelog.pipelines.run import command
from oncelog.pipelines.supervise import Restarts, Supervisor
from oncelog.pipelines.watch import ONGOING, RunningTransaction, position, transaction

REFUNDS: Final = PIPELINES["refunds"]
ID: Final = REFUNDS.transactional_id
READY: Final = "oncelog ready on "
LAG_LIMIT_ROWS: Final = 6_000  # the feed waits for the pipeline beyond this
PATIENCE_S: Final = 300.0
AT_ONCE: Final = Restarts(first_s=0.2, longest_s=2.0, attempts=5)
QUIET: Final = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}


def say(text: str) -> None:
    print(text, flush=True)


@contextlib.contextmanager
def served_broker(folder: Path) -> Generator[str]:
    """`oncelog serve` as a process of its own, on a free port. Ctrl-C is for us alone, and it goes when we do."""
    words = [sys.executable, "-m", "oncelog.cli.main", "serve", "--listen", "127.0.0.1:0"]
    words += ["--data-dir", str(folder / "data"), "--durability", "process"]
    log = folder / "broker.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        if not line.startswith(READY):
            raise SystemExit(f"wanted {READY!r} from the broker, found {line!r}; its log:\n{log.read_text()}")
        yield line.removeprefix(READY)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


class Feed:
    """Settlements as long as they are wanted, never far ahead of the pipeline."""

    def __init__(self, bootstrap: str, rows: int) -> None:
        self._bootstrap = bootstrap
        self._rows = rows
        self._wanted = threading.Event()
        self._wanted.set()
        self._thread = threading.Thread(target=self._write, name="feed", daemon=True)
        self.acked = 0
        self.fault: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> int:
        """Ends when at least the rows that were asked for are written; how many there are."""
        self._wanted.clear()
        self._thread.join()
        if self.fault is not None:
            raise self.fault
        return self.acked

    def _write(self) -> None:
        try:
            with Cluster(self._bootstrap) as cluster:
                feeder = Feeder(cluster, REFUNDS.source, REFUNDS.make, seed=7)
                while self._wanted.is_set() or feeder.acked < self._rows:
                    if position(cluster, REFUNDS.source, ID).lag < LAG_LIMIT_ROWS:
                        feeder.write(500)
                        self.acked = feeder.acked
                    else:
                        time.sleep(0.05)
        except BaseException as fault:  # noqa: BLE001  # raised again by finish()
            self.fault = fault


@dataclass
class Driver:
    """A pipeline under supervision, in a thread of its own."""

    supervisor: Supervisor
    over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self.supervisor.run()
        finally:
            self.over.set()

    def stop(self) -> None:
        self.supervisor.stop()
        self.over.wait()


def until(condition: Callable[[], bool], driver: Driver, what: str, every_s: float = 0.02) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if driver.over.is_set():
            raise SystemExit(
                f"{what}: the pipeline ended before; its last words:\n{driver.supervisor.last_words()}"
            )
        if time.monotonic() > deadline:
            raise SystemExit(
                f"{what}: not within {PATIENCE_S:.0f} s; the driver's last words:\n{driver.supervisor.last_words()}"
            )
        time.sleep(every_s)


# Our sink


class Killer:
    """Kills driver and JVM while a transaction runs, or right after one was committed, and says where it landed."""

    def __init__(self, cluster: Cluster, driver: Driver, checkpoint: Path, dice: Random) -> None:
        self._cluster = cluster
        self._driver = driver
        self._checkpoint = checkpoint
        self._dice = dice
        self._seen: RunningTransaction | None = None  # when the last driver was killed

    def kill(self, *, after_commit: bool) -> bool:
        """Whether it landed where it hurts: rows written and undecided, or decided and unknown to Spark."""
        until(self._is_running, self._driver, "a running transaction", every_s=0.004)
        if after_commit:
            until(lambda: self._state() != ONGOING, self._driver, "the end of a transaction", every_s=0.0)
        else:
            time.sleep(self._dice.uniform(0.0, 0.15))
        killed = self._driver.supervisor.kill()
        self._seen = transaction(self._cluster, ID)
        if killed is None:  # it ended by itself in this very moment
            return False
        undecided = self._undecided()
        if self._state() == ONGOING:
            say(
                f"kill -9    driver {killed} and its JVM in mid-transaction: {undecided} rows written and undecided"
            )
            return True
        ahead = position(self._cluster, REFUNDS.source, ID).done - self._known_to_spark()
        if ahead > 0:
            say(
                f"kill -9    driver {killed} and its JVM right after a commit: Spark does not know of {ahead} rows"
            )
            return True
        say(f"kill -9    driver {killed} and its JVM between two transactions; that is too easy, once more")
        return False

    def _is_running(self) -> bool:
        """A transaction of a living driver: what the last one left behind is ongoing until its successor aborts it."""
        found = transaction(self._cluster, ID)
        if found is None or found.state != ONGOING:
            return False
        return self._seen is None or found.producer != self._seen.producer

    def _state(self) -> str:
        found = transaction(self._cluster, ID)
        return "" if found is None else found.state

    def _undecided(self) -> int:
        """Offsets of the outputs beyond what a read_committed reader may see."""
        admin = Admin(self._cluster)
        partitions = [each for topic in REFUNDS.outputs for each in admin.partitions_of(topic)]
        ends = [
            admin.offsets_at(dict.fromkeys(partitions, LATEST), isolation=isolation)
            for isolation in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED)
        ]
        return sum(ends[0][each].offset - ends[1][each].offset for each in partitions)

    def _known_to_spark(self) -> int:
        """The source offsets of the last micro-batch in Spark's commit log."""
        commits = [
            int(each.name) for each in (self._checkpoint / "commits").glob("*") if each.name.isdecimal()
        ]
        if not commits:
            return 0
        lines = (self._checkpoint / "offsets" / str(max(commits))).read_text().splitlines()
        return sum(json.loads(lines[2])[REFUNDS.source].values())


def run_ours(bootstrap: str, folder: Path, asked: argparse.Namespace) -> tuple[int, Driver, Feed]:
    """Feeds, runs, kills; returns when so many kills have landed."""
    checkpoint = folder / "checkpoint"
    run = Run(bootstrap, str(checkpoint), ID, once=False, rows_per_batch=asked.rows_per_batch)
    words = command("refunds", run, conf=QUIET)
    driver = Driver(
        Supervisor("refunds", words, log=folder / "driver.log", restarts=AT_ONCE, tell=tell_failures)
    )
    feed = Feed(bootstrap, asked.rows)
    feed.start()
    driver.start()
    landed = 0
    with Cluster(bootstrap) as cluster:
        killer = Killer(cluster, driver, checkpoint, asked.dice)
        for attempt in range(4 * asked.kills):
            if landed == asked.kills:
                break
            landed += killer.kill(after_commit=attempt % 3 == 1)
    return landed, driver, feed


def tell_failures(text: str) -> None:
    if "SIGKILL" not in text:  # those are ours
        say(text)


def drain(bootstrap: str, driver: Driver) -> None:
    with Cluster(bootstrap) as cluster:
        until(
            lambda: position(cluster, REFUNDS.source, ID).lag == 0, driver, "the end of the rows", every_s=0.1
        )


# Spark's own sink


def run_builtin(bootstrap: str, folder: Path, jars: Sequence[Path], asked: argparse.Namespace) -> int:
    """The same rows and kills. It has no transactions to watch: it is killed when a part of a micro-batch is written."""
    words = [sys.executable, "-m", "examples.builtin_sink", "--bootstrap", bootstrap]
    words += ["--checkpoint", str(folder / "checkpoint-builtin"), "--jars", ",".join(map(str, jars))]
    words += ["--rows-per-batch", str(asked.rows_per_batch)]
    driver = Driver(
        Supervisor("builtin", words, log=folder / "builtin.log", restarts=AT_ONCE, tell=tell_failures)
    )
    driver.start()
    landed = 0
    with Cluster(bootstrap) as cluster:
        while landed < asked.kills and not driver.over.is_set():
            part = int(asked.rows_per_batch * asked.dice.uniform(0.1, 0.9))
            rows = written(cluster) + part
            while written(cluster) < rows and not driver.over.is_set():
                time.sleep(0.002)
            killed = driver.supervisor.kill()
            if killed is not None:
                landed += 1
                say(f"kill -9    driver {killed} and its JVM while Spark's own sink was writing")
    if not driver.over.wait(PATIENCE_S):
        driver.stop()
    return landed


def written(cluster: Cluster) -> int:
    admin = Admin(cluster)
    partitions = [each for topic in REFUNDS.outputs for each in admin.partitions_of(topic + SUFFIX)]
    return sum(each.offset for each in admin.offsets_at(dict.fromkeys(partitions, LATEST)).values())


# Counting


def read_with_librdkafka(bootstrap: str, topic: str) -> list[ReadRecord]:
    """All committed records of a topic, by a client that is not ours."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "counts without a group",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    found: list[ReadRecord] = []
    with contextlib.closing(consumer):
        left = set(range(PARTITIONS))
        consumer.assign([TopicPartition(topic, index, 0) for index in sorted(left)])
        deadline = time.monotonic() + PATIENCE_S
        while left:
            if time.monotonic() > deadline:
                raise SystemExit(f"librdkafka did not reach the end of {topic} within {PATIENCE_S:.0f} s")
            message = consumer.poll(0.1)
            if message is None:
                continue
            partition, offset, error = message.partition(), message.offset(), message.error()
            assert partition is not None
            assert offset is not None
            if error is None:
                found.append(ReadRecord(topic, partition, offset, 0, message.key(), message.value()))
            elif error.name() == "_PARTITION_EOF":
                left.discard(partition)
            else:
                raise KafkaException(error)
    return found


def judge_builtin(bootstrap: str) -> Verdict:
    names = [topic + SUFFIX for topic in REFUNDS.outputs]
    logs = read_logs(bootstrap, REFUNDS.source, names, group=None)
    renamed = {topic.removesuffix(SUFFIX): records for topic, records in logs.outputs.items()}
    return judge_refunds("builtin", Logs(logs.done, logs.pending, renamed, {}))


def judge_ours(bootstrap: str) -> tuple[Verdict, Verdict]:
    """By our own client, and by librdkafka."""
    ours = read_logs(bootstrap, REFUNDS.source, REFUNDS.outputs, group=ID)
    theirs = read_logs(bootstrap, REFUNDS.source, REFUNDS.outputs, group=ID, read=read_with_librdkafka)
    return judge_refunds("refunds", ours), judge_refunds("refunds", theirs)


def table(columns: Sequence[tuple[str, int, Verdict]]) -> str:
    """Figures down, runs across; (name, kills, verdict) each."""
    names = ["driver killed -9", "rows in", "refunds", "audits", "duplicates", "lost", "torn", "wrong"]
    cells = [
        [
            kills,
            verdict.rows_in,
            verdict.rows_out["refunds-emitted"],
            verdict.rows_out["refund-audit"],
            verdict.duplicates,
            verdict.lost,
            verdict.torn or 0,
            verdict.wrong,
        ]
        for _, kills, verdict in columns
    ]
    heads = [name for name, _, _ in columns]
    lines = ["".join([" " * 18, *(f"{head:>26}" for head in heads)])]
    for row, name in enumerate(names):
        lines.append("".join([f"{name:18}", *(f"{column[row]:>26,}" for column in cells)]))
    return "\n".join(lines)


# The whole


def run(folder: Path, asked: argparse.Namespace) -> int:
    begun = time.monotonic()
    with served_broker(folder) as bootstrap:
        say(f"broker     ready on {bootstrap}; seed {asked.seed}")
        with Cluster(bootstrap) as cluster:
            make_topics(cluster, REFUNDS.topics, partitions=PARTITIONS)
            make_topics(cluster, [topic + SUFFIX for topic in REFUNDS.outputs], partitions=PARTITIONS)
        landed, driver, feed = run_ours(bootstrap, folder, asked)
        try:
            rows = feed.finish()
            drain(bootstrap, driver)
        finally:
            driver.stop()
        say(f"refunds    {rows:,} settlements done, {driver.supervisor.progress.batches} micro-batches")
        verdict, second = judge_ours(bootstrap)
        columns = [("oncelog", landed, verdict)]
        columns += builtin(bootstrap, folder, asked)
        say(f"\n{table(columns)}\n")
        holds = is_proved(verdict, second, rows=rows, landed=landed, kills=asked.kills)
        say(f"{time.monotonic() - begun:.0f} s")
        if os.environ.get("KEEP") == "1":
            keep(bootstrap, folder, asked)
    return 0 if holds else 1


def builtin(bootstrap: str, folder: Path, asked: argparse.Namespace) -> list[tuple[str, int, Verdict]]:
    if asked.no_builtin:
        return []
    try:
        jars = connector.jars()
    except connector.NotToBeHad as why:
        say(f"left out   Spark's own Kafka sink: {why}")
        return []
    kills = run_builtin(bootstrap, folder, jars, asked)
    return [("Spark's own Kafka sink", kills, judge_builtin(bootstrap))]


def is_proved(verdict: Verdict, second: Verdict, *, rows: int, landed: int, kills: int) -> bool:
    """Says what is missing; the last line is the verdict."""
    faults: list[str] = []
    if not verdict.holds:
        faults.append(f"wanted every refund once with its audit row, found {verdict}")
    if second != verdict:
        faults.append(f"librdkafka counts otherwise: {second}")
    if verdict.rows_in != rows:
        faults.append(f"{rows} settlements were acknowledged, {verdict.rows_in} are there")
    if landed < kills:
        faults.append(f"wanted {kills} kills in the middle of the work, {landed} landed there")
    for each in faults:
        say(f"NOT PROVED: {each}")
    if not faults:
        say("Every refund is there once, with its audit row; librdkafka counts the same.")
    return not faults


def keep(bootstrap: str, folder: Path, asked: argparse.Namespace) -> None:
    """KEEP=1: broker, feed and pipeline go on until an interrupt, and there is a page to look at."""
    run = Run(bootstrap, str(folder / "checkpoint"), ID, once=False, rows_per_batch=asked.rows_per_batch)
    words = command("refunds", run, conf=QUIET)
    driver = Driver(Supervisor("refunds", words, log=folder / "driver.log", restarts=AT_ONCE, tell=say))
    feed = Feed(bootstrap, 0)
    driver.start()
    feed.start()
    page = subprocess.Popen(
        [sys.executable, "-m", "oncelog.cli.main", "ui", "--bootstrap", bootstrap, "--listen", "127.0.0.1:0"],
        start_new_session=True,
    )
    try:
        say("\nBroker, feed, pipeline and page run on until Ctrl-C. Look at them, or kill the driver:")
        say(f"  oncelog consume refunds-emitted --bootstrap {bootstrap}")
        say(f"  oncelog groups describe {ID} --bootstrap {bootstrap}")
        say(f"  oncelog txn ls --bootstrap {bootstrap}")
        say(f"  oncelog pipeline refunds --no-run --check --running --bootstrap {bootstrap}")
        driver.over.wait()
    except KeyboardInterrupt:
        say("stopping")
    finally:
        page.terminate()
        driver.stop()
        page.wait()
    rows = feed.finish()
    say(f"feed       {rows:,} settlements more")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=15_000, metavar="N", help="at least; default %(default)s")
    parser.add_argument("--kills", type=int, default=3, metavar="N", help="default %(default)s")
    parser.add_argument("--rows-per-batch", type=int, default=1_000, metavar="N", help="default %(default)s")
    parser.add_argument(
        "--seed", type=int, default=None, metavar="N", help="of the moments; default: another each time"
    )
    parser.add_argument("--no-builtin", action="store_true", help="without Spark's own Kafka sink beside it")
    asked = parser.parse_args()
    asked.seed = time.time_ns() % 1_000_000 if asked.seed is None else asked.seed
    asked.dice = Random(asked.seed)
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: what we started ends with us
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="oncelog-demo-") as folder:
            return run(Path(folder), asked)
    except KeyboardInterrupt:
        say("interrupted: nothing is proved")
        return 130


if __name__ == "__main__":
    sys.exit(main())
