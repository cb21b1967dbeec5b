"""A partition's .batches file, beside its .snapshot: the whole cache of five batches of each producer.

Kafka's snapshot holds the last batch only (FMT-5), so a client that repeats two batches after a crash behind a roll is told
OUT_OF_ORDER_SEQUENCE_NUMBER for the first, though both are in the log. This file is ours; Kafka passes it over. Without
it, or if it does not fit the snapshot, we know what Kafka knows.

 0  int16  version (0)     2  uint32 CRC-32C of bytes 6..end     6  int32  count of producers     10  producers:
 0  int64  producer id     8  int16  producer epoch             10  int32  count of batches      14  batches, oldest first:
 0  int32  first sequence  4  int32  last sequence   8  int64  last offset   16  int32  offset delta   20  int64  timestamp
"""

import struct
from typing import Final

from oncelog.errors import CorruptLog
from oncelog.log.state import CACHED_BATCHES, CachedBatch, LogState
from oncelog.record.crc import crc32c

BATCHES: Final = ".batches"
HEAD: Final = struct.Struct(">hIi")
PRODUCER: Final = struct.Struct(">qhi")
BATCH: Final = struct.Struct(">iiqiq")
CRC_FROM: Final = 6
VERSION: Final = 0


def encode_caches(state: LogState) -> bytes | None:
    """None if no producer has more than its last batch: then the snapshot says it all."""
    pieces: list[bytes] = []
    count = 0
    for producer in state.producers.values():
        if len(producer.batches) > 1:
            count += 1
            pieces.append(PRODUCER.pack(producer.producer_id, producer.epoch, len(producer.batches)))
            pieces += [BATCH.pack(*batch) for batch in producer.batches]
    if not count:
        return None
    body = struct.pack(">i", count) + b"".join(pieces)
    return struct.pack(">hI", VERSION, crc32c(body)) + body


def restore_caches(state: LogState, data: bytes) -> None:
    """Fills the caches of a state that was read from the snapshot of the same offset; CorruptLog changes nothing."""
    if len(data) < HEAD.size:
        raise CorruptLog(f"batch caches of {len(data)} bytes, wanted at least {HEAD.size}")
    version, crc, count = HEAD.unpack_from(data)
    if version != VERSION or crc32c(data[CRC_FROM:]) != crc:
        raise CorruptLog(f"batch caches: version {version} or CRC {crc:08x} does not fit")
    at = HEAD.size
    for _ in range(count):
        producer_id, epoch, size = PRODUCER.unpack_from(data, at)
        at += PRODUCER.size
        end = at + size * BATCH.size
        batches = [CachedBatch._make(batch) for batch in BATCH.iter_unpack(data[at:end])]
        at = end
        producer = state.producers.get(producer_id)
        if producer is None or producer.epoch != epoch or not producer.batches or not batches:
            continue
        # All but the time, which in a snapshot may be that of a marker behind the batch.
        if producer.batches[-1][:-1] == batches[-1][:-1]:
            producer.batches.clear()
            producer.batches.extend(batches[-CACHED_BATCHES:])
