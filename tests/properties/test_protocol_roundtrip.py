"""decode(encode(x)) == x for every message and version; the header and the cut of a stream."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.protocol.frame import Frames
from tests.properties.protocol_values import KINDS, Kind, messages


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_every_version_comes_back_as_it_was_sent(kind: Kind, data: st.DataObject) -> None:
    for version in kind.versions:
        message: Any = data.draw(messages(kind, version), label=f"v{version}")
        sent = message.encode(version)
        assert kind.message_class.decode(sent, version) == message
        # Kafka ignores what follows a body, and a body need not begin at the first byte.
        assert kind.message_class.decode(b"\xff" * 9 + sent + b"\xff", version, 9) == message
        assert kind.message_class.decode(memoryview(bytearray(sent)), version) == message
        assert b"".join(message.encode_parts(version)) == sent
        appended = bytearray(b"head")
        message.write(appended, version)
        assert appended == b"head" + sent


@settings(max_examples=100, deadline=None)
@given(frames=st.lists(st.binary(max_size=20), max_size=5), cuts=st.lists(st.integers(0, 120), max_size=8))
def test_a_stream_cut_anywhere_gives_the_same_frames(frames: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    cutter = Frames(limit_bytes=20)
    found: list[bytes] = []
    edges = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    for start, end in pairwise(edges):
        found += cutter.feed(stream[start:end])
    assert found == frames
    assert cutter.kept_bytes == 0
