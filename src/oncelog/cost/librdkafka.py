"""Load by librdkafka: `python -m oncelog.cost.librdkafka HOST:PORT TOPIC partitions record_bytes linger_ms seconds records`.

A producer of confluent-kafka with its own batching, for so many seconds: idempotent, or with transactions of so many
records if that is not 0. One line of JSON as the native generator prints it. Exit code 1 if the package is missing
or a record was not acknowledged.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

VALUES: Final = 64
CHUNK: Final = 500  # records between two looks at the clock
LIMIT_S: Final = 60


def main(words: list[str]) -> int:
    bootstrap, topic = words[0], words[1]
    partitions, record_bytes = int(words[2]), int(words[3])
    linger_ms, seconds, records = float(words[4]), float(words[5]), int(words[6])
    try:
        kafka: Any = importlib.import_module("confluent_kafka")
    except ModuleNotFoundError:
        sys.stderr.write("wanted the package confluent-kafka, found none\n")
        return 1
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "linger.ms": linger_ms,
        "queue.buffering.max.messages": 100_000,
    }
    if records:
        settings["transactional.id"] = f"librdkafka-{os.getpid()}"
    producer = kafka.Producer(settings)
    values = [os.urandom(record_bytes) for _ in range(VALUES)]
    # Connections and the producer id are there before the clock runs.
    if records:
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
    for partition in range(partitions):
        producer.produce(topic, values[0], partition=partition)
    if records:
        producer.commit_transaction(LIMIT_S)
    else:
        producer.flush(LIMIT_S)
    begun, cpu = time.monotonic(), time.process_time()
    done = count = 0
    while time.monotonic() - begun < seconds:
        if records:
            producer.begin_transaction()
        count = _send(producer, topic, values, partitions, count, records or CHUNK)
        if records:
            producer.commit_transaction(LIMIT_S)
            done += 1
        else:
            producer.poll(0)
    left = producer.flush(LIMIT_S)
    took = time.monotonic() - begun
    if left:
        sys.stderr.write(f"{left} records were not acknowledged within {LIMIT_S} s\n")
        return 1
    used = time.process_time() - cpu
    found = {
        "seconds": took,
        "done": done if records else count,
        "records": count,
        "bytes": count * record_bytes,
    }
    sys.stdout.write(json.dumps({**found, "client_cpu_seconds": used}) + "\n")
    return 0


def _send(
    producer: Any, topic: str, values: Sequence[bytes], partitions: int, count: int, records: int
) -> int:
    """So many more records, each to the next partition: how many there are then."""
    for number in range(count, count + records):
        while True:
            try:
                producer.produce(topic, values[number % VALUES], partition=number % partitions)
                break
            except BufferError:
                producer.poll(0.01)
    return count + records


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
