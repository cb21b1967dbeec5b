"""From fetched record batches to Arrow columns, whole columns at a time (docs/decisions/0013-columnar-records.md).

Headers of batches are read as one table, record starts come from starts.py, and then every field of all records is read by a few
numpy operations: a record's fields stand one after the other, so each position follows from the one before. Bytes are copied
once, by Arrow, from the fetched (or decompressed) stretch into the column. What is unusual goes through record/batch.py, which
alone decides what is wrong with a batch.
"""

import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from oncelog.client.visible import AbortedFrom, Aborting, Fate
from oncelog.errors import CorruptBatch
from oncelog.model import TopicPartition
from oncelog.record.batch import (
    COMPRESSION_MASK,
    CONTROL,
    CRC_FROM,
    HEADER_BYTES,
    HEADERS_LIMIT,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    batches,
    payload_of,
    read_header,
    walk,
)
from oncelog.record.crc import crc32c
from oncelog.record.varint import read_varint
from oncelog.spark.arrow import Array, RecordBatch, Schema, pa
from oncelog.spark.starts import SMALLEST_RECORD_BYTES, Plain, Positions, Reader, record_bounds

# The header of a batch as record/batch.py maps it.
HEAD: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
assert HEAD.itemsize == HEADER_BYTES

# Spark's columns of a Kafka source, in its order.
COLUMNS: Final[Mapping[str, Any]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}

CHUNK_BYTES: Final = 8 * 1024 * 1024  # of records in one Arrow batch, unless a single record batch has more
LONGEST_VARINT: Final = 4  # bytes: what needs five goes one by one, where its 32 bits are checked
LONGEST_VARLONG: Final = 8
FEWEST_ROWS: Final = 16  # with fewer rows that still have headers a plain loop is faster
SAFE_MILLIS: Final = 1 << 52  # beyond it microseconds, or the sum with a delta, might need more than 64 bits
LAST_MILLIS: Final = (2**63 - 1) // 1000

_LENGTH_AND_MAGIC: Final = struct.Struct(">i4xb")
_crc_of: Final = cast(
    Callable[[Plain], int], crc32c
)  # it takes what holds its bytes still, and an array does


class Fields(NamedTuple):
    """Where the fields of records stand, and what their numbers are; one entry per record. A size below zero is a null."""

    timestamp_delta: Positions
    offset_delta: Positions
    key_at: Positions
    key_size: Positions
    value_at: Positions
    value_size: Positions
    headers_at: Positions  # of the header count
    stop: Positions

    def rows(self, chosen: npt.NDArray[np.bool_]) -> "Fields":
        return Fields(*(each[chosen] for each in self))


def schema_of(columns: Collection[str]) -> Schema:
    """Of these columns, in the order of the sequence that names them; of a set, in Spark's."""
    unknown = sorted(set(columns) - set(COLUMNS))
    if unknown:
        raise ValueError(f"columns: wanted some of {', '.join(COLUMNS)}, found {', '.join(unknown)}")
    ordered = columns if isinstance(columns, Sequence) else [name for name in COLUMNS if name in columns]
    return pa.schema([(name, COLUMNS[name]) for name in ordered])


def decode(
    data: bytes | memoryview,
    *,
    topic: str,
    partition: int,
    start: int,
    stop: int,
    aborted: Sequence[AbortedFrom] = (),
    read_committed: bool = True,
    headers: bool = False,
    schema: Schema | None = None,
    columns: Collection[str] | None = None,
) -> tuple[list[RecordBatch], int]:
    """The records in [start, stop) that a reader may see, and the offset to fetch from next.

    `data` are batches as fetched: a cut last one is left for the next fetch, records outside of [start, stop) are dropped,
    markers and offsets without a record are passed. The offset is `stop` as soon as nothing below it can follow.
    Rows have the fields of `schema`; those that `columns` does not name are null and cost nothing. Without a schema they
    have just `columns`, by default all of Spark's. `headers` is null, as in Spark, for a record without any and unless asked for.
    CorruptBatch names the partition and the batch.
    """
    if schema is None:
        default = [name for name in COLUMNS if headers or name != "headers"]
        schema = schema_of(default if columns is None else columns)
    wanted = frozenset(cast(Any, schema).names if columns is None else columns)
    stretch = _Stretch(data, TopicPartition(topic, partition), stop)
    stretch.check_crc()
    shown = stretch.visible(aborted if read_committed else ())
    shown &= stretch.last_offsets >= start
    build = _Builder(topic, partition, start, stop, schema, wanted if headers else wanted - {"headers"})
    found = [build.rows(chunk) for chunk in stretch.chunks(np.flatnonzero(shown))]
    return [each for each in found if each is not None], max(start, min(stretch.behind, stop))


class _Chunk(NamedTuple):
    """Records of some batches, uncompressed, in one piece of memory; bytes between batches may be anything."""

    partition: TopicPartition
    plain: Plain
    begins: Positions
    ends: Positions
    table: npt.NDArray[Any]  # the batches' headers


class _Stretch:
    """Fetched bytes, and the headers of the whole batches in them that begin below `stop`."""

    def __init__(self, data: bytes | memoryview, partition: TopicPartition, stop: int) -> None:
        self.partition = partition
        self.view = memoryview(data)
        self.plain: Plain = np.frombuffer(self.view, np.uint8)
        at = _places(self.view)
        heads = np.ndarray((max(len(self.view) - HEADER_BYTES + 1, 0),), HEAD, self.plain, strides=(1,))
        table = heads[at]
        last_offsets = table["base_offset"].astype(np.int64) + table["last_offset_delta"]
        self.behind = (
            int(last_offsets[-1]) + 1 if at.size else 0
        )  # behind all whole batches, whatever of them is visible (RC-5)
        below = int(np.searchsorted(table["base_offset"], stop))
        self.at, self.table, self.last_offsets = at[:below], table[:below], last_offsets[:below]
        self.sizes = self.table["length"].astype(np.int64) + LENGTH_OVERHEAD_BYTES

    def check_crc(self) -> None:
        crcs = self.table["crc"].tolist()
        for index, (at, size) in enumerate(zip(self.at.tolist(), self.sizes.tolist(), strict=True)):
            found = _crc_of(self.plain[at + CRC_FROM : at + size])
            if found != crcs[index]:
                raise CorruptBatch(f"{self._name(index)}: wanted CRC {crcs[index]:08x}, found {found:08x}")

    def visible(self, aborted: Sequence[AbortedFrom]) -> npt.NDArray[np.bool_]:
        """Which batches hold records for readers."""
        shown = self.table["attributes"] & CONTROL == 0
        if aborted:
            rule = Aborting(aborted)
            for index in np.flatnonzero(self.table["producer_id"] >= 0).tolist():
                batch = self._batch(index)
                if rule.fate(batch, read_header(batch)) is Fate.ABORTED:
                    shown[index] = False
        return shown

    def chunks(self, shown: Positions) -> Iterator[_Chunk]:
        """The records of these batches in pieces of about CHUNK_BYTES."""
        packed = self.table["attributes"] & COMPRESSION_MASK != 0
        counts = self.table["count"]
        if not packed[shown].any() and (counts[shown] > 0).all():
            piece = np.cumsum(self.sizes[shown]) // CHUNK_BYTES
            for some in np.split(shown, np.flatnonzero(np.diff(piece)) + 1) if shown.size else ():
                yield self._chunk(some, {})
            return
        taken: list[int] = []
        payloads: dict[int, bytes] = {}
        room = CHUNK_BYTES
        for index in shown.tolist():
            payload = self._payload(index) if packed[index] else None
            size = int(self.sizes[index]) - HEADER_BYTES if payload is None else len(payload)
            if counts[index] <= 0:
                if size:
                    raise CorruptBatch(f"{self._name(index)}: {counts[index]} records in {size} bytes")
                continue  # compaction leaves such batches
            if size > room and taken:
                yield self._chunk(np.array(taken), payloads)
                taken, payloads, room = [], {}, CHUNK_BYTES
            if payload is not None:
                payloads[index] = payload
            taken.append(index)
            room -= size
        if taken:
            yield self._chunk(np.array(taken), payloads)

    def _chunk(self, taken: Positions, payloads: dict[int, bytes]) -> _Chunk:
        table = self.table[taken]
        if not payloads:
            low, high = int(self.at[taken[0]]), int(self.at[taken[-1]] + self.sizes[taken[-1]])
            at = self.at[taken] - low
            return _Chunk(
                self.partition, self.plain[low:high], at + HEADER_BYTES, at + self.sizes[taken], table
            )
        pieces = [
            payloads[index] if index in payloads else self._batch(index)[HEADER_BYTES:]
            for index in taken.tolist()
        ]
        ends = np.cumsum([len(each) for each in pieces])
        begins = np.append(0, ends[:-1])
        return _Chunk(self.partition, np.frombuffer(b"".join(pieces), np.uint8), begins, ends, table)

    def _payload(self, index: int) -> bytes:
        batch = self._batch(index)
        try:
            return payload_of(batch, read_header(batch))
        except CorruptBatch as fault:
            raise CorruptBatch(f"{self._name(index)}: {fault}") from None

    def _batch(self, index: int) -> memoryview:
        at = int(self.at[index])
        return self.view[at : at + int(self.sizes[index])]

    def _name(self, index: int) -> str:
        return f"{self.partition}: batch at offset {self.table['base_offset'][index]}"


def _places(view: memoryview) -> Positions:
    """Where the whole batches begin."""
    places: list[int] = []
    at, end = 0, len(view)
    while end - at >= HEADER_BYTES:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(view, at + 8)
        size = length + LENGTH_OVERHEAD_BYTES
        if size < HEADER_BYTES or magic != MAGIC:
            next(batches(view, at))  # says what is wrong with it
        if at + size > end:
            break
        places.append(at)
        at += size
    return np.array(places, np.int64)


def _fields(chunk: _Chunk) -> tuple[Reader, Fields]:
    reader = Reader(chunk.plain)
    counts = chunk.table["count"].astype(np.int64)
    fields = None
    room = chunk.ends - chunk.begins
    if (counts * SMALLEST_RECORD_BYTES <= room).all():  # or a count that is a lie would cost gigabytes
        try:
            fields = _fields_by_columns(reader, *record_bounds(reader, chunk.begins, chunk.ends, counts))
        except CorruptBatch:
            fields = None  # found again below, with the name of the batch
    return reader, fields or _fields_one_by_one(chunk)


def _fields_by_columns(reader: Reader, start: Positions, stop: Positions) -> Fields | None:
    """None if something is unusual: numbers of more bytes than they should need, or a record that does not end where it says."""
    taken = reader.varint_sizes(start)
    longest = np.max(taken)
    at = start + taken
    at += 1  # attributes: no bit of them has a meaning yet
    timestamp_delta, taken = reader.varints(at)
    at += taken
    odd = np.max(taken) > LONGEST_VARLONG
    offset_delta, taken = reader.varints(at)
    longest = max(longest, np.max(taken))
    key_at = at + taken
    key_size, taken = reader.varints(key_at)
    longest = max(longest, np.max(taken))
    key_at += taken
    value_at = key_at + np.maximum(key_size, 0)
    value_size, taken = reader.varints(value_at)
    longest = max(longest, np.max(taken))
    value_at += taken
    headers_at = value_at + np.maximum(value_size, 0)
    if odd or longest > LONGEST_VARINT or offset_delta.min() < 0 or (headers_at >= stop).any():
        return None
    without = reader.plain[headers_at] == 0
    if (without & (headers_at + 1 != stop)).any():
        return None
    return Fields(timestamp_delta, offset_delta, key_at, key_size, value_at, value_size, headers_at, stop)


def _fields_one_by_one(chunk: _Chunk) -> Fields:
    rows: list[tuple[int, ...]] = []
    for index, count in enumerate(chunk.table["count"].tolist()):
        begin = int(chunk.begins[index])
        try:
            for found in walk(chunk.plain[begin : chunk.ends[index]].tobytes(), count):
                key, value = found.key or (found.headers, -1), found.value or (found.headers, -1)
                rows.append(
                    (
                        found.timestamp_delta,
                        found.offset_delta,
                        begin + key[0],
                        max(key[1] - key[0], -1),
                        begin + value[0],
                        max(value[1] - value[0], -1),
                        begin + found.headers,
                        begin + found.end,
                    )
                )
        except CorruptBatch as fault:
            base = chunk.table["base_offset"][index]
            raise CorruptBatch(f"{chunk.partition}: batch at offset {base}: {fault}") from None
    return Fields(*np.array(rows, np.int64).T.copy())


class _Builder:
    """From the fields of records to columns."""

    def __init__(
        self, topic: str, partition: int, start: int, stop: int, schema: Schema, wanted: frozenset[str]
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.start = start
        self.stop = stop
        self.schema = schema
        self.wanted = wanted

    def rows(self, chunk: _Chunk) -> RecordBatch | None:
        reader, fields = _fields(chunk)
        batch = np.repeat(np.arange(chunk.table.size), chunk.table["count"])
        offset = chunk.table["base_offset"].astype(np.int64)[batch]
        offset += fields.offset_delta
        if offset.min() < self.start or offset.max() >= self.stop:
            chosen = (offset >= self.start) & (offset < self.stop)
            fields, batch, offset = fields.rows(chosen), batch[chosen], offset[chosen]
        if not offset.size:
            return None
        rows = _Rows(chunk, reader, pa.py_buffer(chunk.plain), fields, batch, offset)
        columns = [
            self._column(field.name, rows) if field.name in self.wanted else pa.nulls(offset.size, field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(
            columns, schema=self.schema
        )  # casts, if the schema says large_binary or so

    def _column(self, name: str, rows: "_Rows") -> Array:
        fields, kind = rows.fields, COLUMNS.get(name)
        match name:
            case "key":
                return binary_column(rows.memory, fields.key_at, fields.key_size)
            case "value":
                return binary_column(rows.memory, fields.value_at, fields.value_size)
            case "topic":
                return _same_text(self.topic, rows.offset.size)
            case "partition":
                return _numbers(kind, np.full(rows.offset.size, self.partition, np.int32))
            case "offset":
                return _numbers(kind, rows.offset)
            case "timestamp":
                return _numbers(kind, _micros(rows.chunk.table, rows.batch, fields.timestamp_delta))
            case "timestampType":
                return _numbers(kind, _timestamp_types(rows.chunk.table)[rows.batch])
            case "headers":
                return _headers_column(rows, kind)
            case _:
                raise ValueError(f"column {name!r}: wanted one of {', '.join(COLUMNS)}")


class _Rows(NamedTuple):
    """The records of a chunk that are wanted."""

    chunk: _Chunk
    reader: Reader
    memory: Any  # the chunk's bytes as Arrow sees them
    fields: Fields
    batch: Positions  # whose record each is
    offset: Positions


def binary_column(memory: Any, at: Positions, size: Positions) -> Array:
    """A binary array of `size[i]` bytes from `at[i]` on, null where the size is below zero. Positions must not fall.

    The stretch is taken as an array whose odd elements are what lies between the wanted ones; Arrow copies the even ones.
    """
    count = at.size
    if not count:
        return pa.array([], pa.binary())
    bounds = np.empty(2 * count, np.int32)
    bounds[0::2] = at
    np.add(at, np.maximum(size, 0), out=bounds[1::2], casting="unsafe")
    both = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(bounds), memory])
    kept = both.take(pa.array(np.arange(0, 2 * count, 2)))
    null = size < 0
    if not null.any():
        return kept
    present = pa.py_buffer(np.packbits(~null, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [present, *kept.buffers()[1:]], int(null.sum()))


def _numbers(kind: Any, values: npt.NDArray[Any]) -> Array:
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(values)])


def _same_text(text: str, count: int) -> Array:
    encoded = text.encode()
    bounds = np.arange(count + 1, dtype=np.int32)
    bounds *= len(encoded)
    return pa.Array.from_buffers(
        pa.string(), count, [None, pa.py_buffer(bounds), pa.py_buffer(encoded * count)]
    )


def _timestamp_types(table: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """By batch: 0 if the writer's clock said the time, 1 if the broker's did."""
    return (table["attributes"] & LOG_APPEND_TIME != 0).astype(np.int32)


def _micros(table: npt.NDArray[Any], batch: Positions, delta: Positions) -> Positions:
    by_broker = _timestamp_types(table) == 1
    base = np.where(by_broker, table["max_timestamp"], table["base_timestamp"]).astype(np.int64)
    if by_broker.any():
        delta = np.where(by_broker[batch], 0, delta)
    if min(base.min(), delta.min()) > -SAFE_MILLIS and max(base.max(), delta.max()) < SAFE_MILLIS:
        micros = base[batch]
        micros += delta
        micros *= 1000
        return micros
    exact = base.astype(object)[batch] + delta.astype(object)
    return np.clip(exact, -LAST_MILLIS, LAST_MILLIS).astype(np.int64) * 1000


class _Headers:
    """Where the headers of records stand: those of the first record, then those of the second, and so on."""

    def __init__(self, counts: Positions) -> None:
        self.counts = counts
        self.slots = np.append(0, np.cumsum(counts))
        self.name_at, self.name_size, self.value_at, self.value_size = np.zeros((4, self.slots[-1]), np.int64)

    def read(self, reader: Reader, at: Positions, stop: Positions) -> bool:
        """From the first header of each record on. False if a record's headers do not end where the record does."""
        at = at.copy()
        going = np.flatnonzero(self.counts)
        ordinal = 0  # all first headers at once, then all second ones, ...
        while going.size >= FEWEST_ROWS:
            at[going] = self._read_one(reader, self.slots[going] + ordinal, at[going])
            if (at[going] > stop[going]).any():
                return False
            ordinal += 1
            going = going[self.counts[going] > ordinal]
        for row in going.tolist():
            at[row] = self._read_rest(
                reader, range(self.slots[row] + ordinal, self.slots[row + 1]), at[row], stop[row]
            )
        return bool((at == stop).all() and (self.name_size >= 0).all())

    def _read_one(self, reader: Reader, slots: Positions, at: Positions) -> Positions:
        size, taken = reader.varints(at)
        at += taken
        self.name_at[slots], self.name_size[slots] = at, size
        at += np.maximum(size, 0)
        size, taken = reader.varints(at)
        at += taken
        self.value_at[slots], self.value_size[slots] = at, size
        at += np.maximum(size, 0)
        return at

    def _read_rest(self, reader: Reader, slots: range, start: int, stop: int) -> int:
        payload = reader.plain[start:stop].tobytes()
        at = 0
        try:
            for slot in slots:
                size, at = read_varint(payload, at)
                self.name_at[slot], self.name_size[slot] = start + at, size
                size, at = read_varint(payload, at + max(size, 0))
                self.value_at[slot], self.value_size[slot] = start + at, size
                at += max(size, 0)
        except CorruptBatch:
            return -1
        return start + at


def _headers_column(rows: _Rows, kind: Any) -> Array:
    """One list of (key, value) per record; null for a record without headers."""
    fields = rows.fields
    counts, taken = rows.reader.varints(fields.headers_at)
    at = fields.headers_at + taken
    few = (counts >= 0) & (counts <= np.minimum(fields.stop - at, HEADERS_LIMIT))
    headers = _Headers(np.where(few, counts, 0))
    if not few.all() or not headers.read(rows.reader, at, fields.stop):
        _fields_one_by_one(rows.chunk)  # says what is wrong with it
        raise CorruptBatch(
            f"{rows.chunk.partition}: headers that cannot be read near offset {rows.offset[0]}"
        )
    names = binary_column(rows.memory, headers.name_at, headers.name_size)
    values = binary_column(rows.memory, headers.value_at, headers.value_size)
    pairs = pa.StructArray.from_arrays([_text(names), values], fields=list(kind.value_type))
    present = pa.py_buffer(np.packbits(counts > 0, bitorder="little"))
    bounds = pa.py_buffer(headers.slots.astype(np.int32))
    return pa.Array.from_buffers(kind, counts.size, [present, bounds], children=[pairs])


def _text(names: Array) -> Array:
    """As Java reads it: what is no UTF-8 becomes U+FFFD."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([each.decode("utf-8", "replace") for each in names.to_pylist()], pa.string())
