"""Zig-zag LEB128 numbers as they stand inside records, and the unsigned form of flexible schemas.

Seven bits per byte, lowest first, the top bit says "more". At most 5 bytes for 32 bits and 10 for 64 (T4).
"""

from collections.abc import Sequence

from oncelog.errors import CorruptBatch


def encode_varint(value: int) -> bytes:
    """Zig-zag, any signed value of up to 64 bits."""
    return encode_unsigned((value << 1) ^ (value >> 63))


def encode_unsigned(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: Sequence[int], at: int, *, bits: int = 32) -> tuple[int, int]:
    """(value, position after it). CorruptBatch if it is cut or does not fit into `bits`."""
    value, at = read_unsigned(data, at, bits=bits)
    return (value >> 1) ^ -(value & 1), at


def read_unsigned(data: Sequence[int], at: int, *, bits: int = 32) -> tuple[int, int]:
    value = 0
    for shift in range(0, bits, 7):
        if at >= len(data):
            raise CorruptBatch(f"number at byte {at} is cut")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> bits:
                raise CorruptBatch(f"number before byte {at} needs more than {bits} bits")
            return value, at
    raise CorruptBatch(f"number before byte {at} needs more than {bits} bits")
