"""The cost of exactly-once: seed 003's rows and more, on oncelog and beside it on another Kafka, interleaved.

Every cell is measured on all sides before the next one; rounds alternate the order of the sides, round 0 warms up and is not
kept. Kafka runs twice: at its defaults, and with a wait of 1 ms instead of 20 between two transactions of a producer; oncelog by Python alone, as
it does by default, and with its express lane. Compare ratios of the same round: the machine is shared, and the share of other
load stands beside every run.
"""

import importlib.metadata
import math
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from oncelog import __version__
from oncelog.client.admin import Admin
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.faults import ClientFault
from oncelog.cost import load
from oncelog.cost.load import CannotMeasure, Loaded, pooled
from oncelog.cost.page_cache import PageCache
from oncelog.cost.progress import Progress
from oncelog.cost.sides import (
    KafkaSide,
    OncelogSide,
    OtherLoad,
    RunningSide,
    Side,
    cpu_seconds,
    forget_peak,
    peak_mb,
    producer_performance,
    resident_mb,
)

HIGHER: Final = "higher"
LOWER: Final = "lower"
TUNED: Final = {"add.partitions.to.txn.retry.backoff.ms": "1"}
TUNED_NAME: Final = "Apache Kafka, backoff 1 ms"
# A Kafka that was killed is refused by its own controller until the session of before is over, nine seconds by default: a timer.
SHORT_SESSION: Final = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "250"}
SHORT_SESSION_NAME: Final = "Apache Kafka, session 1 s"
FLUSHED: Final = {"log.flush.interval.messages": "1"}
MANY_CONNECTIONS: Final = 100  # from here on one request in flight on each
JAVA_RECORDS_PER_SECOND: Final = 40_000  # about as many records as Java's tool sends in the time of a run
FETCHED_BYTES: Final = 64 << 20
FETCHED_BATCH: Final = 1_000_000  # with the frames of its records
RECORD_FRAME: Final = 10
LOG_BYTES: Final = 1 << 30
LOG_BATCH: Final = 131_072
LARGE_PARTITIONS: Final = 8
WARM_UP_S: Final = 20.0
FIRST_S: Final = 0.5  # of the round that is not kept
RATE: Final = 1000  # transactions a second where latency is compared
POWER_RATE: Final = 100
SEEN_RATE: Final = 100  # of one producer
OPEN_RATE: Final = 50  # of many, whose transactions stay open
POWER_SEEN_RATE: Final = 20
OPEN_MS: Final = (10, 100, 1000)
POWER_OPEN_MS: Final = 100
# Fewer where Kafka gives no more by default: a producer of its own waits 20 ms between two transactions.
RATES: Final = {1: 50, 10: 500}
# How long a run lasts whose percentiles are asked for, at least.
JUDGED_S: Final = 5.0  # where a bar is: 5,000 transactions at 1,000 a second
POWER_JUDGED_S: Final = 4.0
SAMPLED_S: Final = 2.0
HALF_RATE_S: Final = 2.5  # 6,250 transactions in all rounds at 500 a second
ALONE_S: Final = 3.0  # of one producer
SEEN_S: Final = 3.0
# What a measurement takes besides its load, for `expected_seconds`.
BESIDE_S: Final = 0.5  # a run: the generator's start, its producers' ids, page cache
RESTART_S: Final = {
    "oncelog": 2.5,
    "Apache Kafka": 22.0,
    SHORT_SESSION_NAME: 8.0,
}  # a round of stops and starts
FILL_S: Final = 12.0  # a broker for the restarts: its first start, its log
PYTHON_NAME: Final = "oncelog, hot.path=python"
POWER_BARS: Final = {"transactions of 10 records, 50 producers": 3.0}
LZ4, ZSTD = 3, 4
LEADER_LIMIT_S: Final = 10
TRIES: Final = 2
NOT_LED: Final = ("answered 3", "answered 6")  # UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER
STARTED: Final = "start to the first committed transaction"
RECOVERED: Final = "recovery after kill -9 to the first committed transaction"
WRITTEN: Final = (
    "bench/results",
    "docs",
    "README.md",
    "src/oncelog/inspect/page/measured",
)  # by measurements
FEW: Final = {"transaction.state.log.num.partitions": "50", "offsets.topic.num.partitions": "50"}


Run = Callable[[str, str, float], Loaded]  # bootstrap, topic, seconds


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a run, and its bar: the ratio to the other side that is wanted, in the better direction."""

    name: str
    unit: str
    better: str
    of: Callable[[Loaded], float]
    bar: float | None = None
    aim: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One load, and the figures that are read from its runs."""

    partitions: int
    run: Run
    figures: tuple[Figure, ...]
    transactional: bool = True  # else Kafka's wait between transactions cannot show: one Kafka is enough
    both: bool = False  # Kafkas nevertheless: a row of docs/cost.md, which shows both
    python: bool = True  # ours by Python alone too; not where other rows tell the same of it
    power: bool = True  # with a sync before every answer too; not where that changes nothing, or other rows tell the same
    least_s: float = 0  # a percentile needs many samples
    prepare: Callable[[str, str], object] = lambda bootstrap, topic: None  # noqa: ARG005  # before each run, not counted


@dataclass(slots=True)
class Result:
    """Everything that was measured; `asdict` of it is the raw file."""

    machine: dict[str, Any]
    oncelog: str
    rounds: int
    seconds: float
    power: bool = False  # durability=power, and Kafka with flush.messages=1
    when: str = ""
    commit: str | None = None
    clients: dict[str, str] = field(default_factory=dict[str, str])
    sides: dict[str, str] = field(default_factory=dict[str, str])  # how each of them runs
    runs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    starts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    memory: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    pooled: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])  # percentiles over all rounds
    troubles: list[str] = field(default_factory=list[str])

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def per_second(found: Loaded) -> float:
    return found.done / found.seconds


def megabytes_per_second(found: Loaded) -> float:
    return found.bytes / found.seconds / 1e6


def milliseconds(name: str, *, of_end: bool = False) -> Callable[[Loaded], float]:
    """A percentile: p50, p99 or p999."""
    return lambda found: (found.end_us if of_end else found.latency_us)[name] / 1000


def rate_of(name: str, bar: float | None = None, aim: float | None = None) -> tuple[Figure, ...]:
    return (Figure(name, "txn/s", HIGHER, per_second, bar, aim),)


def speed_of(name: str, bar: float | None = None, aim: float | None = None) -> tuple[Figure, ...]:
    return (Figure(name, "MB/s", HIGHER, megabytes_per_second, bar, aim),)


def transactions(
    producers: int, records: int, *, partitions: int = 12, rate: float = 0, record_bytes: int = 1024
) -> Run:
    return lambda bootstrap, topic, seconds: load.transactions(
        bootstrap,
        topic,
        partitions=partitions,
        producers=producers,
        records=records,
        record_bytes=record_bytes,
        seconds=seconds,
        rate=rate,
    )


def produced(
    record_bytes: int,
    batch_bytes: int,
    *,
    connections: int = 1,
    partitions: int = 1,
    acks: int = -1,
    codec: int = 0,
) -> Run:
    return lambda bootstrap, topic, seconds: load.produce(
        bootstrap,
        topic,
        partitions=partitions,
        connections=connections,
        inflight=5 if connections < MANY_CONNECTIONS else 1,
        record_bytes=record_bytes,
        batch_bytes=batch_bytes,
        seconds=seconds,
        acks=acks,
        codec=codec,
    )


def by_librdkafka(linger_ms: float, record_bytes: int, partitions: int, *, records: int = 0) -> Run:
    """`records`: of each transaction; 0: none, idempotent."""
    return lambda bootstrap, topic, seconds: load.librdkafka(
        bootstrap,
        topic,
        partitions=partitions,
        record_bytes=record_bytes,
        linger_ms=linger_ms,
        seconds=seconds,
        records=records,
    )


def by_java(bootstrap: str, topic: str, seconds: float) -> Loaded:
    return producer_performance(bootstrap, topic, records=int(JAVA_RECORDS_PER_SECOND * seconds))


def seen(rate: float, open_ms: float, record_bytes: int) -> Run:
    return lambda bootstrap, topic, seconds: load.seen(
        bootstrap, topic, records=10, record_bytes=record_bytes, seconds=seconds, rate=rate, open_ms=open_ms
    )


def fetching(partitions: int, record_bytes: int, name: str, *wanted: float) -> Cell:
    """Reads what was written just before, from the page cache: as much on every side, and when it is on the disk."""

    def write(bootstrap: str, topic: str) -> None:
        values = FETCHED_BATCH * record_bytes // (record_bytes + RECORD_FRAME)
        load.produce(
            bootstrap,
            topic,
            partitions=partitions,
            connections=partitions,
            record_bytes=record_bytes,
            batch_bytes=values,
            most=math.ceil(FETCHED_BYTES / values),
        )
        os.sync()

    def run(bootstrap: str, topic: str, seconds: float) -> Loaded:
        return load.fetch(bootstrap, topic, partitions=partitions, max_bytes=1_048_576, seconds=seconds)

    is_first = partitions == 1 and record_bytes == 1024
    return Cell(partitions, run, speed_of(name, *wanted), transactional=False, power=is_first, prepare=write)


def percentiles(
    what: str, of_what: str, *, of_end: bool = False, bar: float | None = None, aim: float | None = None
) -> tuple[Figure, ...]:
    """The three of a latency; bar and aim are for p99."""
    return (
        Figure(f"{what}, p50 {of_what}", "ms", LOWER, milliseconds("p50", of_end=of_end)),
        Figure(f"{what}, p99 {of_what}", "ms", LOWER, milliseconds("p99", of_end=of_end), bar, aim),
        Figure(f"{what}, p99.9 {of_what}", "ms", LOWER, milliseconds("p999", of_end=of_end)),
    )


def committing(
    producers: int,
    *,
    power: bool,
    least_s: float,
    record_bytes: int = 1024,
    bar: float | None = None,
    aim: float | None = None,
) -> Cell:
    """How long a transaction of 10 records takes, and its EndTxn, at a rate that all sides reach."""
    rate = min(RATES.get(producers, RATE), POWER_RATE if power else RATE)
    paced = f"at {rate:,} txn/s, {producers} producer{'s' if producers > 1 else ''}"
    if record_bytes != 1024:
        paced += f", {record_bytes} B"
    return Cell(
        12,
        transactions(producers, 10, rate=rate, record_bytes=record_bytes),
        percentiles("whole transaction", paced, bar=bar, aim=aim) + percentiles("EndTxn", paced, of_end=True),
        least_s=least_s,
        power=record_bytes == 1024,
    )


def delays(rate: float, open_ms: int = 0, record_bytes: int = 1024) -> Cell:
    """How long a reader waits for transactions that stay open for so long."""
    paced = f"at {rate:g} txn/s"
    if open_ms:
        paced = f"of transactions open for {open_ms:,} ms"
    if record_bytes != 1024:
        paced += f", {record_bytes} B"
    begin, end = "begin to read at read_committed", "EndTxn to read (lag of the last stable offset)"
    figures = (
        Figure(f"{begin}, p50 {paced}", "ms", LOWER, milliseconds("p50")),
        Figure(f"{begin}, p99 {paced}", "ms", LOWER, milliseconds("p99")),
        Figure(f"{end}, p50 {paced}", "ms", LOWER, milliseconds("p50", of_end=True)),
        Figure(f"{end}, p99 {paced}", "ms", LOWER, milliseconds("p99", of_end=True)),
    )
    is_first = not open_ms and record_bytes == 1024
    return Cell(
        1,
        seen(rate, open_ms, record_bytes),
        figures,
        python=is_first,
        power=is_first or open_ms == POWER_OPEN_MS,
        least_s=SEEN_S,
    )


def cells(*, power: bool = False) -> list[Cell]:
    """`power`: no side takes 1,000 transactions a second with a sync before every answer, so latency is asked for at fewer; and there are fewer
    rows."""
    return [each for each in _all_cells(power=power) if each.power or not power]


def _all_cells(*, power: bool) -> list[Cell]:
    judged_s = POWER_JUDGED_S if power else JUDGED_S
    seen_rate = POWER_SEEN_RATE if power else SEEN_RATE
    return [
        committing(50, power=power, least_s=judged_s, bar=1.0, aim=0.5),
        committing(1, power=power, least_s=ALONE_S),
        committing(10, power=power, least_s=HALF_RATE_S),
        committing(200, power=power, least_s=SAMPLED_S),
        committing(50, power=power, least_s=SAMPLED_S, record_bytes=100),
        delays(seen_rate),
        delays(seen_rate, record_bytes=100),
        *(delays(POWER_SEEN_RATE if power else OPEN_RATE, open_ms) for open_ms in OPEN_MS),
        Cell(12, transactions(1, 10), rate_of("transactions of 10 records, 1 producer")),
        Cell(12, transactions(10, 10), rate_of("transactions of 10 records, 10 producers")),
        Cell(12, transactions(50, 10), rate_of("transactions of 10 records, 50 producers", 1.5, 3.0)),
        Cell(12, transactions(200, 10), rate_of("transactions of 10 records, 200 producers", 1.0, 2.0)),
        Cell(12, transactions(10, 100), rate_of("transactions of 100 records, 10 producers")),
        Cell(12, transactions(10, 1000), rate_of("transactions of 1,000 records, 10 producers", 1.0, 1.5)),
        Cell(
            12,
            transactions(50, 10, record_bytes=100),
            rate_of("transactions of 10 records of 100 B, 50 producers"),
        ),
        Cell(
            12,
            transactions(10, 1000, record_bytes=100),
            rate_of("transactions of 1,000 records of 100 B, 10 producers"),
        ),
        Cell(
            1,
            transactions(50, 10, partitions=1),
            rate_of("transactions of 10 records, 50 producers, 1 partition"),
            python=False,
        ),
        Cell(
            100,
            transactions(50, 10, partitions=100),
            rate_of("transactions of 10 records, 50 producers, 100 partitions"),
            python=False,
        ),
        Cell(
            12,
            by_librdkafka(0, 1024, 12, records=10),
            rate_of("transactions of 10 records, 1 producer, librdkafka"),
        ),
        Cell(
            12,
            by_librdkafka(0, 1024, 12, records=1000),
            rate_of("transactions of 1,000 records, 1 producer, librdkafka"),
        ),
        Cell(
            12,
            produced(1024, 16_384, connections=10, partitions=12, acks=1),
            speed_of("plain produce, acks=1, 1 KB, 16 KB batches, 10 producers"),
            transactional=False,
            both=True,
        ),
        Cell(
            12,
            produced(1024, 16_384, connections=10, partitions=12),
            speed_of("idempotent produce, 1 KB, 16 KB batches, 10 producers"),
            transactional=False,
            both=True,
        ),
        *(
            Cell(partitions, run, figures, transactional=False)
            for partitions, run, figures in (
                (1, produced(1024, 16_384), speed_of("idempotent produce, 1 KB, 16 KB batches", 1.0, 2.0)),
                (1, produced(1024, 1_000_000), speed_of("idempotent produce, 1 KB, 1 MB batches", 0.8, 1.0)),
                (1, produced(1024, 1024), speed_of("idempotent produce, 1 KB, one record a request")),
                (1, produced(100, 16_384), speed_of("idempotent produce, 100 B, 16 KB batches", 1.0, 2.0)),
                (
                    1,
                    produced(1024, 16_384, codec=LZ4),
                    speed_of("idempotent produce, 1 KB, 16 KB batches, lz4"),
                ),
                (
                    1,
                    produced(1024, 16_384, codec=ZSTD),
                    speed_of("idempotent produce, 1 KB, 16 KB batches, zstd"),
                ),
                (
                    12,
                    by_librdkafka(0, 1024, 12),
                    speed_of("idempotent produce, 1 KB, linger 0, librdkafka", 0.8, 1.0),
                ),
                (12, by_java, speed_of("idempotent produce, 1 KB, linger 0, Java")),
                (
                    100,
                    produced(1024, 16_384, connections=100, partitions=100),
                    speed_of("idempotent produce, 100 connections, each to a partition of its own"),
                ),
                (
                    12,
                    produced(1024, 16_384, connections=100, partitions=12),
                    speed_of("idempotent produce, 100 connections", 0.8, 1.2),
                ),
                (
                    12,
                    produced(1024, 16_384, connections=1000, partitions=12),
                    speed_of("idempotent produce, 1,000 connections", 0.8, 1.2),
                ),
            )
        ),
        fetching(1, 1024, "read_committed fetch of cached data", 1.0, 1.5),
        fetching(12, 1024, "read_committed fetch of cached data, 12 partitions"),
        fetching(1, 100, "read_committed fetch of cached data, 100 B"),
    ]


def sides_of(against: str | None, *, power: bool) -> list[Side]:
    """oncelog with its express lane first, then as it runs without a C compiler; with a sync before every answer the lane has
    nothing to do, so there is one. `against`: None, "kafka" (Apache Kafka at its defaults and tuned), or HOST:PORT."""
    if power:
        ours: list[Side] = [OncelogSide("power", hot_path="python")]
    else:
        ours = [OncelogSide(), OncelogSide(hot_path="python")]
    if against is None:
        return ours
    if against != "kafka":
        return [*ours, RunningSide(against)]
    if power:
        return [*ours, KafkaSide("Apache Kafka, flush.messages=1", {**FEW, **TUNED, **FLUSHED})]
    return [*ours, KafkaSide("Apache Kafka", FEW), KafkaSide(TUNED_NAME, {**FEW, **TUNED})]


def measure(
    sides: Sequence[Side],
    *,
    rounds: int,
    seconds: float,
    only: str | None,
    tell: Callable[[str], None],
    log_bytes: int = LOG_BYTES,
    warm_up: float = WARM_UP_S,
    power: bool = False,
    page_cache: PageCache | None = None,
    hurried: bool = False,
) -> Result:
    """All cells on all sides. What a side cannot do is a trouble in the result, and the cell has no figure for it. `hurried`: no run is longer
    than `seconds`."""
    now = datetime.now(UTC).isoformat(timespec="minutes")
    found = Result(machine(), __version__, rounds, seconds, power, now, commit(), clients())
    found.sides |= {side.name: side.described() for side in sides}
    wanted = [
        each
        for each in cells(power=power)
        if only is None or any(only in figure.name for figure in each.figures)
    ]
    with_starts = only is None or any(only in each for each in (STARTED, RECOVERED))
    restarted = _restarted(found, sides) if with_starts else []
    expected = expected_seconds(wanted, sides, rounds, seconds, hurried=hurried, warm_up=warm_up)
    expected += rounds * sum(_restart_s(each) for each in restarted) + FILL_S * len(restarted)
    progress = Progress(tell, _steps(wanted, sides, rounds) + len(restarted) * (rounds + 1), expected)
    try:
        for side in sides:
            seconds_to_first = _start(side)
            found.starts.append({"side": side.name, "seconds_to_first_transaction": seconds_to_first})
            mb = resident_mb(side.process_id)
            found.memory.append({"side": side.name, "when": "idle", "round": 0, "mb": mb})
        for side in sides if wanted else ():
            tell(f"warming up {side.name} for {warm_up:g} s")
            _warm_up(side.bootstrap, warm_up)
            progress.passed(warm_up)
        os.sync()  # the first cells are about latency: what was written so far shall not be in their way
        for number, cell in enumerate(wanted):
            asked = _asked(cell, sides)
            topic = f"cell-{number}"
            lasts = _lasts(cell, seconds, hurried=hurried)
            kept: dict[str, list[Loaded]] = {side.name: [] for side in asked}
            for side in asked:
                create(side.bootstrap, topic, cell.partitions)
            for turn in range(rounds + 1):
                for side in asked if turn % 2 else tuple(reversed(asked)):
                    if page_cache is not None:
                        page_cache.fill()
                    loaded = _one(found, cell, side, topic, turn, lasts if turn else FIRST_S, progress)
                    if turn and loaded is not None and loaded.latency_each:
                        kept[side.name].append(loaded)
            _pool(found, cell, kept)
            if not cell.transactional:  # gigabytes: their log was kept until here, on all sides
                for side in asked:
                    remove(side.bootstrap, topic)
        _under_load(found, sides)
        for side in sides:
            side.stop()
        if with_starts:
            _restarts(found, restarted, rounds, log_bytes, progress)
    except KeyboardInterrupt:
        found.troubles.append("interrupted: later cells and rounds are missing")
    except (CannotMeasure, ClientFault) as fault:
        if not found.runs:
            raise
        found.troubles.append(f"later cells and rounds are missing: {fault}")
    finally:
        for side in (*sides, *(each.side for each in restarted)):
            side.stop()
    _keep_memory(found)
    return found


def _warm_up(bootstrap: str, seconds: float) -> None:
    """The same load for every side: a JVM compiles what it has run often."""
    create(bootstrap, "warm-up", 12)
    load.transactions(
        bootstrap, "warm-up", partitions=12, producers=50, records=10, record_bytes=1024, seconds=seconds / 2
    )
    load.produce(bootstrap, "warm-up", partitions=12, record_bytes=1024, seconds=seconds / 4)
    load.fetch(bootstrap, "warm-up", partitions=12, max_bytes=1_048_576, seconds=seconds / 4)
    remove(bootstrap, "warm-up")


def _asked(cell: Cell, sides: Sequence[Side]) -> Sequence[Side]:
    """Who is measured: of two forms of ours the first, of two Kafkas the one at its defaults, where the second would tell nothing else."""
    left_out: set[str] = set()
    if not (cell.transactional or cell.both):
        left_out.add(TUNED_NAME)
    if not cell.python:
        left_out.add(PYTHON_NAME)
    return [side for side in sides if side.name not in left_out]


def _lasts(cell: Cell, seconds: float, *, hurried: bool) -> float:
    return seconds if hurried else max(seconds, cell.least_s)


def expected_seconds(
    wanted: Sequence[Cell],
    sides: Sequence[Side],
    rounds: int,
    seconds: float,
    *,
    hurried: bool = False,
    warm_up: float = WARM_UP_S,
) -> float:
    """What the cells take on an idle machine, restarts apart."""
    runs = sum(
        len(_asked(cell, sides))
        * (FIRST_S + BESIDE_S + rounds * (BESIDE_S + _lasts(cell, seconds, hurried=hurried)))
        for cell in wanted
    )
    return runs + warm_up * len(sides) if wanted else 0.0


def _pool(found: Result, cell: Cell, kept: Mapping[str, Sequence[Loaded]]) -> None:
    """The percentiles of all rounds together: a run alone has few transactions beyond its p99.9."""
    for side, runs in kept.items():
        if runs:
            whole = pooled(runs)
            samples = sum(len(each.latency_each) for each in runs)
            for figure in cell.figures:
                one = {"cell": figure.name, "side": side, "samples": samples, "value": figure.of(whole)}
                found.pooled.append(one)


def _steps(wanted: Sequence[Cell], sides: Sequence[Side], rounds: int) -> int:
    return sum(len(_asked(cell, sides)) * (rounds + 1) for cell in wanted)


def _start(side: Side) -> float:
    """Seconds until a transaction commits there: the coordinator is loaded, the first block of producer ids is given."""
    begun = time.monotonic()
    side.start()
    first_transaction(side.bootstrap)
    return time.monotonic() - begun


def _one(
    found: Result, cell: Cell, side: Side, topic: str, turn: int, seconds: float, progress: Progress
) -> Loaded | None:
    """One run, once more if it failed, and what it cost. Round 0 is not kept."""
    name = cell.figures[0].name
    deadline = time.monotonic() + (0 if turn else LEADER_LIMIT_S)
    tries = 0
    while True:
        tries += 1
        try:
            cell.prepare(side.bootstrap, topic)
            forget_peak(side.process_id)
            noise = OtherLoad(side.process_id)
            before = cpu_seconds(side.process_id)
            loaded = cell.run(side.bootstrap, topic, seconds)
            break
        except CannotMeasure as fault:
            # A new partition's leader may know of it a little later than the metadata.
            if tries < TRIES or (str(fault).endswith(NOT_LED) and time.monotonic() < deadline):
                continue
            found.troubles.append(f"{name}, {side.name}, round {turn}: {fault}")
            progress.step(f"{name:58} {side.name:32} {fault}", seconds + BESIDE_S)
            return None
    after = cpu_seconds(side.process_id)
    value = cell.figures[0].of(loaded)
    progress.step(f"{name:58} {side.name:32} {value:12,.1f} {cell.figures[0].unit}", seconds + BESIDE_S)
    if not turn:
        return loaded
    shared = {
        "side": side.name,
        "round": turn,
        "tries": tries,
        "broker_cpu_seconds": None if before is None or after is None else after - before,
        "peak_mb": peak_mb(side.process_id),
        "other_load": noise.share(),
        **loaded.plain(),
    }
    for figure in cell.figures:
        of_figure = {"cell": figure.name, "unit": figure.unit, "better": figure.better}
        of_figure |= _wanted(found, figure.name, figure.bar, figure.aim)
        found.runs.append({**of_figure, "value": figure.of(loaded), **shared})
    return loaded


def _wanted(found: Result, name: str, bar: float | None, aim: float | None) -> dict[str, Any]:
    """With a sync before every answer there is one bar."""
    if found.power:
        return {"at_least": POWER_BARS.get(name), "aim": None}
    return {"at_least": bar, "aim": aim}


def _plain_run(
    found: Result, name: str, unit: str, wanted: tuple[float | None, float | None], side: str, turn: int
) -> dict[str, Any]:
    """A figure that no load gave."""
    return {
        "cell": name,
        "unit": unit,
        "better": LOWER,
        **_wanted(found, name, *wanted),
        "side": side,
        "round": turn,
        "broker_cpu_seconds": None,
        "peak_mb": None,
        "other_load": 0.0,
        "done": 0,
        "bytes": 0,
    }


@dataclass(frozen=True, slots=True)
class Restarted:
    """A broker whose starts are measured: in which column its figures stand, and how its rows of recovery end."""

    side: Side
    column: str
    stops: bool  # a clean stop too
    recovers: tuple[str, ...]


DEFAULT_SESSION: Final = ", Kafka waits for its session of 9 s"
ONE_SECOND: Final = ", Kafka's session 1 s"


def _restarted(found: Result, sides: Sequence[Side]) -> list[Restarted]:
    """Ours, with or without the lane the same at a start; one Kafka, whose wait between transactions has nothing to do with it; and that Kafka once
    more with a short session. All of them with directories of their own."""
    kept: list[Restarted] = []
    with_kafka = any(isinstance(side, KafkaSide) for side in sides)
    for side in sides:
        if side.name in (TUNED_NAME, PYTHON_NAME):
            continue
        if isinstance(side, RunningSide):
            found.troubles.append(f"{STARTED}, {side.name}: somebody else's, it is not stopped")
            continue
        if isinstance(side, KafkaSide):
            short = side.another(SHORT_SESSION_NAME, SHORT_SESSION)
            found.sides[f"{SHORT_SESSION_NAME}, of the starts"] = short.described()
            kept.append(Restarted(side.another(), side.name, stops=True, recovers=(DEFAULT_SESSION,)))
            kept.append(Restarted(short, side.name, stops=False, recovers=(ONE_SECOND,)))
        else:
            rows = (DEFAULT_SESSION, ONE_SECOND) if with_kafka else ("",)
            kept.append(Restarted(side.another(), side.name, stops=True, recovers=rows))
    return kept


def _restart_s(one: Restarted) -> float:
    return RESTART_S.get(one.side.name, RESTART_S["Apache Kafka" if "Kafka" in one.side.name else "oncelog"])


def _restarts(
    found: Result, fresh: Sequence[Restarted], rounds: int, log_bytes: int, progress: Progress
) -> None:
    """Brokers with empty directories get a log of `log_bytes`, all the same; then starts: after a clean stop, and after kill -9."""
    for each in fresh:
        each.side.start()
        _fill(each.side, log_bytes)
        progress.step(f"{each.side.name} has {each.side.log_bytes() or 0:,} bytes of log", FILL_S)
    for turn in range(1, rounds + 1):
        for each in fresh if turn % 2 else tuple(reversed(fresh)):
            _restart(found, each, turn, log_bytes, progress)


def _fill(side: Side, log_bytes: int) -> None:
    first_transaction(side.bootstrap)
    create(side.bootstrap, "large", LARGE_PARTITIONS)
    wait_for_leaders(side.bootstrap, "large", LARGE_PARTITIONS)
    load.produce(
        side.bootstrap,
        "large",
        partitions=LARGE_PARTITIONS,
        connections=LARGE_PARTITIONS,
        record_bytes=1024,
        batch_bytes=LOG_BATCH,
        most=math.ceil(log_bytes / LOG_BATCH),
    )


def wait_for_leaders(bootstrap: str, topic: str, partitions: int) -> None:
    """Until each partition takes a record: a new one's leader may know of it a little later than the metadata."""
    deadline = time.monotonic() + LEADER_LIMIT_S
    while True:
        try:
            load.produce(
                bootstrap,
                topic,
                partitions=partitions,
                connections=partitions,
                inflight=1,
                record_bytes=100,
                batch_bytes=100,
                most=partitions,
            )
            return
        except CannotMeasure as fault:
            if not str(fault).endswith(NOT_LED) or time.monotonic() > deadline:
                raise


def _restart(found: Result, one: Restarted, turn: int, log_bytes: int, progress: Progress) -> None:
    side, size = one.side, f", {log_bytes / (1 << 30):.3g} GiB of log"
    after: list[tuple[str, tuple[str, ...], tuple[float | None, float | None]]] = []
    if one.stops:
        after.append(("halt", (STARTED + size,), (0.2, 0.05)))
    after.append(("kill", tuple(RECOVERED + size + each for each in one.recovers), (None, None)))
    said: list[str] = []
    for end, rows, wanted in after:
        os.sync()  # what one side has still to write shall not be in the way of the next
        before = side.log_bytes()
        try:
            (side.kill if end == "kill" else side.halt)()
            noise = OtherLoad(None)
            seconds = _start(side)
            other = noise.share(side.process_id)
        except CannotMeasure as fault:
            found.troubles.append(f"{rows[0]}, {side.name}, round {turn}: {fault}")
            continue
        said.append(f"{seconds:.2f} s after {'kill -9' if end == 'kill' else 'a stop'}")
        for row in rows:
            run = _plain_run(found, row, "s", wanted, one.column, turn)
            found.runs.append({**run, "value": seconds, "other_load": other, "log_bytes": before})
        if end == "halt":
            mb = resident_mb(side.process_id)
            found.memory.append({"side": side.name, "when": "idle", "round": turn, "mb": mb})
    progress.step(f"{'start to the first transaction':58} {side.name:32} {', '.join(said)}", _restart_s(one))


def _under_load(found: Result, sides: Sequence[Side]) -> None:
    """The highest of all cells in each round."""
    turns = sorted({int(each["round"]) for each in found.runs})
    for side in sides:
        for turn in turns:
            of_turn = [each for each in found.runs if each["side"] == side.name and each["round"] == turn]
            peaks = [each["peak_mb"] for each in of_turn if each["peak_mb"]]
            mb = max(peaks, default=None)
            found.memory.append({"side": side.name, "when": "under load", "round": turn, "mb": mb})


def _keep_memory(found: Result) -> None:
    """A row for idle, after each start with a log if there were some, else after the first one; and one for under load."""
    beside = [each["side"] for each in found.starts if each["side"] != TUNED_NAME]
    for when, wanted in (("idle", (0.15, 0.06)), ("under load", (0.2, 0.1))):
        known = [
            each
            for each in found.memory
            if each["when"] == when and each["mb"] is not None and each["side"] in beside
        ]
        started = [each for each in known if each["round"]]
        for each in started or known:
            run = _plain_run(
                found, f"resident memory, {when}", "MB", wanted, each["side"], max(each["round"], 1)
            )
            found.runs.append({**run, "value": each["mb"]})


def create(bootstrap: str, topic: str, partitions: int) -> None:
    with Cluster(bootstrap, timeout_ms=30_000) as cluster:
        Admin(cluster).create_topic(topic, partitions=partitions)
        cluster.topic(topic, wait_ms=10_000)


def remove(bootstrap: str, topic: str) -> None:
    with Cluster(bootstrap, timeout_ms=30_000) as cluster:
        Admin(cluster).delete_topic(topic)


def first_transaction(bootstrap: str) -> None:
    """Until a transaction commits there: the coordinator is loaded and the first block of producer ids is given."""
    deadline = time.monotonic() + 120
    while True:
        try:
            create(bootstrap, f"first-{os.getpid()}-{time.monotonic_ns()}", 1)
            break
        except ClientFault:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    with Cluster(bootstrap, timeout_ms=30_000) as cluster:
        cluster.coordinator("first", TRANSACTION)  # the question makes Kafka create __transaction_state
        topic = next(each.name for each in cluster.topics() if each.name.startswith("first-"))
    load.transactions(bootstrap, topic, partitions=1, producers=1, records=1, record_bytes=100, seconds=0.01)


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "cpu": _cpu_model(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "file_system": _file_system(Path(tempfile.gettempdir())),
    }


def _cpu_model() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _file_system(folder: Path) -> str:
    """Of the brokers' directories: the mount that is nearest to them."""
    file = Path("/proc/mounts")
    rows = [line.split() for line in file.read_text().splitlines()] if file.is_file() else []
    over = [(row[1], row[2]) for row in rows if folder.resolve().is_relative_to(row[1])]
    return max(over, key=lambda each: len(each[0]), default=("", "unknown"))[1]


def commit(root: Path = Path(__file__).parents[3]) -> str | None:
    """Of a checkout, with "-dirty" if what is measured is not what was committed; None elsewhere. What measurements write does not count: the
    first of several would make all others dirty."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    said = subprocess.run(
        [git, "-C", str(root), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    if said.returncode != 0:
        return None
    words = [git, "-C", str(root), "diff", "--quiet", "HEAD", "--", "."]
    words += [f":(exclude){each}" for each in WRITTEN]
    changed = subprocess.run(words, check=False).returncode
    return said.stdout.strip() + ("-dirty" if changed else "")


def clients() -> dict[str, str]:
    """What puts the load on."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    known = {"generator": "src/oncelog/cost/loadgen.c"}
    if compiler is not None:
        said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
        known["generator"] += f", {said.partition(chr(10))[0]}, -O2"
    try:
        known["librdkafka"] = f"confluent-kafka {importlib.metadata.version('confluent-kafka')}"
    except importlib.metadata.PackageNotFoundError:
        known["librdkafka"] = "none"
    return {**known, "java": "Kafka's ProducerPerformance of the same version"}


def by_cell(runs: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The runs of each cell, in the order of measuring."""
    for name in dict.fromkeys(str(each["cell"]) for each in runs):
        yield name, [each for each in runs if each["cell"] == name]
