"""What stays of a compacted log: the last value of every key, and what readers and producers still need (spec 6.4).

A round has two passes over whole batches: `Round.learn` over the dirty ones fills the map of keys, then `Round.clean`
over all segments from the first one says what becomes of each batch. Both take one batch at a time, so the engine may
pause between any two. The engine writes the files; nothing here knows of them.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from oncelog.log.retention import SegmentInfo
from oncelog.log.state import LogState
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import (
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    Bytes,
    Walked,
    payload_of,
    seal,
    walk,
)
from oncelog.record.compression import compress
from oncelog.record.marker import read_marker
from oncelog.record.varint import encode_varint, read_varint

MAP_ENTRY_BYTES: Final = 160  # what a key costs in the map: dict slot, key object and offset object
LONGEST_WHOLE_KEY_BYTES: Final = 15  # longer keys are kept as digests of 16 bytes, so the two cannot be equal
MAX_RELATIVE_OFFSET: Final = 2**31 - 1
MAX_TIMESTAMP_DELTA: Final = 2**63 - 1


class LastRecord(NamedTuple):
    """Where a producer's state lives in the log: its last data batch, or if it has none any marker of its epoch."""

    last_data_offset: int
    epoch: int


class Kept(NamedTuple):
    """What becomes of a batch: `data` replaces it, None drops it. `aborted` goes into the .txnindex of its segment."""

    data: Bytes | None
    aborted: AbortedEntry | None = None


class CleanRange(NamedTuple):
    """A round that is worth its work: keys are learned from `first_dirty_offset` to `end_offset`, a segment's base."""

    first_dirty_offset: int
    end_offset: int
    dirty_ratio: float
    must_clean: bool  # a record is dirty for longer than max.compaction.lag.ms


def choose_range(
    segments: Sequence[SegmentInfo],
    *,
    first_dirty_offset: int,
    last_stable_offset: int,
    now: int,
    min_compaction_lag_ms: int,
    max_compaction_lag_ms: int,
    min_cleanable_dirty_ratio: float,
) -> CleanRange | None:
    """What may be cleaned now, None if it is not worth it. Undecided data never is (RC-9), nor the active segment."""
    if not segments:
        return None
    start = max(first_dirty_offset, segments[0].base_offset)
    clean_bytes = dirty_bytes = 0
    end = segments[0].base_offset
    oldest_dirty: int | None = None
    for segment in segments[:-1]:
        if segment.next_offset > last_stable_offset:
            break
        if segment.base_offset >= start:
            time = segment.max_timestamp if segment.max_timestamp >= 0 else segment.modified_ms
            if min_compaction_lag_ms > 0 and time > now - min_compaction_lag_ms:
                break
            dirty_bytes += segment.size_bytes
            if oldest_dirty is None and segment.size_bytes:
                oldest_dirty = segment.first_timestamp if segment.first_timestamp >= 0 else time
        elif segment.next_offset > start:  # the last round ended inside of it: the map was full
            dirty_bytes += segment.size_bytes
        else:
            clean_bytes += segment.size_bytes
        end = segment.next_offset
    if end <= start or not dirty_bytes:
        return None
    ratio = dirty_bytes / (clean_bytes + dirty_bytes)
    must_clean = oldest_dirty is not None and now - oldest_dirty > max_compaction_lag_ms
    if not must_clean and ratio <= min_cleanable_dirty_ratio:
        return None
    return CleanRange(start, end, ratio, must_clean)


def group_segments(
    segments: Sequence[SegmentInfo], *, end_offset: int, segment_bytes: int
) -> list[list[SegmentInfo]]:
    """Neighbours that become one segment: together not larger than a segment, offsets within 32 bits of the base."""
    groups: list[list[SegmentInfo]] = []
    size = 0
    for segment in segments:
        if segment.base_offset >= end_offset:
            break
        joins = (
            bool(groups)
            and size + segment.size_bytes <= segment_bytes
            and segment.next_offset - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET
        )
        if joins:
            groups[-1].append(segment)
            size += segment.size_bytes
        else:
            groups.append([segment])
            size = segment.size_bytes
    return groups


def last_records(state: LogState) -> dict[int, LastRecord]:
    """Of every active producer."""
    return {
        producer.producer_id: LastRecord(
            producer.batches[-1].last_offset if producer.batches else -1, producer.epoch
        )
        for producer in state.producers.values()
    }


class Transactions:
    """Which batch belongs to an aborted transaction, and which marker has nothing left to end. Batches in order."""

    __slots__ = ("_committed", "_next", "_ongoing", "_seen", "_waiting")

    def __init__(self, aborted: Iterable[AbortedEntry]) -> None:
        self._waiting = sorted(aborted, key=lambda entry: entry.first_offset)
        self._next = 0
        self._ongoing: dict[int, AbortedEntry] = {}  # by producer id
        self._seen: set[int] = set()  # producer ids with a batch of their aborted transaction
        self._committed: set[int] = (
            set()
        )  # producer ids with a batch of another transaction since their last marker

    def _reach(self, offset: int) -> None:
        while self._next < len(self._waiting) and self._waiting[self._next].first_offset <= offset:
            entry = self._waiting[self._next]
            self._next += 1
            self._ongoing[entry.producer_id] = entry

    def is_aborted(self, header: BatchHeader) -> bool:
        """For every data batch, with records or without."""
        self._reach(header.last_offset)
        if not header.attributes & TRANSACTIONAL:
            return False
        entry = self._ongoing.get(header.producer_id)
        if entry is None or entry.last_offset < header.base_offset:
            self._committed.add(header.producer_id)
            return False
        self._seen.add(header.producer_id)
        return True

    def end(self, batch: Bytes, header: BatchHeader) -> tuple[bool, AbortedEntry | None]:
        """For every control batch: whether nothing of its transaction is left, and the entry that must stay."""
        self._reach(header.last_offset)
        marker = read_marker(batch)
        producer_id = header.producer_id
        if marker is None:  # it was cleaned before, or is of a kind that ends nothing
            return header.count == 0, None
        if marker.commit:
            seen = producer_id in self._committed
            self._committed.discard(producer_id)
            return not seen, None
        entry = self._ongoing.pop(producer_id, None)
        seen = producer_id in self._seen
        self._seen.discard(producer_id)
        return not seen, entry if seen else None


class Round:
    """One round of cleaning. `learn` until it returns False or the range ends, then `clean`, then `end_offset`."""

    __slots__ = (
        "_cleaned", "_delete_retention_ms", "_key_limit", "_latest", "_learned", "_now", "_offsets", "_producers",
        "_tombstones_stay_from",
    )  # fmt: skip

    def __init__(
        self,
        *,
        first_dirty_offset: int,
        aborted: Sequence[AbortedEntry],
        producers: dict[int, LastRecord],
        now: int,
        delete_retention_ms: int,
        map_limit_bytes: int,
        tombstones_stay_from: int,
    ) -> None:
        """`aborted`: every entry of all .txnindex files of the partition, also beyond the range (B42).
        `producers`: `last_records` of the partition's state now. `tombstones_stay_from`: tombstones at and above it
        are kept whatever their age.
        """
        self._offsets: dict[bytes, int] = {}
        self._latest = first_dirty_offset - 1
        self._key_limit = max(map_limit_bytes // MAP_ENTRY_BYTES, 1)
        self._learned = Transactions(aborted_from(aborted, first_dirty_offset))
        self._cleaned = Transactions(aborted)
        self._producers = producers
        self._now = now
        self._delete_retention_ms = delete_retention_ms
        self._tombstones_stay_from = tombstones_stay_from

    @property
    def end_offset(self) -> int:
        """Up to where the log is clean after this round: the next round's first dirty offset."""
        return self._latest + 1

    @property
    def keys(self) -> int:
        return len(self._offsets)

    def learn(self, batch: Bytes, header: BatchHeader) -> bool:
        """Puts the keys of a dirty batch into the map. False: the map is full and the batch was not taken."""
        if header.attributes & CONTROL:  # its key is no user's key (B43)
            self._learned.end(batch, header)
        elif not self._learned.is_aborted(header) and header.count:
            if self._offsets and len(self._offsets) + header.count > self._key_limit:
                return False
            payload = payload_of(batch, header)
            base, first = header.base_offset, self._latest + 1
            for record in walk(payload, header.count):
                if record.key is not None and base + record.offset_delta >= first:
                    self._offsets[_short(payload[record.key[0] : record.key[1]])] = base + record.offset_delta
        self._latest = max(self._latest, header.last_offset)
        return True

    def clean(self, batch: Bytes, header: BatchHeader) -> Kept:
        """What becomes of a batch. Takes every batch of the segments to be cleaned, in order, from the first one."""
        if header.attributes & CONTROL:
            return self._clean_marker(batch, header)
        aborted = self._cleaned.is_aborted(header)
        keep_header = self._is_last(header)
        if aborted or not header.count:
            return Kept(_empty(header) if keep_header else None)
        payload = payload_of(batch, header)
        horizon = header.base_timestamp if header.attributes & DELETE_HORIZON else None
        keep_tombstones = horizon is None or self._now < horizon
        kept: list[Walked] = []
        tombstones = False
        for record in walk(payload, header.count):
            offset = header.base_offset + record.offset_delta
            if offset <= self._latest:
                if record.key is None:
                    continue
                if offset < self._offsets.get(_short(payload[record.key[0] : record.key[1]]), -1):
                    continue
                if record.value is None and not keep_tombstones and offset < self._tombstones_stay_from:
                    continue
            tombstones = tombstones or record.value is None
            kept.append(record)
        if not kept:
            return Kept(_empty(header) if keep_header else None)
        new_horizon = None
        if tombstones and horizon is None:
            new_horizon = self._horizon(header, kept)
        if len(kept) == header.count and new_horizon is None:
            return Kept(batch)
        return Kept(_rebuild(header, payload, kept, new_horizon))

    def _clean_marker(self, batch: Bytes, header: BatchHeader) -> Kept:
        nothing_left, entry = self._cleaned.end(batch, header)
        if not nothing_left:
            return Kept(batch, entry)
        keep = self._is_last(header)
        if not header.count:
            return Kept(batch if keep else None)
        if not header.attributes & DELETE_HORIZON:
            payload = payload_of(batch, header)
            records = list(walk(payload, header.count))
            return Kept(_rebuild(header, payload, records, self._horizon(header, records)))
        if self._now < header.base_timestamp or self._keeps_epoch(header):
            return Kept(batch)
        return Kept(_empty(header) if keep else None)

    def _horizon(self, header: BatchHeader, kept: Sequence[Walked]) -> int | None:
        """Until when tombstones and markers without data stay; None if a time before the ice age leaves no room."""
        horizon = self._now + self._delete_retention_ms
        earliest = header.base_timestamp + min(record.timestamp_delta for record in kept)
        return horizon if horizon - earliest <= MAX_TIMESTAMP_DELTA else None

    def _is_last(self, header: BatchHeader) -> bool:
        """Its header must stay: it holds a producer's sequence, or the end of what was cleaned."""
        if header.last_offset == self._latest:
            return True
        last = self._producers.get(header.producer_id)
        if last is None or last.last_data_offset < 0:
            return False
        return header.last_offset == last.last_data_offset

    def _keeps_epoch(self, header: BatchHeader) -> bool:
        """A marker that alone tells the epoch of an active producer. Kafka leaves its header only, from which a
        replay learns nothing; the whole marker costs 17 bytes more and fences a zombie.
        """
        last = self._producers.get(header.producer_id)
        return last is not None and last.last_data_offset < 0 and header.producer_epoch == last.epoch


def aborted_from(entries: Iterable[AbortedEntry], offset: int) -> list[AbortedEntry]:
    """Those with a marker at or above `offset`."""
    return [entry for entry in entries if entry.last_offset >= offset]


def _short(key: bytes) -> bytes:
    return key if len(key) <= LONGEST_WHOLE_KEY_BYTES else blake2b(key, digest_size=16).digest()


def _empty(header: BatchHeader) -> bytes:
    """Only the header: offsets, sequences and the largest timestamp stay."""
    return seal(
        header._replace(
            attributes=header.attributes & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL),
            base_timestamp=NO_TIMESTAMP,
            count=0,
        ),
        b"",
    )


def _rebuild(header: BatchHeader, payload: bytes, kept: Sequence[Walked], horizon: int | None) -> bytes:
    """The batch with fewer records. Offsets, sequences and last offset delta stay (RC-5).

    A new delete horizon stands in the place of the base timestamp, so the deltas are computed anew.
    """
    attributes, base_timestamp, max_timestamp = header.attributes, header.base_timestamp, header.max_timestamp
    if horizon is None:
        body = b"".join([payload[record.start : record.end] for record in kept])
    else:
        attributes |= DELETE_HORIZON
        shift = base_timestamp - horizon
        base_timestamp = horizon
        body = b"".join([_shifted(payload, record, shift) for record in kept])
    if not attributes & LOG_APPEND_TIME:
        max_timestamp = header.base_timestamp + max(record.timestamp_delta for record in kept)
    codec = attributes & COMPRESSION_MASK
    return seal(
        header._replace(
            attributes=attributes,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            count=len(kept),
        ),
        compress(codec, body) if codec else body,
    )


def _shifted(payload: bytes, record: Walked, shift: int) -> bytes:
    """The same record with another timestamp delta."""
    _, at = read_varint(payload, record.start)
    _, rest = read_varint(payload, at + 1, bits=64)
    body = payload[at : at + 1] + encode_varint(record.timestamp_delta + shift) + payload[rest : record.end]
    return encode_varint(len(body)) + body
