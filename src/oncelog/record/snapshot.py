"""A partition's .snapshot file: the state of its producers up to, not including, the offset in the file's name.

 0  int16  version (1)     2  uint32 CRC-32C of bytes 6..end     6  int32  count     10  entries of 46 bytes:
 0  int64  producer id                 8  int16  producer epoch            10  int32  last sequence (-1: no data batch)
14  int64  last offset (-1)           22  int32  last minus first offset   26  int64  last timestamp
34  int32  coordinator epoch (-1)     38  int64  first offset of the open transaction (-1: none)
Only the last batch of a producer is kept (FMT-5). The timestamp is the producer's: of a marker, if that came after the
batch, and then the batch has the marker's time when it is loaded again.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from oncelog.errors import CorruptLog
from oncelog.record.crc import crc32c

HEAD: Final = struct.Struct(">hIi")
HEAD_BYTES: Final = 10
CRC_FROM: Final = 6
ENTRY: Final = struct.Struct(">qhiqiqiq")
ENTRY_BYTES: Final = 46
assert HEAD.size == HEAD_BYTES
assert ENTRY.size == ENTRY_BYTES
VERSION: Final = 1


class SnapshotEntry(NamedTuple):
    """One producer, fields in the order of the file."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_first_offset: int


def encode_snapshot(entries: Sequence[SnapshotEntry]) -> bytes:
    body = struct.pack(">i", len(entries)) + b"".join([ENTRY.pack(*entry) for entry in entries])
    return struct.pack(">hI", VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> list[SnapshotEntry]:
    """The entries, or CorruptLog: then the file is removed and an older one is replayed from (REC-4)."""
    if len(data) < HEAD_BYTES:
        raise CorruptLog(f"producer snapshot of {len(data)} bytes, wanted at least {HEAD_BYTES}")
    version, crc, count = HEAD.unpack_from(data)
    if version != VERSION:
        raise CorruptLog(f"producer snapshot: wanted version {VERSION}, found {version}")
    found = crc32c(data[CRC_FROM:])
    if found != crc:
        raise CorruptLog(f"producer snapshot: wanted CRC {crc:08x}, found {found:08x}")
    if len(data) != HEAD_BYTES + count * ENTRY_BYTES:
        raise CorruptLog(f"producer snapshot of {len(data)} bytes says it has {count} entries")
    return [SnapshotEntry._make(entry) for entry in ENTRY.iter_unpack(data[HEAD_BYTES:])]
