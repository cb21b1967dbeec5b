"""Reads what the transaction log, __transaction_state, holds of one transactional id. Works on any Kafka."""

from collections.abc import Iterator, Sequence

from oncelog.client.cluster import Cluster
from oncelog.client.fetcher import PartitionFetcher
from oncelog.model import TRANSACTION_STATE, Isolation, TopicPartition, coordinator_partition
from oncelog.record.batch import Record, batches, records_of
from oncelog.record.txn_state import decode_key


def state_partition(cluster: Cluster, transactional_id: str) -> TopicPartition:
    """The partition of the state log that has the id."""
    count = len(cluster.known(TRANSACTION_STATE).partitions)
    return TopicPartition(TRANSACTION_STATE, coordinator_partition(transactional_id, count))


def state_records(
    cluster: Cluster, where: TopicPartition, start: int, stop: int, keys: Sequence[bytes]
) -> Iterator[Record]:
    """The records of [start, stop) with one of these keys, oldest first."""
    if start >= stop:
        return
    with PartitionFetcher(
        cluster, where, start=start, stop=stop, isolation=Isolation.READ_UNCOMMITTED
    ) as fetcher:
        for fetched in fetcher:
            for at, header in batches(fetched.data):
                batch = fetched.data[at : at + header.size]
                data = bytes(batch)
                if header.is_control or not any(each in data for each in keys):
                    continue  # no broker compresses this topic, so the keys can be looked for in the bytes
                for record in records_of(batch, header):
                    if record.key is not None and bytes(record.key) in keys and record.offset >= start:
                        yield record


def all_records(
    cluster: Cluster, where: TopicPartition, start: int, stop: int
) -> Iterator[tuple[str, Record]]:
    """What one partition of the log holds of any transactional id, tombstones too."""
    with PartitionFetcher(
        cluster, where, start=start, stop=stop, isolation=Isolation.READ_UNCOMMITTED
    ) as fetcher:
        for fetched in fetcher:
            for at, header in batches(fetched.data):
                if header.is_control:
                    continue
                for record in records_of(fetched.data[at : at + header.size], header):
                    key = None if record.key is None else decode_key(bytes(record.key))
                    if key is not None and record.offset >= start:
                        yield key.transactional_id, record
