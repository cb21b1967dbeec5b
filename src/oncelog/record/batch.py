"""A record batch of format 2: the 61-byte header, and what may be patched in it. Records stay bytes.

 0  int64  base offset                 12  int32  partition leader epoch     16  int8   magic (2)
 8  int32  length of all that follows  17  uint32 CRC-32C of bytes 21..end   21  int16  attributes
23  int32  last offset delta           27  int64  base timestamp             35  int64  max timestamp
43  int64  producer id                 51  int16  producer epoch             53  int32  base sequence
57  int32  record count                61  records, or one compressed block

A record: varint length of all that follows, int8 attributes (0), varlong timestamp delta, varint offset delta,
varint key size (-1 null), key, varint value size (-1 null), value, varint header count, and for each header
varint name size, name in UTF-8, varint value size (-1 null), value.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from oncelog.errors import CorruptBatch
from oncelog.record.compression import compress, decompress
from oncelog.record.crc import crc32c
from oncelog.record.varint import encode_varint, read_varint

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = 61
assert HEADER.size == HEADER_BYTES
LENGTH_OVERHEAD_BYTES: Final = 12  # base offset and length are not counted in the length
CRC_FROM: Final = 21
MAGIC: Final = 2

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

MAX_SEQUENCE: Final = 2**31 - 1
NO_TIMESTAMP: Final = -1
HEADERS_LIMIT: Final = 10_000  # of one record (T3)
DECOMPRESSED_LIMIT_BYTES: Final = 64 * 1024 * 1024

Bytes = bytes | bytearray | memoryview


class BatchHeader(NamedTuple):
    """The header, in wire order."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # Kafka's word; nobody counts fields

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + LENGTH_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        return add_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)


def add_sequence(sequence: int, delta: int) -> int:
    """Sequences wrap from 2^31-1 to 0 (FMT-1)."""
    return (sequence + delta) & MAX_SEQUENCE


def read_header(data: bytes | bytearray | memoryview, at: int = 0) -> BatchHeader:
    """The header at `at`. Says nothing about the bytes after it: see `check_crc`."""
    if len(data) - at < HEADER_BYTES:
        raise CorruptBatch(f"batch of {len(data) - at} bytes, a header needs {HEADER_BYTES}")
    return BatchHeader._make(HEADER.unpack_from(data, at))


def crc_of(batch: Bytes) -> int:
    """CRC-32C over all that follows the CRC field of one whole batch."""
    return crc32c(bytes(memoryview(batch)[CRC_FROM:]))


def check_crc(batch: Bytes, header: BatchHeader) -> bool:
    """Whether one whole batch (`header.size` bytes) is as its writer left it."""
    return crc32c(bytes(memoryview(batch)[CRC_FROM : header.length + LENGTH_OVERHEAD_BYTES])) == header.crc


def demand_crc(batch: Bytes, header: BatchHeader) -> None:
    """CorruptBatch unless `check_crc`: for who believes what is in it."""
    if not check_crc(batch, header):
        raise CorruptBatch(
            f"the batch at offset {header.base_offset} does not match its CRC {header.crc:08x}"
        )


def batches(data: Bytes, at: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch; a cut last batch ends it, as a fetched stretch may be cut anywhere."""
    end = len(data)
    while end - at >= HEADER_BYTES:
        header = BatchHeader._make(HEADER.unpack_from(data, at))
        if header.length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES:
            raise CorruptBatch(f"batch at byte {at}: length {header.length}, a header needs {HEADER_BYTES}")
        if header.magic != MAGIC:
            raise CorruptBatch(f"batch at byte {at}: wanted magic {MAGIC}, found {header.magic}")
        if at + header.size > end:
            return
        yield at, header
        at += header.size


class Header(NamedTuple):
    """A header of a record, not of a batch."""

    name: str
    value: bytes | None


class Record(NamedTuple):
    """A record as a reader sees it: offset and timestamp are absolute."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


class NewRecord(NamedTuple):
    """A record to be written: it gets its offset from its place."""

    key: bytes | None
    value: bytes | None
    timestamp: int = NO_TIMESTAMP
    headers: Sequence[tuple[str, bytes | None]] = ()


class Walked(NamedTuple):
    """Where one record stands in the uncompressed records of a batch."""

    start: int
    end: int
    timestamp_delta: int
    offset_delta: int
    key: tuple[int, int] | None  # from, to
    value: tuple[int, int] | None
    headers: int  # position of the header count


def build_batch(
    records: Sequence[NewRecord],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    codec: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """One whole batch with CreateTime, as a client sends it."""
    assert records
    base_timestamp = records[0].timestamp
    body = b"".join(
        [
            encode_record(delta, record.timestamp - base_timestamp, record)
            for delta, record in enumerate(records)
        ]
    )
    return seal(
        BatchHeader(
            base_offset=base_offset,
            length=0,
            leader_epoch=leader_epoch,
            magic=MAGIC,
            crc=0,
            attributes=codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0),
            last_offset_delta=len(records) - 1,
            base_timestamp=base_timestamp,
            max_timestamp=max(record.timestamp for record in records),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            count=len(records),
        ),
        compress(codec, body) if codec else body,
    )


def seal(header: BatchHeader, payload: Bytes) -> bytes:
    """The batch of this header and these (compressed) records: length and CRC are computed here."""
    packed = HEADER.pack(*header)
    checked = packed[CRC_FROM:] + payload
    length = HEADER_BYTES - LENGTH_OVERHEAD_BYTES + len(payload)
    return b"".join(
        (
            packed[:8],
            length.to_bytes(4, "big"),
            packed[12:17],
            crc32c(checked).to_bytes(4, "big"),
            checked,
        )
    )


def encode_record(offset_delta: int, timestamp_delta: int, record: NewRecord) -> bytes:
    key, value, headers = record.key, record.value, record.headers
    parts = [b"\0", encode_varint(timestamp_delta), encode_varint(offset_delta)]
    parts += (b"\x01",) if key is None else (encode_varint(len(key)), key)
    parts += (b"\x01",) if value is None else (encode_varint(len(value)), value)
    parts.append(encode_varint(len(headers)))
    for name, content in headers:
        encoded = name.encode()
        parts += (encode_varint(len(encoded)), encoded)
        parts += (b"\x01",) if content is None else (encode_varint(len(content)), content)
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def payload_of(batch: Bytes, header: BatchHeader, *, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> bytes:
    """The uncompressed records of one whole batch. CorruptBatch beyond `limit_bytes`."""
    payload = bytes(memoryview(batch)[HEADER_BYTES : header.size])
    if not header.attributes & COMPRESSION_MASK:
        return payload
    return decompress(header.attributes & COMPRESSION_MASK, payload, limit_bytes=limit_bytes)


def walk(payload: bytes, count: int) -> Iterator[Walked]:
    """Where each of `count` records stands. CorruptBatch unless they fill the payload exactly."""
    at, start, size_of_all = 0, 0, len(payload)
    try:
        for index in range(count):
            start = at
            size, at = _varint(payload, at)
            end = at + size
            if size < 0 or end > size_of_all:
                raise CorruptBatch(
                    f"record {index} at byte {start} has {size} bytes, {size_of_all - at} are left"
                )
            at += 1  # attributes: no bit of them has a meaning yet
            timestamp_delta, at = read_varint(payload, at, bits=64)
            offset_delta, at = _varint(payload, at)
            size, at = _varint(payload, at)
            key = value = None  # Java reads any negative size as null
            if size >= 0:
                key = (at, at + size)
                at += size
            size, at = _varint(payload, at)
            if size >= 0:
                value = (at, at + size)
                at += size
            headers = at
            if payload[at]:
                at = skip_headers(payload, at, end, index)
            else:
                at += 1
            if at != end:
                raise CorruptBatch(f"record {index} ends at byte {at}, its length says {end}")
            yield Walked(start, end, timestamp_delta, offset_delta, key, value, headers)
    except IndexError:
        raise CorruptBatch(f"record at byte {start} is cut") from None
    if at != size_of_all:
        raise CorruptBatch(f"{size_of_all - at} bytes follow the last of {count} records")


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    """Nearly all numbers in records have one or two bytes."""
    byte = payload[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    return read_varint(payload, at)


def skip_headers(payload: bytes, at: int, end: int, index: int) -> int:
    """Where the headers end whose count stands at `at`."""
    names, at = read_varint(payload, at)
    if not 0 <= names <= min(end - at, HEADERS_LIMIT):
        raise CorruptBatch(f"record {index} has {names} headers in {end - at} bytes, limit {HEADERS_LIMIT}")
    for _ in range(names):
        size, at = _varint(payload, at)
        if size < 0:
            raise CorruptBatch(f"record {index} has a header without a name")
        at += size
        size, at = _varint(payload, at)
        at += max(size, 0)
    return at


def records_of(
    batch: Bytes, header: BatchHeader | None = None, *, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES
) -> Iterator[Record]:
    """The records of one whole batch, decompressed."""
    if header is None:
        header = read_header(batch)
    payload = payload_of(batch, header, limit_bytes=limit_bytes)
    stamped = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    for found in walk(payload, header.count):
        yield Record(
            header.base_offset + found.offset_delta,
            header.base_timestamp + found.timestamp_delta if stamped is None else stamped,
            None if found.key is None else payload[found.key[0] : found.key[1]],
            None if found.value is None else payload[found.value[0] : found.value[1]],
            _headers(payload, found.headers) if payload[found.headers] else (),
        )


def _headers(payload: bytes, at: int) -> tuple[Header, ...]:
    """Already walked once, so nothing is out of bounds here."""
    names, at = read_varint(payload, at)
    headers: list[Header] = []
    for _ in range(names):
        size, at = read_varint(payload, at)
        name = payload[at : at + size].decode("utf-8", "replace")
        at += size
        size, at = read_varint(payload, at)
        headers.append(Header(name, None if size < 0 else payload[at : at + size]))
        at += max(size, 0)
    return tuple(headers)


def patch_offset(batch: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
    """Gives a batch its place, in memory that may be written. Neither field is under the CRC."""
    _OFFSET.pack_into(batch, 0, base_offset)
    _LEADER_EPOCH.pack_into(batch, 12, leader_epoch)


def patch_timestamp(batch: bytearray | memoryview, max_timestamp: int, *, log_append_time: bool) -> None:
    """Sets the largest timestamp and whose clock it is, and the CRC anew."""
    (attributes,) = _ATTRIBUTES.unpack_from(batch, 21)
    attributes = attributes | LOG_APPEND_TIME if log_append_time else attributes & ~LOG_APPEND_TIME
    _ATTRIBUTES.pack_into(batch, 21, attributes)
    _OFFSET.pack_into(batch, 35, max_timestamp)
    (length,) = _LEADER_EPOCH.unpack_from(batch, 8)
    _CRC.pack_into(batch, 17, crc32c(bytes(batch[CRC_FROM : length + LENGTH_OVERHEAD_BYTES])))


_OFFSET: Final = struct.Struct(">q")
_LEADER_EPOCH: Final = struct.Struct(">i")
_ATTRIBUTES: Final = struct.Struct(">h")
_CRC: Final = struct.Struct(">I")
