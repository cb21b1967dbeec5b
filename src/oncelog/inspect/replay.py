"""Rebuilds what a transactional id did from the logs alone: state records, batches, offsets and markers.

Works on any Kafka, long after the fact, as far as compaction and retention left the records.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker
from oncelog.client.fetcher import PartitionFetcher
from oncelog.inspect import ask, strip
from oncelog.inspect.events import Event, Touched
from oncelog.inspect.strip import Stretch
from oncelog.model import (
    CONSUMER_OFFSETS,
    TRANSACTION_STATE,
    Isolation,
    TopicPartition,
    coordinator_partition,
)
from oncelog.record.batch import batches, records_of
from oncelog.record.txn_state import TransactionKey, decode_value, encode_key
from oncelog.txn.state import State

SLACK_MS: Final = 5_000  # record timestamps are the client's: its clock may differ from the coordinator's


@dataclass(frozen=True, slots=True)
class StateRecord:
    """One record of __transaction_state; a tombstone has state None."""

    offset: int
    at_ms: int
    state: str | None
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    partitions: tuple[TopicPartition, ...]
    start_ms: int
    client_version: int  # 2: a client of KIP-890's protocol; 0 is any older one


@dataclass(frozen=True, slots=True)
class Replayed:
    """One transaction as the logs tell it."""

    transactional_id: str
    number: int  # counted from the oldest that the log still holds, 1 first
    producer_id: int
    producer_epoch: int
    began_ms: int
    ended_ms: int | None
    outcome: str  # "commit", "abort", "open"
    partitions: tuple[TopicPartition, ...]
    states: tuple[StateRecord, ...]


def history(cluster: Cluster, transactional_id: str) -> list[StateRecord]:
    """Every state record of the id, oldest first."""
    count = len(cluster.topic(TRANSACTION_STATE).partitions)
    where = TopicPartition(TRANSACTION_STATE, coordinator_partition(transactional_id, count))
    ends = ask.ends_of(cluster, [where])[where]
    wanted = encode_key(TransactionKey(transactional_id))
    found: list[StateRecord] = []
    if ends.log_start >= ends.high_watermark:
        return found
    with PartitionFetcher(
        cluster, where, start=ends.log_start, stop=ends.high_watermark, isolation=Isolation.READ_UNCOMMITTED
    ) as fetcher:
        for fetched in fetcher:
            for at, header in batches(fetched.data):
                batch = fetched.data[at : at + header.size]
                if header.is_control or wanted not in bytes(batch):
                    continue  # no broker compresses this topic, so the key can be looked for in the bytes
                found += [
                    state_record(record.offset, record.timestamp, record.value)
                    for record in records_of(batch, header)
                    if record.key is not None and bytes(record.key) == wanted
                ]
    return found


def state_record(offset: int, timestamp: int, value: bytes | memoryview | None) -> StateRecord:
    """A record of the state log, decoded."""
    stored = None if value is None else decode_value(bytes(value))
    if stored is None:
        return StateRecord(offset, timestamp, None, -1, -1, 0, (), -1, 0)
    return StateRecord(
        offset=offset,
        at_ms=stored.last_update_timestamp if stored.last_update_timestamp >= 0 else timestamp,
        state=State(stored.status).kafka_name,
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        timeout_ms=stored.timeout_ms,
        partitions=tuple(
            sorted(
                TopicPartition(each.topic, index)
                for each in stored.partitions or ()
                for index in each.partition_ids
            )
        ),
        start_ms=stored.start_timestamp,
        client_version=stored.client_transaction_version,
    )


def transactions(transactional_id: str, states: Sequence[StateRecord]) -> list[Replayed]:
    """The state records cut into transactions: each begins with its first Ongoing and ends with a Complete."""
    found: list[Replayed] = []
    current: list[StateRecord] = []
    for each in states:
        if each.state == "Ongoing" or (current and each.state is not None and each.state != "Empty"):
            current.append(each)
        if current and each.state in ("CompleteCommit", "CompleteAbort"):
            found.append(_replayed(transactional_id, len(found) + 1, current))
            current = []
    if current:
        found.append(_replayed(transactional_id, len(found) + 1, current))
    return found


def _replayed(transactional_id: str, number: int, states: Sequence[StateRecord]) -> Replayed:
    first, last = states[0], states[-1]
    ended = last.state in ("CompleteCommit", "CompleteAbort")
    decided = next((each.state for each in states if each.state in ("PrepareCommit", "PrepareAbort")), None)
    partitions = sorted({where for each in states for where in each.partitions})
    return Replayed(
        transactional_id=transactional_id,
        number=number,
        producer_id=first.producer_id,
        producer_epoch=first.producer_epoch,
        began_ms=first.start_ms if first.start_ms >= 0 else first.at_ms,
        ended_ms=last.at_ms if ended else None,
        outcome={"PrepareCommit": "commit", "PrepareAbort": "abort"}.get(decided or "", "open"),
        partitions=tuple(partitions),
        states=tuple(states),
    )


def events(cluster: Cluster, found: Replayed) -> list[Event]:
    """The transaction as events: its states, its batches and its markers. Offsets of groups show as their partition's."""
    told = state_events(found)
    for where in found.partitions:
        told += _of_partition(cluster, found, where)
    return sorted(told, key=lambda each: (each.at_us, each.kind != "state"))


def state_events(found: Replayed) -> list[Event]:
    """Its states alone, for which no other log has to be read."""
    return [
        Event(
            at_us=each.at_ms * 1000,
            kind="state",
            transactional_id=found.transactional_id,
            name=each.state or "Dead",
            producer_id=each.producer_id,
            producer_epoch=each.producer_epoch,
            touched=tuple(Touched(one.topic, one.partition) for one in each.partitions),
        )
        for each in found.states
    ]


def _of_partition(cluster: Cluster, found: Replayed, where: TopicPartition) -> Iterator[Event]:
    try:
        stretches = _written(cluster, found, where)
    except RefusedByBroker:
        return  # the topic was deleted since
    for each in stretches:
        touched = Touched(
            where.topic,
            where.partition,
            bytes=each.bytes,
            count=each.count,
            base_sequence=each.base_sequence,
            base_offset=each.first_offset,
        )
        if each.marker is not None:
            touched = Touched(where.topic, where.partition, base_offset=each.first_offset)
        yield Event(
            at_us=each.max_timestamp * 1000,
            kind="marker" if each.marker is not None else "rpc",
            transactional_id=found.transactional_id,
            name=each.marker or ("TxnOffsetCommit" if where.topic == CONSUMER_OFFSETS else "Produce"),
            producer_id=each.producer_id,
            producer_epoch=each.producer_epoch,
            touched=(touched,),
            group=where.topic if where.topic == CONSUMER_OFFSETS and each.marker is None else None,
            said="from the log",
        )


def _written(cluster: Cluster, found: Replayed, where: TopicPartition) -> list[Stretch]:
    """What the transaction's producer wrote there from its beginning to its own marker.

    Times are milliseconds, and many transactions fit into one. The epoch of a marker is that of the Prepare record: with KIP-890
    each transaction has another one.
    """
    ends = ask.ends_of(cluster, [where])[where]
    begin = Admin(cluster).offsets_at({where: max(found.began_ms - SLACK_MS, 0)})[where].offset
    if begin < 0:
        begin = ends.log_start
    decided = next((each for each in found.states if (each.state or "").startswith("Prepare")), None)
    wanted = {"commit": "COMMIT", "abort": "ABORT"}.get(found.outcome)
    mine: list[Stretch] = []
    perhaps: list[Stretch] = []
    for each in strip.stretches(cluster, where, ends, start=begin, stop=ends.high_watermark):
        if each.producer_id != found.producer_id or not each.is_transactional:
            continue
        if each.marker is None:
            if each.producer_epoch == found.producer_epoch:
                mine.append(each)
            continue
        is_its = decided is None or (each.producer_epoch, each.marker) == (decided.producer_epoch, wanted)
        if is_its and each.max_timestamp == found.began_ms and not mine:
            perhaps = [each]  # or of the one before, which ended in this millisecond
        elif is_its and each.max_timestamp >= found.began_ms:
            return [*mine, each]
        mine = []  # the end of the one before
    return mine or perhaps
