"""The drawing of the lanes: nothing covers anything else, and long rests are drawn short and said."""

import re
from itertools import pairwise
from typing import Final

import pytest

from oncelog.inspect.events import UNDER_WAY, Event, Touched
from oncelog.inspect.timeline import NAME_WIDTH, TEXT_WIDTH, WIDTH, Timeline, timeline

TID: Final = "refunds-1"
OUT: Final = (Touched("out", 0, count=3, base_sequence=0, base_offset=7),)


def rpc(name: str, at_us: int, took_us: int | None = 300, error: str = "NONE") -> Event:
    touched = OUT if name == "Produce" else ()
    said = "commit" if name == "EndTxn" else ""
    return Event(at_us, "rpc", TID, name, took_us=took_us, touched=touched, said=said, error=error)


def one(begin_us: int) -> list[Event]:
    """A transaction of a few milliseconds."""
    marker = Event(
        begin_us + 2300, "marker", TID, "COMMIT", touched=(Touched("out", 0, base_offset=10),), took_us=0
    )
    return [
        rpc("AddPartitionsToTxn", begin_us),
        rpc("Produce", begin_us + 700, 900),
        rpc("EndTxn", begin_us + 2000, 500),
        Event(begin_us + 2050, "state", TID, "PrepareCommit"),
        marker,
        Event(begin_us + 2400, "state", TID, "CompleteCommit"),
    ]


def boxes(drawn: str) -> list[tuple[str, float, float, int]]:
    """Class, left and right end, y of every box."""
    found = re.findall(
        r'<g class="box ([^"]*)".*?<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"', drawn, re.DOTALL
    )
    return [(kind, float(x), float(x) + float(wide), int(y)) for kind, x, y, wide in found]


def texts(drawn: str) -> list[tuple[float, float, int, str]]:
    """Left and right end, y and words of every label in the lanes."""
    found = re.findall(r'<text x="([\d.]+)" y="(\d+)"( text-anchor="end")?>([^<]*)</text>', drawn)
    placed: list[tuple[float, float, int, str]] = []
    for x, y, anchor, words in found:
        begin = float(x) - (len(words) * TEXT_WIDTH if anchor else 0)
        placed.append((begin, begin + len(words) * TEXT_WIDTH, int(y) - 15, words))
    return placed


MANY: Final = [event for number in range(6) for event in one(number * 3000)]
APART: Final = [*one(0), *one(90_000_000)]


@pytest.mark.parametrize("events", [one(0), MANY, APART], ids=["one", "many", "apart"])
def test_no_label_covers_another_one_or_the_next_box_or_leaves_the_drawing(events: list[Event]) -> None:
    drawn = timeline(TID, events).svg()
    labels = sorted(texts(drawn), key=lambda each: (each[2], each[0]))
    assert len(labels) >= 6
    for begin, end, y, words in labels:
        assert begin >= NAME_WIDTH, words
        assert end <= WIDTH + 1, words
        for kind, left, right, lane in boxes(drawn):  # its own box begins before it or at its end
            if lane == y and begin < left < end - 1:
                raise AssertionError(
                    f"{words!r} at {begin:.0f} covers a box {kind} at {left:.0f}..{right:.0f}"
                )
    for before, after in pairwise(labels):
        assert before[2] != after[2] or before[1] <= after[0] + 0.2, (before, after)


def test_a_long_rest_is_drawn_short_and_its_length_is_said() -> None:
    drawn = timeline(TID, APART).svg()
    assert drawn.count('class="break"') == 1
    assert "…90 s…" in drawn
    client = [each for each in boxes(drawn) if each[0] == "rpc"]
    ends = [right for _, _, right, _ in client]
    begins = [left for _, left, _, _ in client]
    assert len(client) == 6
    assert all(ends[at] <= begins[at + 1] + 0.2 for at in range(5))
    assert sum(right - left for _, left, right, _ in client) > 300  # and not six lines of a pixel each


def test_a_transaction_without_rests_is_drawn_to_scale() -> None:
    events = [rpc("Produce", 0, 1000), rpc("Produce", 1000, 2000), rpc("EndTxn", 3000, 1000)]
    drawn = timeline(TID, events).svg()
    assert "break" not in drawn
    wide = [right - left for kind, left, right, _ in boxes(drawn) if kind == "rpc"]
    assert wide[1] == pytest.approx(2 * wide[0], abs=0.3)
    assert wide[2] == pytest.approx(wide[0], abs=0.3)


def test_dots_alone_are_spread_over_the_drawing() -> None:
    """What logs tell has times and no lengths: then rests get the room, and no length of one covers another's."""
    events = [
        Event(at_us, "state", TID, name)
        for at_us, name in (
            (0, "Ongoing"),
            (45_000, "PrepareCommit"),
            (278_000, "CompleteCommit"),
            (478_000, "Ongoing"),
        )
    ]
    drawn = timeline(TID, events).svg()
    lefts = [left for _, left, _, _ in boxes(drawn)]
    assert lefts[-1] > WIDTH * 0.9
    assert all(after - before > 200 for before, after in pairwise(lefts))
    said = re.findall(r'<text class="axis" x="([\d.]+)" y="\d+" text-anchor="middle">([^<]*)</text>', drawn)
    assert [words for _, words in said][:2] == ["…45.0 ms…", "…233.0 ms…"]
    ends = [(float(x) - len(words) * 3.05, float(x) + len(words) * 3.05) for x, words in said]
    assert all(before[1] <= after[0] for before, after in pairwise(ends))


def test_a_batch_behind_a_marker_is_pinned_though_its_clock_is_early() -> None:
    """Times in logs are the clients': by its offset it belongs to the transaction behind the marker."""
    early = (Touched("out", 0, count=1, base_sequence=3, base_offset=12),)
    events = [
        rpc("Produce", 0, 0),
        Event(1_500, "rpc", TID, "Produce", took_us=0, touched=early),
        Event(2_000, "marker", TID, "COMMIT", touched=(Touched("out", 0, base_offset=10),), took_us=0),
        Event(2_500, "state", TID, "Ongoing"),
    ]
    assert pinned(timeline(TID, events, now_us=9_500)) == ["pinned 2.0 ms", "pinned 8.0 ms, still"]


def pinned(found: Timeline) -> list[str]:
    return [each.text for each in found.boxes if each.kind == "pinned"]


def test_what_is_open_lasts_until_now() -> None:
    events = [rpc("AddPartitionsToTxn", 0), rpc("Produce", 1000)]
    assert pinned(timeline(TID, events)) == ["pinned 0.3 ms, still"]
    assert pinned(timeline(TID, events, now_us=8_001_000)) == ["pinned 8.0 s, still"]
    assert pinned(timeline(TID, one(0), now_us=8_001_000)) == ["pinned 1.6 ms"]
    waiting = timeline(TID, [*events, rpc("EndTxn", 2000, None, UNDER_WAY)], now_us=5_002_000)
    (box,) = [each for each in waiting.boxes if each.error == UNDER_WAY]
    assert box.until_us == 5_002_000


@pytest.mark.parametrize("events", [[], [Event(5, "state", TID, "Empty")]])
def test_little_or_nothing_can_be_drawn(events: list[Event]) -> None:
    found = timeline(TID, events, now_us=9)
    assert found.svg().startswith("<svg")
    assert len(boxes(found.svg())) == len(events)
