"""Cuts a stream of bytes into frames: int32 length, then that many bytes."""

from struct import Struct
from typing import Final

from oncelog.errors import MalformedMessage

LENGTH: Final = Struct(">i")
assert LENGTH.size == 4


class Frames:
    """Takes a stream in any pieces and gives back the frames that are complete.

    The buffer grows with the bytes that arrive, never to a size that a length merely claims. After a refused length the
    stream cannot be cut any more: the connection has to be closed.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._kept = bytearray()
        self._wanted = LENGTH.size  # nothing can be cut before that many bytes are kept

    @property
    def kept_bytes(self) -> int:
        """Bytes of a frame that is not complete yet."""
        return len(self._kept)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The frames that `data` completes, without their lengths."""
        kept = self._kept
        if kept:
            kept += data
            if len(kept) < self._wanted:
                return []
            stream = bytes(kept)
            kept.clear()
        else:
            stream = bytes(data)
        frames: list[bytes] = []
        at, size = 0, len(stream)
        self._wanted = LENGTH.size
        while size - at >= 4:
            (length,) = LENGTH.unpack_from(stream, at)
            if not 0 <= length <= self.limit_bytes:
                raise MalformedMessage(f"a frame of {length} bytes, wanted 0 to {self.limit_bytes}")
            if size - at - 4 < length:
                self._wanted = length + 4
                break
            frames.append(stream[at + 4 : at + 4 + length])
            at += 4 + length
        kept += stream[at:] if at else stream
        return frames
