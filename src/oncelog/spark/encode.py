"""From Arrow columns to sealed record batches, whole columns at a time (docs/decisions/0013-columnar-records.md).

The size of every field of every record is computed first, so it is known where each batch ends and where each number stands; then
the numbers of all records are written by a few numpy operations, and Arrow joins them with the keys and values, record by record,
into one stretch of memory that holds all batches, with room for their headers. These are filled in there, and a batch that is not
compressed is a view of that stretch. The result is what record/batch.py builds, byte for byte.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast

import google_crc32c
import numpy as np
import numpy.typing as npt

from oncelog.client.faults import ClientFault
from oncelog.model import Producer
from oncelog.record.batch import (
    CRC_FROM,
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL,
    add_sequence,
)
from oncelog.record.compression import NAMES, compress
from oncelog.spark.arrow import Array, RecordBatch, pa, pc

CODECS: Final = {name: codec for codec, name in NAMES.items()}
COLUMNS: Final = ("key", "value", "headers", "timestamp")
CHUNK_BYTES: Final = 4 * 1024 * 1024  # of records made at once, unless a single one is larger
MAX_REQUEST_BYTES: Final = 1_048_576  # Kafka's default of max.request.size

_NOTHING: Final = pa.scalar(b"", pa.binary())
_NO_HEADERS: Final = pa.scalar(b"\0", pa.binary())
_PER_MILLI: Final = {"us": 1000, "ns": 1_000_000}

# It says nothing about its types. An array holds its bytes still, which is all it wants.
_extend_crc: Final = cast(Callable[[int, Any], int], cast(Any, google_crc32c).extend)

Numbers = npt.NDArray[np.int64]


class BadRows(ClientFault):
    """Rows that cannot be written as records. Nothing of them was encoded. `row`: which of them, from 0 on, if it is one."""

    def __init__(self, said: str, row: int | None = None) -> None:
        self.said = said
        self.row = row
        super().__init__(said if row is None else f"row {row}: {said}")


class RecordTooLarge(BadRows):
    """A record that is larger than a request may be."""


def split_by_partition(rows: RecordBatch, partition: Any) -> dict[int, RecordBatch]:
    """The rows of each partition, in the order in which they came; only the columns that records are made of. `partition`: a
    number for each row, as an array of Arrow or numpy.
    """
    if getattr(partition, "null_count", 0):
        raise BadRows(f"row {partition.is_null().index(True)}: no partition")
    where = np.asarray(partition)
    if where.shape != (rows.num_rows,):
        raise BadRows(f"partitions of {where.size} rows, there are {rows.num_rows}")
    rows = rows.select([name for name in rows.schema.names if name in COLUMNS])
    if not where.size:
        return {}
    if where.min() < 0:
        row = int(np.argmax(where < 0))
        raise BadRows(f"row {row}: partition {where[row]}, wanted 0 or more")
    if (np.diff(where) < 0).any():
        order = np.argsort(where.astype(np.uint16) if where.max() < 1 << 16 else where, kind="stable")
        rows, where = rows.take(pa.array(order)), where[order]
    firsts = [0, *(np.flatnonzero(np.diff(where)) + 1).tolist(), where.size]
    return {int(where[first]): rows.slice(first, after - first) for first, after in pairwise(firsts)}


class Encoder:
    """Seals the batches of ONE topic-partition: their sequences follow each other from call to call, from 0 on.

    producer           whose batches they are; None: neither idempotent nor transactional
    codec              none, gzip, snappy, lz4 or zstd; a batch that it would make larger stays as it is
    batch_limit_bytes  how large a batch may be before compression. A record that is larger gets a batch of its own: whether that
                       is too large is for the broker to say
    now_ms             the time of rows that have none
    request_limit_bytes  a record beyond it is a fault right here, as with `max.request.size` in Java
    """

    def __init__(
        self,
        producer: Producer | None,
        transactional: bool,
        codec: str,
        batch_limit_bytes: int,
        now_ms: Callable[[], int],
        *,
        request_limit_bytes: int = MAX_REQUEST_BYTES,
        first_sequence: int = 0,
    ) -> None:
        if codec not in CODECS:
            raise ValueError(f"codec: wanted one of {', '.join(CODECS)}, found {codec!r}")
        if transactional and producer is None:
            raise ValueError("a transactional batch needs a producer")
        self._producer = producer
        self._codec = CODECS[codec]
        self._attributes = TRANSACTIONAL if transactional else 0
        self._limit_bytes = batch_limit_bytes - HEADER_BYTES
        self._request_limit_bytes = request_limit_bytes
        self._now_ms = now_ms
        self.next_sequence = first_sequence

    def add(self, rows: RecordBatch) -> list[bytes | memoryview]:
        """All rows as sealed batches, in their order. Columns `key`, `value` (binary or string), `headers` (lists of (key,
        value)), `timestamp` (timestamps, or milliseconds as int64); all but `value` may be missing, and all may have nulls.
        """
        if not rows.num_rows:
            return []
        columns = _Columns(rows, self._now_ms)
        most = columns.largest_sizes()
        largest = int(most.argmax())
        if HEADER_BYTES + most[largest] > self._request_limit_bytes:
            raise RecordTooLarge(
                f"a record of {HEADER_BYTES + most[largest]} bytes, max.request.size is {self._request_limit_bytes}",
                largest,
            )
        sealed: list[bytes | memoryview] = []
        for firsts in _chunks(_cuts(np.cumsum(most), self._limit_bytes), most):
            sealed += self._seal(columns, firsts)
        return sealed

    def _seal(self, columns: "_Columns", firsts: Numbers) -> list[bytes | memoryview]:
        """The batches that begin at these rows; the last number is the row behind them."""
        part = columns.rows(int(firsts[0]), int(firsts[-1]))
        begin = firsts[:-1] - firsts[0]
        counts = np.diff(firsts)
        base_times = part.times[begin]
        max_times = np.maximum.reduceat(part.times, begin)
        deltas = np.arange(part.many) - np.repeat(begin, counts)
        memory, bounds = part.records(part.times - np.repeat(base_times, counts), deltas, begin)
        ends = bounds[np.append(begin[1:], part.many)].tolist()
        return [
            self._batch(memory[start:end], count, base_time, max_time)
            for start, end, count, base_time, max_time in zip(
                bounds[begin].tolist(),
                ends,
                counts.tolist(),
                base_times.tolist(),
                max_times.tolist(),
                strict=True,
            )
        ]

    def _batch(
        self, memory: npt.NDArray[np.uint8], count: int, base_time: int, max_time: int
    ) -> bytes | memoryview:
        """`memory`: room for the header, and the records."""
        records = memory[HEADER_BYTES:]
        packed, attributes = b"", self._attributes
        if self._codec:
            packed = compress(self._codec, records.tobytes())
            if len(packed) < records.size:  # or the limit would not hold for what cannot be compressed
                attributes |= self._codec
            else:
                packed = b""
        producer = self._producer
        sequence = -1
        if producer is not None:
            sequence, self.next_sequence = self.next_sequence, add_sequence(self.next_sequence, count)
        payload = packed or records
        head = bytearray(HEADER_BYTES)
        HEADER.pack_into(
            head, 0,
            0, HEADER_BYTES - LENGTH_OVERHEAD_BYTES + len(payload), -1, MAGIC, 0, attributes, count - 1, base_time,
            max_time, -1 if producer is None else producer.id, -1 if producer is None else producer.epoch, sequence, count,
        )  # fmt: skip
        crc = _extend_crc(_extend_crc(0, bytes(head[CRC_FROM:])), payload)
        head[CRC_FROM - 4 : CRC_FROM] = crc.to_bytes(4, "big")
        if packed:
            return b"".join((head, packed))
        memory[:HEADER_BYTES] = head
        return memory.data


def _cuts(sizes: Numbers, limit_bytes: int) -> list[int]:
    """Rows at which batches begin, and the number of rows, from the summed sizes: as many rows as fit, but at least one."""
    cuts, before = [0], 0
    while cuts[-1] < sizes.size:
        first = cuts[-1]
        after = int(np.searchsorted(sizes, before + limit_bytes, side="right"))
        cuts.append(max(after, first + 1))
        before = int(sizes[cuts[-1] - 1])
    return cuts


def _chunks(cuts: list[int], sizes: Numbers) -> list[Numbers]:
    """The same cuts in groups of neighbours that are made at once."""
    if sizes.sum() <= CHUNK_BYTES:
        return [np.array(cuts)]
    groups: list[list[int]] = [[0]]
    room = CHUNK_BYTES
    for first, after in pairwise(cuts):
        size = int(sizes[first:after].sum())
        if size > room and len(groups[-1]) > 1:
            groups.append([first])
            room = CHUNK_BYTES
        groups[-1].append(after)
        room -= size
    return [np.array(each) for each in groups]


class _Part(NamedTuple):
    """Some rows of the columns, ready to be joined."""

    many: int
    key: Array | None
    value: Array
    headers: Array | None
    key_size: Numbers
    value_size: Numbers
    headers_size: Numbers
    times: Numbers

    def records(
        self, time_delta: Numbers, offset_delta: Numbers, begin: Numbers
    ) -> tuple[npt.NDArray[np.uint8], Numbers]:
        """The records one after the other, with room for a header before each of those in `begin`, and where each begins, its
        room included (and the last ends). The memory is ours alone: it was made here.
        """
        times, offsets = zigzag(time_delta), zigzag(offset_delta)
        keys, values = zigzag(self.key_size), zigzag(self.value_size)
        body = (
            1 + varint_size(times) + varint_size(offsets) + varint_size(keys) + np.maximum(self.key_size, 0)
        )
        body += varint_size(values) + np.maximum(self.value_size, 0) + self.headers_size
        zero = np.zeros(self.many, np.uint64)  # attributes
        before = [zigzag(body), zero, times, offsets, keys]
        if self.key is None:
            pieces = [varints(*before, values)]
        else:
            pieces = [varints(*before), self.key, varints(values)]
        joined = pc.binary_join_element_wise(
            _rooms(self.many, begin),
            *pieces,
            self.value,
            _NO_HEADERS if self.headers is None else self.headers,
            _NOTHING,
        )
        _, bounds, memory = joined.buffers()
        places = np.frombuffer(bounds, np.int32, self.many + 1, 4 * joined.offset)
        return np.frombuffer(memory, np.uint8), places.astype(np.int64)


def _rooms(many: int, begin: Numbers) -> Array:
    """For each row what stands before its record: nothing, or zeros where a batch begins."""
    bounds = np.zeros(many + 1, np.int32)
    bounds[begin + 1] = HEADER_BYTES
    zeros = np.zeros(begin.size * HEADER_BYTES, np.uint8)
    buffers = [None, pa.py_buffer(np.cumsum(bounds, dtype=np.int32)), pa.py_buffer(zeros)]
    return pa.Array.from_buffers(pa.binary(), many, buffers)


class _Columns:
    """The rows' columns and the sizes of what is in them; -1 for a null."""

    def __init__(self, rows: RecordBatch, now_ms: Callable[[], int]) -> None:
        names = rows.schema.names
        if "value" not in names:
            raise BadRows(f"wanted a column `value`, found {', '.join(names) or 'none'}")
        count = rows.num_rows
        self.value = _binary(rows.column("value"), "value")
        self.value_size = _sizes(self.value)
        key = _binary(rows.column("key"), "key") if "key" in names else None
        self.key = None if key is None or key.null_count == count else key
        self.key_size = np.full(count, -1) if self.key is None else _sizes(self.key)
        headers = rows.column("headers") if "headers" in names else None
        self.headers = None if headers is None or headers.null_count == count else _headers(headers)
        self.headers_size = np.ones(count, np.int64) if self.headers is None else _sizes(self.headers)
        self.times = (
            _millis(rows.column("timestamp"), now_ms) if "timestamp" in names else np.full(count, now_ms())
        )

    def largest_sizes(self) -> Numbers:
        """What each record takes at most: its deltas depend on where batches begin, which depends on this."""
        count = self.times.size
        spread = zigzag(np.array([self.times.max() - self.times.min(), count]))
        body = 1 + int(varint_size(spread).sum()) + self.headers_size
        for size in (self.key_size, self.value_size):
            body += varint_size(zigzag(size)) + np.maximum(size, 0)
        return body + varint_size(zigzag(body))

    def rows(self, first: int, after: int) -> _Part:
        some, count = slice(first, after), after - first

        def plain(column: Array) -> Array:
            """Of 32-bit offsets, and nulls as nothing: what is null is told by its size."""
            part = column.slice(first, count)
            part = part if part.type == pa.binary() else part.cast(pa.binary())
            return part.fill_null(b"") if part.null_count else part

        return _Part(
            count,
            None if self.key is None else plain(self.key),
            plain(self.value),
            None if self.headers is None else plain(self.headers),
            self.key_size[some],
            self.value_size[some],
            self.headers_size[some],
            self.times[some],
        )


def _binary(column: Array, name: str) -> Array:
    kind = column.type
    if kind in (pa.string(), pa.string_view(), pa.binary_view()) or pa.types.is_null(kind):
        return column.cast(pa.binary())
    if kind == pa.large_string():
        return column.cast(pa.large_binary())
    if kind not in (pa.binary(), pa.large_binary()):
        raise BadRows(f"column {name}: wanted binary or string, found {kind}")
    return column


def _sizes(column: Array) -> Numbers:
    sizes = pc.binary_length(column)
    return (sizes.fill_null(-1) if sizes.null_count else sizes).to_numpy().astype(np.int64)


def _millis(column: Array, now_ms: Callable[[], int]) -> Numbers:
    kind = column.type
    if not pa.types.is_timestamp(kind) and kind != pa.int64():
        raise BadRows(f"column timestamp: wanted timestamps or milliseconds as int64, found {kind}")
    numbers = column.cast(pa.int64())
    null = column.is_null().to_numpy(zero_copy_only=False)
    millis = (numbers.fill_null(0) if null.any() else numbers).to_numpy()
    unit = kind.unit if pa.types.is_timestamp(kind) else "ms"
    millis = millis * 1000 if unit == "s" else millis // _PER_MILLI.get(unit, 1)
    if millis.min() < 0:
        row = int(millis.argmin())
        raise BadRows(f"timestamp {millis[row]} ms, a record's is never below 0", row)
    return np.where(null, now_ms(), millis) if null.any() else millis


def _headers(column: Array) -> Array:
    """For each row the header count and the headers, as they stand in a record."""
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_struct(
        kind.value_type
    ):
        raise BadRows(f"column headers: wanted a list of (key, value), found {kind}")
    pairs = column.flatten()
    fields = dict(zip((field.name for field in pairs.type), pairs.flatten(), strict=True))
    if set(fields) != {"key", "value"}:
        raise BadRows(f"column headers: wanted a list of (key, value), found {kind}")
    names, values = _binary(fields["key"], "headers.key"), _binary(fields["value"], "headers.value")
    if names.null_count:
        raise BadRows("column headers: a header without a key")
    counts = pc.list_value_length(column).fill_null(0).to_numpy().astype(np.int64)
    single = pc.binary_join_element_wise(
        varints(zigzag(_sizes(names))),
        names,
        varints(zigzag(_sizes(values))),
        values.fill_null(b""),
        _NOTHING,
    )
    _, bounds, memory = single.buffers()
    places = np.frombuffer(bounds, np.int32, len(single) + 1, 4 * single.offset)
    slots = np.append(0, np.cumsum(counts))
    together = pa.Array.from_buffers(pa.binary(), counts.size, [None, pa.py_buffer(places[slots]), memory])
    return pc.binary_join_element_wise(varints(zigzag(counts)), together, _NOTHING)


def zigzag(values: Numbers) -> npt.NDArray[np.uint64]:
    return (values << 1 ^ values >> 63).view(np.uint64)


def varint_size(values: npt.NDArray[np.uint64]) -> Numbers:
    """How many bytes each takes, seven bits in a byte."""
    size = np.ones(values.shape, np.int64)
    largest = int(values.max()) if values.size else 0
    for bits in range(7, largest.bit_length(), 7):
        size += values >= np.uint64(1 << bits)
    return size


def varints(*columns: npt.NDArray[np.uint64]) -> Array:
    """A binary array with the varints of all columns, one after the other, for each row."""
    sizes = [varint_size(each) for each in columns]
    bounds = np.zeros(columns[0].size + 1, np.int64)
    np.cumsum(sum(sizes), out=bounds[1:])
    memory = np.zeros(int(bounds[-1]), np.uint8)
    at = bounds[:-1].copy()
    for values, size in zip(columns, sizes, strict=True):
        longest = int(size.max()) if size.size else 0
        low = values.astype(np.uint8)
        memory[at] = low if longest == 1 else np.where(size > 1, low | 0x80, low)
        for byte in range(1, longest):
            rows = np.flatnonzero(size > byte)
            group = (values[rows] >> np.uint64(7 * byte)).astype(np.uint8)
            memory[at[rows] + byte] = np.where(size[rows] > byte + 1, group | 0x80, group)
        at += size
    return pa.Array.from_buffers(
        pa.binary(), columns[0].size, [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(memory)]
    )
