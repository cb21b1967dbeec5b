"""Cuts a stream of bytes into frames: int32 length, then that many bytes."""

from struct import Struct
from typing import Final

from oncelog.errors import MalformedMessage

LENGTH: Final = Struct(">i")
SMALL_BYTES: Final = 4096
assert LENGTH.size == 4


class Frames:
    """Takes a stream in any pieces and gives back the frames that are complete.

    The buffer grows with the bytes that arrive, never to a size that a length merely claims. After a refused length the
    stream cannot be cut any more: the connection has to be closed.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._kept: list[bytes] = []  # of the length, or of the body once the length is known
        self._size = 0  # of what is kept
        self._length: int | None = None

    @property
    def kept_bytes(self) -> int:
        """Bytes received of a frame that is not complete yet."""
        return self._size + (0 if self._length is None else LENGTH.size)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The frames that `data` completes, without their lengths. `data` may be overwritten afterwards."""
        view = memoryview(data)
        if self._length is None and not self._size and len(view) > LENGTH.size:
            (length,) = LENGTH.unpack_from(view)
            if length == len(view) - LENGTH.size and length <= self.limit_bytes:
                return [view[LENGTH.size :].tobytes()]  # one request at a time, as most clients send them
        frames: list[bytes] = []
        at, size = 0, len(view)
        while at < size:
            wanted = LENGTH.size if self._length is None else self._length
            here = view[at : at + wanted - self._size]
            at += len(here)
            if self._size + len(here) < wanted:
                if self._kept and len(self._kept[-1]) < SMALL_BYTES:  # or a byte at a time would cost forty
                    self._kept[-1] += here
                else:
                    self._kept.append(here.tobytes())
                self._size += len(here)
                break
            if self._size:
                piece = b"".join((*self._kept, here))  # what came just now is copied once
                self._kept, self._size = [], 0
            else:
                piece = here.tobytes()
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
