"""Reads a partition's directory back: trusting it after a clean stop, batch by batch otherwise (spec 5.1).

Past the recovery point a bad batch is the torn end of what was never acknowledged: it is cut off. Below it everything
was durable once, so a bad batch is damage that one copy cannot repair: the start is refused (reliability 4, rule 4). What is to
be done is found first, on a draft, and done only when nothing is refused: a start that is refused changes no file.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from oncelog.config import TopicConfig
from oncelog.engine.classic.caches import BATCHES, encode_caches, restore_caches
from oncelog.engine.classic.checkpoints import LEADER_EPOCHS, read_file, read_text, write_file
from oncelog.engine.classic.checks import CHECKS
from oncelog.engine.classic.draft import Draft
from oncelog.engine.classic.segment import (
    CLEANED,
    DELETED,
    LOG,
    NAME_DIGITS,
    OFFSET_INDEX,
    SEGMENT_FILES,
    SMALL_BYTES,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    Segment,
    file_name,
)
from oncelog.engine.classic.store import Store
from oncelog.errors import CorruptLog
from oncelog.log.state import (
    CompletedTransaction,
    LogState,
    advance_high_watermark,
    evolve,
    from_snapshot,
    raise_log_start,
    to_snapshot,
)
from oncelog.ports import Disk, File
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import HEADER_BYTES, MAGIC, BatchHeader, crc_of, read_header
from oncelog.record.checkpoints import LeaderEpoch, decode_leader_epochs
from oncelog.record.marker import read_marker
from oncelog.record.snapshot import SnapshotEntry, decode_snapshot, encode_snapshot

log = logging.getLogger("oncelog.engine")

READ_BYTES: Final = 1 << 20
REPLACES: Final = ".replaces"  # the base offsets that a .swap takes the place of; the suffixes of its files
# A file that means nothing without another
OWNERS: Final = {
    OFFSET_INDEX: LOG,
    TIME_INDEX: LOG,
    TRANSACTION_INDEX: LOG,
    CHECKS: LOG,
    BATCHES: SNAPSHOT,
}


@dataclass(slots=True)
class Loaded:
    """A partition as it was found."""

    disk: Draft
    state: LogState
    segments: list[Segment]
    epochs: list[LeaderEpoch] | None  # None: there is no file, or it cannot be read
    snapshots: list[int]
    unsynced: list[Segment] = field(default_factory=list[Segment])  # holds bytes that nobody may have synced
    closed: list[File] = field(
        default_factory=list[File]
    )  # of segments behind which the next start may begin
    changed: bool = False  # files came or went: the directory wants a sync
    epochs_kept: bool = False  # there is a file of leader epochs, which must not fall behind
    recovered: bool = False  # batch by batch: the index files may be behind the log

    def keep(self, disk: Disk) -> None:
        """Nothing is refused: what was found to be done is done to the disk itself. Blocks where that syncs."""
        self.disk.keep()
        for segment in self.segments:
            segment.move(disk)
        self.closed = [disk.open(file.path) for file in self.closed]


def load(store: Store, directory: str, *, log_start_offset: int, recovery_point: int) -> Loaded:
    """After a clean stop: the end comes from the last index entry, the producers from the newest snapshot.

    A stop tells the end as the recovery point too. No CRC is looked at here, and base offsets are under none: a bit that flipped
    in the last batch would give an offset a second time, or leave a gap.
    """
    disk = Draft(store.disk)
    with closing(disk):
        found = _load(store, disk, directory, log_start_offset, recovery_point)
        found.keep(store.disk)
    return found


def _load(store: Store, disk: Draft, directory: str, log_start_offset: int, recovery_point: int) -> Loaded:
    names = finish_swaps(disk, directory, disk.list(directory))
    found = _open(store, disk, directory, names, log_start_offset)
    if found.segments:
        _check_first(found.segments, log_start_offset)
        last = found.segments[-1]
        if last.size <= SMALL_BYTES:
            # As quick; and a stop of an earlier release may have left index files that are older than the log.
            last.rebuild_indexes()
        else:
            last.load_indexes()
        offsets = last.offsets
        assert offsets is not None
        position = last.positions[-1] if offsets else 0
        end = last.base_offset
        for header, _ in _in_order(last, position):
            end = header.next_offset
        if recovery_point and end != recovery_point:
            raise CorruptLog(
                f"{last.path(LOG)} ends at offset {end}, wanted {recovery_point}: a clean stop said so"
            )
        last.reopen(last.size - position)
        found.state = _producers(store, found, end, log_start_offset)
        _replay(found.state, found.segments, end)
    _finish(found, log_start_offset)
    return found


def recover(
    store: Store,
    directory: str,
    config: TopicConfig,
    *,
    log_start_offset: int,
    recovery_point: int,
    leader_epoch: int,
) -> Loaded:
    """After anything else: checks every batch from the segment that holds the recovery point (REC-2). Nothing is changed before
    the caller says `keep`: another partition may be refused."""
    disk = Draft(store.disk)
    before = disk.list(directory)
    names = finish_swaps(disk, directory, before)
    found = _open(store, disk, directory, names, log_start_offset)
    found.changed = names != before
    segments = found.segments
    found.recovered = bool(segments)
    if not segments:
        if recovery_point > log_start_offset:
            raise CorruptLog(
                f"{directory}: no segment is left, wanted all below the recovery point {recovery_point}"
            )
        _finish(found, log_start_offset)
        return found
    _check_first(segments, log_start_offset)
    first = max(
        [at for at, segment in enumerate(segments) if segment.base_offset <= recovery_point], default=0
    )
    start = segments[first].base_offset
    found.state = state = _producers(store, found, start, log_start_offset)
    _replay(state, segments[:first], start)
    if state.producers and start not in found.snapshots:
        # Now, for a later start may find the segments before it cleaned, and less in them.
        take_snapshot(directory, state).write(disk)
        found.snapshots.append(start)
    if found.epochs is None:
        epochs = _leader_epochs([], segments[:first])
    else:
        epochs = [epoch for epoch in found.epochs if epoch.start_offset < start]
    found.epochs = epochs
    whole = len(segments)
    cut: str | None = None
    for at in range(first, len(segments)):
        segment = segments[at]
        if at > first:
            if segment.base_offset != state.log_end_offset:
                whole = at  # the segment before it ends early, at the end of a batch
                break
            if state.log_end_offset not in found.snapshots:
                take_snapshot(directory, state).write(disk)
                found.snapshots.append(state.log_end_offset)
        cut = _recover_segment(segment, found, epochs, config, leader_epoch)
        if cut is not None or (segment.size and state.log_end_offset > recovery_point):
            # A cut too: undone by a power cut it would leave the torn end in the middle of the log.
            found.unsynced.append(segment)
        if cut is not None:
            whole = at + 1
            break
        if at + 1 < len(segments):
            # The next start will not look at it again, so all of it must be durable before the recovery point moves on.
            found.closed += [segment.log, *segment.write_indexes()]
            segment.retire()
    if state.log_end_offset < recovery_point:
        raise CorruptLog(
            f"{segments[whole - 1].path(LOG)} {cut or 'ends'}: at offset {state.log_end_offset}, wanted all below the recovery "
            f"point {recovery_point}. This was durable and is damaged, restore the file from a copy"
        )
    for later in segments[whole:]:  # REC-2: nothing may follow a cut
        disk.then(
            partial(log.warning, "recovery.segment_removed file=%s bytes=%d", later.path(LOG), later.size)
        )
        later.remove()
        found.changed = True
    del segments[whole:]
    for offset in [offset for offset in found.snapshots if offset > state.log_end_offset]:
        # Of a log that is no more. The directory is synced before anything is appended: it must never come back.
        _drop_snapshot(directory, found, offset)
    if not segments[-1].size:
        found.changed = (
            True  # killed just after it was made: its name may not be durable, and it is used from now on
        )
    segments[-1].reopen(segments[-1].bytes_since_index)
    _finish(found, log_start_offset)
    return found


def _recover_segment(
    segment: Segment,
    found: Loaded,
    epochs: list[LeaderEpoch],
    config: TopicConfig,
    leader_epoch: int,
) -> str | None:
    """Evolves the state over all good batches, rebuilds the indexes, and cuts the rest off; tells where and why, if it did."""
    state = found.state
    segment.begin()
    segment.clear_aborted()
    position = 0
    why: str | None = None
    lowest_epoch = epochs[-1].leader_epoch if epochs else 0
    for at, header, batch, bad in check_batches(segment, state.log_end_offset, lowest_epoch, leader_epoch):
        if bad is not None:
            why = bad
            break
        marker = read_marker(batch) if header.is_control else None
        completed = evolve(state, header, base_offset=header.base_offset, marker=marker)
        note_aborted(segment, completed)
        note_epoch(epochs, header)
        segment.index_batch(
            at, header.size, header.last_offset, header.max_timestamp, config.index_interval_bytes
        )
        position = at + header.size
    if why is None:
        return None
    found.disk.then(partial(
        log.warning, "recovery.cut file=%s position=%d bytes=%d offset=%d why=%s",
        segment.path(LOG), position, segment.size - position, state.log_end_offset, why,
    ))  # fmt: skip
    segment.truncate(position)
    found.changed = True
    return f"at position {position}: {why}"


def check_batches(
    segment: Segment, next_offset: int, lowest_epoch: int, leader_epoch: int
) -> Iterator[tuple[int, BatchHeader, memoryview, str | None]]:
    """(position, header, batch, what is wrong) of each batch up to the first bad one.

    Base offset and leader epoch are not under the CRC, so they are held against their neighbours. Only segments that the
    cleaner has never touched are checked here: their offsets have no gaps.
    """
    position, end = 0, segment.size
    nothing = BatchHeader._make([0] * len(BatchHeader._fields))
    while position < end:
        chunk = segment.log.read(position, min(READ_BYTES, end - position))
        at = 0
        while at < len(chunk):
            if len(chunk) - at < HEADER_BYTES:
                if position + len(chunk) < end:
                    break  # the header goes on in the next chunk
                yield position + at, nothing, memoryview(b""), f"{len(chunk) - at} bytes, a header needs 61"
                return
            header = read_header(chunk, at)
            size = header.size
            if size < HEADER_BYTES or header.magic != MAGIC or position + at + size > end:
                left = end - position - at
                bad = f"a batch of {size} bytes and magic {header.magic}, {left} bytes are left"
                yield position + at, header, memoryview(b""), bad
                return
            if at + size > len(chunk):
                if at:
                    break
                chunk = segment.log.read(position, size)
            batch = memoryview(chunk)[at : at + size]
            bad = None
            if header.base_offset != next_offset or header.last_offset_delta < 0:
                bad = f"offsets {header.base_offset}..{header.last_offset}, wanted {next_offset}"
            elif not lowest_epoch <= header.leader_epoch <= leader_epoch:
                bad = f"leader epoch {header.leader_epoch}, wanted {lowest_epoch} to {leader_epoch}"
            elif crc_of(batch) != header.crc:
                bad = f"a batch whose CRC is {crc_of(batch):08x}, it says {header.crc:08x}"
            yield position + at, header, batch, bad
            if bad is not None:
                return
            next_offset, lowest_epoch = header.next_offset, header.leader_epoch
            at += size
        position += at


def note_aborted(segment: Segment, completed: CompletedTransaction | None) -> None:
    if completed is not None and completed.aborted:
        segment.add_aborted(
            AbortedEntry(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                completed.last_stable_offset,
            )
        )


class Snapshot(NamedTuple):
    """The producers at an offset, as bytes: taken in the loop, written beside it."""

    path: str
    producers: bytes
    caches: bytes | None

    def files(self) -> list[tuple[str, bytes]]:
        """Paths and contents, in order: a snapshot without its caches would be believed."""
        caches = [] if self.caches is None else [(self.path + BATCHES, self.caches)]
        return [*caches, (self.path + SNAPSHOT, self.producers)]

    def write(self, disk: Disk) -> None:
        """Durable when it returns (B48)."""
        for path, data in self.files():
            write_file(disk, path, data)


def take_snapshot(directory: str, state: LogState) -> Snapshot:
    """Of the producers up to the present log end."""
    path = f"{directory}/{file_name(state.log_end_offset, '')}"
    return Snapshot(path, encode_snapshot(to_snapshot(state)), encode_caches(state))


def remove_snapshot(disk: Disk, directory: str, offset: int) -> None:
    disk.remove(f"{directory}/{file_name(offset, SNAPSHOT)}")
    disk.remove(f"{directory}/{file_name(offset, BATCHES)}")


# What is in the directory


def finish_swaps(disk: Disk, directory: str, names: Sequence[str]) -> list[str]:
    """Ends what a crash interrupted: cleaned segments whose swap had begun take their place, the rest goes (REC-1)."""
    left = set(names)

    def drop(name: str) -> None:
        disk.remove(f"{directory}/{name}")
        left.discard(name)

    def rename(name: str, to: str) -> None:
        disk.rename(f"{directory}/{name}", f"{directory}/{to}")
        left.discard(name)
        left.add(to)

    for name in names:
        if name.endswith((DELETED, CLEANED, ".tmp")):
            drop(name)
    committed = [name.removesuffix(LOG + SWAP) for name in names if name.endswith(LOG + SWAP)]
    for base in committed:  # the .log is renamed last on the way in, so its group is complete
        lines = (read_file(disk, f"{directory}/{base}{REPLACES}{SWAP}") or b"").decode().split("\n")
        replaced, suffixes = lines[0].split(), lines[1].split() if len(lines) > 1 else []
        if not suffixes:
            raise CorruptLog(f"{directory}/{base}{LOG}{SWAP}: wanted {base}{REPLACES}{SWAP} beside it")
        for old in replaced:
            for suffix in SEGMENT_FILES:
                moved = old == base and suffix in suffixes and f"{base}{suffix}{SWAP}" not in left
                if f"{old}{suffix}" in left and not moved:
                    drop(f"{old}{suffix}")
        for suffix in suffixes:
            if f"{base}{suffix}{SWAP}" in left:
                rename(f"{base}{suffix}{SWAP}", f"{base}{suffix}")
    for name in sorted(left):
        if name.endswith(SWAP):
            drop(
                name
            )  # its .log was not renamed yet and the old segments are whole, or it was and all is done
    for name in sorted(left):
        base, dot, suffix = name.partition(".")
        belongs_to = OWNERS.get(dot + suffix)
        if belongs_to is not None and base + belongs_to not in left:
            drop(name)
    if committed:
        disk.sync_directory(directory)
    return sorted(left)


def _open(store: Store, disk: Draft, directory: str, names: Sequence[str], log_start_offset: int) -> Loaded:
    segments: list[Segment] = []
    snapshots: list[int] = []
    known = set(names)
    now = store.clock.wall_ms()
    for name in names:
        base, dot, suffix = name.partition(".")
        if len(base) != NAME_DIGITS or not base.isdigit():
            continue
        if dot + suffix == LOG:
            segment = Segment(disk, store.cache, directory, int(base), created_ms=now)
            segment.has_aborted = base + TRANSACTION_INDEX in known
            segments.append(segment)
        elif dot + suffix == SNAPSHOT:
            snapshots.append(int(base))
    epochs = _read_epochs(disk, directory) if LEADER_EPOCHS in known else None
    state = LogState(log_start_offset=log_start_offset)
    return Loaded(disk, state, segments, epochs, snapshots, epochs_kept=LEADER_EPOCHS in known)


def _read_epochs(disk: Disk, directory: str) -> list[LeaderEpoch] | None:
    path = f"{directory}/{LEADER_EPOCHS}"
    try:
        return read_text(disk, path, decode_leader_epochs)
    except CorruptLog as error:  # with durability=process it is not synced; the batches say the same
        log.warning("recovery.leader_epochs_rebuilt file=%s why=%s", path, error)
        return None


def _leader_epochs(epochs: list[LeaderEpoch], segments: Sequence[Segment]) -> list[LeaderEpoch]:
    for segment in segments:
        for header, _ in segment.walk(0, segment.size):
            note_epoch(epochs, header)
    return epochs


def note_epoch(epochs: list[LeaderEpoch], header: BatchHeader) -> None:
    if not epochs or header.leader_epoch > epochs[-1].leader_epoch:
        epochs.append(LeaderEpoch(header.leader_epoch, header.base_offset))


def _producers(store: Store, found: Loaded, end: int, log_start_offset: int) -> LogState:
    """From the newest readable snapshot at or below `end` (REC-4); none means from the first segment on.

    Kafka leaves out the one at the log start, and so forgets who wrote only what retention has deleted. Then two starts
    may disagree about an open transaction, and the last stable offset goes back.
    """
    directory, disk = found.segments[0].directory, found.disk
    first = found.segments[0].base_offset
    entries: list[SnapshotEntry] = []
    offset = first
    for each in sorted([each for each in found.snapshots if first <= each <= end], reverse=True):
        data = read_file(disk, f"{directory}/{file_name(each, SNAPSHOT)}")
        try:
            entries = decode_snapshot(data or b"")
        except CorruptLog as error:
            disk.then(
                partial(
                    log.warning,
                    "recovery.snapshot_dropped directory=%s offset=%d why=%s",
                    directory,
                    each,
                    error,
                )
            )
            _drop_snapshot(directory, found, each)
        else:
            offset = each
            break
    state = from_snapshot(
        entries,
        log_start_offset=min(log_start_offset, offset),
        snapshot_offset=offset,
        now=store.clock.wall_ms(),
        expiration_ms=store.config.producer_id_expiration_ms,
    )
    caches = read_file(disk, f"{directory}/{file_name(offset, BATCHES)}") if entries else None
    if caches is not None:
        try:
            restore_caches(state, caches)
        except CorruptLog as error:
            log.warning("recovery.caches_ignored directory=%s offset=%d why=%s", directory, offset, error)
    return state


def _drop_snapshot(directory: str, found: Loaded, offset: int) -> None:
    remove_snapshot(found.disk, directory, offset)
    found.snapshots.remove(offset)
    found.changed = True


def _check_first(segments: Sequence[Segment], log_start_offset: int) -> None:
    """The log start is durable before a segment goes, so the first one that is left is not above it."""
    if segments[0].base_offset > log_start_offset:
        raise CorruptLog(
            f"{segments[0].path(LOG)} is the first segment, wanted one with the log start offset {log_start_offset}"
        )


def _in_order(segment: Segment, position: int) -> Iterator[tuple[BatchHeader, int]]:
    """The headers from a position on, with theirs; refuses offsets that go back. Gaps are the cleaner's."""
    wanted = segment.base_offset
    for header, at in segment.walk(position, segment.size):
        if header.base_offset < wanted or header.last_offset_delta < 0:
            segment.refuse(at, f"offsets {header.base_offset}..{header.last_offset}, wanted {wanted} or more")
        wanted = header.next_offset
        yield header, at


def _replay(state: LogState, segments: Sequence[Segment], end: int) -> None:
    """Evolves over the batches from the state's log end to `end`. What was compacted away behind the last is skipped."""
    start = state.log_end_offset
    for at, segment in enumerate(segments):
        if segment.base_offset >= end or (at + 1 < len(segments) and segments[at + 1].base_offset <= start):
            continue
        place = segment.find(start)
        if place is None:
            continue
        for header, position in _in_order(segment, place.position):
            marker = read_marker(segment.log.read(position, header.size)) if header.is_control else None
            evolve(state, header, base_offset=header.base_offset, marker=marker)
    state.log_end_offset = end


def _finish(found: Loaded, log_start_offset: int) -> None:
    """All that is in the log is below the high watermark: there is no other replica to ask (REC-3)."""
    state, segments = found.state, found.segments
    advance_high_watermark(state, state.log_end_offset)
    start = max(log_start_offset, segments[0].base_offset if segments else log_start_offset)
    if start > state.log_end_offset:
        # Deleted before it was durable, with durability=process and a power cut: nothing of it may come back.
        for segment in segments:
            segment.remove()
        segments.clear()
        found.unsynced.clear()
        found.closed.clear()
        found.changed = True
    raise_log_start(state, start)
    epochs = _leader_epochs([], segments) if found.epochs is None else found.epochs
    found.epochs = [epoch for epoch in epochs if epoch.start_offset < state.log_end_offset]
