"""Reads against a model: any batches, any segment and index sizes, any offsets and limits, before and after restarts."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.engine.port import Appended
from oncelog.errors import ErrorCode
from oncelog.model import Isolation
from oncelog.record.batch import NewRecord, batches, build_batch
from tests.classic_world import World

RU = Isolation.READ_UNCOMMITTED


class Stored(NamedTuple):
    base_offset: int
    last_offset: int
    size: int
    times: tuple[int, ...]


class Ask(NamedTuple):
    offset: int
    max_bytes: int
    one: bool


sent_batches = st.lists(
    st.lists(st.tuples(st.integers(0, 200), st.integers(-5000, 1000)), min_size=1, max_size=4), max_size=25
)
asks = st.lists(st.builds(Ask, st.integers(-1, 70), st.integers(0, 3000), st.booleans()), max_size=12)


@settings(max_examples=200)
@given(
    sent=sent_batches,
    asked=asks,
    segment_bytes=st.sampled_from([1024, 1500, 4000, 10**6]),
    interval=st.sampled_from([0, 100, 1000, 4096]),
    times=st.lists(st.integers(-5100, 1100), max_size=8),
    restart=st.sampled_from(["no", "stop", "kill"]),
)
def test_reads_and_times_are_those_of_a_plain_list(
    sent: list[list[tuple[int, int]]],
    asked: list[Ask],
    segment_bytes: int,
    interval: int,
    times: list[int],
    restart: str,
) -> None:
    world = World().start()
    world.topic(configs={"segment.bytes": str(segment_bytes), "index.interval.bytes": str(interval)})
    now = world.clock.wall_ms()
    model: list[Stored] = []
    for records in sent:
        batch = build_batch([NewRecord(None, b"v" * size, now + time) for size, time in records])
        found = world.send(batch)
        assert isinstance(found, Appended)
        stamps = tuple(now + time for _, time in records)
        model.append(Stored(found.base_offset, found.last_offset, len(batch), stamps))
    if restart == "stop":
        world.stop()
        world.again()
    elif restart == "kill":
        world.crash("process").start()
    end = model[-1].last_offset + 1 if model else 0
    part = world.part()
    assert (part.log_end_offset, part.size_bytes) == (end, sum(batch.size for batch in model))
    segments = [segment.base_offset for segment in part.segments]
    for ask in asked:
        read = world.read(ask.offset, max_bytes=ask.max_bytes, one=ask.one)
        if not 0 <= ask.offset <= end:
            assert read.error is ErrorCode.OFFSET_OUT_OF_RANGE
            continue
        found = [header.base_offset for _, header in batches(read.records)]
        assert found == expected_read(model, segments, ask)
    for time in times:
        at = world.run(part.offset_at(now + time, RU))
        wanted = [
            (batch.base_offset + delta, stamp)
            for batch in model
            for delta, stamp in enumerate(batch.times)
            if stamp >= now + time
        ]
        assert (at.offset, at.timestamp) == (wanted[0] if wanted else (-1, -1))
    largest = max((stamp for batch in model for stamp in batch.times), default=-1)
    at = world.run(part.offset_at(-3, RU))
    firsts = [batch.base_offset + batch.times.index(largest) for batch in model if largest in batch.times]
    assert (at.offset, at.timestamp) == ((firsts[0], largest) if firsts else (-1, -1))


def expected_read(model: list[Stored], segments: list[int], ask: Ask) -> list[int]:
    """Whole batches of one segment, from the one that holds the offset, as many as fit."""
    left, found, within = ask.max_bytes, list[int](), -1
    for batch in model:
        if batch.last_offset < ask.offset:
            continue
        segment = max(base for base in segments if base <= batch.base_offset)
        if found and segment != within:
            break
        if batch.size > left and not (ask.one and not found):
            break
        within = segment
        left -= batch.size
        found.append(batch.base_offset)
    return found
