"""Load by librdkafka: `python -m oncelog.cost.librdkafka HOST:PORT TOPIC partitions record_bytes linger_ms seconds`.

An idempotent producer of confluent-kafka with its own batching, for so many seconds; one line of JSON as the native
generator prints it. Exit code 1 if the package is missing or a record was not acknowledged.
"""

import importlib
import json
import os
import sys
import time
from typing import Any, Final

VALUES: Final = 64
CHUNK: Final = 500  # records between two looks at the clock
FLUSH_LIMIT_S: Final = 60


def main(words: list[str]) -> int:
    bootstrap, topic = words[0], words[1]
    partitions, record_bytes = int(words[2]), int(words[3])
    linger_ms, seconds = float(words[4]), float(words[5])
    try:
        kafka: Any = importlib.import_module("confluent_kafka")
    except ModuleNotFoundError:
        sys.stderr.write("wanted the package confluent-kafka, found none\n")
        return 1
    producer = kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": linger_ms,
            "queue.buffering.max.messages": 100_000,
        }
    )
    values = [os.urandom(record_bytes) for _ in range(VALUES)]
    for partition in range(partitions):  # connections and the producer id are there before the clock runs
        producer.produce(topic, values[0], partition=partition)
    producer.flush(FLUSH_LIMIT_S)
    begun, cpu = time.monotonic(), time.process_time()
    count = 0
    while time.monotonic() - begun < seconds:
        for _ in range(CHUNK):
            while True:
                try:
                    producer.produce(topic, values[count % VALUES], partition=count % partitions)
                    break
                except BufferError:
                    producer.poll(0.01)
            count += 1
        producer.poll(0)
    left = producer.flush(FLUSH_LIMIT_S)
    took = time.monotonic() - begun
    if left:
        sys.stderr.write(f"{left} records were not acknowledged within {FLUSH_LIMIT_S} s\n")
        return 1
    used = time.process_time() - cpu
    found = {"seconds": took, "done": count, "records": count, "bytes": count * record_bytes}
    sys.stdout.write(json.dumps({**found, "client_cpu_seconds": used}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
