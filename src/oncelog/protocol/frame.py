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
        self._kept = bytearray()  # of the length, or of the body once the length is known
        self._length: int | None = None

    @property
    def kept_bytes(self) -> int:
        """Bytes received of a frame that is not complete yet."""
        return len(self._kept) + (0 if self._length is None else LENGTH.size)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The frames that `data` completes, without their lengths. `data` may be overwritten afterwards."""
        view = memoryview(data)
        if self._length is None and not self._kept and len(view) > LENGTH.size:
            (length,) = LENGTH.unpack_from(view)
            if length == len(view) - LENGTH.size and length <= self.limit_bytes:
                return [view[LENGTH.size :].tobytes()]  # one request at a time, as most clients send them
        frames: list[bytes] = []
        at, size = 0, len(view)
        while at < size:
            wanted = LENGTH.size if self._length is None else self._length
            if not self._kept and size - at >= wanted:
                piece = view[at : at + wanted].tobytes()
                at += wanted
            else:
                rest = wanted - len(self._kept)
                self._kept += view[at : at + rest]
                at += rest
                if at > size:
                    break
                piece = bytes(self._kept)
                self._kept = bytearray()
            if self._length is not None:
                self._length = None
                frames.append(piece)
                continue
            (length,) = LENGTH.unpack(piece)
            if not 0 <= length <= self.limit_bytes:
                raise MalformedMessage(f"a frame of {length} bytes, wanted 0 to {self.limit_bytes}")
            if length:
                self._length = length
            else:
                frames.append(b"")
        return frames
