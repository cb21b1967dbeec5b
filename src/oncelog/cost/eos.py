"""The cost of exactly-once: seed 003's rows and more, on oncelog and beside it on another Kafka, interleaved.

Every cell is measured on all sides before the next one; rounds alternate the order of the sides, round 0 warms up and is not
kept. Kafka runs twice: at its defaults, and with a wait of 1 ms instead of 20 between two transactions of a producer. Compare ratios of the same round: the machine is shared, and the share of other load stands beside every run.
"""

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from oncelog import __version__
from oncelog.client.admin import Admin
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.faults import ClientFault
from oncelog.cost import load
from oncelog.cost.load import CannotMeasure, Loaded
from oncelog.cost.page_cache import PageCache
from oncelog.cost.sides import (
    KafkaSide,
    OncelogSide,
    OtherLoad,
    RunningSide,
    Side,
    cpu_seconds,
    producer_performance,
    resident_mb,
)

HIGHER: Final = "higher"
LOWER: Final = "lower"
TUNED: Final = {"add.partitions.to.txn.retry.backoff.ms": "1"}
TUNED_NAME: Final = "Apache Kafka, backoff 1 ms"
FLUSHED: Final = {"log.flush.interval.messages": "1"}
MANY_CONNECTIONS: Final = 100  # from here on one request in flight on each
JAVA_RECORDS_PER_SECOND: Final = 40_000  # about as many records as Java's tool sends in the time of a run
FETCHED_BYTES: Final = 64 << 20
LOG_BYTES: Final = 1 << 30
LARGE_PARTITIONS: Final = 8
WARM_UP_S: Final = 20.0
FIRST_S: Final = 0.5  # of the round that is not kept
BAR: Final = 20  # characters
RATE: Final = 1000  # transactions a second where latency is compared
POWER_RATE: Final = 100
POWER_BARS: Final = {"transactions of 10 records, 50 producers": 3.0}
LEADER_LIMIT_S: Final = 10
TRIES: Final = 2
NOT_LED: Final = ("answered 3", "answered 6")  # UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER
STARTED: Final = "start to the first committed transaction"
RECOVERED: Final = "recovery after kill -9 to the first committed transaction"
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


@dataclass(frozen=True, slots=True)
class Cell:
    """One load, and the figures that are read from its runs."""

    partitions: int
    run: Run
    figures: tuple[Figure, ...]
    transactional: bool = True  # else Kafka's wait between transactions cannot show: one Kafka is enough
    lasts: float = 1.0  # times the seconds of a run: a percentile needs many samples


@dataclass(slots=True)
class Result:
    """Everything that was measured; `asdict` of it is the raw file."""

    machine: dict[str, Any]
    oncelog: str
    rounds: int
    seconds: float
    power: bool = False  # durability=power, and Kafka with flush.messages=1
    runs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    starts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    memory: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
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


def rate_of(name: str, bar: float | None = None) -> tuple[Figure, ...]:
    return (Figure(name, "txn/s", HIGHER, per_second, bar),)


def speed_of(name: str, bar: float | None = None) -> tuple[Figure, ...]:
    return (Figure(name, "MB/s", HIGHER, megabytes_per_second, bar),)


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
    record_bytes: int, batch_bytes: int, *, connections: int = 1, partitions: int = 1, acks: int = -1
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
    )


def by_librdkafka(linger_ms: float, record_bytes: int, partitions: int) -> Run:
    return lambda bootstrap, topic, seconds: load.librdkafka(
        bootstrap,
        topic,
        partitions=partitions,
        record_bytes=record_bytes,
        linger_ms=linger_ms,
        seconds=seconds,
    )


def by_java(bootstrap: str, topic: str, seconds: float) -> Loaded:
    return producer_performance(bootstrap, topic, records=int(JAVA_RECORDS_PER_SECOND * seconds))


def seen(bootstrap: str, topic: str, seconds: float) -> Loaded:
    return load.seen(bootstrap, topic, records=10, record_bytes=1024, seconds=seconds, rate=100.0)


def fetched(bootstrap: str, topic: str, seconds: float) -> Loaded:
    """Reads what was written just before, from the page cache: as much on every side, and when it is on the disk."""
    written = 0
    while written < FETCHED_BYTES:
        written += load.produce(bootstrap, topic, record_bytes=1024, batch_bytes=1_000_000, seconds=0.1).bytes
    os.sync()
    return load.fetch(bootstrap, topic, partitions=1, max_bytes=1_048_576, seconds=seconds)


def cells(*, power: bool = False) -> list[Cell]:
    """`power`: no side takes 1,000 transactions a second with a sync before every answer, so latency is asked for at 100."""
    rate = POWER_RATE if power else RATE
    paced = f"at {rate:,} txn/s, 50 producers"
    read = "at 100 txn/s"
    return [
        Cell(
            12,
            transactions(50, 10, rate=rate),
            (
                Figure(f"whole transaction, p50 {paced}", "ms", LOWER, milliseconds("p50")),
                Figure(f"whole transaction, p99 {paced}", "ms", LOWER, milliseconds("p99"), 1.0),
                Figure(f"whole transaction, p99.9 {paced}", "ms", LOWER, milliseconds("p999")),
                Figure(f"EndTxn, p99 {paced}", "ms", LOWER, milliseconds("p99", of_end=True)),
            ),
            lasts=2.0,
        ),
        Cell(
            1,
            seen,
            (
                Figure(f"begin to read at read_committed, p50 {read}", "ms", LOWER, milliseconds("p50")),
                Figure(f"begin to read at read_committed, p99 {read}", "ms", LOWER, milliseconds("p99")),
                Figure(
                    f"EndTxn to read (lag of the last stable offset), p50 {read}",
                    "ms",
                    LOWER,
                    milliseconds("p50", of_end=True),
                ),
                Figure(
                    f"EndTxn to read (lag of the last stable offset), p99 {read}",
                    "ms",
                    LOWER,
                    milliseconds("p99", of_end=True),
                ),
            ),
            lasts=2.0,
        ),
        Cell(12, transactions(1, 10), rate_of("transactions of 10 records, 1 producer")),
        Cell(12, transactions(10, 10), rate_of("transactions of 10 records, 10 producers")),
        Cell(12, transactions(50, 10), rate_of("transactions of 10 records, 50 producers", 1.5)),
        Cell(12, transactions(200, 10), rate_of("transactions of 10 records, 200 producers", 1.0)),
        Cell(12, transactions(10, 100), rate_of("transactions of 100 records, 10 producers")),
        Cell(12, transactions(10, 1000), rate_of("transactions of 1,000 records, 10 producers", 1.0)),
        Cell(
            12,
            transactions(50, 10, record_bytes=100),
            rate_of("transactions of 10 records of 100 B, 50 producers"),
        ),
        Cell(
            1,
            transactions(50, 10, partitions=1),
            rate_of("transactions of 10 records, 50 producers, 1 partition"),
        ),
        Cell(
            100,
            transactions(50, 10, partitions=100),
            rate_of("transactions of 10 records, 50 producers, 100 partitions"),
        ),
        Cell(
            1, produced(1024, 16_384, acks=1), speed_of("plain produce, acks=1, 1 KB, 16 KB batches"), False
        ),
        Cell(1, produced(1024, 16_384), speed_of("idempotent produce, 1 KB, 16 KB batches", 1.0), False),
        Cell(1, produced(1024, 1_000_000), speed_of("idempotent produce, 1 KB, 1 MB batches", 0.8), False),
        Cell(1, produced(1024, 1024), speed_of("idempotent produce, 1 KB, one record a request"), False),
        Cell(1, produced(100, 16_384), speed_of("idempotent produce, 100 B, 16 KB batches", 1.0), False),
        Cell(
            12,
            by_librdkafka(0, 1024, 12),
            speed_of("idempotent produce, 1 KB, linger 0, librdkafka", 0.8),
            False,
        ),
        Cell(12, by_java, speed_of("idempotent produce, 1 KB, linger 0, Java"), False),
        Cell(
            12,
            produced(1024, 16_384, connections=100, partitions=12),
            speed_of("idempotent produce, 100 connections", 0.8),
            False,
        ),
        Cell(
            12,
            produced(1024, 16_384, connections=1000, partitions=12),
            speed_of("idempotent produce, 1,000 connections", 0.8),
            False,
        ),
        Cell(1, fetched, speed_of("read_committed fetch of cached data", 1.0), False),
    ]


def sides_of(against: str | None, *, power: bool) -> list[Side]:
    """oncelog first, then oncelog without its express lane, which waits for no sync. `against`: None, "kafka" (Apache
    Kafka at its defaults and tuned), or HOST:PORT."""
    if power:
        ours: list[Side] = [OncelogSide("power")]
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
) -> Result:
    """All cells on all sides. What a side cannot do is a trouble in the result, and the cell has no figure for it."""
    found = Result(machine(), __version__, rounds, seconds, power)
    wanted = [
        each
        for each in cells(power=power)
        if only is None or any(only in figure.name for figure in each.figures)
    ]
    with_starts = only is None or any(only in each for each in (STARTED, RECOVERED))
    progress = Progress(tell, _steps(wanted, sides, rounds))
    try:
        for side in sides:
            seconds_to_first = _start(side)
            found.starts.append({"side": side.name, "seconds_to_first_transaction": seconds_to_first})
            found.memory.append({"side": side.name, "when": "idle", "mb": resident_mb(side.process_id)})
        for side in sides if wanted else ():
            tell(f"warming up {side.name} for {warm_up:g} s")
            _warm_up(side.bootstrap, warm_up)
        os.sync()  # the first cells are about latency: what was written so far shall not be in their way
        for number, cell in enumerate(wanted):
            asked = _asked(cell, sides)
            topic = f"cell-{number}"
            for side in asked:
                create(side.bootstrap, topic, cell.partitions)
            for turn in range(rounds + 1):
                for side in asked if turn % 2 else tuple(reversed(asked)):
                    if page_cache is not None:
                        page_cache.fill()
                    _one(found, cell, side, topic, turn, cell.lasts * seconds if turn else FIRST_S, progress)
            if not cell.transactional:  # gigabytes: their log was kept until here, on all sides
                for side in asked:
                    remove(side.bootstrap, topic)
        for side in sides:
            peak = [each["rss_mb"] for each in found.runs if each["side"] == side.name and each["rss_mb"]]
            mb = max(peak, default=resident_mb(side.process_id))
            found.memory.append({"side": side.name, "when": "under load", "mb": mb})
        if with_starts and not power:
            _restarts(found, _restarted(sides), rounds, log_bytes, tell)
    except KeyboardInterrupt:
        found.troubles.append("interrupted: later cells and rounds are missing")
    finally:
        for side in sides:
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
    return sides if cell.transactional else [side for side in sides if side.name != TUNED_NAME]


def _restarted(sides: Sequence[Side]) -> Sequence[Side]:
    """Ours and one Kafka: neither the lane nor Kafka's wait has to do with a start."""
    return [sides[0], *[side for side in sides[1:] if not side.name.startswith("oncelog")][:1]]


def _steps(wanted: Sequence[Cell], sides: Sequence[Side], rounds: int) -> int:
    return sum(len(_asked(cell, sides)) * (rounds + 1) for cell in wanted)


def _start(side: Side) -> float:
    """Seconds until a transaction commits there: the coordinator is loaded, the first block of producer ids is given."""
    begun = time.monotonic()
    side.start()
    first_transaction(side.bootstrap)
    return time.monotonic() - begun


class Progress:
    """A line for each step, with how many there are."""

    def __init__(self, tell: Callable[[str], None], steps: int) -> None:
        self._tell = tell
        self._steps = steps
        self._done = 0

    def step(self, line: str) -> None:
        self._done += 1
        full = BAR * self._done // max(self._steps, 1)
        self._tell(f"[{'#' * full}{'.' * (BAR - full)}] {self._done}/{self._steps} {line}")


def _one(
    found: Result, cell: Cell, side: Side, topic: str, turn: int, seconds: float, progress: Progress
) -> None:
    """One run, once more if it failed, and what it cost. Round 0 is not kept."""
    name = cell.figures[0].name
    deadline = time.monotonic() + (0 if turn else LEADER_LIMIT_S)
    tries = 0
    while True:
        tries += 1
        noise = OtherLoad(side.process_id)
        before = cpu_seconds(side.process_id)
        try:
            loaded = cell.run(side.bootstrap, topic, seconds)
            break
        except CannotMeasure as fault:
            # A new partition's leader may know of it a little later than the metadata.
            if tries < TRIES or (str(fault).endswith(NOT_LED) and time.monotonic() < deadline):
                continue
            found.troubles.append(f"{name}, {side.name}, round {turn}: {fault}")
            progress.step(f"{name:58} {side.name:32} {fault}")
            return
    after = cpu_seconds(side.process_id)
    value = cell.figures[0].of(loaded)
    progress.step(f"{name:58} {side.name:32} {value:12,.1f} {cell.figures[0].unit}")
    if not turn:
        return
    shared = {
        "side": side.name,
        "round": turn,
        "tries": tries,
        "broker_cpu_seconds": None if before is None or after is None else after - before,
        "rss_mb": resident_mb(side.process_id),
        "other_load": noise.share(),
        **asdict(loaded),
    }
    for figure in cell.figures:
        bar = POWER_BARS.get(figure.name) if found.power else figure.bar
        of_figure = {"cell": figure.name, "unit": figure.unit, "better": figure.better, "at_least": bar}
        found.runs.append({**of_figure, "value": figure.of(loaded), **shared})


def _plain_run(name: str, unit: str, bar: float, side: str, turn: int, value: float) -> dict[str, Any]:
    """A figure that no load gave."""
    return {
        "cell": name,
        "unit": unit,
        "better": LOWER,
        "at_least": bar,
        "side": side,
        "round": turn,
        "value": value,
        "broker_cpu_seconds": None,
        "rss_mb": None,
        "other_load": 0.0,
        "done": 0,
        "bytes": 0,
    }


def _restarts(
    found: Result, sides: Sequence[Side], rounds: int, log_bytes: int, tell: Callable[[str], None]
) -> None:
    """A log of `log_bytes`, then starts: after a clean stop, and after kill -9."""
    for side in sides:
        create(side.bootstrap, "large", LARGE_PARTITIONS)
        left = log_bytes
        while left > 0:
            done = load.produce(
                side.bootstrap,
                "large",
                partitions=LARGE_PARTITIONS,
                connections=LARGE_PARTITIONS,
                record_bytes=1024,
                batch_bytes=131_072,
                seconds=1.0,
            )
            left -= done.bytes
    for turn in range(1, rounds + 1):
        for name, bar, end in ((STARTED, 0.2, "halt"), (RECOVERED, None, "kill")):
            for side in sides if turn % 2 else tuple(reversed(sides)):
                noise = OtherLoad(None)
                try:
                    (side.kill if end == "kill" else side.halt)()
                    seconds = _start(side)
                except CannotMeasure as fault:
                    found.troubles.append(f"{name}, {side.name}, round {turn}: {fault}")
                    continue
                tell(f"{name:58} {side.name:32} {seconds:12.2f} s")
                run = _plain_run(
                    f"{name}, {log_bytes / (1 << 30):.3g} GiB of log", "s", 0.2, side.name, turn, seconds
                )
                found.runs.append({**run, "at_least": bar, "other_load": noise.share()})


def _keep_memory(found: Result) -> None:
    beside = [each["side"] for each in found.starts if each["side"] != TUNED_NAME]
    for when, bar in (("idle", 0.15), ("under load", 0.2)):
        for each in found.memory[:]:
            if each["when"] == when and each["mb"] is not None and each["side"] in beside:
                found.runs.append(
                    _plain_run(f"resident memory, {when}", "MB", bar, each["side"], 1, each["mb"])
                )


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
        "system": platform.platform(),
        "python": platform.python_version(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
    }


def by_cell(runs: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The runs of each cell, in the order of measuring."""
    for name in dict.fromkeys(str(each["cell"]) for each in runs):
        yield name, [each for each in runs if each["cell"] == name]
