"""The first harness: idempotent produce, start-up and idle memory, oncelog beside Apache Kafka in one run.

    make bench              # or: python -m bench.run --rounds 5 --out bench/results

Both brokers run for the whole of it; rounds alternate, and the order of the two changes every round. Compare ratios: the
machine is shared, and the share of other load is written beside every run. Writes a JSON file with every run and a
Markdown table of medians and spreads, the cells that we lose included.
"""

import argparse
import json
import os
import platform
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench import raw
from bench.report import table
from bench.targets import KafkaTarget, OncelogTarget, OtherLoad, Target, cpu_seconds, resident_mb
from oncelog.client.easy import create_topic

ROUNDS: Final = 5


class Cell:
    """One figure that is measured on both sides."""

    def __init__(self, name: str, run: Callable[[Target, str], tuple[float, float]]) -> None:
        self.name = name
        self.run = run  # gives (records per second, megabytes per second)


def raw_cell(name: str, record_bytes: int, records_per_batch: int, batches: int) -> Cell:
    def run(target: Target, topic: str) -> tuple[float, float]:
        result = raw.produce(
            target.bootstrap,
            topic,
            record_bytes=record_bytes,
            records_per_batch=records_per_batch,
            batches=batches,
        )
        return result.records_per_second, result.megabytes_per_second

    return Cell(name, run)


def librdkafka_cell(name: str, record_bytes: int, records: int) -> Cell:
    def run(target: Target, topic: str) -> tuple[float, float]:
        from confluent_kafka import Producer

        producer = Producer(
            {
                "bootstrap.servers": target.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "batch.size": 16_384,
                "queue.buffering.max.messages": 200_000,
            }
        )
        values = [os.urandom(record_bytes) for _ in range(64)]
        producer.produce(topic, values[0], partition=0)
        producer.flush(30)  # connections and the producer id are there before the clock runs
        begun = time.monotonic()
        for number in range(records):
            while True:
                try:
                    producer.produce(topic, values[number & 63], partition=0)
                    break
                except BufferError:
                    producer.poll(0.01)
        left = producer.flush(60)
        seconds = time.monotonic() - begun
        if left:
            raise RuntimeError(f"{left} records were not acknowledged within 60 s")
        return records / seconds, records * record_bytes / seconds / 1e6

    return Cell(name, run)


def cells(scale: float) -> list[Cell]:
    return [
        raw_cell("1 KB records, 16 KB batches, raw generator", 1024, 16, int(12_000 * scale)),
        raw_cell("100 B records, 16 KB batches, raw generator", 100, 150, int(6_000 * scale)),
        librdkafka_cell("1 KB records, linger 5 ms, librdkafka", 1024, int(150_000 * scale)),
        librdkafka_cell("100 B records, linger 5 ms, librdkafka", 100, int(300_000 * scale)),
    ]


def seconds_to_first_ack(target: Target, topic: str) -> float:
    """From the start of the process to the first acknowledged idempotent produce on an existing topic."""
    begun = target.start()
    while True:
        try:
            raw.produce(target.bootstrap, topic, record_bytes=100, records_per_batch=1, batches=1)
            return time.monotonic() - begun
        except (OSError, RuntimeError):
            if time.monotonic() - begun > 120:
                raise
            time.sleep(0.005)


def wait_ready(target: Target) -> None:
    host, port = target.bootstrap.split(":")
    for _ in range(2400):
        try:
            with socket.create_connection((host, int(port)), timeout=1) as door:
                raw.new_producer_id(door)
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{target.name} did not start")


def measure(rounds: int, scale: float) -> dict[str, Any]:
    ours, kafka = OncelogTarget(), KafkaTarget()
    found: dict[str, Any] = {
        "machine": machine(),
        "rounds": rounds,
        "scale": scale,
        "runs": [],
        "starts": [],
        "idle_rss_mb": {},
    }
    try:
        kafka.format()
        for target in (ours, kafka):
            target.start()
            wait_ready(target)
            create_topic(target.bootstrap, "first", partitions=1)
            time.sleep(3)
            found["idle_rss_mb"][target.name] = resident_mb(target.process_id())
        wanted = cells(scale)
        for place, cell in enumerate(wanted):
            for number in range(-1, rounds):  # round -1 warms both sides up and is not kept
                for target in (ours, kafka) if number % 2 == 0 else (kafka, ours):
                    topic = f"cell{place}-{number + 1}"
                    create_topic(target.bootstrap, topic, partitions=1)
                    load = OtherLoad(target.process_id())
                    cpu = cpu_seconds(target.process_id())
                    rate, megabytes = cell.run(target, topic)
                    run = {
                        "cell": cell.name,
                        "round": number,
                        "target": target.name,
                        "records_per_second": rate,
                        "mb_per_second": megabytes,
                        "broker_cpu_seconds": cpu_seconds(target.process_id()) - cpu,
                        "rss_mb": resident_mb(target.process_id()),
                        "other_load": load.share(),
                    }
                    print(f"{cell.name:48} {target.name:14} {rate:12,.0f} records/s", file=sys.stderr)
                    if number >= 0:
                        found["runs"].append(run)
    finally:
        ours.stop()
        kafka.stop()
    found["starts"] = measure_starts(rounds)
    return found


def measure_starts(rounds: int) -> list[dict[str, Any]]:
    starts: list[dict[str, Any]] = []
    for number in range(rounds):
        for make in (OncelogTarget, KafkaTarget) if number % 2 == 0 else (KafkaTarget, OncelogTarget):
            target = make(None)
            try:
                if isinstance(target, KafkaTarget):
                    target.format()
                target.start()
                wait_ready(target)
                create_topic(target.bootstrap, "first", partitions=1)
                target.halt()
                seconds = seconds_to_first_ack(target, "first")
                starts.append({"target": target.name, "round": number, "seconds": seconds})
                print(f"start to first acked produce: {target.name:14} {seconds:.3f} s", file=sys.stderr)
            finally:
                target.stop()
    return starts


def machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full amount of records")
    parser.add_argument("--out", default="bench/results")
    asked = parser.parse_args()
    found = measure(asked.rounds, asked.scale)
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "produce.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "produce.md").write_text(table(found))
    print(table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
