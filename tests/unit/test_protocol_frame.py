"""Frames: what is refused, and what is kept of an unfinished one."""

import sys

import pytest

from oncelog.errors import MalformedMessage
from oncelog.protocol.frame import Frames


@pytest.mark.parametrize("length", [-1, -(2**31), 101, 2**31 - 1])
def test_t1_a_negative_or_too_large_length_is_refused(length: int) -> None:
    with pytest.raises(MalformedMessage, match=f"a frame of {length} bytes, wanted 0 to 100"):
        Frames(limit_bytes=100).feed(length.to_bytes(4, "big", signed=True))


def test_t1_the_limit_itself_and_an_empty_frame_are_allowed() -> None:
    assert Frames(limit_bytes=3).feed(b"\0\0\0\3abc\0\0\0\0") == [b"abc", b""]


def test_bytes_of_an_unfinished_frame_are_counted_with_its_length() -> None:
    frames = Frames(limit_bytes=100)
    found: list[tuple[list[bytes], int]] = []
    for piece in (b"\0\0", b"\0\3", b"a", b"bc\0", b"\0\0\1z"):
        got = frames.feed(piece)
        found.append((got, frames.kept_bytes))
    assert found == [([], 2), ([], 4), ([], 5), ([b"abc"], 1), ([b"z"], 0)]


def test_the_fed_buffer_may_be_overwritten() -> None:
    buffer = bytearray(b"\0\0\0\1a\0\0\0\2b")
    frames = Frames(limit_bytes=100)
    first = frames.feed(memoryview(buffer))
    buffer[:] = b"?" * len(buffer)
    assert (first, frames.feed(b"c")) == ([b"a"], [b"bc"])


def test_a_frame_that_comes_byte_by_byte_takes_little_more_than_its_bytes() -> None:
    frames = Frames(1 << 20)
    frames.feed((200_000).to_bytes(4, "big"))
    for _ in range(199_999):
        assert frames.feed(b"x") == []
    kept = sum(map(sys.getsizeof, frames._kept))  # pyright: ignore[reportPrivateUsage]
    assert kept < 210_000
    assert frames.feed(b"y") == [b"x" * 199_999 + b"y"]
