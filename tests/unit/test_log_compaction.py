"""What compaction keeps and what it drops (spec 6.4, RC-9, B41 to B46), and what retention deletes (R8)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest

from oncelog.config import MAX_LONG
from oncelog.log.aborted import aborted_in
from oncelog.log.compaction import (
    MAP_ENTRY_BYTES,
    CleanRange,
    LastRecord,
    Round,
    choose_range,
    group_segments,
    last_records,
)
from oncelog.log.retention import SegmentInfo, expired_segments
from oncelog.log.state import LogState, advance_high_watermark, evolve, to_snapshot
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import (
    CONTROL,
    DELETE_HORIZON,
    HEADER_BYTES,
    TRANSACTIONAL,
    NewRecord,
    batches,
    build_batch,
    check_crc,
    read_header,
    records_of,
)
from oncelog.record.marker import Marker, encode_marker, read_marker

DAY: Final = 86_400_000
NO_PRODUCERS: Final[dict[int, LastRecord]] = {}


@dataclass
class Log:
    """Batches as bytes, the state that appending gave, and the aborted index."""

    data: list[bytes] = field(default_factory=list[bytes])
    state: LogState = field(default_factory=LogState)
    aborted: list[AbortedEntry] = field(default_factory=list[AbortedEntry])
    sequences: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def put(
        self,
        *pairs: tuple[bytes | None, bytes | None],
        producer: int = -1,
        epoch: int = 0,
        transactional: bool = False,
        codec: int = 0,
        timestamp: int = 1_000,
    ) -> None:
        sequence = self.sequences.get((producer, epoch), 0)
        self.sequences[producer, epoch] = sequence + len(pairs)
        self.add(
            build_batch(
                [NewRecord(key, value, timestamp) for key, value in pairs],
                base_offset=self.state.log_end_offset,
                codec=codec,
                producer_id=producer,
                producer_epoch=epoch if producer >= 0 else -1,
                base_sequence=sequence if producer >= 0 else -1,
                transactional=transactional,
            )
        )

    def end(self, producer: int, *, commit: bool, epoch: int = 0, timestamp: int = 1_000) -> None:
        self.add(
            encode_marker(
                base_offset=self.state.log_end_offset,
                leader_epoch=0,
                timestamp=timestamp,
                producer_id=producer,
                producer_epoch=epoch,
                coordinator_epoch=0,
                commit=commit,
            )
        )

    def add(self, batch: bytes) -> None:
        header = read_header(batch)
        marker = read_marker(batch) if header.attributes & CONTROL else None
        done = evolve(self.state, header, base_offset=header.base_offset, marker=marker)
        advance_high_watermark(self.state, self.state.log_end_offset)
        if done is not None and done.aborted:
            self.aborted.append(
                AbortedEntry(done.producer_id, done.first_offset, done.last_offset, done.last_stable_offset)
            )
        self.data.append(batch)

    def clean(
        self,
        now: int = 10_000,
        *,
        first_dirty: int = 0,
        producers: dict[int, LastRecord] | None = None,
        map_limit_bytes: int = 1 << 20,
        until: int | None = None,
        retention_ms: int = DAY,
        tombstones_stay_from: int = MAX_LONG,
    ) -> "Log":
        """The log after a round over its first `until` batches; the rest stays as it is."""
        round_ = Round(
            first_dirty_offset=first_dirty,
            aborted=self.aborted,
            producers=last_records(self.state) if producers is None else producers,
            now=now,
            delete_retention_ms=retention_ms,
            map_limit_bytes=map_limit_bytes,
            tombstones_stay_from=tombstones_stay_from,
        )
        todo = self.data if until is None else self.data[:until]
        for batch in todo:
            header = read_header(batch)
            if header.last_offset >= first_dirty and not round_.learn(batch, header):
                break
        after = Log()
        end = read_header(todo[-1]).last_offset if todo else -1
        for batch in todo:
            kept = round_.clean(batch, read_header(batch))
            if kept.data is not None:
                after.data.append(bytes(kept.data))
            if kept.aborted is not None:
                after.aborted.append(kept.aborted)
        after.aborted += [entry for entry in self.aborted if entry.last_offset > end]
        after.data += self.data[len(todo) :]
        after.state = self.state
        after.end_offset = round_.end_offset
        return after

    end_offset: int = 0


def committed(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    """What a read_committed consumer is given: the filter of spec 6.1."""
    waiting = sorted((first, producer) for producer, first in aborted_in(log.aborted, 0, 1 << 60))
    aborted: set[int] = set()
    seen: list[tuple[int, bytes | None, bytes | None]] = []
    for batch in log.data:
        header = read_header(batch)
        while waiting and waiting[0][0] <= header.last_offset:
            aborted.add(waiting.pop(0)[1])
        if header.attributes & CONTROL:
            if read_marker(batch) == Marker(False, 0):
                aborted.discard(header.producer_id)
        elif not (header.attributes & TRANSACTIONAL and header.producer_id in aborted):
            seen += [(record.offset, record.key, record.value) for record in records_of(batch)]
    return seen


def offsets(log: Log) -> list[int]:
    """Of all records that are left, markers too."""
    return [record.offset for batch in log.data for record in records_of(batch)]


def headers(log: Log) -> list[tuple[int, int]]:
    """(last offset, records) of what is left."""
    return [(header.last_offset, header.count) for header in map(read_header, log.data)]


@pytest.mark.parametrize("codec", range(5))
def test_the_last_value_of_each_key_stays_at_its_offset(codec: int) -> None:
    log = Log()
    log.put((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), codec=codec)
    log.put((b"c", b"1"), (b"b", b"2"), codec=codec)
    log.put((b"b", b"3"), codec=codec)
    after = log.clean()
    assert committed(after) == [(2, b"a", b"2"), (3, b"c", b"1"), (5, b"b", b"3")]
    assert headers(after) == [(2, 1), (4, 1), (5, 1)]  # RC-5: last offsets stay
    for batch in after.data:
        header = read_header(batch)
        assert check_crc(batch, header)
        assert header.codec == codec
    assert after.end_offset == 6


def test_a_batch_that_keeps_all_its_records_is_not_touched() -> None:
    log = Log()
    log.put((b"a", b"1"), (b"b", b"1"))
    log.put((b"c", b"1"))
    assert log.clean().data == log.data


def test_records_without_a_key_go() -> None:
    log = Log()
    log.put((None, b"1"), (b"b", b"1"))
    assert committed(log.clean()) == [(1, b"b", b"1")]


def test_long_keys_are_told_apart() -> None:
    log = Log()
    log.put((b"x" * 100 + b"1", b"1"), (b"x" * 100 + b"2", b"1"), (b"x" * 16, b"1"), (b"x" * 15, b"1"))
    log.put((b"x" * 100 + b"1", b"2"))
    assert [offset for offset, _, _ in committed(log.clean())] == [1, 2, 3, 4]


def test_the_max_timestamp_follows_what_is_left() -> None:
    log = Log()
    log.add(build_batch([NewRecord(b"a", b"", 9_000), NewRecord(b"b", b"", 4_000)]))
    log.put((b"a", b"2"))
    assert read_header(log.clean().data[0]).max_timestamp == 4_000


def test_b46_a_tombstone_stays_for_its_time_and_then_goes() -> None:
    log = Log()
    log.put((b"a", b"1"))
    log.put((b"a", None), (b"b", b"1"))
    log.put((b"c", b"1"))
    first = log.clean(now=10_000)
    assert committed(first) == [(1, b"a", None), (2, b"b", b"1"), (3, b"c", b"1")]
    header = read_header(first.data[0])
    assert header.attributes & DELETE_HORIZON
    assert header.base_timestamp == 10_000 + DAY
    assert [record.timestamp for record in records_of(first.data[0])] == [1_000, 1_000]
    assert header.max_timestamp == 1_000
    early = first.clean(now=10_000 + DAY - 1, first_dirty=4)
    assert early.data == first.data  # the horizon is set once
    late = early.clean(now=10_000 + DAY, first_dirty=4)
    assert committed(late) == [(2, b"b", b"1"), (3, b"c", b"1")]


def test_a_tombstone_that_a_checkpoint_does_not_know_stays_whatever_its_age() -> None:
    log = Log()
    log.put((b"a", None))
    log.put((b"b", None))
    log.put((b"c", b"1"))
    aged = log.clean(now=10_000)
    late = aged.clean(now=10_000 + DAY, first_dirty=3, tombstones_stay_from=1)
    assert committed(late) == [(1, b"b", None), (2, b"c", b"1")]


def test_b46_a_tombstone_that_a_newer_value_covers_goes_at_once() -> None:
    log = Log()
    log.put((b"a", None))
    log.put((b"a", b"2"))
    assert committed(log.clean()) == [(1, b"a", b"2")]


def test_aborted_data_goes_at_once_and_covers_nothing() -> None:
    log = Log()
    log.put((b"a", b"1"))
    log.put((b"a", b"aborted"), producer=7, transactional=True)
    log.end(7, commit=False)
    log.put((b"z", b"1"))
    after = log.clean(producers=NO_PRODUCERS)
    assert committed(after) == [(0, b"a", b"1"), (3, b"z", b"1")]
    assert offsets(after) == [0, 2, 3]  # the marker stays: data was seen in this round
    assert after.aborted == log.aborted


def test_b46_a_marker_goes_after_its_data_and_its_time() -> None:
    log = Log()
    log.put((b"a", b"aborted"), producer=7, transactional=True)
    log.end(7, commit=False)
    log.put((b"z", b"1"))
    log = log.clean(now=10_000, producers=NO_PRODUCERS)  # drops the data
    assert (offsets(log), len(log.aborted)) == ([1, 2], 1)
    log = log.clean(now=20_000, producers=NO_PRODUCERS, first_dirty=3)  # sees nothing of it: sets the horizon
    assert (offsets(log), log.aborted) == ([1, 2], [])
    header = read_header(log.data[0])
    assert (header.base_timestamp, header.max_timestamp) == (20_000 + DAY, 1_000)
    assert read_marker(log.data[0]) == Marker(False, 0)
    assert offsets(log.clean(now=20_000 + DAY - 1, producers=NO_PRODUCERS, first_dirty=3)) == [1, 2]
    log = log.clean(now=20_000 + DAY, producers=NO_PRODUCERS, first_dirty=3)
    assert offsets(log) == [2]


def test_a_commit_marker_stays_while_data_of_its_producer_is_left() -> None:
    log = Log()
    log.put((b"a", b"1"), (b"b", b"1"), producer=7, transactional=True)
    log.end(7, commit=True)
    log.put((b"a", b"2"))
    for now in (10_000, 10_000 + 2 * DAY, 10_000 + 4 * DAY):
        log = log.clean(now, producers=NO_PRODUCERS)
        assert offsets(log) == [1, 2, 3]
        assert not read_header(log.data[1]).attributes & DELETE_HORIZON
    log.put((b"b", b"2"))
    log = log.clean(producers=NO_PRODUCERS)
    assert offsets(log) == [2, 3, 4]
    log = log.clean(now=30_000, producers=NO_PRODUCERS)
    log = log.clean(now=30_000 + DAY, producers=NO_PRODUCERS)
    assert offsets(log) == [3, 4]


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_counts_only_the_data_since_the_marker_before(commit: bool) -> None:
    log = Log()
    log.put((b"a", b"1"), producer=7, transactional=True)
    log.end(7, commit=commit)
    log.end(7, commit=commit)
    log.put((b"z", b"1"))
    after = log.clean(producers=NO_PRODUCERS)
    markers = [header for header in map(read_header, after.data) if header.is_control]
    assert [bool(header.attributes & DELETE_HORIZON) for header in markers] == [False, True]


def test_an_index_entry_never_reaches_beyond_its_marker() -> None:
    """Even if the marker itself is lost: what came later was not part of the aborted transaction (J3)."""
    log = Log()
    log.put((b"a", b"aborted"), producer=7, transactional=True)
    log.end(7, commit=False)
    log.put((b"b", b"kept"), producer=7, transactional=True)
    log.end(7, commit=True)
    del log.data[1]
    assert committed(Log(log.clean().data)) == [(2, b"b", b"kept")]


def test_b41_a_transaction_over_three_segments() -> None:
    """The round goes over all segments with one memory, so the marker in the third knows the data of the first."""
    for commit in (True, False):
        log = Log()
        log.put((b"a", b"1"), producer=7, transactional=True)
        log.put((b"x", b"1"))
        log.put((b"b", b"1"), producer=7, transactional=True)
        log.put((b"x", b"2"))
        log.end(7, commit=commit)
        log.put((b"y", b"2"))
        after = log.clean(now=10_000).clean(now=10_000 + 3 * DAY).clean(now=10_000 + 6 * DAY)
        assert 4 in offsets(after)
        wanted = [(0, b"a", b"1"), (2, b"b", b"1"), (3, b"x", b"2"), (5, b"y", b"2")]
        assert committed(after) == (wanted if commit else wanted[2:])


def test_b42_the_map_is_full_in_the_middle() -> None:
    log = Log()
    log.put((b"a", b"1"))
    log.put((b"b", b"aborted"), producer=7, transactional=True)
    log.put((b"c", b"1"))
    log.put((b"d", b"aborted"), producer=7, transactional=True)
    log.put((b"a", b"2"))
    log.end(7, commit=False)
    log.put((b"e", b"1"))
    after = log.clean(map_limit_bytes=2 * MAP_ENTRY_BYTES)
    assert after.end_offset == 4  # a and c were learned, the second a was not taken
    assert committed(after) == [(0, b"a", b"1"), (2, b"c", b"1"), (4, b"a", b"2"), (6, b"e", b"1")]
    assert after.aborted == log.aborted
    rest = after.clean(first_dirty=after.end_offset)
    assert committed(rest) == [(2, b"c", b"1"), (4, b"a", b"2"), (6, b"e", b"1")]


def test_a_batch_with_more_keys_than_the_map_holds_is_still_cleaned() -> None:
    log = Log()
    log.put((b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    log.put((b"b", b"2"))
    after = log.clean(map_limit_bytes=1)
    assert after.end_offset == 3
    assert [offset for offset, _, _ in committed(after)] == [1, 2, 3]


@pytest.mark.parametrize("key", [b"\0\0\0\0", b"\0\0\0\1"])
def test_b43_a_user_key_like_a_markers_key(key: bytes) -> None:
    log = Log()
    log.put((b"a", b"1"), producer=7, transactional=True)
    log.end(7, commit=False)
    log.put((b"b", b"1"), producer=8, transactional=True)
    log.end(8, commit=True)
    log.put((key, b"user"))
    after = log.clean(producers=NO_PRODUCERS)
    assert offsets(after) == [1, 2, 3, 4]
    assert committed(after) == [(2, b"b", b"1"), (4, key, b"user")]
    log.put((b"a", b"x"), producer=8, transactional=True)
    log.end(8, commit=True)
    assert (4, key, b"user") in committed(log.clean(producers=NO_PRODUCERS))


def test_b44_the_last_batch_of_a_producer_stays_as_a_header() -> None:
    log = Log()
    log.put((b"a", b"1"), (b"b", b"1"), producer=7)
    log.put((b"a", b"2"), (b"b", b"2"), producer=8)
    log.put((b"a", b"3"), (b"b", b"3"))
    after = log.clean()
    assert headers(after) == [(1, 0), (3, 0), (5, 2)]
    assert len(after.data[0]) == HEADER_BYTES
    header = read_header(after.data[0])
    assert check_crc(after.data[0], header)
    assert (header.base_timestamp, header.max_timestamp, header.count) == (-1, 1_000, 0)
    assert (header.base_offset, header.last_sequence, header.producer_id) == (0, 1, 7)
    assert after.clean().data == after.data
    replayed = Log()
    for batch in after.data:
        replayed.add(batch)
    assert to_snapshot(replayed.state) == to_snapshot(log.state)
    assert headers(after.clean(producers=NO_PRODUCERS)) == [(5, 2)]  # expired: not kept for ever


def test_b44_an_aborted_last_batch_keeps_header_marker_and_index_entry() -> None:
    log = Log()
    log.put((b"a", b"1"), producer=7, transactional=True)
    log.end(7, commit=False)
    log.put((b"z", b"1"))
    after = log.clean(10_000).clean(10_000 + 2 * DAY).clean(10_000 + 4 * DAY)
    assert headers(after) == [(0, 0), (1, 1), (2, 1)]
    assert after.aborted == log.aborted
    assert committed(after) == [(2, b"z", b"1")]


def test_a_marker_that_alone_tells_a_producers_epoch_stays() -> None:
    log = Log()
    log.put((b"a", b"1"), producer=7, transactional=True)
    log.end(7, commit=True, epoch=1)  # TV2: clears the cache
    log.put((b"a", b"2"))
    after = log.clean(10_000).clean(20_000).clean(20_000 + 2 * DAY)
    assert headers(after) == [(1, 1), (2, 1)]
    replayed = Log()
    for batch in after.data:
        replayed.add(batch)
    assert replayed.state.producers[7].epoch == 1
    assert headers(after.clean(20_000 + 2 * DAY, producers=NO_PRODUCERS)) == [(2, 1)]


def test_the_last_batch_of_the_round_stays_as_a_header() -> None:
    """Else the log would end below the cleaned offset (B24)."""
    log = Log()
    log.put((b"a", b"1"))
    log.put((b"a", b"aborted"), producer=7, transactional=True)
    log.end(7, commit=False)
    log.put((b"a", None))
    after = log.clean(10_000, producers=NO_PRODUCERS).clean(10_000 + 3 * DAY, producers=NO_PRODUCERS)
    after = after.clean(10_000 + 6 * DAY, producers=NO_PRODUCERS)
    assert headers(after) == [(3, 0)]


def test_data_above_the_learned_range_stays_whole() -> None:
    log = Log()
    log.put((b"a", b"1"), (None, b"1"))
    log.put((b"a", b"2"), (None, b"2"))
    after = log.clean(until=1)
    assert headers(after) == [(1, 1), (3, 2)]


def test_what_the_map_did_not_learn_stays_whole() -> None:
    log = Log()
    log.put((b"a", b"1"), (None, b"1"))
    log.put((b"b", b"1"), (None, b"2"), (b"c", b"1"))
    after = log.clean(map_limit_bytes=2 * MAP_ENTRY_BYTES)
    assert after.end_offset == 2
    assert [offset for offset, _, _ in committed(after)] == [0, 2, 3, 4]


def test_a_dirty_offset_inside_a_batch() -> None:
    log = Log()
    log.put((b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    after = log.clean(first_dirty=2)
    assert [offset for offset, _, _ in committed(after)] == [1, 2]


def test_a_time_long_ago_leaves_no_room_for_a_horizon() -> None:
    log = Log()
    log.put((b"a", None), timestamp=-(2**63) + 5)
    log.put((b"b", b"1"))
    assert log.clean(now=2**40).data == log.data


# choose_range: segments as base-next/bytes/largest time, the last one active
def segments(*texts: str) -> list[SegmentInfo]:
    found: list[SegmentInfo] = []
    for text in texts:
        span, size, time = text.split("/")
        base, after = map(int, span.split("-"))
        found.append(SegmentInfo(base, after, int(size), int(time), 5_000, int(time)))
    return found


LOG: Final = segments("0-10/100/1000", "10-20/100/2000", "20-30/300/3000", "30-35/50/4000")


def chosen(
    log: Sequence[SegmentInfo] = LOG,
    *,
    dirty: int = 0,
    lso: int = 35,
    now: int = 10_000,
    lag: int = 0,
    max_lag: int = 2**62,
    ratio: float = 0.5,
) -> CleanRange | None:
    return choose_range(
        log,
        first_dirty_offset=dirty,
        last_stable_offset=lso,
        now=now,
        min_compaction_lag_ms=lag,
        max_compaction_lag_ms=max_lag,
        min_cleanable_dirty_ratio=ratio,
    )


def test_rc_9_the_range_ends_at_the_active_segment_or_the_lso() -> None:
    assert chosen() == CleanRange(0, 30, 1.0, must_clean=False)
    assert chosen(lso=29) == CleanRange(0, 20, 1.0, must_clean=False)
    assert chosen(lso=20) == CleanRange(0, 20, 1.0, must_clean=False)
    assert chosen(lso=9) is None
    assert chosen(LOG[-1:]) is None
    assert chosen([]) is None


def test_min_compaction_lag_holds_back_what_is_young() -> None:
    assert chosen(lag=7_000) == CleanRange(0, 30, 1.0, must_clean=False)
    assert chosen(lag=7_001) == CleanRange(0, 20, 1.0, must_clean=False)
    assert chosen(lag=9_001) is None
    assert chosen(lag=9_001, dirty=10) is None
    assert chosen(dirty=10, lag=8_000, ratio=0.1) == CleanRange(10, 20, 0.5, must_clean=False)


def test_the_dirty_ratio_must_be_exceeded() -> None:
    assert chosen(dirty=20) == CleanRange(20, 30, 0.6, must_clean=False)
    assert chosen(dirty=20, ratio=0.6) is None
    assert chosen(dirty=30) is None
    assert chosen(dirty=25, ratio=0.6) is None
    assert chosen(dirty=25, ratio=0.5) == CleanRange(25, 30, 0.6, must_clean=False)


def test_max_compaction_lag_forces_a_round() -> None:
    assert chosen(dirty=20, ratio=0.9, max_lag=6_999) == CleanRange(20, 30, 0.6, must_clean=True)
    assert chosen(dirty=20, ratio=0.9, max_lag=7_000) is None


def test_a_log_start_above_the_checkpoint_counts() -> None:
    assert chosen(LOG[1:], dirty=0) == CleanRange(10, 30, 1.0, must_clean=False)


def test_group_segments() -> None:
    def grouped(limit: int, end: int = 30) -> list[list[int]]:
        groups = group_segments(LOG, end_offset=end, segment_bytes=limit)
        return [[segment.base_offset for segment in group] for group in groups]

    assert grouped(500) == [[0, 10, 20]]
    assert grouped(499) == [[0, 10], [20]]
    assert grouped(100) == [[0], [10], [20]]
    assert grouped(1) == [[0], [10], [20]]
    assert grouped(500, end=15) == [[0, 10]]
    far = segments("0-10/1/1", f"{2**31 - 5}-{2**31}/1/1", f"{2**31}-{2**31 + 1}/1/1")
    assert [len(group) for group in group_segments(far, end_offset=2**40, segment_bytes=100)] == [2, 1]


def expired(
    log: Iterable[SegmentInfo] = LOG,
    *,
    ms: int = -1,
    size: int = -1,
    hw: int = 35,
    start: int = 0,
    now: int = 10_000,
) -> int:
    return expired_segments(
        list(log), now=now, retention_ms=ms, retention_bytes=size, high_watermark=hw, log_start_offset=start
    )


def test_retention_by_time() -> None:
    assert [expired(ms=ms) for ms in (9_000, 8_999, 7_999, 6_999, 0)] == [
        0,
        1,
        2,
        3,
        3,
    ]  # never the active one
    assert expired(ms=-1) == 0


def test_retention_by_size_keeps_at_least_that_much() -> None:
    """550 bytes in all: a segment goes only if what stays is still as large as the limit."""
    assert [expired(size=size) for size in (551, 550, 451, 450, 350, 349, 50, 0)] == [0, 0, 0, 1, 2, 2, 3, 3]


def test_r8_retention_stops_at_the_high_watermark() -> None:
    assert [expired(size=0, hw=hw) for hw in (9, 10, 29, 30)] == [0, 1, 2, 3]


def test_retention_of_what_lies_below_the_log_start() -> None:
    assert [expired(start=start) for start in (9, 10, 20, 34)] == [0, 1, 2, 3]


def test_retention_without_timestamps_goes_by_the_files_age() -> None:
    log = segments("0-10/100/-1", "10-20/100/-1")
    assert [expired(log, ms=ms) for ms in (5_000, 4_999)] == [0, 1]


def test_retention_stops_at_the_first_young_segment() -> None:
    log = segments("0-10/100/9000", "10-20/100/1000", "20-30/1/1")
    assert expired(log, ms=5_000) == 0


def test_the_cleaned_stretch_reads_as_batches() -> None:
    log = Log()
    log.put((b"a", b"1"), producer=7)
    log.put((b"a", b"2"))
    stretch = b"".join(log.clean().data)
    assert [header.count for _, header in batches(stretch)] == [0, 1]
