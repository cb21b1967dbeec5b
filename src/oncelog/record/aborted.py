"""One entry of a segment's .txnindex file, in Kafka's format.

 0  int16  version (0)         2  int64  producer id        10  int64  first offset
18  int64  last offset        26  int64  last stable offset when the abort marker was written
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from oncelog.errors import CorruptLog

ENTRY: Final = struct.Struct(">hqqqq")
ENTRY_BYTES: Final = 34
assert ENTRY.size == ENTRY_BYTES
VERSION: Final = 0


class AbortedEntry(NamedTuple):
    """An aborted transaction: its data begins at `first_offset`, its marker is at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode_entry(entry: AbortedEntry) -> bytes:
    return ENTRY.pack(
        VERSION, entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
    )


def decode_entries(data: bytes | bytearray | memoryview) -> Iterator[AbortedEntry]:
    """All entries of a .txnindex file. CorruptLog names the position: the caller adds the file and rebuilds it."""
    if len(data) % ENTRY_BYTES:
        raise CorruptLog(f"transaction index of {len(data)} bytes, wanted a multiple of {ENTRY_BYTES}")
    last = -1
    for at, (version, producer_id, first_offset, last_offset, last_stable_offset) in enumerate(
        ENTRY.iter_unpack(data)
    ):
        if version > VERSION or version < 0:
            raise CorruptLog(
                f"entry {at} of the transaction index: wanted version {VERSION}, found {version}"
            )
        if last_offset <= last or first_offset > last_offset:
            raise CorruptLog(
                f"entry {at} of the transaction index: offsets {first_offset}..{last_offset} after marker {last}"
            )
        last = last_offset
        yield AbortedEntry(producer_id, first_offset, last_offset, last_stable_offset)
