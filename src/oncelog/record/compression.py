"""The four codecs of record batches, both ways. Decompression has a hard cap (T5): a bomb is refused early.

1 gzip    a gzip stream
2 snappy  as Java writes it: 82 "SNAPPY" 00, int32 version 1, int32 oldest reader 1, then for each block of up to 32 KiB
          int32 size and a raw snappy block; or one raw snappy block, as other clients write it
3 lz4     an LZ4 frame of independent 64 KiB blocks: Java reads no linked ones
4 zstd    a zstd frame
"""

import struct
import zlib
from typing import Any, Final, cast

import cramjam

from oncelog.errors import CorruptBatch

GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
NAMES: Final = {0: "none", GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}

# cramjam's stubs leave its return types open
_snappy: Final = cast(Any, cramjam).snappy
_lz4: Final = cast(Any, cramjam).lz4
_zstd: Final = cast(Any, cramjam).zstd
_Refused: Final = cast(type[Exception], cast(Any, cramjam).DecompressionError)

XERIAL_MAGIC: Final = b"\x82SNAPPY\0"
XERIAL_HEAD: Final = XERIAL_MAGIC + struct.pack(">ii", 1, 1)
XERIAL_BLOCK_BYTES: Final = 32 * 1024
# magic, FLG: version 1 and independent blocks, BD: 64 KiB, then the second byte of the xxHash-32 of FLG and BD
LZ4_HEAD: Final = bytes.fromhex("04224d18604082")
LZ4_BLOCK_BYTES: Final = 64 * 1024
LZ4_STORED: Final = 0x8000_0000  # the block is not compressed

_FIRST_GUESS: Final = 4  # times the compressed size; then again and again until the cap
_FIRST_GUESS_BYTES: Final = 64 * 1024


def compress(codec: int, data: bytes) -> bytes:
    match codec:
        case 1:
            packer = zlib.compressobj(wbits=31)
            return packer.compress(data) + packer.flush()
        case 2:
            blocks = [XERIAL_HEAD]
            for at in range(0, len(data), XERIAL_BLOCK_BYTES):
                block = bytes(_snappy.compress_raw(data[at : at + XERIAL_BLOCK_BYTES]))
                blocks += (len(block).to_bytes(4, "big"), block)
            return b"".join(blocks)
        case 3:
            blocks = [LZ4_HEAD]
            for at in range(0, len(data), LZ4_BLOCK_BYTES):
                plain = data[at : at + LZ4_BLOCK_BYTES]
                block = bytes(_lz4.compress_block(plain, store_size=False))
                if len(block) < len(plain):
                    blocks += (len(block).to_bytes(4, "little"), block)
                else:
                    blocks += ((len(plain) | LZ4_STORED).to_bytes(4, "little"), plain)
            blocks.append(bytes(4))
            return b"".join(blocks)
        case 4:
            return bytes(_zstd.compress(data))
        case _:
            raise ValueError(f"codec {codec}: wanted one of {NAMES}")


def decompress(codec: int, data: bytes, *, limit_bytes: int) -> bytes:
    """The plain bytes. TooLarge if they would be more than `limit_bytes`, CorruptBatch if they cannot be read."""
    match codec:
        case 1:
            return _gunzip(data, limit_bytes)
        case 2:
            return _unsnappy(data, limit_bytes)
        case 3:
            return _grow(_lz4.decompress_into, data, limit_bytes, "lz4")
        case 4:
            return _grow(_zstd.decompress_into, data, limit_bytes, "zstd")
        case _:
            raise CorruptBatch(f"codec {codec}: wanted one of {NAMES}")


class TooLarge(CorruptBatch):
    """More plain bytes than we are ready to hold."""


def _gunzip(data: bytes, limit_bytes: int) -> bytes:
    pieces: list[bytes] = []
    room = limit_bytes
    while data:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            piece = unpacker.decompress(data, room + 1)
        except zlib.error as error:
            raise CorruptBatch(f"gzip: {error}") from None
        room -= len(piece)
        if room < 0:
            raise TooLarge(f"gzip: more than {limit_bytes} bytes when decompressed")
        if not unpacker.eof:
            raise CorruptBatch("gzip: the stream is cut")
        pieces.append(piece)
        data = unpacker.unused_data
    return b"".join(pieces)


def _unsnappy(data: bytes, limit_bytes: int) -> bytes:
    if not data.startswith(XERIAL_MAGIC):
        return _unsnappy_block(data, limit_bytes, limit_bytes)
    if len(data) < len(XERIAL_HEAD):
        raise CorruptBatch(f"snappy: {len(data)} bytes, the head needs {len(XERIAL_HEAD)}")
    pieces: list[bytes] = []
    at, room = len(XERIAL_HEAD), limit_bytes
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        at += 4
        if not 0 < size <= len(data) - at:
            raise CorruptBatch(f"snappy: block of {size} bytes at byte {at}, {len(data) - at} are left")
        piece = _unsnappy_block(data[at : at + size], room, limit_bytes)
        pieces.append(piece)
        room -= len(piece)
        at += size
    return b"".join(pieces)


def _unsnappy_block(block: bytes, room: int, limit_bytes: int) -> bytes:
    """A raw block begins with its plain size, so nothing is allocated for a bomb."""
    try:
        size = int(_snappy.decompress_raw_len(block))
        if size > room:
            raise TooLarge(f"snappy: more than {limit_bytes} bytes when decompressed")
        return bytes(_snappy.decompress_raw(block))
    except _Refused as error:
        raise CorruptBatch(f"snappy: {error}") from None


def _grow(decompress_into: Any, data: bytes, limit_bytes: int, name: str) -> bytes:
    """Neither format has to say its plain size. cramjam never writes past the buffer that it is given, so the buffer
    grows until all fits or the cap is reached: the work of all tries together is less than 4/3 of the cap.
    """
    room = min(max(len(data) * _FIRST_GUESS, _FIRST_GUESS_BYTES), limit_bytes)
    while True:
        out = bytearray(room)
        try:
            size = int(decompress_into(data, out))
        except _Refused as error:
            if "whole buffer" not in str(error):
                raise CorruptBatch(f"{name}: {error}") from None
            if room == limit_bytes:
                raise TooLarge(f"{name}: more than {limit_bytes} bytes when decompressed") from None
            room = min(room * _FIRST_GUESS, limit_bytes)
        else:
            return bytes(memoryview(out)[:size])
