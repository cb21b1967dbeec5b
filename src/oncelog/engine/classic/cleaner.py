"""Compaction: writes new segments beside the old ones and lets them take their place. The rules are log/compaction.py.

The work is done in slices beside the loop. Files go through three names, so that a crash at any point leaves either the
old segments or the new one (recovery.finish_swaps):
  .cleaned   being written                    dropped at start
  .swap      complete and durable             takes the place of the segments that its .replaces file names
  (none)     in place
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from oncelog.engine.classic.checkpoints import write_file
from oncelog.engine.classic.checks import CHECKS
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.classic.recovery import READ_BYTES, REPLACES
from oncelog.engine.classic.segment import (
    CLEANED,
    LOG,
    OFFSET_INDEX,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    IndexCache,
    Segment,
    file_name,
)
from oncelog.engine.classic.store import Store
from oncelog.errors import CorruptBatch, CorruptLog
from oncelog.log.compaction import CleanRange, Round, choose_range, group_segments, last_records
from oncelog.ports import Clock, File
from oncelog.record.batch import HEADER_BYTES, BatchHeader, check_crc, read_header
from oncelog.tasks import sleep

log = logging.getLogger("oncelog.engine")

SLICE_MS: Final = 3
SLICE_BATCHES: Final = 64
REST_MS: Final = 3  # between two slices: others get at least half of the time


def worth_cleaning(
    partition: ClassicPartition, first_dirty_offset: int, *, forced: bool = False
) -> CleanRange | None:
    """What may be cleaned now. Nothing above the recovery point: recovery expects segments without gaps there."""
    if "compact" not in partition.config.cleanup_policy or len(partition.segments) < 2:
        return None
    config = partition.config
    return choose_range(
        partition.segment_infos(),
        first_dirty_offset=max(first_dirty_offset, partition.log_start_offset),
        last_stable_offset=min(partition.last_stable_offset, partition.recovery_point),
        now=partition.now_ms(),
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        max_compaction_lag_ms=config.max_compaction_lag_ms,
        min_cleanable_dirty_ratio=-1.0 if forced else config.min_cleanable_dirty_ratio,
    )


class Cleaner:
    """One round over one partition."""

    def __init__(self, store: Store, partition: ClassicPartition, clean: CleanRange) -> None:
        self._store = store
        self._partition = partition
        self._range = clean
        self._round = Round(
            first_dirty_offset=clean.first_dirty_offset,
            aborted=[entry for segment in partition.segments for entry in segment.aborted()],
            producers=last_records(partition.state),
            now=partition.now_ms(),
            delete_retention_ms=partition.config.delete_retention_ms,
            map_limit_bytes=store.config.log_cleaner_dedupe_buffer_size,
            tombstones_stay_from=partition.tombstones_stay_from,
        )

    async def run(self) -> int | None:
        """Cleans, and returns up to where; None if it could not."""
        partition = self._partition
        partition.cleaning = True
        try:
            return await self._clean()
        except (CorruptBatch, CorruptLog) as error:
            log.error("cleaner.gave_up partition=%s why=%s", partition.directory, error)
            return None
        finally:
            partition.cleaning = False

    async def _clean(self) -> int | None:
        partition, segments = self._partition, list(self._partition.segments)
        infos = partition.segment_infos()
        dirty = [
            segment
            for segment, info in zip(segments, infos, strict=True)
            if info.next_offset > self._range.first_dirty_offset
            and segment.base_offset < self._range.end_offset
        ]
        if not await self._learn(dirty):
            return None
        before = sum(segment.size for segment in segments)
        end = self._round.end_offset
        for group in group_segments(infos, end_offset=end, segment_bytes=partition.config.segment_bytes):
            bases = {info.base_offset for info in group}
            old = [segment for segment in segments if segment.base_offset in bases]
            if not await self._rewrite(old):
                return None
        after = sum(segment.size for segment in partition.segments)
        log.info("cleaner.done partition=%s end=%d bytes=%d to=%d", partition.directory, end, before, after)
        return end

    @property
    def _unwanted(self) -> bool:
        return self._partition.deleted or self._store.stopping or self._store.failed.done()

    async def _learn(self, dirty: Sequence[Segment]) -> bool:
        """The first pass: fills the map of keys, up to the end or until it is full."""
        for segment in dirty:
            reader = _Reader(self._store, segment)
            going = True
            while going:
                going = await self._store.loop.in_thread(lambda: self._learn_slice(reader))  # noqa: B023
                if self._unwanted:
                    reader.close()
                    return False
                await sleep(self._store.loop, REST_MS)
            if reader.full:
                break
        return True

    def _learn_slice(self, reader: "_Reader") -> bool:
        """False when the segment is done or the map is full."""
        for batch, header in reader.slice(self._store.clock):
            if not self._round.learn(batch, header):
                reader.full = True
                reader.close()
                return False
        return not reader.done

    async def _rewrite(self, old: Sequence[Segment]) -> bool:
        """The second pass over one group of segments: writes what stays, then swaps."""
        store, partition = self._store, self._partition
        out = Segment(
            store.disk, IndexCache(), partition.directory, old[0].base_offset,
            created_ms=partition.now_ms(), extra_suffix=CLEANED,
        )  # fmt: skip
        await store.loop.in_thread(lambda: _begin(out))
        for segment in old:
            reader = _Reader(store, segment)
            going = True
            while going:
                going = await store.loop.in_thread(lambda: self._rewrite_slice(reader, out))  # noqa: B023
                if self._unwanted:
                    reader.close()
                    out.remove()
                    return False
                await sleep(store.loop, REST_MS)
        suffixes = await store.loop.in_thread(lambda: _finish(store, out, old))
        if self._unwanted:
            out.remove()
            return False
        await self._swap(out, old, suffixes)
        return True

    def _rewrite_slice(self, reader: "_Reader", out: Segment) -> bool:
        interval = self._partition.config.index_interval_bytes
        for batch, header in reader.slice(self._store.clock):
            data, aborted = self._round.clean(batch, header)
            if aborted is not None:
                out.add_aborted(aborted)
            if data is not None:
                kept = read_header(data)
                out.append((data,), len(data), kept.last_offset, kept.max_timestamp, interval)
        return not reader.done

    async def _swap(self, out: Segment, old: Sequence[Segment], suffixes: Sequence[str]) -> None:
        store, partition = self._store, self._partition
        disk, directory = store.disk, partition.directory
        base = file_name(out.base_offset, "")

        def commit() -> None:
            # Last the .log: where its .swap is found all others are there too.
            for suffix in suffixes:
                disk.rename(f"{directory}/{base}{suffix}{CLEANED}", f"{directory}/{base}{suffix}{SWAP}")
            disk.sync_directory(directory)

        await store.loop.in_thread(commit)
        new = Segment(store.disk, store.cache, directory, out.base_offset, created_ms=partition.now_ms())
        new.has_aborted = out.has_aborted
        gone = [path for segment in old for path in segment.rename_away()]
        for suffix in suffixes:
            disk.rename(f"{directory}/{base}{suffix}{SWAP}", f"{directory}/{base}{suffix}")
        disk.remove(f"{directory}/{base}{REPLACES}{SWAP}")
        partition.replace_segments(old, new)
        store.remove_later(gone, partition.config.file_delete_delay_ms)
        await store.loop.in_thread(lambda: disk.sync_directory(directory))


def _begin(out: Segment) -> None:
    out.remove()  # of a round that was given up
    out.create()


def _finish(store: Store, out: Segment, old: Sequence[Segment]) -> list[str]:
    """Makes the new files durable, and what tells recovery whose place they take; the suffixes in order of renaming."""
    files: list[File] = [out.log, *out.write_indexes(gapless=False)]
    store.disk.sync_now(files)
    for file in files:
        file.close()
    out.close()
    suffixes = [OFFSET_INDEX, TIME_INDEX, *([TRANSACTION_INDEX] if out.has_aborted else []), CHECKS, LOG]
    bases = " ".join([file_name(segment.base_offset, "") for segment in old])
    name = f"{out.directory}/{file_name(out.base_offset, REPLACES)}{SWAP}"
    write_file(store.disk, name, f"{bases}\n{' '.join(suffixes)}\n".encode())
    return suffixes


class _Reader:
    """Whole batches of one segment, a slice at a time, through a file of its own: it works in other threads."""

    def __init__(self, store: Store, segment: Segment) -> None:
        self._file = store.disk.open(segment.path(LOG))
        self._path = segment.path(LOG)
        self._position = 0
        self._end = segment.size
        self.done = segment.size == 0
        self.full = False

    def slice(self, clock: Clock) -> Iterator[tuple[memoryview, BatchHeader]]:
        """Batches until a slice of time is over; then a thread may be left, and another goes on."""
        began = clock.monotonic_ms()
        count = 0
        while self._position < self._end:
            chunk = self._file.read(self._position, min(READ_BYTES, self._end - self._position))
            at = 0
            while at + HEADER_BYTES <= len(chunk):
                header = read_header(chunk, at)
                size = header.size
                if at + size > len(chunk):
                    if at:
                        break
                    chunk = self._file.read(self._position, size)
                if size < HEADER_BYTES or at + size > len(chunk):
                    raise CorruptLog(
                        f"{self._path} at position {self._position + at}: found a batch of {size} bytes"
                    )
                batch = memoryview(chunk)[at : at + size]
                if not check_crc(batch, header):  # rewriting it would put a good CRC over bad bytes
                    raise CorruptLog(f"{self._path} at position {self._position + at}: a batch fails its CRC")
                yield batch, header
                at += size
                count += 1
                if count >= SLICE_BATCHES or clock.monotonic_ms() - began >= SLICE_MS:
                    self._position += at
                    self._check_end()
                    return
            if at == 0:
                raise CorruptLog(f"{self._path} at position {self._position}: found {len(chunk)} bytes")
            self._position += at
        self._check_end()

    def _check_end(self) -> None:
        if self._position >= self._end:
            self.done = True
            self.close()

    def close(self) -> None:
        self._file.close()
