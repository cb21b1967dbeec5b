"""Where the records of many batches begin, without a step of Python per record.

A record says its length and nothing says where the next one is, so a walk goes from record to record. It is made wide: many
lanes walk at once, one numpy step for one record of each. Every batch begins a lane, and large batches get more of them by
guessing: every so many records we look for bytes that read like three records with consecutive offsets. Large batches whose records
are of one size need no walk: equal lengths stand at equal distances.
None of this need be right, for the result is proved: each record must end where the next begins, the last where its batch ends, and
there must be as many as the batch says. A batch whose proof fails is walked again one record at a time, which is also who refuses it.
"""

from collections.abc import Iterator
from math import isqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from oncelog.errors import CorruptBatch
from oncelog.record.varint import read_varint

Plain = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

SHORTEST_LANE_RECORDS: Final = 16
STEP_COST: Final = (
    2500  # of one step, whatever the number of lanes; in the time that it takes to search a byte for a guess
)
WINDOW_COST: Final = 300  # of one guess, whatever the size of its window
BLOCK_STEPS: Final = 16
FEWEST_LANES: Final = 24  # with fewer a plain loop is as fast
FEWEST_RECORDS: Final = 192
FEWEST_RECORDS_FOR_RUNS: Final = 512
SHORTEST_RUN: Final = 48
LARGEST_MEAN_BYTES: Final = (
    4096  # beyond it the walk is nothing beside the copy, and lengths may need three bytes
)
SMALLEST_RECORD_BYTES: Final = 7  # a byte each: length, attributes, two deltas, two sizes, a header count

_STOP: Final = np.uint64(0x8080808080808080)
_GROUP: Final = np.uint64(0x7F)
_FAR: Final = 1 << 40


def _jumps() -> Positions:
    """By the first two bytes of a record: how far it is to the next one. Far out of reach for lengths of three bytes or more,
    and for those below zero.
    """
    pairs = np.arange(1 << 16)
    low, high = pairs & 0xFF, pairs >> 8
    short = low < 0x80
    length = np.where(short, low, low & 0x7F | high << 7)
    usable = (length & 1 == 0) & (short | (high < 0x80))
    return np.where(usable, np.where(short, 1, 2) + (length >> 1), _FAR)


JUMPS: Final = _jumps()


class Reader:
    """Numbers at many positions of one stretch of bytes at once."""

    def __init__(self, plain: Plain) -> None:
        if plain.size < 8:
            plain = np.concatenate((plain, np.zeros(8 - plain.size, np.uint8)))
        self.plain = plain
        self._pairs = np.ndarray((plain.size - 1,), "<u2", plain, strides=(1,))
        self._words = np.ndarray((plain.size - 7,), "<u8", plain, strides=(1,))

    def jumps(self, at: Positions) -> Positions:
        """How far it is to the next record, if one begins there. Anything at the last byte or behind it."""
        return JUMPS[self._pairs[np.minimum(at, self._pairs.size - 1)]]

    def words(self, at: Positions) -> Words:
        """Eight bytes from each position on, the first of them lowest; zeros beyond the end."""
        last = self._words.size - 1
        words = self._words[np.minimum(at, last)]
        beyond = at - last
        if beyond.size and beyond.max() > 0:
            words = np.where(beyond > 7, 0, words >> (np.clip(beyond, 0, 7) << 3).astype(np.uint64))
        return words

    def varints(self, at: Positions) -> tuple[Positions, Positions | int]:
        """Zig-zag numbers and how many bytes each takes; 9 for those that do not end within eight bytes."""
        first = self.plain[np.minimum(at, self.plain.size - 1)]
        if not first.size or first.max() < 0x80:
            return _unzigzag(first.astype(np.int64)), 1
        words = self.words(at)
        stop = ~words & _STOP
        stop &= -stop  # the lowest: the top bit of the number's last byte
        longest = int(stop.max())
        words &= stop - np.uint64(1)
        value = words & _GROUP
        size = np.ones(at.shape, np.int64)
        for group in range(1, (longest.bit_length() >> 3)):
            size += stop > np.uint64(1 << 8 * group - 1)
            value |= (words & _GROUP << np.uint64(8 * group)) >> np.uint64(group)
        size[stop == 0] = 9
        return _unzigzag(value.view(np.int64)), size

    def varint_sizes(self, at: Positions) -> Positions | int:
        """How many bytes each number takes."""
        first = self.plain[at]
        if first.max() < 0x80:
            return 1
        second = self.plain[np.minimum(at + 1, self.plain.size - 1)]
        if (first & second).max() < 0x80:
            return 1 + (first >> 7).astype(np.int64)
        return self.varints(at)[1]

    def begin_like_records(self, at: Positions) -> npt.NDArray[np.bool_]:
        """Whether a length of one or two bytes stands there, and attributes without a bit after it."""
        first = self.plain[at]
        attributes = self.plain[at + 1 + (first >> 7)]
        return (first & 1 == 0) & (attributes == 0)

    def offset_deltas(self, at: Positions) -> Positions:
        """Of records that begin there."""
        at = at + 2 + (self.plain[at] >> 7)
        _, taken = self.varints(at)
        return self.varints(at + taken)[0]


def _unzigzag(value: Positions) -> Positions:
    return value >> 1 ^ -(value & 1)


def record_bounds(
    reader: Reader, begins: Positions, ends: Positions, counts: Positions
) -> tuple[Positions, Positions]:
    """From where to where each record goes. Batch i has `counts[i]` records, from `begins[i]` to `ends[i]`; batches stand in
    order. CorruptBatch unless the records fill their batch exactly.
    """
    many = int(counts.sum())
    if many < FEWEST_RECORDS or int((ends - begins).sum()) > many * LARGEST_MEAN_BYTES:
        starts = np.empty(0, np.int64)
    else:
        starts = _guessed(reader, begins, ends, counts)
    failed = _unproved(reader, starts, begins, ends, counts)
    if failed.size:
        low, high = np.searchsorted(starts, begins).tolist(), np.searchsorted(starts, ends).tolist()
        pieces = [starts[at:to] for at, to in zip(low, high, strict=True)]
        for batch in failed.tolist():
            payload = reader.plain[begins[batch] : ends[batch]].tobytes()
            pieces[batch] = _one_by_one(payload, int(counts[batch])) + begins[batch]
        starts = np.concatenate(pieces)
    stops = np.append(starts[1:], 0)
    stops[np.cumsum(counts) - 1] = ends
    return starts, stops


def _guessed(reader: Reader, begins: Positions, ends: Positions, counts: Positions) -> Positions:
    """Starts that may be wrong: of large batches by runs if that goes well, of all others by lanes."""
    pieces: list[Positions] = []
    rest = counts < FEWEST_RECORDS_FOR_RUNS
    for batch in np.flatnonzero(~rest).tolist():
        found = _runs(reader.plain, int(begins[batch]), int(ends[batch]))
        if found is None:
            rest[batch] = True
        else:
            pieces.append(found)
    if rest.any():
        pieces.append(_walk(reader, *_lanes(reader, begins[rest], ends[rest], counts[rest])))
    return np.sort(np.concatenate(pieces), kind="stable") if len(pieces) > 1 else pieces[0]


def _runs(plain: Plain, at: int, end: int) -> Positions | None:
    """Starts of a batch whose records are of one size, but for the places where a delta grows by a byte: the next length stands where
    the last one leads, and is the same. None as soon as sizes change more often.
    """
    runs: list[Positions] = []
    while at < end - 1:
        low, high = plain[at : at + 2].tolist()
        size = int(JUMPS[low | high << 8])
        most = (end - at) // size
        run = _same(plain[at:end:size], low, most)
        if low >= 0x80:
            run = _same(plain[at + 1 : end : size], high, run)
        if run < SHORTEST_RUN and at + run * size < end:
            return None
        runs.append(np.arange(at, at + run * size, size))
        at += run * size
    return np.concatenate(runs)


def _same(column: Plain, byte: int, most: int) -> int:
    """How many of the first `most` bytes are this one, without looking at all of them if the first few are not."""
    for some in (column[: min(SHORTEST_RUN, most)], column[:most]):
        same = some == byte
        if not same.all():
            return int(same.argmin())
    return most


def _unproved(
    reader: Reader, starts: Positions, begins: Positions, ends: Positions, counts: Positions
) -> Positions:
    """The batches for which these are not the starts: the first is where the batch begins, each record ends where the next
    begins or the batch ends, and there are as many as the batch has.
    """
    low, high = np.searchsorted(starts, begins), np.searchsorted(starts, ends)
    failed = high - low != counts
    if starts.size:
        failed |= starts[np.minimum(low, starts.size - 1)] != begins
        stops = np.append(starts[1:], 0)
        stops[high[high > low] - 1] = ends[high > low]
        wrong = starts[starts + reader.jumps(starts) != stops]
        failed[np.searchsorted(begins, wrong, side="right") - 1] = True
    return np.flatnonzero(failed)


def _lanes(
    reader: Reader, begins: Positions, ends: Positions, counts: Positions
) -> tuple[Positions, Positions]:
    """From where to where each lane walks. A step of all lanes costs something even if there are few of them, a guess takes time
    by the size of its window: the most lanes that are worth it grow with the square root of the number of records.
    """
    many = int(counts.sum())
    window = int((ends - begins).sum()) * 3 // (2 * many) + 16
    every = max(SHORTEST_LANE_RECORDS, isqrt(many * (window + WINDOW_COST) // STEP_COST))
    more = counts // every - 1
    np.maximum(more, 0, out=more)
    batch = np.repeat(np.arange(counts.size), more)
    ordinal = np.arange(1, batch.size + 1) - np.repeat(np.cumsum(more) - more, more)
    marks = begins[batch] + (ends - begins)[batch] * ordinal // (more[batch] + 1)
    inside = marks + window <= ends[batch]
    batch, marks = batch[inside], marks[inside]
    delta = (
        counts[batch] * ordinal[inside] // (more[batch] + 1)
    )  # of a record at this mark, if all were of one size
    guesses = _guesses(reader, marks, ends[batch], delta, counts[batch] // 4 + every, window)
    lanes = np.sort(np.concatenate((begins, guesses)))
    limits = np.append(lanes[1:], ends[-1])
    np.minimum(limits, ends[np.searchsorted(begins, lanes, side="right") - 1], out=limits)
    return lanes, limits


def _guesses(
    reader: Reader, marks: Positions, ends: Positions, deltas: Positions, slack: Positions, window: int
) -> Positions:
    """For each mark the first place after it where a record seems to begin, if there is one within `window` bytes: with an
    offset delta near the one that is expected there, and followed by records with the next two.
    """
    if not marks.size:
        return marks
    plain = reader.plain
    row = np.dtype((np.void, window))
    seen = np.ndarray((plain.size - window + 1,), row, plain, strides=(1,))[marks].view(np.uint8)
    kind = seen[:-2] & 0x81  # even: a length below zero is none
    zero = seen == 0  # attributes
    likely = kind == 0x80
    likely &= seen[1:-1] < 0x80
    likely &= zero[2:]
    likely |= (kind == 0) & zero[1:-1] & (seen[:-2] >= 2 * SMALLEST_RECORD_BYTES - 2)
    lane, column = np.divmod(np.flatnonzero(likely), window)
    at = marks[lane] + column
    end = ends[lane] - SMALLEST_RECORD_BYTES
    second = at + reader.jumps(at)
    right = np.flatnonzero(second <= end)
    right = right[reader.begin_like_records(second[right])]
    third = second + reader.jumps(second)
    right = right[third[right] <= end[right]]
    lane, at, second, third = lane[right], at[right], second[right], third[right]
    delta = reader.offset_deltas(at)
    right = abs(delta - deltas[lane]) <= slack[lane]
    right &= delta + 1 == reader.offset_deltas(second)
    right &= delta + 2 == reader.offset_deltas(third)
    lane, at = lane[right], at[right]
    first = np.ones(at.shape, np.bool_)
    first[1:] = lane[1:] != lane[:-1]
    return at[first]


def _walk(reader: Reader, lanes: Positions, limits: Positions) -> Positions:
    """Every position that a lane comes to before its limit."""
    seen: list[Positions] = []
    while lanes.size >= FEWEST_LANES:
        block = np.empty((BLOCK_STEPS, lanes.size), np.int64)
        for step in block:
            step[:] = lanes
            lanes += reader.jumps(lanes)
        seen.append(block.T[(block < limits).T])
        going = lanes < limits
        lanes, limits = lanes[going], limits[going]
    for at, limit in zip(lanes.tolist(), limits.tolist(), strict=True):
        seen.append(np.fromiter(_hops(reader.plain[at:limit].tobytes()), np.int64) + at)
    return np.sort(np.concatenate(seen), kind="stable")  # a few sorted runs


def _hops(payload: bytes) -> Iterator[int]:
    """Where records begin, as far as lengths of one or two bytes lead."""
    at, end = 0, len(payload) - 1
    while at < end:
        yield at
        low, high = payload[at], payload[at + 1]
        if low < 0x80:
            length, at = low, at + 1
        else:
            length, at = low & 0x7F | high << 7, at + 2
        if length & 1 or length > 0x3FFF:
            return
        at += length >> 1


def _one_by_one(payload: bytes, count: int) -> Positions:
    """Where `count` records begin that fill the payload exactly."""
    starts: list[int] = []
    at, end = 0, len(payload)
    for index in range(count):
        starts.append(at)
        low, high = payload[at : at + 2] if at + 2 <= end else b"\xff\xff"
        if low < 0x80:
            size, body = (low >> 1) ^ -(low & 1), at + 1
        elif high < 0x80:
            twice = low & 0x7F | high << 7
            size, body = (twice >> 1) ^ -(twice & 1), at + 2
        else:
            size, body = read_varint(payload, at)
        if size < 0 or body + size > end:
            raise CorruptBatch(f"record {index} at byte {at} has {size} bytes, {end - body} are left")
        at = body + size
    if at != end:
        raise CorruptBatch(f"{end - at} bytes follow the last of {count} records")
    return np.array(starts, np.int64)
