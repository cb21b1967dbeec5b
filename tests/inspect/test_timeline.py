"""From events to boxes. What is drawn of them: test_page_lanes.py."""

from typing import Final

import pytest

from oncelog.inspect.events import UNDER_WAY, Event, Touched
from oncelog.inspect.timeline import Timeline, timeline

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
    assert found.svg().count("<rect ") == len(events)
