"""One segment of a partition: the .log file with its offset, time and transaction index.

The active segment keeps its indexes in memory and writes them when it is closed: a start without a clean stop rebuilds
them from the .log anyway (REC-2). Indexes of older segments are read when somebody asks and forgotten by `IndexCache`.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import lt
from typing import Final, NamedTuple

from oncelog.engine.classic.checkpoints import read_file, write_file
from oncelog.engine.classic.checks import CHECKS, Checks, decode_checks, encode_checks
from oncelog.errors import CorruptLog
from oncelog.ports import Bytes, Disk, File
from oncelog.record import aborted as aborted_index
from oncelog.record import offset_index, time_index
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import HEADER_BYTES, LENGTH_OVERHEAD_BYTES, BatchHeader, check_crc, read_header
from oncelog.record.crc import crc32c

NAME_DIGITS: Final = 20
LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
SEGMENT_FILES: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, CHECKS)

SCAN_BYTES: Final = 65_536
COPIED_BYTES: Final = 65_536
SMALL_BYTES: Final = 4096  # index.interval.bytes of Kafka: the offset index of a smaller log is empty anyway
MOST_OFFSETS: Final = 2**31 - 1  # an index holds offsets minus the base in 32 bits, signed in Java
UNREAD: Final = -2  # -1 is a timestamp that batches may have
INDEX_CACHE_LIMIT_BYTES: Final = 64 << 20
LITTLE_ENDIAN: Final = sys.byteorder == "little"
assert array("I").itemsize == 4

_PLACE: Final = struct.Struct(
    ">qi11xi"
)  # base offset, length, last offset delta: what a walk needs of a header


def _pack_offsets(offsets: "array[int]", positions: "array[int]") -> bytes:
    """A .index file, entry after entry. By columns: a closed segment may have a hundred thousand entries."""
    words = array("I", bytes(8 * len(offsets)))
    words[0::2], words[1::2] = offsets, positions
    if LITTLE_ENDIAN:
        words.byteswap()
    return words.tobytes()


def _unpack_offsets(data: bytes) -> "tuple[array[int], array[int]]":
    words = array("I", data)
    if LITTLE_ENDIAN:
        words.byteswap()
    return words[0::2], words[1::2]


def _pack_times(times: "array[int]", offsets: "array[int]") -> bytes:
    """A .timeindex file: the two halves of a timestamp, then the offset."""
    halves = array("I", times.tobytes())
    words = array("I", bytes(12 * len(times)))
    words[0::3], words[1::3] = (halves[1::2], halves[0::2]) if LITTLE_ENDIAN else (halves[0::2], halves[1::2])
    words[2::3] = offsets
    if LITTLE_ENDIAN:
        words.byteswap()
    return words.tobytes()


def _unpack_times(data: bytes) -> "tuple[array[int], array[int]]":
    words = array("I", data)
    if LITTLE_ENDIAN:
        words.byteswap()
    high, low = words[0::3], words[1::3]
    halves = array("I", bytes(8 * len(high)))
    halves[0::2], halves[1::2] = (low, high) if LITTLE_ENDIAN else (high, low)
    return array("q", halves.tobytes()), words[2::3]


def _rises(numbers: "array[int]") -> bool:
    return all(map(lt, numbers, islice(numbers, 1, None)))


def file_name(offset: int, suffix: str) -> str:
    return f"{offset:0{NAME_DIGITS}d}{suffix}"


class Place(NamedTuple):
    """Where a batch lies in a segment's file."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class IndexCache:
    """Bounds the memory of the indexes of segments that are not written any more: the longest unused go first."""

    def __init__(self, limit_bytes: int = INDEX_CACHE_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._held: dict[Segment, int] = {}
        self._total = 0

    def hold(self, segment: "Segment", size_bytes: int) -> None:
        self.drop(segment)
        self._held[segment] = size_bytes
        self._total += size_bytes
        while self._total > self._limit_bytes and len(self._held) > 1:
            oldest = next(iter(self._held))
            self.drop(oldest)
            oldest.forget_indexes()

    def touch(self, segment: "Segment") -> None:
        size = self._held.pop(segment, None)
        if size is not None:
            self._held[segment] = size

    def drop(self, segment: "Segment") -> None:
        self._total -= self._held.pop(segment, 0)


class Segment:
    """Batches from `base_offset` up, in one file."""

    __slots__ = (
        "_aborted",
        "_cache",
        "_checks",
        "_disk",
        "_log",
        "_looked_for_checks",
        "_size",
        "active",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "directory",
        "extra_suffix",
        "first_timestamp",
        "has_aborted",
        "max_timestamp",
        "max_timestamp_offset",
        "offsets",
        "positions",
        "time_offsets",
        "times",
    )

    def __init__(
        self,
        disk: Disk,
        cache: IndexCache,
        directory: str,
        base_offset: int,
        *,
        created_ms: int,
        extra_suffix: str = "",
    ) -> None:
        self._disk = disk
        self._cache = cache
        self._log: File | None = None
        self._size = -1
        self.directory = directory
        self.extra_suffix = (
            extra_suffix  # behind the suffix of every file: .cleaned, while the cleaner writes it
        )
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.active = False
        self.offsets: array[int] | None = None  # offset index: last offset of a batch minus the base ...
        self.positions: array[int] = array("I")  # ... and where that batch begins
        self.times: array[int] = array("q")  # time index: largest timestamp so far ...
        self.time_offsets: array[int] = array(
            "I"
        )  # ... and the last offset of the batch that has it, minus the base
        self.bytes_since_index = 0
        self.max_timestamp = UNREAD
        self.max_timestamp_offset = -1
        self.first_timestamp = UNREAD  # of the first batch: what segment.ms counts from
        self.has_aborted = False
        self._aborted: list[AbortedEntry] | None = None
        self._checks: Checks | None = None
        self._looked_for_checks = False

    def path(self, suffix: str) -> str:
        return f"{self.directory}/{file_name(self.base_offset, suffix)}{self.extra_suffix}"

    @property
    def log(self) -> File:
        if self._log is None:
            self._log = self._disk.open(self.path(LOG))
        return self._log

    @property
    def size(self) -> int:
        if self._size < 0:
            self._size = self.log.size()
        return self._size

    def create(self) -> None:
        """Makes the .log file, empty; the caller syncs the directory before anything in it is acknowledged."""
        self._log = self._disk.open(self.path(LOG), create=True)
        self.begin()

    def begin(self) -> None:
        """Starts with empty indexes, to be filled by `index_batch`."""
        self._size = self.log.size()
        self.active = True
        self.offsets, self.positions = array("I"), array("I")
        self.times, self.time_offsets = array("q"), array("I")
        self.bytes_since_index = 0
        self.max_timestamp = self.max_timestamp_offset = -1
        self.first_timestamp = UNREAD
        self._aborted = []

    # Writing

    def append(
        self, pieces: Sequence[Bytes], size: int, last_offset: int, max_timestamp: int, interval: int
    ) -> None:
        """Writes one batch and notes it in the indexes; nothing has changed if the write fails."""
        position = self._size
        log = self._log
        (self.log if log is None else log).append(pieces)
        self._size = position + size
        if position == 0 or max_timestamp > self.max_timestamp or self.bytes_since_index > interval:
            self.index_batch(position, size, last_offset, max_timestamp, interval)
        else:
            self.bytes_since_index += size

    def index_batch(
        self, position: int, size: int, last_offset: int, max_timestamp: int, interval: int
    ) -> None:
        """Kafka's order: the batch that follows more than `interval` unindexed bytes gets an entry."""
        if position == 0:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self.bytes_since_index > interval:
            offsets = self.offsets
            assert offsets is not None
            offsets.append(last_offset - self.base_offset)
            self.positions.append(position)
            self._note_time()
            self.bytes_since_index = size
        else:
            self.bytes_since_index += size

    def _note_time(self) -> None:
        if self.max_timestamp > (self.times[-1] if self.times else -1):
            self.times.append(self.max_timestamp)
            self.time_offsets.append(self.max_timestamp_offset - self.base_offset)

    def add_aborted(self, entry: AbortedEntry) -> None:
        """Writes an entry of the transaction index: it must be in the file before the LSO passes the marker (B40)."""
        self.aborted().append(entry)
        file = self._disk.open(self.path(TRANSACTION_INDEX), create=not self.has_aborted)
        self.has_aborted = True
        file.append((aborted_index.encode_entry(entry),))
        file.close()

    def has_index_files(self) -> bool:
        return self._disk.exists(self.path(TIME_INDEX)) or self._disk.exists(self.path(OFFSET_INDEX))

    def indexes_full(self, limit_bytes: int) -> bool:
        offsets = self.offsets
        assert offsets is not None
        return len(offsets) >= limit_bytes // offset_index.ENTRY_BYTES or (
            # One entry is kept free for the closing one.
            len(self.times) >= limit_bytes // time_index.ENTRY_BYTES - 1
        )

    def easy_bytes(self, limit_bytes: int, interval: int) -> int:
        """Up to which size of this segment its indexes cannot become full, whatever is appended."""
        offsets = self.offsets
        assert offsets is not None
        left = min(
            limit_bytes // offset_index.ENTRY_BYTES - len(offsets),
            limit_bytes // time_index.ENTRY_BYTES - len(self.times) - 1,
        )
        return self._size + (left - 2) * interval  # an entry follows more than `interval` bytes

    def write_indexes(self, *, gapless: bool = True) -> list[File]:
        """Writes what is in memory; a second call writes the same again. The caller syncs if it must."""
        offsets = self.offsets
        assert offsets is not None
        self._note_time()
        index, times = _pack_offsets(offsets, self.positions), _pack_times(self.times, self.time_offsets)
        written = [self._rewrite(OFFSET_INDEX, index), self._rewrite(TIME_INDEX, times)]
        aborted = 0
        if self.has_aborted:
            written.append(self._disk.open(self.path(TRANSACTION_INDEX)))
            aborted = crc32c(self._read_file(TRANSACTION_INDEX))
        self._checks = Checks(self.size, gapless, crc32c(index), crc32c(times), aborted)
        written.append(self._rewrite(CHECKS, encode_checks(self._checks)))
        return written

    @property
    def checks(self) -> Checks | None:
        """What the files of a closed segment must look like, if that was written down."""
        if self._checks is None and not self._looked_for_checks:
            self._looked_for_checks = True
            data = read_file(self._disk, self.path(CHECKS))
            found = None if data is None else decode_checks(data)
            self._checks = found if found is not None and found.size == self.size else None
        return self._checks

    def _keep_indexes(self) -> None:
        """Replaces the index files for good: no later recovery looks at this segment again. Blocks, but it is rare."""
        offsets = self.offsets
        assert offsets is not None
        self._note_time()
        index, times = _pack_offsets(offsets, self.positions), _pack_times(self.times, self.time_offsets)
        write_file(self._disk, self.path(OFFSET_INDEX), index)
        write_file(self._disk, self.path(TIME_INDEX), times)
        if self.checks is not None:
            checks = self.checks._replace(offsets=crc32c(index), times=crc32c(times))
            self._checks = checks
            write_file(self._disk, self.path(CHECKS), encode_checks(checks))

    def _rewrite(self, suffix: str, data: bytes) -> File:
        file = self._disk.open(self.path(suffix), create=True)
        if file.size() > len(data):
            file.truncate(len(data))
        if data:
            file.write_at(0, data)
        return file

    def retire(self) -> None:
        """No more appends: the indexes may be forgotten when memory is short, and the file closed."""
        self.active = False
        offsets = self.offsets
        self._cache.hold(self, 8 * len(offsets) + 12 * len(self.times) if offsets is not None else 0)

    def reopen(self, bytes_since_index: int) -> None:
        """Goes on with a segment whose indexes were read from files."""
        self.active = True
        self.bytes_since_index = bytes_since_index
        self._cache.drop(self)

    def truncate(self, size: int) -> None:
        self.log.truncate(size)
        self._size = size
        for suffix in (OFFSET_INDEX, TIME_INDEX):  # they speak of more than there is
            self._disk.remove(self.path(suffix))

    def remove(self) -> None:
        self.close()
        for suffix in SEGMENT_FILES:
            self._disk.remove(self.path(suffix))

    # Indexes of segments that are not active

    def move(self, disk: Disk) -> None:
        """Goes on with the same files on another disk: a draft became true."""
        if self._log is not None:
            self._log.close()
            self._log = None
        self._disk = disk

    def forget_indexes(self) -> None:
        self.offsets = None
        self._aborted = None

    def load_indexes(self) -> None:
        """Reads the index files; an unreadable one is built again from the log."""
        try:
            self._read_indexes()
        except CorruptLog:
            self.rebuild_indexes()

    def _read_indexes(self) -> None:
        data = self._read_file(OFFSET_INDEX)
        checks = self.checks
        if checks is not None and crc32c(data) != checks.offsets:
            raise CorruptLog(f"{self.path(OFFSET_INDEX)} is not what was written")
        data = data[: offset_index.used_bytes(data)]
        if len(data) % offset_index.ENTRY_BYTES:
            raise CorruptLog(f"{self.path(OFFSET_INDEX)} has {len(data)} bytes, wanted a multiple of 8")
        offsets, positions = _unpack_offsets(data)
        if positions and (positions[-1] >= self.size or not _rises(offsets) or not _rises(positions)):
            raise CorruptLog(f"{self.path(OFFSET_INDEX)} does not fit a log of {self.size} bytes")
        data = self._read_file(TIME_INDEX)
        if checks is not None and crc32c(data) != checks.times:
            raise CorruptLog(f"{self.path(TIME_INDEX)} is not what was written")
        data = data[: time_index.used_bytes(data)]
        if len(data) % time_index.ENTRY_BYTES:
            raise CorruptLog(f"{self.path(TIME_INDEX)} has {len(data)} bytes, wanted a multiple of 12")
        times, time_offsets = _unpack_times(data)
        if times and (times[0] < -1 or not _rises(times)):
            raise CorruptLog(f"{self.path(TIME_INDEX)} does not rise from {times[0]} to {times[-1]}")
        self.offsets, self.positions, self.times, self.time_offsets = offsets, positions, times, time_offsets
        self.max_timestamp = times[-1] if times else -1
        self.max_timestamp_offset = self.base_offset + time_offsets[-1] if times else -1
        self._cache.hold(self, 8 * len(offsets) + 12 * len(times))

    def _read_file(self, suffix: str) -> bytes:
        path = self.path(suffix)
        if not self._disk.exists(path):
            raise CorruptLog(f"{path} is missing")
        file = self._disk.open(path)
        data = file.read(0, file.size())
        file.close()
        return data

    def rebuild_indexes(self, interval: int = 4096) -> None:
        """From the .log file. The transaction index needs the producers' state too: recovery does that one."""
        aborted, active = self._aborted, self.active
        self.begin()
        self._aborted, self.active = aborted, active
        for header, position in self.walk(0, self.size):
            self.index_batch(position, header.size, header.last_offset, header.max_timestamp, interval)
        if self.size > SMALL_BYTES:
            self._keep_indexes()
        if not active:
            self.retire()

    def _indexed(self) -> "array[int]":
        offsets = self.offsets
        if offsets is None:
            self.load_indexes()
            offsets = self.offsets
            assert offsets is not None
        elif not self.active:
            self._cache.touch(self)
        return offsets

    def largest_timestamp(self) -> int:
        """The last entry of the time index has it; retention deletes by it, so it must be as it was written."""
        if self.max_timestamp == UNREAD:
            path, checks = self.path(TIME_INDEX), self.checks
            entry = b""
            if self._disk.exists(path):
                file = self._disk.open(path)
                size = file.size()
                if size and size % time_index.ENTRY_BYTES == 0:
                    # Nothing says what the last entry alone must be: with .checks all of the file is read, once.
                    data = file.read(0 if checks is not None else size - time_index.ENTRY_BYTES, size)
                    if checks is None or crc32c(data) == checks.times:
                        entry = data[-time_index.ENTRY_BYTES :]
                file.close()
            if entry.strip(b"\0"):  # zeros are the end of a file that Kafka preallocated
                self.max_timestamp, relative_offset = time_index.ENTRY.unpack(entry)
                self.max_timestamp_offset = self.base_offset + relative_offset
            else:
                self._indexed()  # builds what does not fit again from the log
        return self.max_timestamp

    def oldest_timestamp(self) -> int:
        """Of the first batch; -1 in an empty segment."""
        if self.first_timestamp == UNREAD and self.size >= HEADER_BYTES:
            self.first_timestamp = read_header(self.log.read(0, HEADER_BYTES)).max_timestamp
        return self.first_timestamp

    def aborted(self) -> list[AbortedEntry]:
        """The aborted transactions whose markers are in this segment, in the order of the markers."""
        entries = self._aborted
        if entries is None:
            path, checks = self.path(TRANSACTION_INDEX), self.checks
            data = self._read_file(TRANSACTION_INDEX) if self.has_aborted else b""
            if checks is not None and checks.aborted != (crc32c(data) if self.has_aborted else 0):
                # Believed, it would show aborted records; and only a replay of the whole log could build it again.
                raise CorruptLog(f"{path} is not what was written: restore the file from a copy")
            try:
                entries = list(aborted_index.decode_entries(data))
            except CorruptLog as error:
                raise CorruptLog(f"{path}: {error}") from error
            self._aborted = entries
        return entries

    def clear_aborted(self) -> None:
        if self.has_aborted:
            self._disk.remove(self.path(TRANSACTION_INDEX))
            self.has_aborted = False
        self._aborted = []
        self._checks = None
        self._looked_for_checks = True  # what was written down is no more

    # Reading

    def position_before(self, offset: int) -> int:
        """A position at or before the batch that holds `offset`: the entry's batch has a last offset <= `offset`."""
        at = bisect_right(self._indexed(), max(offset - self.base_offset, 0))
        return self.positions[at - 1] if at else 0

    def find(self, offset: int) -> Place | None:
        """The first batch whose last offset is not below `offset`."""
        position, end = self.position_before(offset), self.size
        passed = -1
        while position < end:
            chunk = self.log.read(position, min(SCAN_BYTES, end - position))
            at = 0
            while at + HEADER_BYTES <= len(chunk):
                base_offset, length, delta = _PLACE.unpack_from(chunk, at)
                size = length + LENGTH_OVERHEAD_BYTES
                if base_offset + delta >= offset:
                    if base_offset > offset >= self.base_offset:
                        if self.is_gapless:
                            self.refuse(
                                position + at, f"a batch from offset {base_offset} where {offset} should be"
                            )
                        self._check_passed(passed)
                    return Place(position + at, size, base_offset, base_offset + delta)
                if size < HEADER_BYTES:
                    self.refuse(position + at, f"a batch of {size} bytes")
                passed = position + at
                at += size
            if at == 0:
                self.refuse(position, f"{len(chunk)} bytes where a batch header should be")
            position += at
        self._check_passed(passed)
        return None

    def _check_passed(self, position: int) -> None:
        """Of a batch behind which there was a gap where an offset was looked for: unless its last offset is what was written, it
        could hold that offset."""
        if position >= 0:
            header = read_header(self.log.read(position, HEADER_BYTES))
            self.check_batch(position, self.log.read(position, header.size), header)

    def check_batch(self, position: int, batch: Bytes, header: BatchHeader) -> None:
        """For who believes a batch that no reader will look at."""
        if not check_crc(batch, header):
            self.refuse(position, f"a batch that does not match its CRC {header.crc:08x}")

    def read_batches(
        self, position: int, limit: int, max_bytes: int, at_least_one: bool, wanted: int = -1
    ) -> tuple[bytes | memoryview, int, int]:
        """Whole batches from `position` that begin below offset `limit`, the offset behind them and where they end.
        `wanted`: where the first begins, if a read ended just before it; else `find` has looked at it."""
        chunk = self.log.read(position, min(max(max_bytes, HEADER_BYTES), self.size - position))
        at, end_offset, size = 0, wanted, len(chunk)
        while at + HEADER_BYTES <= size:
            base_offset, length, delta = _PLACE.unpack_from(chunk, at)
            if (
                base_offset != end_offset
                and end_offset >= 0
                and (base_offset < end_offset or self.is_gapless)
            ):
                self.refuse(position + at, f"a batch from offset {base_offset} behind one up to {end_offset}")
            if base_offset >= limit:
                break
            after = at + length + LENGTH_OVERHEAD_BYTES
            if length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES:
                self.refuse(position + at, f"a batch of {length + LENGTH_OVERHEAD_BYTES} bytes")
            if after > max_bytes:
                if at or not at_least_one:
                    break
                chunk = self.log.read(position, after)
                if len(chunk) < after:
                    self.refuse(position, f"a batch of {after} bytes, {len(chunk)} are left")
                size = after
            elif after > size:
                if (
                    not at
                ):  # it would fit into max_bytes: so the file ends here, and a reader would wait for ever
                    self.refuse(position, f"a batch of {after} bytes, {size} are left")
                break
            at = after
            end_offset = base_offset + delta + 1
        if size < HEADER_BYTES:
            self.refuse(position, f"{size} bytes where a batch header should be")
        if at == size:
            return chunk, end_offset, position + at
        is_large = at > COPIED_BYTES  # a look costs less than a copy, and keeps the rest of the chunk alive
        return (memoryview(chunk)[:at] if is_large else chunk[:at]), end_offset, position + at

    def walk(self, position: int, end: int) -> Iterator[tuple[BatchHeader, int]]:
        """The headers of all batches from `position` to `end`, with their positions. Checks lengths only."""
        while position < end:
            chunk = self.log.read(position, min(SCAN_BYTES, end - position))
            at = 0
            while at + HEADER_BYTES <= len(chunk):
                header = read_header(chunk, at)
                if header.size < HEADER_BYTES or position + at + header.size > end:
                    self.refuse(
                        position + at, f"a batch of {header.size} bytes, {end - position - at} are left"
                    )
                yield header, position + at
                at += header.size
            if at == 0:
                self.refuse(position, f"{len(chunk)} bytes where a batch header should be")
            position += at

    @property
    def is_gapless(self) -> bool:
        return self.active or (self.checks is not None and self.checks.gapless)

    def refuse(self, position: int, found: str) -> None:
        raise CorruptLog(f"{self.path(LOG)} at position {position}: found {found}")

    def position_of_time(self, timestamp: int) -> int:
        """A position before which no batch has this timestamp or a later one."""
        self._indexed()
        at = bisect_left(self.times, timestamp)
        return self.position_before(self.base_offset + self.time_offsets[at - 1]) if at else 0

    # Leaving

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None
        self._cache.drop(self)

    def rename_away(self) -> list[str]:
        """Renames all files to `.deleted` and returns their new paths, to be removed later."""
        self.close()
        gone: list[str] = []
        for suffix in SEGMENT_FILES:
            path = self.path(suffix)
            if self._disk.exists(path):
                self._disk.rename(path, path + DELETED)
                gone.append(path + DELETED)
        return gone
