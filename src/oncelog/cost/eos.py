"""The cost of exactly-once: seed 003's rows and more, on oncelog and beside it on another Kafka, interleaved.

Every cell is measured on all sides before the next one; rounds alternate the order of the sides, round 0 warms up and is not
kept. Compare ratios of the same round: the machine is shared, and the share of other load stands beside every run.
"""

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from oncelog import __version__
from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.cost import load
from oncelog.cost.load import CannotMeasure, Loaded
from oncelog.cost.sides import KafkaSide, OncelogSide, OtherLoad, RunningSide, Side, cpu_seconds, resident_mb

HIGHER: Final = "higher"
LOWER: Final = "lower"
TUNED: Final = {"add.partitions.to.txn.retry.backoff.ms": "1"}
FLUSHED: Final = {"log.flush.interval.messages": "1"}
FEW: Final = {"transaction.state.log.num.partitions": "50", "offsets.topic.num.partitions": "50"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure. `run` gives the value and what else is worth keeping."""

    name: str
    unit: str
    better: str
    partitions: int
    run: Callable[[str, str, float], tuple[float, Loaded]]
    at_least: float | None = None  # the bar: ratio to the other side, in the better direction


@dataclass(slots=True)
class Result:
    """Everything that was measured; `asdict` of it is the raw file."""

    machine: dict[str, Any]
    oncelog: str
    rounds: int
    seconds: float
    runs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    starts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    memory: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    troubles: list[str] = field(default_factory=list[str])

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def transactions(
    producers: int, records: int, *, partitions: int = 12, rate: float = 0, record_bytes: int = 1024
) -> Callable[[str, str, float], tuple[float, Loaded]]:
    def run(bootstrap: str, topic: str, seconds: float) -> tuple[float, Loaded]:
        found = load.transactions(
            bootstrap,
            topic,
            partitions=partitions,
            producers=producers,
            records=records,
            record_bytes=record_bytes,
            seconds=seconds,
            rate=rate,
        )
        value = found.latency_us["p99"] / 1000 if rate else found.done / found.seconds
        return value, found

    return run


def produced(
    record_bytes: int, batch_bytes: int, *, connections: int = 1, partitions: int = 1
) -> Callable[[str, str, float], tuple[float, Loaded]]:
    def run(bootstrap: str, topic: str, seconds: float) -> tuple[float, Loaded]:
        found = load.produce(
            bootstrap,
            topic,
            partitions=partitions,
            connections=connections,
            inflight=5 if connections < 100 else 1,
            record_bytes=record_bytes,
            batch_bytes=batch_bytes,
            seconds=seconds,
        )
        return found.bytes / found.seconds / 1e6, found

    return run


def fetched(bootstrap: str, topic: str, seconds: float) -> tuple[float, Loaded]:
    """Reads what was written just before: from the page cache, on both sides."""
    load.produce(bootstrap, topic, record_bytes=1024, seconds=max(seconds / 2, 0.5))
    found = load.fetch(bootstrap, topic, partitions=1, max_bytes=1_048_576, seconds=seconds)
    return found.bytes / found.seconds / 1e6, found


def cells() -> list[Cell]:
    return [
        Cell("transactions of 10 records, 1 producer", "txn/s", HIGHER, 12, transactions(1, 10)),
        Cell("transactions of 10 records, 10 producers", "txn/s", HIGHER, 12, transactions(10, 10)),
        Cell("transactions of 10 records, 50 producers", "txn/s", HIGHER, 12, transactions(50, 10), 1.5),
        Cell("transactions of 10 records, 200 producers", "txn/s", HIGHER, 12, transactions(200, 10), 1.0),
        Cell("transactions of 1,000 records, 10 producers", "txn/s", HIGHER, 12, transactions(10, 1000), 1.0),
        Cell(
            "whole transaction p99 at 1,000 txn/s, 50 producers",
            "ms",
            LOWER,
            12,
            transactions(50, 10, rate=1000),
            1.0,
        ),
        Cell(
            "transactions of 10 records, 50 producers, 1 partition",
            "txn/s",
            HIGHER,
            1,
            transactions(50, 10, partitions=1),
        ),
        Cell(
            "transactions of 10 records, 50 producers, 100 partitions",
            "txn/s",
            HIGHER,
            100,
            transactions(50, 10, partitions=100),
        ),
        Cell("idempotent produce, 1 KB, 16 KB batches", "MB/s", HIGHER, 1, produced(1024, 16_384), 1.0),
        Cell("idempotent produce, 1 KB, 1 MB batches", "MB/s", HIGHER, 1, produced(1024, 1_000_000), 0.8),
        Cell("idempotent produce, 1 KB, one record a request", "MB/s", HIGHER, 1, produced(1024, 1024)),
        Cell("idempotent produce, 100 B, 16 KB batches", "MB/s", HIGHER, 1, produced(100, 16_384), 1.0),
        Cell(
            "produce, 100 connections",
            "MB/s",
            HIGHER,
            12,
            produced(1024, 16_384, connections=100, partitions=12),
            0.8,
        ),
        Cell(
            "produce, 1,000 connections",
            "MB/s",
            HIGHER,
            12,
            produced(1024, 16_384, connections=1000, partitions=12),
            0.8,
        ),
        Cell("read_committed fetch of cached data", "MB/s", HIGHER, 1, fetched, 1.0),
    ]


def sides_of(against: str | None, *, power: bool) -> list[Side]:
    """oncelog first. `against`: None, "kafka" (Apache Kafka at its defaults and tuned), or HOST:PORT."""
    ours: Side = OncelogSide("power" if power else "process")
    if against is None:
        return [ours]
    if against != "kafka":
        return [ours, RunningSide(against)]
    if power:
        return [ours, KafkaSide("Apache Kafka, flush.messages=1", {**FEW, **TUNED, **FLUSHED})]
    return [
        ours,
        KafkaSide("Apache Kafka", FEW),
        KafkaSide("Apache Kafka, backoff 1 ms", {**FEW, **TUNED}),
    ]


def measure(
    sides: Sequence[Side], *, rounds: int, seconds: float, only: str | None, tell: Callable[[str], None]
) -> Result:
    """All cells on all sides. What a side cannot do is a trouble in the result, and the cell has no figure for it."""
    found = Result(machine(), __version__, rounds, seconds)
    wanted = [each for each in cells() if only is None or only in each.name]
    try:
        for side in sides:
            begun = time.monotonic()
            side.start()
            first_transaction(side.bootstrap)
            found.starts.append({"side": side.name, "seconds_to_first_transaction": time.monotonic() - begun})
            found.memory.append({"side": side.name, "when": "idle", "mb": resident_mb(side.process_id)})
        for number, cell in enumerate(wanted):
            for turn in range(rounds + 1):
                for side in sides if turn % 2 else tuple(reversed(sides)):
                    topic = f"cell-{number}-{turn}"
                    _one(found, cell, side, topic, turn, seconds if turn else min(seconds, 1.0), tell)
        for side in sides:
            found.memory.append({"side": side.name, "when": "after load", "mb": resident_mb(side.process_id)})
    finally:
        for side in sides:
            side.stop()
    return found


def _one(
    found: Result, cell: Cell, side: Side, topic: str, turn: int, seconds: float, tell: Callable[[str], None]
) -> None:
    create(side.bootstrap, topic, cell.partitions)
    noise = OtherLoad(side.process_id)
    before = cpu_seconds(side.process_id)
    try:
        value, loaded = cell.run(side.bootstrap, topic, seconds)
    except CannotMeasure as fault:
        found.troubles.append(f"{cell.name}, {side.name}, round {turn}: {fault}")
        tell(f"{cell.name:58} {side.name:32} {fault}")
        return
    after = cpu_seconds(side.process_id)
    tell(f"{cell.name:58} {side.name:32} {value:12,.1f} {cell.unit}")
    if turn:
        found.runs.append(
            {
                "cell": cell.name,
                "unit": cell.unit,
                "better": cell.better,
                "at_least": cell.at_least,
                "side": side.name,
                "round": turn,
                "value": value,
                "broker_cpu_seconds": None if before is None or after is None else after - before,
                "rss_mb": resident_mb(side.process_id),
                "other_load": noise.share(),
                **asdict(loaded),
            }
        )


def create(bootstrap: str, topic: str, partitions: int) -> None:
    with Cluster(bootstrap, timeout_ms=30_000) as cluster:
        Admin(cluster).create_topic(topic, partitions=partitions)
        cluster.topic(topic, wait_ms=10_000)


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
