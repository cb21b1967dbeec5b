"""Where records begin: each way by itself, for a wrong one is made good by the next and would only be slow."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.errors import CorruptBatch
from oncelog.record.batch import NewRecord, encode_record, walk
from oncelog.record.varint import encode_varint
from oncelog.spark import starts
from oncelog.spark.starts import Reader, record_bounds
from tests.spark.logs import some_records

# pyright: reportPrivateUsage=false


def some_payload(seed: int, count: int, mean_bytes: int, varied: bool) -> tuple[bytes, int]:
    made = some_records(Random(seed), count, mean_bytes, varied=varied)
    return b"".join([encode_record(delta, delta // 7, each) for delta, each in enumerate(made)]), count


payloads = st.builds(
    some_payload,
    st.integers(0, 2**32),
    st.sampled_from((1, 30, 700)),
    st.sampled_from((0, 56, 100)),
    st.booleans(),
)


class Stretch:
    """Batches with something between them, and where their records begin by the plain walk."""

    def __init__(self, batches: list[tuple[bytes, int]]) -> None:
        data, begins, ends, self.truth = b"", list[int](), list[int](), list[int]()
        for payload, count in batches:
            data += b"\x7f" * 61
            begins.append(len(data))
            self.truth += [len(data) + each.start for each in walk(payload, count)]
            data += payload
            ends.append(len(data))
        self.reader = Reader(np.frombuffer(data, np.uint8))
        self.bounds = np.array(begins), np.array(ends), np.array([count for _, count in batches])


def records(*sizes: int) -> tuple[bytes, int]:
    made = [encode_record(delta, 0, NewRecord(None, b"v" * size)) for delta, size in enumerate(sizes)]
    return b"".join(made), len(made)


@given(st.lists(payloads, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_starts_and_ends_are_those_of_the_plain_walk(batches: list[tuple[bytes, int]]) -> None:
    stretch = Stretch(batches)
    found, stops = record_bounds(stretch.reader, *stretch.bounds)
    assert found.tolist() == stretch.truth
    after = np.cumsum(stretch.bounds[2])
    expected = np.append(found[1:], 0)
    expected[after - 1] = stretch.bounds[1]
    assert stops.tolist() == expected.tolist()


@given(st.lists(st.integers(0, 200), min_size=3, max_size=40), st.integers(0, 2), st.data())
@settings(max_examples=150, deadline=None)
def test_the_proof_finds_every_wrong_start(sizes: list[int], batch: int, data: st.DataObject) -> None:
    """Moved, left out, or one too many: always that batch, and no other."""
    stretch = Stretch([records(*sizes)] * 3)
    begins, ends, _ = stretch.bounds
    truth = np.array(stretch.truth)
    assert starts._unproved(stretch.reader, truth, *stretch.bounds).tolist() == []
    mine = [each for each in stretch.truth if begins[batch] <= each < ends[batch]]
    free = sorted(set(range(int(begins[batch]), int(ends[batch]))) - set(mine))
    wrong = set(stretch.truth)
    if data.draw(st.booleans()):
        wrong.remove(data.draw(st.sampled_from(mine)))
    if len(wrong) == truth.size or data.draw(st.booleans()):
        wrong.add(data.draw(st.sampled_from(free)))
    assert starts._unproved(stretch.reader, np.array(sorted(wrong)), *stretch.bounds).tolist() == [batch]


def test_the_first_start_is_where_the_batch_begins() -> None:
    """A value may hold a byte that leads to the end of its record, as a length would."""
    payload, count = records(50, 50)
    at = payload.index(b"v" * 20)
    leads = (len(payload) // 2 - at - 1) * 2
    stretch = Stretch([(payload[:at] + bytes([leads]) + payload[at + 1 :], count)])
    first, second = stretch.truth
    moved = np.array([first + at, second])
    assert starts._unproved(stretch.reader, moved, *stretch.bounds).tolist() == [0]


def test_a_batch_without_any_start_is_not_proved() -> None:
    stretch = Stretch([records(5, 6), records(7)])
    none = np.empty(0, np.int64)
    assert starts._unproved(stretch.reader, none, *stretch.bounds).tolist() == [0, 1]


@given(st.lists(st.integers(-(2**55), 2**55 - 1) | st.integers(-200, 200), min_size=1, max_size=30))
@settings(max_examples=150, deadline=None)
def test_numbers_at_many_positions(values: list[int]) -> None:
    """Also at the very end of the bytes, where fewer than eight are left."""
    encoded = [encode_varint(each) for each in values]
    sizes = [len(each) for each in encoded]
    reader = Reader(np.frombuffer(b"".join(encoded), np.uint8))
    at = np.cumsum(sizes) - np.array(sizes)
    found, taken = reader.varints(at)
    assert found.tolist() == values
    assert np.broadcast_to(taken, at.shape).tolist() == sizes
    assert np.broadcast_to(reader.varint_sizes(at), at.shape).tolist() == sizes


@pytest.mark.parametrize("value", [2**56, -(2**56), 2**63 - 1])
def test_numbers_of_more_than_eight_bytes_are_told(value: int) -> None:
    reader = Reader(np.frombuffer(encode_varint(value) + bytes(8), np.uint8))
    assert np.broadcast_to(reader.varints(np.array([0]))[1], (1,)).tolist() == [9]


@pytest.mark.parametrize(
    ("low", "high", "far"),
    [
        (0x0E, 0, 8),
        (0x0E, 0xFF, 8),
        (0x80, 1, 66),
        (0x80, 0x80, starts._FAR),
        (0x0F, 0, starts._FAR),
        (0x81, 1, starts._FAR),
    ],
)
def test_the_way_to_the_next_record_by_the_first_two_bytes(low: int, high: int, far: int) -> None:
    reader = Reader(np.array([low, high, *bytes(8)], np.uint8))
    assert reader.jumps(np.array([0])).tolist() == [far]


@given(
    st.lists(
        st.tuples(st.sampled_from((0, 50, 58, 121, 185, 300)), st.integers(1, 150)), min_size=1, max_size=5
    )
)
@settings(max_examples=100, deadline=None)
def test_runs_are_right_or_given_up(runs: list[tuple[int, int]]) -> None:
    """58, 121 and 185 give lengths that differ in their second byte only."""
    payload, count = records(*[size for size, times in runs for _ in range(times)])
    found = starts._runs(np.frombuffer(payload, np.uint8), 0, len(payload))
    assert found is None or found.tolist() == [each.start for each in walk(payload, count)]
    if all(times >= 64 + starts.SHORTEST_RUN for _, times in runs):
        assert found is not None


@given(payloads)
@settings(max_examples=60, deadline=None)
def test_one_by_one(batch: tuple[bytes, int]) -> None:
    payload, count = batch
    truth = [each.start for each in walk(payload, count)]
    assert starts._one_by_one(payload, count).tolist() == truth
    large = next(
        (row for row, each in enumerate(walk(payload, count)) if each.end - each.start > 8000), count
    )
    assert list(starts._hops(payload))[: large + 1] == truth[: large + 1]


@pytest.mark.parametrize(
    ("payload", "count", "match"),
    [
        (b"\x0e" + bytes(6), 1, "record 0 at byte 0 has 7 bytes, 6 are left"),
        (b"\x0d" + bytes(7), 1, "record 0 at byte 0 has -7 bytes"),
        (b"\x0c" + bytes(7), 1, "1 bytes follow the last of 1 records"),
        (b"\x0c" + bytes(6), 2, "number at byte 7 is cut"),
        (b"\x0c" + bytes(6) + b"\x80", 2, "number at byte 8 is cut"),
    ],
)
def test_what_does_not_fill_its_batch_is_refused(payload: bytes, count: int, match: str) -> None:
    with pytest.raises(CorruptBatch, match=match):
        starts._one_by_one(payload, count)


def test_hops_stop_where_two_bytes_do_not_lead_on() -> None:
    assert list(starts._hops(b"\x0c" + bytes(6) + b"\x0d" + bytes(20))) == [0, 7]
    assert list(starts._hops(b"\x0c" + bytes(6) + b"\x80\x80\x01" + bytes(20))) == [0, 7]


@pytest.mark.parametrize("bytes_of_values", [range(256), (0, 0, 0, 12, 14, 128, 1)])
def test_guesses_are_record_starts(monkeypatch: pytest.MonkeyPatch, bytes_of_values: Sequence[int]) -> None:
    """Every single one, also among bytes that look like attributes and lengths; and nearly as many as were asked for."""
    asked: list[Any] = []
    guess = starts._guesses

    def watched(*arguments: Any) -> Any:
        asked.append((arguments[1], guess(*arguments)))
        return asked[-1][1]

    monkeypatch.setattr(starts, "_guesses", watched)
    dice = Random(4)
    made = [bytes(dice.choices(bytes_of_values, k=dice.randint(50, 150))) for _ in range(5000)]
    payload = b"".join([encode_record(delta, 0, NewRecord(None, each)) for delta, each in enumerate(made)])
    stretch = Stretch([(payload, len(made))])
    assert record_bounds(stretch.reader, *stretch.bounds)[0].tolist() == stretch.truth
    ((marks, found),) = asked
    assert set(found.tolist()) <= set(stretch.truth)
    assert len(found) > 0.9 * len(marks) > 30
