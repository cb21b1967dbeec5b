"""Looks at a partition's record batches without any client: did the producer really number and compress them?"""

import socket
import struct
from dataclasses import dataclass
from typing import Final

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
# base offset, length, leader epoch, magic, crc, attributes, last offset delta, timestamps, producer id, epoch, sequence, count
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
assert HEADER.size == 61


@dataclass(frozen=True, slots=True)
class Batch:
    base_offset: int
    count: int
    codec: str
    producer_id: int
    base_sequence: int


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def batches(bootstrap: str, topic: str, partition: int) -> list[Batch]:
    """Every batch of a (small) partition, by one Fetch v4 from offset 0."""
    host, _, port = bootstrap.rpartition(":")
    body = struct.pack(
        ">iiiib", -1, 500, 1, 1 << 24, 0
    )  # replica, wait, min bytes, max bytes, read uncommitted
    body += struct.pack(">i", 1) + _string(topic) + struct.pack(">iiqi", 1, partition, 0, 1 << 24)
    request = struct.pack(">hhi", 1, 4, 7) + _string("wire") + body
    with socket.create_connection((host, int(port)), timeout=10) as door, door.makefile("rb") as stream:
        door.sendall(struct.pack(">i", len(request)) + request)
        answer = stream.read(struct.unpack(">i", stream.read(4))[0])
    at = 4 + 4 + 4 + 2 + len(topic) + 4 + 4  # correlation id, throttle, topics, name, partitions, index
    error, _high_watermark, _stable, aborted = struct.unpack_from(">hqqi", answer, at)
    if error != 0:
        raise AssertionError(f"Fetch of {topic}-{partition} answered error {error}")
    at += 22 + 16 * max(aborted, 0)
    size = struct.unpack_from(">i", answer, at)[0]
    return _walk(answer[at + 4 : at + 4 + size])


def _walk(data: bytes) -> list[Batch]:
    found: list[Batch] = []
    at = 0
    while at + HEADER.size <= len(data):
        head: tuple[int, ...] = HEADER.unpack_from(data, at)
        codec = CODECS[head[5] & 7]
        found.append(Batch(head[0], head[12], codec, producer_id=head[9], base_sequence=head[11]))
        at += 12 + head[1]
    return found
