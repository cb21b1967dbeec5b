"""Which partition a record belongs to: murmur2 of the key, as Kafka's Java producer does it."""

import struct
from typing import Final

_SEED: Final = 0x9747B28C
_MIX: Final = 0x5BD1E995
_WORD: Final = struct.Struct("<I")


def murmur2(data: bytes) -> int:
    """Kafka's variant of MurmurHash2, as an unsigned 32-bit number."""
    value = (_SEED ^ len(data)) & 0xFFFFFFFF
    whole = len(data) & ~3
    for (word,) in _WORD.iter_unpack(data[:whole]):
        word = word * _MIX & 0xFFFFFFFF
        word ^= word >> 24
        word = word * _MIX & 0xFFFFFFFF
        value = value * _MIX & 0xFFFFFFFF ^ word
    rest = data[whole:]
    if rest:
        value ^= int.from_bytes(rest, "little")
        value = value * _MIX & 0xFFFFFFFF
    value ^= value >> 13
    value = value * _MIX & 0xFFFFFFFF
    return value ^ value >> 15


def partition_of_key(key: bytes, partitions: int) -> int:
    """The sign bit is cleared, not negated: -1 and 1 are different partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
