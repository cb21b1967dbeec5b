"""Four codecs both ways, and bombs that never go off (T5)."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, cast

import cramjam
import lz4.frame  # pyright: ignore[reportMissingTypeStubs]  # has none
import pytest
import zstandard

from oncelog.errors import CorruptBatch
from oncelog.record.compression import (
    GZIP,
    LZ4,
    LZ4_BLOCK_BYTES,
    LZ4_HEAD,
    LZ4_STORED,
    SNAPPY,
    XERIAL_BLOCK_BYTES,
    XERIAL_HEAD,
    ZSTD,
    TooLarge,
    compress,
    decompress,
)

MIB = 1024 * 1024
lz4_frame: Final = cast(Any, lz4.frame)
TEXTS = {
    "empty": b"",
    "one byte": b"x",
    "text": b"the quick brown fox " * 100,
    "three blocks": bytes(range(256)) * (3 * LZ4_BLOCK_BYTES // 256),
    "noise": bytes((value * value * 31 + value // 7) & 0xFF for value in range(70_000)),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_there_and_back(codec: int, text: bytes) -> None:
    assert decompress(codec, compress(codec, text), limit_bytes=len(text)) == text


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_one_byte_over_the_limit_is_refused(codec: int) -> None:
    packed = compress(codec, TEXTS["three blocks"])
    with pytest.raises(TooLarge, match="more than 196607 bytes"):
        decompress(codec, packed, limit_bytes=len(TEXTS["three blocks"]) - 1)


def test_other_writers_are_read() -> None:
    text = TEXTS["three blocks"] + TEXTS["noise"]
    frames = [
        (GZIP, gzip.compress(text)),
        (GZIP, gzip.compress(text[:1000]) + gzip.compress(text[1000:])),  # members one after another
        (SNAPPY, bytes(cramjam.snappy.compress_raw(text))),
        (LZ4, lz4_frame.compress(text)),
        (LZ4, lz4_frame.compress(text, block_linked=False, content_checksum=True, block_checksum=True)),
        (LZ4, lz4_frame.compress(text, store_size=False, block_size=lz4_frame.BLOCKSIZE_MAX4MB)),
        (ZSTD, zstandard.ZstdCompressor().compress(text)),
        (ZSTD, zstandard.ZstdCompressor(write_content_size=False, level=19).compress(text)),
    ]
    for codec, frame in frames:
        assert decompress(codec, frame, limit_bytes=MIB) == text


def test_others_read_what_we_write() -> None:
    text = TEXTS["three blocks"] + TEXTS["noise"]
    assert gzip.decompress(compress(GZIP, text)) == text
    assert lz4_frame.decompress(compress(LZ4, text)) == text
    assert zstandard.ZstdDecompressor().decompressobj().decompress(compress(ZSTD, text)) == text


def test_the_frames_are_as_java_wants_them() -> None:
    """KafkaLZ4BlockInputStream reads no linked blocks; xerial's header is 16 bytes, blocks 32 KiB."""
    text = TEXTS["three blocks"]
    assert compress(LZ4, text).startswith(LZ4_HEAD)
    info = lz4_frame.get_frame_info(compress(LZ4, text))
    assert (info["block_linked"], info["block_size"], info["content_checksum"]) == (
        False,
        LZ4_BLOCK_BYTES,
        False,
    )
    packed = compress(SNAPPY, text)
    assert packed[:16] == XERIAL_HEAD == bytes.fromhex("82534e4150505900 00000001 00000001")
    first = int.from_bytes(packed[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + first])) == text[:XERIAL_BLOCK_BYTES]


def test_lz4_blocks_that_do_not_shrink_are_stored() -> None:
    """Java's reader refuses a block that is larger than the frame's 64 KiB."""
    text = b"".join(sha256(bytes((high, low))).digest() for high in range(8) for low in range(256))
    assert len(text) == LZ4_BLOCK_BYTES
    packed = compress(LZ4, text)
    assert packed[len(LZ4_HEAD) : len(LZ4_HEAD) + 4] == (LZ4_BLOCK_BYTES | LZ4_STORED).to_bytes(4, "little")
    assert len(packed) == len(LZ4_HEAD) + 4 + LZ4_BLOCK_BYTES + 4
    assert lz4_frame.decompress(packed) == decompress(LZ4, packed, limit_bytes=MIB) == text


BOMB_BYTES = 256 * MIB


ZEROS = bytes(BOMB_BYTES)


def snappy_bomb() -> bytes:
    return bytes(cramjam.snappy.compress_raw(ZEROS))


def zstd_bomb(**how: Any) -> tuple[int, bytes]:
    return ZSTD, zstandard.ZstdCompressor(**how).compress(ZEROS)


BOMBS: dict[str, Callable[[], tuple[int, bytes]]] = {
    "gzip": lambda: (GZIP, gzip.compress(ZEROS, compresslevel=1)),
    "snappy raw": lambda: (SNAPPY, snappy_bomb()),
    "snappy xerial": lambda: (SNAPPY, XERIAL_HEAD + len(snappy_bomb()).to_bytes(4, "big") + snappy_bomb()),
    "snappy of many blocks": lambda: (SNAPPY, compress(SNAPPY, ZEROS[: 32 * MIB])),
    "lz4": lambda: (LZ4, lz4_frame.compress(ZEROS)),
    "zstd": zstd_bomb,
    "zstd, size unsaid": lambda: zstd_bomb(write_content_size=False),
    "zstd, large window": lambda: zstd_bomb(
        compression_params=zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    ),
}
FUSE = """
import sys, time
from oncelog.record.compression import TooLarge, decompress

def peak():  # not ru_maxrss: a child begins with its parent's
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024

bomb = sys.stdin.buffer.read()
before = peak()
began = time.perf_counter()
try:
    decompress(int(sys.argv[1]), bomb, limit_bytes=int(sys.argv[2]))
except TooLarge:
    took = time.perf_counter() - began
    print(peak() - before, took)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("name", list(BOMBS))
def test_t5_bombs_are_refused_in_milliseconds_without_their_memory(name: str) -> None:
    """In a process of its own: what the codecs allocate is not Python's to count."""
    codec, bomb = BOMBS[name]()
    limit = 8 * MIB
    done = subprocess.run(
        [sys.executable, "-c", FUSE, str(codec), str(limit)], input=bomb, capture_output=True, check=True
    )
    grown, took = done.stdout.split()
    assert int(grown) < 4 * limit
    assert float(took) < 1.0  # 1 to 30 ms on a quiet machine


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_broken_bytes_are_refused(codec: int) -> None:
    packed = compress(codec, TEXTS["text"])
    for broken in (packed[:-5], b"\0" * 40, b"\xff" * 40, packed[:10]):
        with pytest.raises(CorruptBatch):
            decompress(codec, broken, limit_bytes=MIB)


@pytest.mark.parametrize("size", [0, -1, 2**31 - 1])
def test_snappy_block_sizes_are_bounded(size: int) -> None:
    with pytest.raises(CorruptBatch, match="block of"):
        decompress(SNAPPY, XERIAL_HEAD + size.to_bytes(4, "big", signed=True) + b"abc", limit_bytes=MIB)


@pytest.mark.parametrize("codec", [0, 5, 6, 7])
def test_unknown_codecs(codec: int) -> None:
    with pytest.raises(CorruptBatch, match=f"codec {codec}"):
        decompress(codec, b"x", limit_bytes=MIB)
    with pytest.raises(ValueError, match=f"codec {codec}"):
        compress(codec, b"x")
