"""From fetched bytes to records: which of them a reader may see (spec 6.1). Knows no sockets."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from oncelog.errors import CorruptBatch
from oncelog.model import Isolation, TopicPartition
from oncelog.record.batch import BatchHeader, Header, batches, check_crc, records_of
from oncelog.record.marker import read_marker


class Fate(Enum):
    """How the transaction of a record ended. A record outside of transactions is committed when it is written."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record with the place where it was found."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    fate: Fate = Fate.COMMITTED


@dataclass(frozen=True, slots=True)
class AbortedFrom:
    """An entry of a Fetch answer's list: from this offset on, records of this producer id are aborted."""

    first_offset: int
    producer_id: int


@dataclass(slots=True)
class Visible:
    records: list[ReadRecord]
    next_offset: int  # where to fetch next: behind the last whole batch, whatever of it was visible (RC-5)


def visible(
    partition: TopicPartition,
    data: bytes | memoryview,
    *,
    from_offset: int,
    isolation: Isolation,
    aborted: Iterable[AbortedFrom],
) -> Visible:
    """The records from `from_offset` on that this isolation level shows. A cut last batch is left for the next fetch."""
    found = Visible([], from_offset)
    hides = isolation is Isolation.READ_COMMITTED
    for batch, header, fate in _fates(partition, data, aborted):
        if not header.is_control and not (hides and fate is Fate.ABORTED):
            found.records += _records(
                partition, batch, header, from_offset, Fate.COMMITTED if hides else fate
            )
        found.next_offset = max(found.next_offset, header.next_offset)
    return found


def with_fates(
    partition: TopicPartition,
    data: bytes | memoryview,
    *,
    from_offset: int,
    aborted: Iterable[AbortedFrom] | None,
) -> Visible:
    """All records, each with its fate. `aborted`: the list of a read_committed answer, in which all is decided; None
    for bytes beyond the last stable offset, where only a marker among them decides.
    """
    found = Visible([], from_offset)
    if aborted is not None:
        fates = list(_fates(partition, data, aborted))
    else:
        fates = _fates_by_markers(partition, data)
    for batch, header, fate in fates:
        if not header.is_control:
            found.records += _records(partition, batch, header, from_offset, fate)
        found.next_offset = max(found.next_offset, header.next_offset)
    return found


class Aborting:
    """Which transactional batches are aborted by the list of a Fetch answer. To be asked of every batch, in their order."""

    def __init__(self, aborted: Iterable[AbortedFrom]) -> None:
        self._pending = deque(sorted(aborted, key=lambda each: each.first_offset))
        self._producers: set[int] = set()

    def fate(self, batch: memoryview, header: BatchHeader) -> Fate:
        if header.producer_id >= 0:
            while self._pending and self._pending[0].first_offset <= header.last_offset:
                self._producers.add(self._pending.popleft().producer_id)
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.commit:
                self._producers.discard(header.producer_id)
            return Fate.COMMITTED
        hidden = header.is_transactional and header.producer_id in self._producers
        return Fate.ABORTED if hidden else Fate.COMMITTED


def _fates(
    partition: TopicPartition, data: bytes | memoryview, aborted: Iterable[AbortedFrom]
) -> Iterator[tuple[memoryview, BatchHeader, Fate]]:
    aborting = Aborting(aborted)
    for batch, header in _whole_batches(partition, data):
        yield batch, header, aborting.fate(batch, header)


def _fates_by_markers(
    partition: TopicPartition, data: bytes | memoryview
) -> list[tuple[memoryview, BatchHeader, Fate]]:
    """From the end backwards: the next marker of a producer id decides what stands before it (RC-2, RC-3)."""
    ends: dict[int, Fate] = {}
    decided: list[tuple[memoryview, BatchHeader, Fate]] = []
    for batch, header in reversed(list(_whole_batches(partition, data))):
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None:
                ends[header.producer_id] = Fate.COMMITTED if marker.commit else Fate.ABORTED
            decided.append((batch, header, Fate.COMMITTED))
        else:
            fate = ends.get(header.producer_id, Fate.UNDECIDED) if header.is_transactional else Fate.COMMITTED
            decided.append((batch, header, fate))
    decided.reverse()
    return decided


def _whole_batches(
    partition: TopicPartition, data: bytes | memoryview
) -> Iterator[tuple[memoryview, BatchHeader]]:
    view = memoryview(data)
    for at, header in batches(view):
        batch = view[at : at + header.size]
        if not check_crc(batch, header):
            raise CorruptBatch(
                f"{partition}: batch at offset {header.base_offset} does not match its CRC {header.crc:08x}"
            )
        yield batch, header


def _records(
    partition: TopicPartition, batch: memoryview, header: BatchHeader, from_offset: int, fate: Fate
) -> list[ReadRecord]:
    """Records below the asked-for offset are the client's to drop: a batch is never split (RC-6)."""
    return [
        ReadRecord(
            partition.topic,
            partition.partition,
            each.offset,
            each.timestamp,
            each.key,
            each.value,
            each.headers,
            fate,
        )
        for each in records_of(batch, header)
        if each.offset >= from_offset
    ]
