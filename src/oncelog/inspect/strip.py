"""A partition as a strip: which offsets are committed, open, aborted or markers. Reads headers of batches, never records."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from oncelog.client.cluster import Cluster
from oncelog.client.fetcher import PartitionFetcher
from oncelog.client.visible import Aborting, Fate
from oncelog.inspect.ask import Ends
from oncelog.model import Isolation, TopicPartition
from oncelog.record.batch import BatchHeader, batches
from oncelog.record.marker import read_marker

COMMITTED: Final = "committed"
ABORTED: Final = "aborted"
OPEN: Final = "open"
MARKER: Final = "marker"


@dataclass(frozen=True, slots=True)
class Stretch:
    """One batch. `count` is that of its records from the asked-for offset on; compaction may have thinned them."""

    first_offset: int
    last_offset: int
    fate: str
    count: int
    bytes: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    marker: str | None  # COMMIT or ABORT
    max_timestamp: int


def stretches(
    cluster: Cluster, partition: TopicPartition, ends: Ends, *, start: int, stop: int
) -> list[Stretch]:
    """The batches of [start, stop). Below the last stable offset the broker says what was aborted; above it only a
    marker further on decides, and what has none is open.
    """
    found: list[Stretch] = []
    middle = min(max(ends.last_stable_offset, start), stop)
    for batch, header, aborting in _batches(cluster, partition, start, middle, Isolation.READ_COMMITTED):
        fate = aborting.fate(batch, header)
        found.append(_stretch(batch, header, start, ABORTED if fate is Fate.ABORTED else COMMITTED))
    later: list[tuple[memoryview, BatchHeader]] = (
        [
            (batch, header)
            for batch, header, _ in _batches(
                cluster, partition, middle, ends.high_watermark, Isolation.READ_UNCOMMITTED
            )
        ]
        if stop > middle
        else []
    )
    ended: dict[int, str] = {}
    undecided: list[Stretch] = []
    for batch, header in reversed(later):
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None:
                ended[header.producer_id] = COMMITTED if marker.commit else ABORTED
            fate = COMMITTED
        else:
            fate = ended.get(header.producer_id, OPEN) if header.is_transactional else COMMITTED
        if header.base_offset < stop:
            undecided.append(_stretch(batch, header, start, fate))
    return found + undecided[::-1]


def written_at(cluster: Cluster, partition: TopicPartition, offset: int) -> int | None:
    """The time of the batch that holds an offset, in ms since 1970; None if it is not there, or has no time."""
    for _, header, _ in _batches(cluster, partition, offset, offset + 1, Isolation.READ_UNCOMMITTED):
        return header.max_timestamp if header.max_timestamp >= 0 else None
    return None


def _batches(
    cluster: Cluster, partition: TopicPartition, start: int, stop: int, isolation: Isolation
) -> Iterator[tuple[memoryview, BatchHeader, Aborting]]:
    if start >= stop:
        return
    with PartitionFetcher(cluster, partition, start=start, stop=stop, isolation=isolation) as fetcher:
        for fetched in fetcher:
            aborting = Aborting(fetched.aborted)
            for at, header in batches(fetched.data):
                if header.base_offset < stop:
                    yield fetched.data[at : at + header.size], header, aborting


def _stretch(batch: memoryview, header: BatchHeader, start: int, fate: str) -> Stretch:
    marker = read_marker(batch) if header.is_control else None
    below = max(start - header.base_offset, 0)
    return Stretch(
        first_offset=max(header.base_offset, start),
        last_offset=header.last_offset,
        fate=MARKER if header.is_control else fate,
        count=0 if header.is_control else max(header.count - below, 0),
        bytes=header.size,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        marker=None if marker is None else ("COMMIT" if marker.commit else "ABORT"),
        max_timestamp=header.max_timestamp,
    )


def cut(found: Stretch, start: int) -> Stretch:
    """What of a batch is not below an offset."""
    below = max(start - found.first_offset, 0)
    return replace(found, first_offset=found.first_offset + below, count=max(found.count - below, 0))


def visible_records(found: list[Stretch], *, below: int) -> int:
    """How many records a reader at read_committed still gets from these stretches now."""
    return sum(each.count for each in found if each.fate == COMMITTED and each.first_offset < below)
