"""A record batch of format 2: the 61-byte header, and what may be patched in it. Records stay bytes.

 0  int64  base offset                 12  int32  partition leader epoch     16  int8   magic (2)
 8  int32  length of all that follows  17  uint32 CRC-32C of bytes 21..end   21  int16  attributes
23  int32  last offset delta           27  int64  base timestamp             35  int64  max timestamp
43  int64  producer id                 51  int16  producer epoch             53  int32  base sequence
57  int32  record count                61  records, or one compressed block
"""

import struct
from typing import Final, NamedTuple

import google_crc32c

from oncelog.errors import CorruptBatch

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
    count: int

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


def crc_of(batch: bytes | bytearray | memoryview) -> int:
    """CRC-32C over all that follows the CRC field of one whole batch."""
    return google_crc32c.value(bytes(memoryview(batch)[CRC_FROM:]))
