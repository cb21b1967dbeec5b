"""A closed segment's .checks file: what its index files must look like, for Kafka's have no checksum.

A flipped bit in a transaction index would show aborted records to read_committed readers, one in an offset index would
skip records, and nobody would notice. This file is ours; Kafka passes it over. A segment without it, or with one that fits
neither itself nor the size of the log (Kafka was here), is believed as Kafka believes it.

 0  int16  version (0)     2  int16  flags: 1 = offsets have no gaps     4  int64  size of the .log it was written for
12  uint32 CRC-32C of the .index file    16  uint32 of the .timeindex    20  uint32 of the .txnindex, 0 if there is none
24  uint32 CRC-32C of bytes 0..23
"""

import struct
from typing import Final, NamedTuple

from oncelog.record.crc import crc32c

CHECKS: Final = ".checks"
BODY: Final = struct.Struct(">hhqIII")
CRC: Final = struct.Struct(">I")
VERSION: Final = 0
GAPLESS: Final = 1
assert BODY.size + CRC.size == 28


class Checks(NamedTuple):
    size: int
    gapless: bool  # written by appends; the cleaner leaves gaps
    offsets: int
    times: int
    aborted: int


def encode_checks(checks: Checks) -> bytes:
    flags = GAPLESS if checks.gapless else 0
    body = BODY.pack(VERSION, flags, checks.size, checks.offsets, checks.times, checks.aborted)
    return body + CRC.pack(crc32c(body))


def decode_checks(data: bytes) -> Checks | None:
    """None if it cannot be believed."""
    if len(data) != BODY.size + CRC.size or CRC.unpack_from(data, BODY.size)[0] != crc32c(data[: BODY.size]):
        return None
    version, flags, size, offsets, times, aborted = BODY.unpack_from(data)
    return Checks(size, bool(flags & GAPLESS), offsets, times, aborted) if version == VERSION else None
