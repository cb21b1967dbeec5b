"""Our Spark source and sink beside Spark's built-in Kafka connector: the same session, the same topics, rounds that alternate.

    make bench-spark            # or: python -m bench.spark --rounds 5 --scale 1.0 --only read --out bench/results

read    a topic into Spark's `noop` sink: one batch query, its planning included
stream  the same as a streaming query of ten micro-batches
write   rows that Spark holds in memory into a topic. Built-in: at least once. Ours: exactly once, one transaction
copy    topic to topic, ten micro-batches, source and sink of the same side; each record stays in its partition, nobody shuffles
keyed   the same, but the partition is murmur2 of the key: ours through to_topic, whose shuffle brings each partition's rows into one
        task; the built-in sink leaves it to the producer of each task
small   copy with a quarter of the records, in ten micro-batches too: what does not depend on their size weighs more
Of a stream all micro-batches but the first count, by Spark's own times of them: the first one waits for processes to start.

All of it on an oncelog broker and on Apache Kafka. A round runs both sides, in turns; the first round warms both up and is not kept.
Rates are of one round against the other side of the same round: the machine is shared, so compare ratios. CPU seconds are those of
the JVM, of Spark's Python workers and of the broker together; they suffer less from the load of others. A run whose CPU cannot be right
(less than nothing, or others busier than there are cores) is run once more.
What a run measured replaces the same cells in spark.json and leaves others there, so it can be done in parts.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psutil
import pyspark
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from bench.spark_report import (
    BUILT_IN,
    KINDS,
    MICRO_BATCHES,
    OURS,
    PARTITIONS,
    SMALL,
    all_cpu,
    cell_of,
    cells,
    pages,
    plausible,
    table,
)
from bench.targets import KafkaTarget, OncelogTarget, OtherLoad, Target, cpu_seconds, wait_ready
from examples.connector import NotToBeHad, jars
from oncelog.client.easy import create_topic
from oncelog.cost.eos import commit, machine, remove
from oncelog.cost.progress import Progress
from oncelog.spark import session, to_topic

HOT_PATH: Final = "native"
TRIES: Final = 3
BROKERS: Final = ("oncelog", "kafka")
# Seconds that a run takes on an idle machine, about, for who waits: of any size, and of all records.
RUN_S: Final = {
    "read": (0.3, 1.0),
    "stream": (2.0, 1.2),
    "write": (0.3, 1.2),
    "copy": (1.8, 2.2),
    "keyed": (1.8, 2.8),
    "small": (1.8, 2.4),
}
FILL_S: Final = 5.0  # a topic


@dataclass(frozen=True, slots=True)
class Load:
    """The records of a topic."""

    name: str
    record_bytes: int
    records: int
    codec: str = "none"
    kinds: tuple[str, ...] = KINDS  # which runs it is for


LOADS: Final = (
    Load("100 B", 100, 1_000_000, kinds=tuple(each for each in KINDS if each != "small")),
    Load("1 KB", 1024, 800_000),
    Load("100 B, lz4", 100, 1_000_000, "lz4", kinds=("read", "stream")),
)


def fill(bootstrap: str, topic: str, load: Load) -> None:
    """Batches of 16 KB, which is what Kafka's Java producer makes unless it is told otherwise."""
    create_topic(bootstrap, topic, partitions=PARTITIONS)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "batch.size": 16_384,
            "compression.type": load.codec,
            "queue.buffering.max.messages": 500_000,
        }
    )
    values = [os.urandom(load.record_bytes // 2).hex().encode() for _ in range(256)]
    for number in range(load.records):
        while True:
            try:
                producer.produce(topic, values[number & 255], b"%08d" % number, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.01)
    if producer.flush(300):
        raise RuntimeError(f"{topic}: not all records were written")


class Spark:
    """One session with both connectors."""

    def __init__(self, cores: int, work: Path) -> None:
        self.work = work
        settings: dict[str, Any] = {
            "spark.jars": ",".join(map(str, jars())),
            "spark.ui.enabled": False,
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": PARTITIONS,
            "spark.sql.warehouse.dir": str(work / "warehouse"),
        }
        self.spark: SparkSession = session(master=f"local[{cores}]", **settings)
        self.spark.sparkContext.setLogLevel("ERROR")
        self._numbers = 0
        self._held: dict[str, DataFrame] = {}
        self._written: list[tuple[str, str]] = []  # (bootstrap, topic) of what nobody reads again

    def checkpoint(self) -> str:
        self._numbers += 1
        return str(self.work / f"checkpoint-{self._numbers}")

    def options(self, bootstrap: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": bootstrap, "kafka.isolation.level": "read_committed"}

    def read(self, side: str, bootstrap: str, topic: str, records: int) -> tuple[int, float]:
        begun = time.monotonic()
        reader = self.spark.read.format(side).options(**self.options(bootstrap)).option("subscribe", topic)
        reader.load().write.format("noop").mode("overwrite").save()
        return records, time.monotonic() - begun

    def _stream(self, side: str, bootstrap: str, topic: str, records: int) -> DataFrame:
        reader = self.spark.readStream.format(side).options(**self.options(bootstrap))
        reader = reader.option("maxOffsetsPerTrigger", records // MICRO_BATCHES)
        return reader.option("subscribe", topic).option("startingOffsets", "earliest").load()

    def _run(self, writer: DataStreamWriter) -> tuple[int, float]:
        query = writer.option("checkpointLocation", self.checkpoint()).trigger(availableNow=True).start()
        query.awaitTermination()
        told = [json.loads(each.json) for each in query.recentProgress][1:]
        return sum(each["numInputRows"] for each in told), sum(
            each["durationMs"]["triggerExecution"] for each in told if each["numInputRows"]
        ) / 1000

    def stream(self, side: str, bootstrap: str, topic: str, records: int) -> tuple[int, float]:
        return self._run(self._stream(side, bootstrap, topic, records).writeStream.format("noop"))

    def _out(self, bootstrap: str, topic: str) -> str:
        self._numbers += 1
        name = f"{topic}-{self._numbers}"
        create_topic(bootstrap, name, partitions=PARTITIONS)
        self._written.append((bootstrap, name))
        return name

    def tidy(self) -> None:
        """Removes what runs wrote: the disk would be full otherwise."""
        for bootstrap, name in self._written:
            remove(bootstrap, name)
        self._written = []

    def copy(self, side: str, bootstrap: str, topic: str, records: int) -> tuple[int, float]:
        """Partition by partition, so that neither side shuffles."""
        out = self._out(bootstrap, f"{topic}-copy")
        rows = self._stream(side, bootstrap, topic, records).select("key", "value", "partition")
        options = self._sink(side, bootstrap, out)
        if side == OURS:
            rows = to_topic(rows, out, "preserve", options=options)
        return self._run(rows.writeStream.format(side).options(**options))

    def keyed(self, side: str, bootstrap: str, topic: str, records: int) -> tuple[int, float]:
        """By key, as Java's producer places records; the built-in sink is one."""
        out = self._out(bootstrap, f"{topic}-keyed")
        rows = self._stream(side, bootstrap, topic, records).select("key", "value")
        options = self._sink(side, bootstrap, out)
        if side == OURS:
            rows = to_topic(rows, out, "murmur2", options=options)
        return self._run(rows.writeStream.format(side).options(**options))

    def write(self, side: str, bootstrap: str, topic: str, records: int) -> tuple[int, float]:
        """The same rows from memory for both sides; each partition has its task."""
        if topic not in self._held:
            self.forget()
            rows = self.spark.read.format(OURS).options(**self.options(bootstrap)).option("subscribe", topic)
            held = rows.load().select("key", "value", "partition").cache()
            held.write.format("noop").mode("overwrite").save()
            self._held = {topic: held}
        out = self._out(bootstrap, f"{topic}-write")
        options = self._sink(side, bootstrap, out)
        begun = time.monotonic()
        self._held[topic].write.format(side).options(**options).mode("append").save()
        return records, time.monotonic() - begun

    def small(self, side: str, bootstrap: str, topic: str, records: int) -> tuple[int, float]:
        return self.copy(side, bootstrap, topic, records)

    def forget(self) -> None:
        """Before the next broker, whose topics have the same names."""
        for each in self._held.values():
            each.unpersist()
        self._held = {}

    def _sink(self, side: str, bootstrap: str, topic: str) -> dict[str, str]:
        common = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
        if side == OURS:
            return common | {"transactionalId": topic}
        return common | {"kafka.linger.ms": "5", "kafka.batch.size": "262144", "kafka.acks": "all"}

    def cpu_seconds(self, broker: int) -> float:
        return cpu_below(psutil.Process(), broker)


def cpu_below(process: psutil.Process, broker: int) -> float:
    """CPU seconds of all processes below this one but the broker's: the JVM and its Python workers. One that ends is counted by who waits for it,
    so the processes must be the same before and after they were asked, else it would be missing or be there twice."""
    while True:
        before = process.children(recursive=True)
        total = 0.0
        try:
            for each in before:
                times = each.cpu_times()
                if each.pid != broker:
                    total += times.user + times.system + times.children_user + times.children_system
        except psutil.Error:
            continue
        if process.children(recursive=True) == before:
            return total


def measure(asked: argparse.Namespace, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """`keep` is called with all that was found so far, after each cell."""
    found: dict[str, Any] = {"machine": machine(), "spark": pyspark.__version__, "brokers": {}, "runs": []}
    found["jars"] = [each.name for each in jars()]
    work = Path(tempfile.mkdtemp(prefix="bench-spark-"))
    progress = Progress(tell, *planned(asked))
    try:
        spark = Spark(min(os.cpu_count() or 2, PARTITIONS), work)
        for broker in asked.broker:
            target: Target = OncelogTarget({"hot.path": HOT_PATH}) if broker == OURS else KafkaTarget()
            settings = f"hot.path={HOT_PATH}" if broker == OURS else "its defaults, heap 1g"
            found["brokers"][target.name] = settings
            target.start()
            try:
                wait_ready(target)
                for turn in turns(asked):
                    if turn.is_new:
                        fill(target.bootstrap, turn.topic, turn.load)
                        progress.passed(fill_seconds(turn.load))
                    found["runs"] += compare(
                        spark, target, turn.topic, turn.load, turn.kind, asked.rounds, progress
                    )
                    spark.tidy()
                    keep(found)
            finally:
                spark.forget()
                target.stop()
        spark.spark.stop()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return found


def tell(line: str) -> None:
    print(line, file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Turn:
    """A kind of runs, its topic and what is in it; `is_new`: it must be filled."""

    kind: str
    topic: str
    load: Load
    is_new: bool


def turns(asked: argparse.Namespace) -> Iterator[Turn]:
    """What one broker is asked for, in order; each topic is filled when its first kind has its turn."""
    filled: set[str] = set()
    for number, load in enumerate(LOADS):
        if load.name not in asked.load:
            continue
        whole = replace(load, records=int(load.records * asked.scale))
        for kind in (each for each in asked.only if each in load.kinds):
            small = kind == "small"
            topic = f"load-{number}-small" if small else f"load-{number}"
            some = replace(whole, records=whole.records // SMALL) if small else whole
            yield Turn(kind, topic, some, topic not in filled)
            filled.add(topic)


def planned(asked: argparse.Namespace) -> tuple[int, float]:
    """How many runs there will be, and how long they will take on an idle machine."""
    of_each = 2 * (asked.rounds + 1)
    one_broker = list(turns(asked))
    seconds = sum(
        of_each * run_seconds(turn.kind, turn.load) + (fill_seconds(turn.load) if turn.is_new else 0.0)
        for turn in one_broker
    )
    return of_each * len(one_broker) * len(asked.broker), seconds * len(asked.broker)


def run_seconds(kind: str, load: Load) -> float:
    fixed, of_all_records = RUN_S[kind]
    return fixed + of_all_records * share_of(load)


def fill_seconds(load: Load) -> float:
    return FILL_S * share_of(load)


def share_of(load: Load) -> float:
    """Of the records that a load of this name has at full size."""
    return load.records / next(each.records for each in LOADS if each.name == load.name)


def compare(
    spark: Spark, target: Target, topic: str, load: Load, kind: str, rounds: int, progress: Progress
) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    measured = {"when": datetime.now(UTC).isoformat(timespec="minutes"), "commit": commit()}
    for number in range(-1, rounds):
        for side in (OURS, BUILT_IN) if number % 2 == 0 else (BUILT_IN, OURS):
            tries = 1
            each = one(spark, target, topic, load, kind, side)
            while number >= 0 and not plausible(each):
                if tries == TRIES:
                    raise RuntimeError(f"{kind}, {target.name}, {load.name}: wrong CPU {tries} times: {each}")
                tries += 1
                each = one(spark, target, topic, load, kind, side)
            each |= {"round": number, "tries": tries, **measured}
            progress.step(
                f"{kind:6} {target.name:13} {load.name:11} {side:8} {each['records_per_second']:12,.0f} records/s"
                f" {all_cpu(each):6.1f} CPU s",
                run_seconds(kind, load),
            )
            if number >= 0:
                kept.append(each)
    return kept


def one(spark: Spark, target: Target, topic: str, load: Load, kind: str, side: str) -> dict[str, Any]:
    run: Callable[[str, str, str, int], tuple[int, float]] = getattr(spark, kind)
    pid = target.process_id()
    cpu, broker = spark.cpu_seconds(pid), cpu_seconds(pid)
    other = OtherLoad(lambda: spark.cpu_seconds(pid) + cpu_seconds(pid))
    records, seconds = run(side, target.bootstrap, topic, load.records)
    return {
        "kind": kind,
        "broker": target.name,
        "load": load.name,
        "side": side,
        "records": records,
        "seconds": seconds,
        "records_per_second": records / seconds,
        "spark_cpu_seconds": spark.cpu_seconds(pid) - cpu,
        "broker_cpu_seconds": cpu_seconds(pid) - broker,
        "other_load": other.share(),
    }


def merged(kept: dict[str, Any] | None, found: dict[str, Any]) -> dict[str, Any]:
    """Cells that were measured now in place of older ones. Other versions of Spark or of the connector are another comparison."""
    if kept is None or any(kept.get(name) != found[name] for name in ("spark", "jars")):
        return found
    now = set(cells(found))
    return {
        **found,
        "brokers": {**kept.get("brokers", {}), **found.get("brokers", {})},
        "runs": [run for run in kept["runs"] if cell_of(run) not in now] + found["runs"],
    }


def end(number: int, _: object) -> None:
    sys.exit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full amount of records")
    parser.add_argument("--only", nargs="*", default=KINDS, choices=KINDS, help="kinds of runs")
    parser.add_argument("--broker", nargs="*", default=BROKERS, choices=BROKERS)
    parser.add_argument("--load", nargs="*", default=[each.name for each in LOADS])
    parser.add_argument("--out", default="bench/results")
    asked = parser.parse_args()
    # A run that is told to end stops its broker first.
    signal.signal(signal.SIGTERM, end)
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    raw = out / "spark.json"
    before = json.loads(raw.read_text()) if raw.is_file() else None

    def keep(measured: dict[str, Any]) -> None:
        found = merged(before, measured)
        raw.write_text(json.dumps(found, indent=1) + "\n")
        for page, text in pages(found).items():
            (out / page).write_text(text)

    try:
        print(table(measure(asked, keep)))
    except NotToBeHad as fault:
        tell(f"bench spark: wanted Spark's own Kafka connector: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
