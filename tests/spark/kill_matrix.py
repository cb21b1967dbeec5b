"""Kills the driver, an executor, a task or the broker at each named point of the sink, and counts what readers of committed records see.

`python -m tests.spark.kill_matrix` has a job for each victim and each broker: it goes through the six points, one after the other.
`--cells` has a job for each cell, `--soak N` goes through N faults that a seed chooses, shared by the brokers.
`--out FILE` keeps the outcome of each run; a later command with the same file adds to it, and docs/spark.md is filled from it.
Exit code 0: nothing doubled, nothing lost, nothing torn, and every fault happened.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final, Protocol

import pyspark
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from examples.connector import jars
from oncelog.client.cluster import Cluster
from oncelog.client.easy import create_topic, write_all
from oncelog.spark import fault_points
from oncelog.spark.fault_points import DIRECTORY, FAULT, MID_TASK, Fault
from tests.oracle import Oracle
from tests.processes import ServedBroker
from tests.spark.history import Row, anomalies
from tests.spark.numbers_job import LEFT, NUMBERS, RIGHT, Job
from tests.toolchains import ROOT

PARTITIONS: Final = 4
RUN_LIMIT_S: Final = 900.0  # of one driver, on a machine that may be busy
RESTARTS_LIMIT: Final = 10
ROUND: Final = 25  # faults of one job in a soak
CONTROL: Final = "Spark's own Kafka sink (control)"

CLUSTER: Final = "local-cluster[2,1,1024]"

# victim -> what happens at the point, and where Spark runs. An executor of its own process needs a small cluster.
VICTIMS: Final = {
    "driver": (fault_points.KILL_DRIVER, "local[2]"),
    "executor": (fault_points.KILL_EXECUTOR, CLUSTER),
    "task": (fault_points.RAISE, "local[2]"),
    "broker": (fault_points.KILL_BROKER, "local[2]"),
}
TARGETS: Final = ("oncelog", "kafka")
# The passage of a point that is in the second micro-batch: one per task in the tasks, one in the driver.
IN_SECOND_BATCH: Final = {MID_TASK: 3, fault_points.AFTER_FLUSH: 3}


class Target(Protocol):
    """A broker in a process of its own."""

    @property
    def bootstrap(self) -> str: ...
    @property
    def process_id(self) -> int: ...
    def start(self) -> object: ...
    def kill(self) -> None: ...


@dataclass(frozen=True)
class Seen:
    """What a reader finds in the two topics, and whether that is right."""

    rows: int
    duplicates: int
    lost: int
    torn: int
    uncommitted: int
    """Records that a reader of all records would see besides."""
    runs: int
    happened: tuple[Fault, ...]
    seconds: float
    said: str = field(default="", repr=False)
    anomalies: tuple[str, ...] = ()
    """What the history checker says of the same rows and their offsets."""

    @property
    def is_exact(self) -> bool:
        return self.duplicates == self.lost == self.torn == 0 and not self.anomalies

    @property
    def fired(self) -> int:
        return len(self.happened)


# Brokers


@contextlib.contextmanager
def broker(kind: str, directory: Path) -> Generator[Target]:
    if kind == "kafka":
        # Few internal partitions: a killed Kafka comes back sooner.
        small = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
        with Oracle(small, data_dir=directory / "kafka") as kafka:
            yield kafka
    else:
        with ServedBroker(directory / "oncelog") as served:
            yield served


class Keeper:
    """Starts a broker again whenever it was killed, and keeps its process id where fault points look for it."""

    def __init__(self, target: Target, directory: Path) -> None:
        self.revived = 0
        self._target = target
        self._note = directory / "broker"
        self._end = threading.Event()
        self._note.write_text(str(target.process_id))
        self._thread = threading.Thread(target=self._watch, name="keeper", daemon=True)

    def _watch(self) -> None:
        while not self._end.wait(0.1):
            if is_dead(self._target.process_id):
                self._target.kill()
                self._target.start()
                self._note.write_text(str(self._target.process_id))
                self.revived += 1

    def __enter__(self) -> "Keeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def is_dead(process_id: int) -> bool:
    """Gone, or ended and not yet waited for."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


# Runs


def feed(bootstrap: str, count: int) -> None:
    """The numbers, the same count in each partition. Called again it sends them again."""
    with Cluster(bootstrap) as cluster:
        there = {each.name for each in cluster.topics()}
    for topic in {NUMBERS, LEFT, RIGHT} - there:
        create_topic(bootstrap, topic, partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        write_all(
            bootstrap, NUMBERS, [b"%d" % n for n in range(partition, count, PARTITIONS)], partition=partition
        )


def run(job: Job, faults: Sequence[Fault], directory: Path, target: Target, count: int) -> Seen:
    """Runs the job through these faults until it says that it is done, then reads."""
    begun = time.monotonic()
    path = job.save(directory / "job.json")
    environment = {
        **os.environ,
        FAULT: ",".join(map(str, faults)),
        DIRECTORY: str(directory),
        "SPARK_WORKER_DIR": str(directory / "work"),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    if not faults:
        del environment[FAULT]
    log = directory / "job.log"
    with Keeper(target, directory):
        runs = 0
        while True:
            runs += 1
            with log.open("ab") as out:
                done = subprocess.run(
                    [sys.executable, "-m", "tests.spark.numbers_job", str(path)],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    timeout=RUN_LIMIT_S,
                )
            if done.returncode == 0:
                break
            if done.returncode != -signal.SIGKILL or runs > RESTARTS_LIMIT + len(faults):
                raise AssertionError(
                    f"run {runs} ended with exit code {done.returncode}:\n{log.read_text(errors='replace')[-6000:]}"
                )
    happened = tuple(each for each in faults if each.note(directory).exists())
    return judge(
        target.bootstrap, count, runs, happened, time.monotonic() - begun, log.read_text(errors="replace")
    )


def judge(
    bootstrap: str, count: int, runs: int, happened: tuple[Fault, ...], seconds: float, said: str
) -> Seen:
    found = {topic: read(bootstrap, topic, "read_committed") for topic in (LEFT, RIGHT)}
    sides = {topic: [row.value for row in rows] for topic, rows in found.items()}
    everything = sum(len(read(bootstrap, topic, "read_uncommitted")) for topic in sides)
    wanted = {b"%d" % number for number in range(count)}
    wrong = tuple(str(each) for each in anomalies(found, sorted(wanted)))
    rows = sum(len(values) for values in sides.values())
    doubled = sum(number - 1 for values in sides.values() for number in Counter(values).values())
    lost = sum(len(wanted - set(values)) for values in sides.values())
    torn = len(set(sides[LEFT]) ^ set(sides[RIGHT]))
    return Seen(rows, doubled, lost, torn, everything - rows, runs, happened, seconds, said, wrong)


def read(bootstrap: str, topic: str, isolation: str) -> list[Row]:
    """Every record, read by librdkafka: none of our code."""
    settings: dict[str, str | int | bool] = {
        "bootstrap.servers": bootstrap,
        "group.id": "judge",
        "isolation.level": isolation,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    partitions = (
        AdminClient({"bootstrap.servers": bootstrap}).list_topics(topic, timeout=30).topics[topic].partitions
    )
    consumer = Consumer(settings)
    rows: list[Row] = []
    ended: set[int] = set()
    try:
        consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
        deadline = time.monotonic() + 60
        while len(ended) < len(partitions):
            if time.monotonic() > deadline:
                raise AssertionError(f"{topic}: no end of {set(partitions) - ended} within 60 s")
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is None:
                rows.append(Row(message.partition() or 0, message.offset() or 0, message.value() or b""))
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition() or 0)
            elif not error.retriable():
                raise AssertionError(f"{topic}: {error}")
    finally:
        consumer.close()
    return rows


# Cells


@dataclass(frozen=True)
class Cell:
    target: str
    victim: str
    point: str
    door: str = "append"

    @property
    def name(self) -> str:
        return f"{self.victim} at {self.point}, {self.door}"

    def __str__(self) -> str:
        return f"{self.target} {self.name}"


def cells(targets: Sequence[str] = TARGETS, doors: Sequence[str] = ("append",)) -> list[Cell]:
    return [
        Cell(target, victim, point, door)
        for target in targets
        for victim in VICTIMS
        for point in fault_points.POINTS
        for door in doors
    ]


def play(cell: Cell, target: Target, directory: Path, *, count: int = 1200) -> Seen:
    """One cell, on a broker that has no topics yet."""
    action, master = VICTIMS[cell.victim]
    feed(target.bootstrap, count)
    job = Job(target.bootstrap, str(directory / "checkpoint"), door=cell.door, master=master)
    fault = Fault(cell.point, action, IN_SECOND_BATCH.get(cell.point, 2))
    return run(job, [fault], directory, target, count)


# The passage at which each point of a row has its turn: in different micro-batches, the driver's points at different attempts.
TURNS: Final = {
    MID_TASK: 9,
    fault_points.AFTER_FLUSH: 7,
    fault_points.BEFORE_OFFSETS: 4,
    fault_points.BEFORE_END_TXN: 5,
    fault_points.AFTER_END_TXN: 6,
    fault_points.BEFORE_COMMIT_LOG: 7,
}
assert tuple(TURNS) == fault_points.POINTS


def play_row(victim: str, door: str, target: Target, directory: Path, *, count: int = 1440) -> Seen:
    """All six cells of a victim in one job."""
    action, master = VICTIMS[victim]
    feed(target.bootstrap, count)
    job = Job(target.bootstrap, str(directory / "checkpoint"), door=door, master=master, rows_per_batch=120)
    return run(job, [Fault(point, action, nth) for point, nth in TURNS.items()], directory, target, count)


def play_control(target: Target, directory: Path, *, count: int = 1200) -> Seen:
    """Spark's own Kafka sink, its driver killed in the middle of a task: at least once, so there must be duplicates."""
    feed(target.bootstrap, count)
    paths = ",".join(map(str, jars()))
    job = Job(target.bootstrap, str(directory / "checkpoint"), door="kafka", jars=paths)
    return run(job, [Fault(MID_TASK, fault_points.KILL_DRIVER, 2)], directory, target, count)


# Random faults

# Of so many faults of a random loop each kind has its share. A new driver takes half a minute of CPU, a new query a few seconds.
SHARES: Final = {
    fault_points.KILL_WORKER: 12,
    fault_points.KILL_DRIVER: 2,
    fault_points.KILL_BROKER: 2,
    fault_points.RAISE: 4,
}
# Every third round of a soak runs on executors in processes of their own, which are killed too: all there are at once.
CLUSTER_SHARES: Final = {fault_points.KILL_EXECUTOR: 4, **SHARES, fault_points.KILL_WORKER: 8}
PASSAGES_PER_BATCH: Final = {MID_TASK: 2, fault_points.AFTER_FLUSH: 2}
ROWS_PER_BATCH: Final = 60


def draw(
    chance: random.Random, number: int, door: str = "append", shares: Mapping[str, int] = SHARES
) -> list[Fault]:
    """So many faults at random points; at each point they follow each other with a few passages in between.

    A worker that is killed is one of a task, or one that Spark has for the driver's half of the sink. foreachBatch has no such: there
    it would be the driver, which has its own share.
    """
    kinds = [action for action, share in shares.items() for _ in range(share)]
    actions = [kinds[each % len(kinds)] for each in range(number)]
    chance.shuffle(actions)
    passed: dict[str, int] = {}
    faults: list[Fault] = []
    for action in actions:
        in_a_task = door == "foreach" and action == fault_points.KILL_WORKER
        point = chance.choice(tuple(PASSAGES_PER_BATCH) if in_a_task else fault_points.POINTS)
        passed[point] = passed.get(point, 0) + chance.randint(1, 2 * PASSAGES_PER_BATCH.get(point, 1))
        faults.append(Fault(point, action, passed[point]))
    return faults


def play_random(
    target: Target,
    directory: Path,
    *,
    seed: int,
    faults: int,
    door: str = "append",
    on_cluster: bool = False,
    shares: Mapping[str, int] | None = None,
) -> Seen:
    """One job through all of them. There are micro-batches enough for every fault to happen."""
    shares = shares or (CLUSTER_SHARES if on_cluster else SHARES)
    drawn = draw(random.Random(seed), faults, door, shares)
    batches = 2 + max(each.nth for each in drawn)
    count = ROWS_PER_BATCH * batches
    feed(target.bootstrap, count)
    job = Job(
        target.bootstrap,
        str(directory / "checkpoint"),
        door=door,
        master=CLUSTER if on_cluster else "local[2]",
        rows_per_batch=ROWS_PER_BATCH,
        failures=5 * faults,
    )
    return run(job, drawn, directory, target, count)


# The command


def tell(what: object, seen: Seen, wanted: str) -> None:
    sys.stdout.write(
        f"{what!s:48} rows {seen.rows:6}  duplicates {seen.duplicates:4}  lost {seen.lost:3}  torn {seen.torn:3}  "
        f"not committed {seen.uncommitted:5}  driver runs {seen.runs:3}  faults {seen.fired:3}  {seen.seconds:6.1f} s  {wanted}\n"
    )
    sys.stdout.flush()


def on_a_broker(kind: str, do: Callable[[Target, Path], Seen]) -> Seen:
    with tempfile.TemporaryDirectory(prefix="kill-matrix-") as name, broker(kind, Path(name)) as target:
        return do(target, Path(name))


@dataclass
class Told:
    """What was wanted of each run, and how many were wrong."""

    file: Path | None = None
    wrong: int = 0

    def __call__(self, kind: str, what: str, seen: Seen, *, wanted: str, right: bool) -> None:
        self.wrong += not right
        tell(f"{kind:8} {what}", seen, wanted if right else f"WRONG, wanted: {wanted}")
        if self.file is not None:
            keep(self.file, kind, what, seen, right=right)

    def exact(self, kind: str, what: str, seen: Seen, faults: int) -> None:
        self(kind, what, seen, right=seen.is_exact and seen.fired == faults, wanted="exact")


def keep(file: Path, kind: str, what: str, seen: Seen, *, right: bool) -> None:
    """Adds a run to the file; a run of the same name is replaced."""
    kept: list[dict[str, Any]] = json.loads(file.read_text())["runs"] if file.is_file() else []
    run = {
        "target": kind,
        "what": what,
        "right": right,
        "spark": pyspark.__version__,
        "faults": [str(each) for each in seen.happened],
        "rows": seen.rows,
        "duplicates": seen.duplicates,
        "lost": seen.lost,
        "torn": seen.torn,
        "anomalies": list(seen.anomalies[:10]),
        "not_committed": seen.uncommitted,
        "driver_runs": seen.runs,
        "seconds": round(seen.seconds, 1),
    }
    others = [each for each in kept if (each["target"], each["what"]) != (kind, what)]
    file.write_text(json.dumps({"runs": [*others, run]}, indent=1) + "\n")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.kill_matrix", description=__doc__)
    parser.add_argument("--target", choices=TARGETS, action="append", help="both if not given")
    parser.add_argument("--door", choices=("append", "foreach"), action="append", help="append if not given")
    parser.add_argument("--only", default="", help="rows or cells whose name has this word")
    parser.add_argument("--cells", action="store_true", help="a job for each cell")
    parser.add_argument("--soak", type=int, metavar="N", help="N random faults instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON of all runs, added to")
    asked = parser.parse_args(words)
    told = Told(asked.out)
    targets = asked.target or list(TARGETS)
    for number, kind in enumerate(targets):
        if asked.soak:
            share = asked.soak // len(targets) + (number < asked.soak % len(targets))
            soak(kind, share, asked.seed, told)
        else:
            matrix(kind, asked.door or ["append"], asked.only, asked.cells, told)
    return 1 if told.wrong else 0


def matrix(kind: str, doors: Sequence[str], only: str, by_cells: bool, told: Told) -> None:
    if by_cells:
        for cell in cells([kind], doors):
            if only in str(cell):
                told.exact(kind, cell.name, on_a_broker(kind, partial(play, cell)), 1)
    else:
        for victim, door in product(VICTIMS, doors):
            name = f"{victim} at each of {len(TURNS)} points, {door}"
            if only in f"{kind} {name}":
                told.exact(kind, name, on_a_broker(kind, partial(play_row, victim, door)), len(TURNS))
    if only in f"{kind} {CONTROL}":
        seen = on_a_broker(kind, play_control)
        told(kind, CONTROL, seen, right=seen.duplicates > 0 and seen.fired == 1, wanted="duplicates")


def soak(kind: str, faults: int, seed: int, told: Told) -> None:
    """In rounds, each of which has a seed and a broker of its own; both doors take turns, and every third is on a small cluster."""
    for first in range(seed, seed + faults, ROUND):
        number = first // ROUND
        some, door, on_cluster = (
            min(ROUND, seed + faults - first),
            ("append", "foreach")[number % 2],
            number % 3 == 2,
        )
        play_some = partial(play_random, seed=first, faults=some, door=door, on_cluster=on_cluster)
        what = f"seed {first}, {some} faults, {door}{', cluster' if on_cluster else ''}"
        told.exact(kind, what, on_a_broker(kind, play_some), some)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
