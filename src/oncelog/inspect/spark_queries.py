"""Queries of oncelog's Spark sink, found by what they commit inside their transactions: micro-batch, offsets, transaction."""

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final, cast

from oncelog.client.admin import Admin
from oncelog.client.cluster import Away, Cluster
from oncelog.client.faults import RefusedByBroker, TimedOut, Unreachable
from oncelog.client.fetcher import PartitionFetcher
from oncelog.inspect import ask, replay
from oncelog.model import CONSUMER_OFFSETS, Isolation, TopicPartition, coordinator_partition
from oncelog.record.batch import BatchHeader, batches, records_of
from oncelog.record.marker import read_marker
from oncelog.record.offsets import OffsetCommitKey, OffsetCommitValue, decode_key, decode_value

LAST: Final = 12  # transactions whose durations are shown
SLACK_MS: Final = 1000
READ_OFFSETS: Final = 200_000  # of the group's partition of __consumer_offsets at most

Offsets = tuple[tuple[str, int, int], ...]  # topic, partition, next offset to read


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One transaction of a query. Write is from its first partition to the decision, end from there to the last marker.

    `micro_batch` and `offsets` are what it committed, or would have; None and none where the log does not tell any more.
    """

    number: int
    micro_batch: int | None
    offsets: Offsets
    outcome: str
    began_ms: int
    write_ms: int | None
    end_ms: int | None


@dataclass(frozen=True, slots=True)
class SparkQuery:
    """One query: its group has the name of its transactional id and its offsets carry the marker."""

    transactional_id: str
    query: str
    micro_batch: int
    state: str
    producer_id: int
    producer_epoch: int
    offsets: Offsets
    committed: int
    aborted: int
    recent: tuple[MicroBatch, ...]


def queries(cluster: Cluster) -> tuple[list[SparkQuery], tuple[Away, ...]]:
    """All of them, by transactional id; and the brokers that tell none of theirs."""
    admin = Admin(cluster)
    found: list[SparkQuery] = []
    listed, away = admin.groups_told()
    for listing in listed:
        try:
            offsets = admin.group_offsets(listing.group)
        except (RefusedByBroker, Unreachable, TimedOut):
            continue
        markers = [each for each in (_marker(one.metadata) for one in offsets.values()) if each is not None]
        if not markers:
            continue
        newest = max(markers, key=lambda each: each["serial"])
        described = ask.describe_transaction(cluster, listing.group)
        past = replay.transactions(listing.group, replay.history(cluster, listing.group))
        written = {where.topic for each in past for where in each.partitions}
        found.append(
            SparkQuery(
                transactional_id=listing.group,
                query=str(newest["query"]),
                micro_batch=int(newest["batch"]),
                state="forgotten" if described is None else described.state,
                producer_id=-1 if described is None else int(described.producer.id),
                producer_epoch=-1 if described is None else int(described.producer.epoch),
                offsets=tuple(
                    (where.topic, where.partition, one.offset)
                    for where, one in sorted(offsets.items())
                    if not _is_of_output(where.topic, one.offset, newest["batch"], written)
                ),
                committed=sum(each.outcome == "commit" for each in past),
                aborted=sum(each.outcome == "abort" for each in past),
                recent=tuple(_recent(cluster, listing.group, past[-LAST:])),
            )
        )
    return sorted(found, key=lambda each: each.transactional_id), away


@dataclass(slots=True)
class _Held:
    """What one transaction put into __consumer_offsets; with its marker once it has one."""

    micro_batch: int | None = None
    offsets: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    ended: tuple[int, str] | None = None  # the marker's epoch, commit or abort

    def places(self, written: Set[str]) -> Offsets:
        return tuple(
            (*place, offset)
            for place, offset in sorted(self.offsets.items())
            if not _is_of_output(place[0], offset, self.micro_batch, written)
        )


def _is_of_output(topic: str, offset: int, micro_batch: int | None, written: Set[str]) -> bool:
    """The sink's marker rides on one partition of its output too: the offset there is the next micro-batch, and of no source."""
    return topic in written and micro_batch is not None and offset == micro_batch + 1


def _recent(cluster: Cluster, group: str, past: Sequence[replay.Replayed]) -> list[MicroBatch]:
    """Each transaction with the micro-batch that it was. Both logs have their ends in the same order: paired from the last."""
    if not past:
        return []
    count = len(cluster.topic(CONSUMER_OFFSETS).partitions)
    where = TopicPartition(CONSUMER_OFFSETS, coordinator_partition(group, count))
    ended, opened = _held(cluster, where, group, past)
    written = {place.topic for each in past for place in each.partitions}
    found: list[MicroBatch] = []
    for each in reversed(past):
        decided = next((one for one in each.states if (one.state or "").startswith("Prepare")), None)
        held = _Held()
        if decided is None:
            held = opened.get(each.producer_id, held)
        elif each.ended_ms is not None and where in each.partitions:
            wanted = (decided.producer_epoch, each.outcome)
            at = next((at for at in reversed(range(len(ended))) if ended[at].ended == wanted), None)
            if at is not None:
                held = ended[at]
                del ended[at:]
        found.append(
            MicroBatch(
                number=each.number,
                micro_batch=held.micro_batch,
                offsets=held.places(written),
                outcome=each.outcome,
                began_ms=each.began_ms,
                write_ms=None if decided is None else max(decided.at_ms - each.began_ms, 0),
                end_ms=None
                if decided is None or each.ended_ms is None
                else max(each.ended_ms - decided.at_ms, 0),
            )
        )
    return found[::-1]


def _held(
    cluster: Cluster, where: TopicPartition, group: str, past: Sequence[replay.Replayed]
) -> tuple[list[_Held], dict[int, _Held]]:
    """What the query's transactions put there since the first of them: those that ended, in order, and by producer id those that did not."""
    ends = ask.ends_of(cluster, [where])[where]
    begin = Admin(cluster).offsets_at({where: max(past[0].began_ms - SLACK_MS, 0)})[where].offset
    begin = max(ends.log_start if begin < 0 else begin, ends.high_watermark - READ_OFFSETS)
    mine = {each.producer_id for each in past}
    ended: list[_Held] = []
    opened: dict[int, _Held] = {}
    if begin >= ends.high_watermark:
        return ended, opened
    with PartitionFetcher(
        cluster, where, start=begin, stop=ends.high_watermark, isolation=Isolation.READ_UNCOMMITTED
    ) as fetcher:
        for fetched in fetcher:
            for at, header in batches(fetched.data):
                if header.producer_id not in mine or not header.is_transactional:
                    continue
                batch = fetched.data[at : at + header.size]
                marker = read_marker(batch) if header.is_control else None
                if marker is not None:
                    held = opened.pop(header.producer_id, _Held())
                    held.ended = header.producer_epoch, "commit" if marker.commit else "abort"
                    ended.append(held)
                elif not header.is_control:
                    _note(opened.setdefault(header.producer_id, _Held()), batch, header, group)
    return ended, opened


def _note(into: _Held, batch: memoryview, header: BatchHeader, group: str) -> None:
    for record in records_of(batch, header):
        key = None if record.key is None else decode_key(bytes(record.key))
        if not isinstance(key, OffsetCommitKey) or key.group != group or record.value is None:
            continue
        value = decode_value(key, bytes(record.value))
        if isinstance(value, OffsetCommitValue):
            into.offsets[key.topic, key.partition] = value.offset
            marker = _marker(value.metadata)
            if marker is not None:
                into.micro_batch = marker["batch"]


def _marker(text: str) -> dict[str, Any] | None:
    """The sink writes {"oncelog":1,"query":...,"batch":...,"serial":...}; offsets of others have other metadata or none."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    fields = cast(dict[str, Any], found)
    if fields.get("oncelog") != 1:
        return None
    if not isinstance(fields.get("batch"), int) or not isinstance(fields.get("serial"), int):
        return None
    return fields
