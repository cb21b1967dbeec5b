"""How fast our client moves bytes that are ready: `python -m tests.conformance.own_client_speed [oncelog|kafka] [MB]`.

Batches are sealed beforehand and not decoded afterwards, so that what is left is the client, the network and the broker.
CPU is that of this process alone: what the client costs, however slow the broker is.
"""

import sys
import time
from collections.abc import Callable

from oncelog.client.admin import Admin
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import Cluster
from oncelog.client.fetcher import PartitionFetcher
from oncelog.client.transactional import TransactionalId
from oncelog.model import TopicPartition
from oncelog.record.batch import NewRecord, build_batch
from tests.conformance import targets

PARTITIONS = 4
SHAPES = ((100, 150), (100, 1500), (1000, 15), (1000, 950))  # bytes of a record, records of a batch


def main(words: list[str]) -> int:
    target = words[0] if words else "oncelog"
    megabytes = int(words[1]) if len(words) > 1 else 200
    sys.stdout.write(f"{'':8}{'record':>8}{'batch':>10}{'MB/s':>8}{'CPU s/GB':>10}\n")
    with targets.run(target) as bootstrap, Cluster(bootstrap) as cluster:
        for record_bytes, records in SHAPES:
            measure(cluster, record_bytes, records, megabytes * 1_000_000)
    return 0


def measure(cluster: Cluster, record_bytes: int, records: int, total_bytes: int) -> None:
    topic = f"speed-{record_bytes}-{records}"
    Admin(cluster).create_topic(topic, partitions=PARTITIONS)
    partitions = [TopicPartition(topic, each) for each in range(PARTITIONS)]
    who = TransactionalId(cluster, topic)
    producer = who.init()
    who.add_partitions(producer, partitions)
    # A time of today: what is older than its retention would be deleted while we read.
    content = [NewRecord(None, bytes(record_bytes), int(time.time() * 1000))] * records
    size = len(build_batch(content))
    batches = [
        build_batch(
            content,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=each * records,
            transactional=True,
        )
        for each in range(max(total_bytes // PARTITIONS // size, 1))
    ]

    def write() -> int:
        with BatchWriter(cluster, topic, producer, protocol=who.protocol) as writer:
            for batch in batches:
                for each in partitions:
                    writer.write(each, batch)
        return size * len(batches) * PARTITIONS

    def fetch() -> int:
        stop = len(batches) * records
        return sum(
            len(fetched.data)
            for each in partitions
            for fetched in PartitionFetcher(cluster, each, start=0, stop=stop)
        )

    _time("write", record_bytes, size, write)
    who.end(producer, commit=True)
    for _ in range(2):
        _time("fetch", record_bytes, size, fetch)
    Admin(cluster).delete_topic(topic)


def _time(what: str, record_bytes: int, batch_bytes: int, work: Callable[[], int]) -> None:
    begun, cpu = time.perf_counter(), time.process_time()
    moved = work()
    spent, cpu = time.perf_counter() - begun, time.process_time() - cpu
    rates = f"{moved / spent / 1e6:8.0f}{cpu / moved * 1e9:10.2f}"
    sys.stdout.write(f"{what:8}{record_bytes:>8}{batch_bytes:>10}{rates}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
