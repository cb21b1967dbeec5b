"""Which partitions the rows of a column of keys belong to: the hashes of Kafka's clients over whole Arrow columns.

murmur2   Kafka's Java producer: the sign bit cleared, modulo the number of partitions
crc32     librdkafka's `consistent` partitioner, and Spark's own crc32(): unsigned, modulo the number of partitions

A row without a key has no place of its own and goes round by its row number: row i to partition (first_row + i) mod n. Java's
producer would stay with one partition for a while, to fill its batches; here rows of a partition are brought together before they
become batches, so nothing is gained by that, and a task that runs again over the same rows makes the same choice.
"""

import zlib
from typing import Final

import numpy as np
import numpy.typing as npt

from oncelog.client.partitioner import murmur2
from oncelog.spark.arrow import Array, pa

Hashes = npt.NDArray[np.uint32]

HASHES: Final = ("murmur2", "crc32")
FEWEST_KEYS: Final = 16  # with fewer that are still to be read a plain loop is faster

LONG_KEY_BYTES: Final = 64  # of crc32: beyond it a call of zlib takes less than the steps

_SEED: Final = np.uint32(0x9747B28C)
_MIX: Final = np.uint32(0x5BD1E995)


def _crc_table() -> Hashes:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = table >> np.uint32(1) ^ np.where(table & 1, np.uint32(0xEDB88320), np.uint32(0))
    return table


_CRC_TABLE: Final = _crc_table()


def partition_of(
    keys: Array, partitions: int, how: str = "murmur2", *, first_row: int = 0
) -> npt.NDArray[np.int32]:
    """The partition of each key, from 0 to partitions - 1."""
    if partitions < 1:
        raise ValueError(f"partitions: wanted at least 1, found {partitions}")
    match how:
        case "murmur2":
            hashes = murmur2_array(keys) & np.uint32(0x7FFFFFFF)
        case "crc32":
            hashes = crc32_array(keys)
        case _:
            raise ValueError(f"hash: wanted one of {', '.join(HASHES)}, found {how!r}")
    found = (hashes % np.uint32(partitions)).astype(np.int32)
    if keys.null_count:
        null = np.flatnonzero(keys.is_null().to_numpy(zero_copy_only=False))
        found[null] = (null + first_row) % partitions
    return found


def murmur2_array(keys: Array) -> Hashes:
    """Kafka's murmur2 of each key; of a null as of an empty one. A step for each word, over all keys that have so many."""
    memory, bounds = _binary(keys)
    size = np.diff(bounds)
    hashes = _SEED ^ size.astype(np.uint32)
    order, going = _longest_first(size >> 2)
    window = np.ndarray((max(memory.size - 3, 0),), "<u4", memory, strides=(1,))
    state, at = hashes[order], bounds[:-1][order]
    few: list[int] = []
    for word, keys_left in enumerate(going):
        if keys_left < FEWEST_KEYS < len(going) - word:
            few = order[:keys_left].tolist()
            break
        mixed = window[at[:keys_left]]
        mixed *= _MIX
        mixed ^= mixed >> np.uint32(24)
        mixed *= _MIX
        state[:keys_left] *= _MIX
        state[:keys_left] ^= mixed
        at[:keys_left] += 4
    hashes[order] = state
    for place in (2, 1, 0):  # the bytes behind the last whole word
        rows = np.flatnonzero(size & 3 > place)
        last = memory[bounds[rows] + (size[rows] & ~3) + place]
        hashes[rows] ^= last.astype(np.uint32) << np.uint32(8 * place)
    hashes[size & 3 > 0] *= _MIX
    hashes ^= hashes >> np.uint32(13)
    hashes *= _MIX
    hashes ^= hashes >> np.uint32(15)
    for row in few:
        hashes[row] = murmur2(memory[bounds[row] : bounds[row + 1]].tobytes())
    return hashes


def crc32_array(keys: Array) -> Hashes:
    """zlib's crc32 of each key; of a null as of an empty one. A step for each byte, but for long keys zlib is faster."""
    memory, bounds = _binary(keys)
    size = np.diff(bounds)
    long = size > LONG_KEY_BYTES
    order, going = _longest_first(np.where(long, 0, size))
    state, at = np.full(size.size, 0xFFFFFFFF, np.uint32), bounds[:-1][order]
    for byte, keys_left in enumerate(going):
        some = state[:keys_left]
        state[:keys_left] = _CRC_TABLE[(some ^ memory[at[:keys_left] + byte]) & 0xFF] ^ some >> np.uint32(8)
    hashes = np.empty_like(state)
    hashes[order] = ~state
    view = memory.data
    for row in np.flatnonzero(long).tolist():
        hashes[row] = zlib.crc32(view[bounds[row] : bounds[row + 1]])
    return hashes


def _longest_first(steps: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], list[int]]:
    """The rows in falling order of their steps, and for each step how many rows, from the first on, still take it."""
    order = np.argsort(-steps, kind="stable")
    falling = -steps[order]
    return order, np.searchsorted(falling, -np.arange(-falling[0] if falling.size else 0)).tolist()


def _binary(keys: Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of all keys, and where each begins and ends."""
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    if keys.type != pa.binary():
        keys = keys.cast(pa.binary())
    if keys.null_count:
        keys = keys.fill_null(b"")
    _, bounds, data = keys.buffers()
    places = (
        np.frombuffer(bounds, np.int32, len(keys) + 1, 4 * keys.offset)
        if len(keys)
        else np.zeros(1, np.int32)
    )
    memory = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return memory, places.astype(np.int64)
