"""The entries of a segment's .index file: where to find an offset.

0  int32  offset minus the segment's base offset       4  int32  position of the batch in the .log file
The offset is the batch's last one. Entries rise strictly; the rest of a preallocated file is zeros.
"""

import struct
from typing import Final, NamedTuple

from oncelog.errors import CorruptLog

ENTRY: Final = struct.Struct(">ii")
ENTRY_BYTES: Final = 8
assert ENTRY.size == ENTRY_BYTES


class OffsetEntry(NamedTuple):
    relative_offset: int
    position: int


def encode_entry(relative_offset: int, position: int) -> bytes:
    return ENTRY.pack(relative_offset, position)


def decode_entries(data: bytes | bytearray | memoryview) -> list[OffsetEntry]:
    """All entries of a file whose zeros at the end, if any, were trimmed by `used_bytes`."""
    if len(data) % ENTRY_BYTES:
        raise CorruptLog(f"offset index of {len(data)} bytes, wanted a multiple of {ENTRY_BYTES}")
    entries: list[OffsetEntry] = []
    last_offset, last_position = -1, -1
    for at, (relative_offset, position) in enumerate(ENTRY.iter_unpack(data)):
        if relative_offset <= last_offset or position <= last_position:
            raise CorruptLog(
                f"entry {at} of the offset index: ({relative_offset}, {position}) after ({last_offset}, {last_position})"
            )
        last_offset, last_position = relative_offset, position
        entries.append(OffsetEntry(relative_offset, position))
    return entries


def used_bytes(data: bytes | bytearray | memoryview) -> int:
    """How much of a preallocated file holds entries: zeros follow."""
    used = len(bytes(data).rstrip(b"\0"))
    return min(-(-used // ENTRY_BYTES) * ENTRY_BYTES, len(data))
