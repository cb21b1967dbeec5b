"""Rebuilds what a transactional id did from the logs alone: state records, batches, offsets and markers.

Works on any Kafka, long after the fact, as far as compaction and retention left the records.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker
from oncelog.client.state_log import state_partition, state_records
from oncelog.inspect import ask, strip
from oncelog.inspect.ask import Bumped
from oncelog.inspect.events import Event, Touched
from oncelog.inspect.strip import Stretch
from oncelog.model import CONSUMER_OFFSETS, TopicPartition
from oncelog.record.txn_state import (
    BumpValue,
    TransactionKey,
    decode_bump,
    decode_value,
    encode_bump_key,
    encode_key,
)
from oncelog.txn.state import State

PASTS_KEPT: Final = 200  # transactional ids whose past is remembered between questions
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


@dataclass(frozen=True, slots=True)
class Past:
    """What the state log holds of one id, oldest first: its states, and why its epoch was bumped (oncelog alone keeps that)."""

    states: tuple[StateRecord, ...]
    bumps: tuple[Bumped, ...]
    untold: str | None = None  # why nobody tells it: then nothing follows from what is not there


def history(cluster: Cluster, transactional_id: str) -> list[StateRecord]:
    """Every state record of the id, oldest first."""
    return list(past(cluster, transactional_id).states)


def past(cluster: Cluster, transactional_id: str) -> Past:
    """All that the state log still holds of the id; nothing where no transaction was ever begun."""
    return Pasts().of(cluster, transactional_id)


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of one id, up to an offset."""

    past: Past
    log_start: int
    until: int


class Pasts:
    """For who asks again and again: of an id that was asked for before, only what was written since is read.

    What compaction took away meanwhile stays known until the log's start moves on.
    """

    def __init__(self) -> None:
        self._read: OrderedDict[str, _Read] = OrderedDict()

    def clear(self) -> None:
        """The next cluster may be another one."""
        self._read.clear()

    def of(self, cluster: Cluster, transactional_id: str) -> Past:
        where = state_partition(cluster, transactional_id)
        ends = ask.ends_of(cluster, [where])[where]
        known = self._read.pop(transactional_id, None)
        if known is None or known.log_start != ends.log_start or known.until > ends.high_watermark:
            known = _Read(Past((), ()), ends.log_start, ends.log_start)
        states, bumps = list(known.past.states), list(known.past.bumps)
        key = TransactionKey(transactional_id)
        state, bump = encode_key(key), encode_bump_key(key)
        for record in state_records(cluster, where, known.until, ends.high_watermark, (state, bump)):
            if record.key == state:
                states.append(state_record(record.offset, record.timestamp, record.value))
            elif record.value is not None and (why := decode_bump(bytes(record.value))) is not None:
                bumps.append(cause_of(why))
        found = Past(tuple(states), tuple(bumps))
        self._read[transactional_id] = _Read(found, ends.log_start, max(known.until, ends.high_watermark))
        while len(self._read) > PASTS_KEPT:
            self._read.popitem(last=False)
        return found


def epoch_before(found: Past, producer_id: int, producer_epoch: int) -> int | None:
    """The epoch of the id before its current one; None if the log tells of no other."""
    for each in reversed(found.states):
        if each.state is not None and (each.producer_id, each.producer_epoch) != (
            producer_id,
            producer_epoch,
        ):
            return each.producer_epoch
    return None


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of state. The cause is that of the epoch it came with, where the broker keeps it."""

    at_ms: int
    state: str | None
    producer_epoch: int
    cause: str | None
    offset: int


def transitions(found: Past) -> list[Transition]:
    """The states of an id, oldest first; the first one with a bumped epoch has the bump's cause."""
    causes = {each.producer_epoch: each for each in found.bumps}
    told: list[Transition] = []
    for each in found.states:
        why = causes.get(each.producer_epoch) if each.state is not None else None
        if why is not None and each.at_ms >= why.at_ms - SLACK_MS:
            del causes[each.producer_epoch]
            who = "" if why.client_id is None else f" {why.client_id} at {why.address}"
            told.append(
                Transition(each.at_ms, each.state, each.producer_epoch, f"{why.cause}{who}", each.offset)
            )
        else:
            told.append(Transition(each.at_ms, each.state, each.producer_epoch, None, each.offset))
    return told


def cause_of(why: BumpValue) -> Bumped:
    """A stored bump in the words of the inspector."""
    return Bumped(
        producer_epoch=why.producer_epoch,
        cause=ask.cause_named(why.cause, why.client_id),
        at_ms=why.at_ms,
        client_id=why.client_id,
        address=None if why.client_host is None else f"{why.client_host}:{why.client_port}",
        producer_id=why.producer_id,
    )


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
    each transaction has another one. By the older protocol they share it: then a marker from before the decision ended the one before,
    unless there is none behind it, and the leader's clock is behind that of the coordinator.
    """
    ends = ask.end_of(cluster, where)
    begin = Admin(cluster).offsets_at({where: max(found.began_ms - SLACK_MS, 0)})[where].offset
    if begin < 0:
        begin = ends.log_start
    decided = next((each for each in found.states if (each.state or "").startswith("Prepare")), None)
    wanted = {"commit": "COMMIT", "abort": "ABORT"}.get(found.outcome)
    is_over = found.ended_ms is not None
    since = found.began_ms + (not is_over) if decided is None else max(found.began_ms, decided.at_ms)
    mine: list[Stretch] = []
    early: list[Stretch] = []
    for each in strip.stretches(cluster, where, ends, start=begin, stop=ends.high_watermark):
        if each.producer_id != found.producer_id or not each.is_transactional:
            continue
        if each.marker is None:
            if each.producer_epoch == found.producer_epoch:
                mine.append(each)
            continue
        is_its = decided is None or (each.producer_epoch, each.marker) == (decided.producer_epoch, wanted)
        if is_its and each.max_timestamp >= since and (mine or each.max_timestamp > found.began_ms):
            return [*mine, each]
        if is_its and each.max_timestamp >= found.began_ms:
            early = [*mine, each]
        mine = []  # the end of the one before
    return (early or mine) if is_over else (mine or early)
