"""Our Spark source and sink beside Spark's built-in Kafka connector: the same session, the same topics, rounds that alternate.

    make bench-spark            # or: python -m bench.spark --rounds 5 --scale 1.0 --only read --out bench/results

read    a topic into Spark's `noop` sink: one batch query, its planning included
stream  the same as a streaming query of ten micro-batches
copy    topic to topic, ten micro-batches. Built-in: at least once. Ours: exactly once, each micro-batch a transaction
Of a stream all micro-batches but the first count, by Spark's own times of them: the first one waits for processes to start.

All of it on an oncelog broker and on Apache Kafka. A round runs both sides, in turns; the first round warms both up and is not kept.
Rates are of one round against the other side of the same round: the machine is shared, so compare ratios. CPU seconds are those of
the JVM, of Spark's Python workers and of the broker together; they suffer less from the load of others.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from bench.targets import (
    KafkaTarget,
    OncelogTarget,
    OtherLoad,
    Target,
    cpu_seconds,
    machine,
    wait_ready,
)
from examples.connector import jars
from oncelog.client.easy import create_topic
from oncelog.spark import session, to_topic

PARTITIONS: Final = 4
MICRO_BATCHES: Final = 10
BUILT_IN: Final = "kafka"
OURS: Final = "oncelog"


@dataclass(frozen=True, slots=True)
class Load:
    """The records of a topic."""

    name: str
    record_bytes: int
    records: int
    codec: str = "none"


LOADS: Final = (
    Load("100 B", 100, 4_000_000),
    Load("1 KB", 1024, 800_000),
    Load("100 B, lz4", 100, 4_000_000, "lz4"),
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

    def copy(self, side: str, bootstrap: str, topic: str, records: int) -> tuple[int, float]:
        """Partition by partition, so that neither side shuffles."""
        self._numbers += 1
        out = f"{topic}-copy-{self._numbers}"
        create_topic(bootstrap, out, partitions=PARTITIONS)
        rows = self._stream(side, bootstrap, topic, records).select("key", "value", "partition")
        options = {"kafka.bootstrap.servers": bootstrap, "topic": out}
        if side == OURS:
            rows = to_topic(rows, out, "preserve")
            options |= {"transactionalId": out}
        else:
            options |= {"kafka.linger.ms": "5", "kafka.batch.size": "262144", "kafka.acks": "all"}
        return self._run(rows.writeStream.format(side).options(**options))

    def cpu_seconds(self, broker: int) -> float:
        """Of all processes below this one but the broker's: the JVM and its Python workers, ended ones included."""
        total = 0.0
        for each in psutil.Process().children(recursive=True):
            try:
                times = each.cpu_times()
            except psutil.Error:
                continue
            if each.pid != broker:
                total += times.user + times.system + times.children_user + times.children_system
        return total


def measure(
    rounds: int, scale: float, kinds: list[str], brokers: list[str], loads: list[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {"machine": machine(), "rounds": rounds, "scale": scale, "runs": []}
    found["jars"] = [each.name for each in jars()]
    work = Path(tempfile.mkdtemp(prefix="bench-spark-"))
    try:
        spark = Spark(min(os.cpu_count() or 2, PARTITIONS), work)
        for broker in brokers:
            target: Target = OncelogTarget() if broker == OURS else KafkaTarget()
            target.start()
            try:
                wait_ready(target)
                for number, load in enumerate(LOADS):
                    if load.name in loads:
                        sized = Load(load.name, load.record_bytes, int(load.records * scale), load.codec)
                        fill(target.bootstrap, f"load-{number}", sized)
                        for kind in kinds:
                            found["runs"] += compare(spark, target, f"load-{number}", sized, kind, rounds)
            finally:
                target.stop()
        spark.spark.stop()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return found


def compare(
    spark: Spark, target: Target, topic: str, load: Load, kind: str, rounds: int
) -> list[dict[str, Any]]:
    run: Callable[[str, str, str, int], tuple[int, float]] = getattr(spark, kind)
    kept: list[dict[str, Any]] = []
    for number in range(-1, rounds):
        for side in (OURS, BUILT_IN) if number % 2 == 0 else (BUILT_IN, OURS):
            pid = target.process_id()
            cpu, broker = spark.cpu_seconds(pid), cpu_seconds(pid)
            other = OtherLoad(pid)
            records, seconds = run(side, target.bootstrap, topic, load.records)
            each = {
                "kind": kind,
                "broker": target.name,
                "load": load.name,
                "side": side,
                "round": number,
                "records": records,
                "seconds": seconds,
                "records_per_second": records / seconds,
                "spark_cpu_seconds": spark.cpu_seconds(pid) - cpu,
                "broker_cpu_seconds": cpu_seconds(pid) - broker,
                "other_load": other.share(),
            }
            print(
                f"{kind:6} {target.name:13} {load.name:11} {side:8} {each['records_per_second']:12,.0f} records/s"
                f" {all_cpu(each):6.1f} CPU s",
                file=sys.stderr,
            )
            if number >= 0:
                kept.append(each)
    return kept


def table(found: dict[str, Any]) -> str:
    lines = [
        "| what | broker | records | oncelog, records/s | built-in, records/s | ratio (median, min..max) | CPU, built-in / ours |",
        "|---|---|---|---|---|---|---|",
    ]
    runs = found["runs"]
    for kind, broker, load in dict.fromkeys((run["kind"], run["broker"], run["load"]) for run in runs):
        mine = [run for run in runs if (run["kind"], run["broker"], run["load"]) == (kind, broker, load)]
        ours, theirs = ([run for run in mine if run["side"] == side] for side in (OURS, BUILT_IN))
        ratios = [
            a["records_per_second"] / b["records_per_second"] for a, b in zip(ours, theirs, strict=True)
        ]
        cpu = [all_cpu(b) / all_cpu(a) for a, b in zip(ours, theirs, strict=True)]
        lines.append(
            f"| {kind} | {broker} | {load} | {middle(ours):,.0f} | {middle(theirs):,.0f} | "
            f"{statistics.median(ratios):.2f}x ({min(ratios):.2f}..{max(ratios):.2f}) | {statistics.median(cpu):.2f}x |"
        )
    return "\n".join(lines) + "\n"


def all_cpu(run: dict[str, Any]) -> float:
    return run["spark_cpu_seconds"] + run["broker_cpu_seconds"]


def middle(runs: list[dict[str, Any]]) -> float:
    return statistics.median(run["records_per_second"] for run in runs)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full amount of records")
    parser.add_argument("--only", nargs="*", default=["read", "stream", "copy"], help="kinds of runs")
    parser.add_argument("--broker", nargs="*", default=["oncelog", "kafka"])
    parser.add_argument("--load", nargs="*", default=[each.name for each in LOADS])
    parser.add_argument("--out", default="bench/results")
    asked = parser.parse_args()
    found = measure(asked.rounds, asked.scale, asked.only, asked.broker, asked.load)
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "spark.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "spark.md").write_text(table(found))
    print(table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
