"""The entries of a segment's .timeindex file: where to begin looking for a time.

0  int64  largest timestamp so far                8  int32  last offset of the batch that has it, minus the base offset
Timestamps rise strictly; the rest of a preallocated file is zeros.
"""

import struct
from typing import Final, NamedTuple

from oncelog.errors import CorruptLog

ENTRY: Final = struct.Struct(">qi")
ENTRY_BYTES: Final = 12
assert ENTRY.size == ENTRY_BYTES


class TimeEntry(NamedTuple):
    timestamp: int
    relative_offset: int


def encode_entry(timestamp: int, relative_offset: int) -> bytes:
    return ENTRY.pack(timestamp, relative_offset)


def decode_entries(data: bytes | bytearray | memoryview) -> list[TimeEntry]:
    """All entries of a file whose zeros at the end, if any, were trimmed by `used_bytes`."""
    if len(data) % ENTRY_BYTES:
        raise CorruptLog(f"time index of {len(data)} bytes, wanted a multiple of {ENTRY_BYTES}")
    entries: list[TimeEntry] = []
    last_timestamp, last_offset = -2, -1  # -1 is a timestamp that may be indexed: records may have none
    for at, (timestamp, relative_offset) in enumerate(ENTRY.iter_unpack(data)):
        if timestamp <= last_timestamp or relative_offset < last_offset:
            raise CorruptLog(
                f"entry {at} of the time index: ({timestamp}, {relative_offset}) after ({last_timestamp}, {last_offset})"
            )
        last_timestamp, last_offset = timestamp, relative_offset
        entries.append(TimeEntry(timestamp, relative_offset))
    return entries


def used_bytes(data: bytes | bytearray | memoryview) -> int:
    """How much of a preallocated file holds entries: zeros follow."""
    used = len(bytes(data).rstrip(b"\0"))
    return min(-(-used // ENTRY_BYTES) * ENTRY_BYTES, len(data))
