"""The control batch that ends a transaction in one partition (FMT-2): 78 bytes, one record.

61  varint length 16     62  int8 attributes 0     63  varlong timestamp delta 0     64  varint offset delta 0
65  varint key size 4    66  int16 version 0       68  int16 type: 0 ABORT, 1 COMMIT
70  varint value size 6  71  int16 version 0       73  int32 coordinator epoch       77  varint header count 0
"""

import struct
from typing import Final, NamedTuple

from oncelog.record.batch import (
    CONTROL,
    CRC_FROM,
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    TRANSACTIONAL,
    records_of,
)
from oncelog.record.crc import crc32c

MARKER_BYTES: Final = 78
RECORD: Final = struct.Struct(">bbbbbhhbhib")
assert HEADER_BYTES + RECORD.size == MARKER_BYTES
KEY: Final = struct.Struct(">hh")
VALUE: Final = struct.Struct(">hi")
KIND_AND_EPOCH: Final = struct.Struct(">h3xi")  # from byte 68 on
ORDINARY: Final = struct.pack(">ibbbbb", 1, 32, 0, 0, 0, 8)  # bytes 57 to 65: one record of the form above
ABORT: Final = 0
COMMIT: Final = 1


class Marker(NamedTuple):
    """What a marker says: end as commit or abort, decided by the coordinator of this epoch."""

    commit: bool
    coordinator_epoch: int


def encode_marker(
    *,
    base_offset: int,
    leader_epoch: int,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    commit: bool,
    log_append_time: bool = False,
) -> bytes:
    """The whole control batch, byte for byte as Kafka writes it."""
    attributes = TRANSACTIONAL | CONTROL | (LOG_APPEND_TIME if log_append_time else 0)
    header = HEADER.pack(
        base_offset, MARKER_BYTES - LENGTH_OVERHEAD_BYTES, leader_epoch, MAGIC, 0, attributes, 0,
        timestamp, timestamp, producer_id, producer_epoch, -1, 1,
    )  # fmt: skip
    checked = header[CRC_FROM:] + RECORD.pack(
        32, 0, 0, 0, 8, 0, COMMIT if commit else ABORT, 12, 0, coordinator_epoch, 0
    )
    return header[: CRC_FROM - 4] + struct.pack(">I", crc32c(checked)) + checked


def read_marker(batch: bytes | bytearray | memoryview) -> Marker | None:
    """What a control batch says; None for one without records (its transaction was cleaned away, B45) and for
    control types of KRaft. Later versions of key and value are read as version 0, as Kafka does.
    """
    if (
        len(batch) == MARKER_BYTES and bytes(batch[57:66]) == ORDINARY
    ):  # recovery reads many, nearly all of them ours
        kind, coordinator_epoch = KIND_AND_EPOCH.unpack_from(batch, 68)
        return Marker(kind == COMMIT, coordinator_epoch) if kind in (ABORT, COMMIT) else None
    for record in records_of(batch):
        if record.key is None or len(record.key) < KEY.size:
            return None
        _, kind = KEY.unpack_from(record.key)
        if kind not in (ABORT, COMMIT) or record.value is None or len(record.value) < VALUE.size:
            return None
        _, coordinator_epoch = VALUE.unpack_from(record.value)
        return Marker(kind == COMMIT, coordinator_epoch)
    return None
