"""The drawing of the lanes: nothing covers anything else, whatever the font; every state is named; times can be read off."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import pytest
from playwright.sync_api import Page

from oncelog.inspect import drawing
from oncelog.inspect.drawing import NAME_WIDTH, WIDTH
from oncelog.inspect.events import UNDER_WAY, Event, Touched
from oncelog.inspect.page.app import STATIC
from oncelog.inspect.timeline import timeline
from oncelog.inspect.trace import placed
from tests.inspect.test_timeline import TID, one, rpc

pytestmark = [pytest.mark.xdist_group("page-lanes"), pytest.mark.timeout(180)]
WIDE_FONT: Final = "wide"
BEGIN_US: Final = 1_795_100_892_819_000  # 2026-11-19 15:08:12.819 UTC


def state(name: str, at_us: int) -> Event:
    return Event(at_us, "state", TID, name)


def produce(at_us: int, took_us: int, topic: str, first: int) -> Event:
    touched = (Touched(topic, 0, count=6, base_sequence=0, base_offset=first),)
    return replace(rpc("Produce", at_us, took_us), touched=touched)


# As librdkafka does it: much in little time, then a rest; the end with all that it causes in one moment.
SETTLED: Final = [
    rpc("AddOffsetsToTxn", 0, 60),
    state("Ongoing", 41),
    replace(
        rpc("TxnOffsetCommit", 100, 140),
        touched=(Touched("settlements", 0, committed_offset=4),),
        group="warehouse-loader",
    ),
    rpc("AddPartitionsToTxn", 6540, 250),
    state("Ongoing", 6790),
    produce(6900, 140, "refunds-emitted", 21),
    produce(7040, 70, "refund-audit", 6),
    rpc("EndTxn", 7240, 200),
    state("PrepareCommit", 7440),
    Event(7440, "marker", TID, "COMMIT", touched=(Touched("refunds-emitted", 0, base_offset=27),), took_us=0),
    state("CompleteCommit", 7441),
]
FENCED: Final = [
    rpc("InitProducerId", 0, 16_000),
    produce(19_800, 20_900, "refunds-emitted", 0),
    state("Ongoing", 23_400),
    rpc("InitProducerId", 48_000, 19_000, "CONCURRENT_TRANSACTIONS"),
    state("PrepareAbort", 48_000),
    Event(49_400, "marker", TID, "ABORT", touched=(Touched("refunds-emitted", 0, base_offset=1),), took_us=0),
    state("CompleteAbort", 67_000),
    rpc("InitProducerId", 87_700, 500),
    rpc("EndTxn", 89_000, 4_800, "PRODUCER_FENCED"),
]
AT_ONCE: Final = [
    *(produce(number * 200, 900, f"a-topic-{'x' * 40 * number}", number) for number in range(5)),
    rpc("EndTxn", 2_000, None, UNDER_WAY),
]
OF_LOGS: Final = [
    state("Ongoing", 0),
    state("PrepareCommit", 45_000),
    state("CompleteCommit", 278_000),
    state("Ongoing", 478_000),
]
TEN: Final = [replace(each, at_us=each.at_us + 9000 * number) for number in range(10) for each in SETTLED]
APART: Final = [*one(0), *one(90_000_000)]
HUNDRED: Final = [produce(number * 500, 400, "out", number) for number in range(100)]
WIDE: Final = [
    Event(
        0,
        "rpc",
        TID,
        "TxnOffsetCommit",
        took_us=9,
        group="g\u5f35" * 9,
        touched=(Touched("t", 0, committed_offset=1),),
    ),
    rpc("EndTxn", 50, 5),
]
# Four lines go down close to each other, and a text that is short enough to stand between two of them must not.
CLOSE: Final = [
    rpc("Produce", 0, 10),
    rpc("AddPartitionsToTxn", 240, 10),
    rpc("AddOffsetsToTxn", 540, 10),
    rpc("TxnOffsetCommit", 800, 10),
    rpc("EndTxn", 1_000, 8_000),
]
STORIES: Final[dict[str, Sequence[Event]]] = {
    "settled": SETTLED,
    "fenced": FENCED,
    "at once": AT_ONCE,
    "of logs": OF_LOGS,
    "ten": TEN,
    "apart": APART,
    "hundred": HUNDRED,
    "wide": WIDE,
    "one": one(0),
    "close": CLOSE,
}
# What stands where, as the browser measures it.
MEASURED: Final = """() => {
  const place = (each) => { const box = each.getBBox(); return [box.x, box.y, box.x + box.width, box.y + box.height]; };
  return {
    texts: [...document.querySelectorAll("svg.lanes text")].map((each) => [each.textContent, each.getAttribute("class"), ...place(each)]),
    boxes: [...document.querySelectorAll("g.box")].map((each) => [each.querySelector("title").textContent, each.getAttribute("class"), ...place(each.querySelector("rect"))]),
    leads: [...document.querySelectorAll("path.lead")].map((each) => each.getAttribute("d")),
  };
}"""


def drawn(page: Page, events: Sequence[Event], font: str) -> dict[str, list[Any]]:
    style = (STATIC / "oncelog.css").read_text()
    shown = timeline(TID, events, now_us=3_000).svg()
    style += f" svg.lanes {{ font-family: {'monospace' if font == WIDE_FONT else font} !important }}"
    if font == WIDE_FONT:  # than any that this machine has
        style += " svg.lanes text.label, svg.lanes text.axis { letter-spacing: 3px }"
    page.set_content(f"<style>{style}</style>{shown}")
    found: dict[str, list[Any]] = page.evaluate(MEASURED)
    return found


def meet(one: Sequence[Any], other: Sequence[Any], spare: float = 0.8) -> bool:
    return (
        one[2] + spare < other[4]
        and other[2] + spare < one[4]
        and one[3] + spare < other[5]
        and other[3] + spare < one[5]
    )


def within(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Left and right; a line of text is as high as its font says, not as its letters are."""
    return other[2] <= one[2] + 0.5 and one[4] <= other[4] + 0.5


@pytest.mark.parametrize("font", ["monospace", "serif", "sans-serif", WIDE_FONT])
@pytest.mark.parametrize("name", STORIES)
def test_no_text_covers_another_one_or_a_box_or_leaves_the_drawing(page: Page, name: str, font: str) -> None:
    found = drawn(page, STORIES[name], font)
    assert len(found["texts"]) > 3
    texts = [each for each in found["texts"] if "lane" not in each[1] and "clock" not in each[1]][1:]
    for each in texts:
        assert each[2] >= NAME_WIDTH - 0.5, each
        assert each[4] <= WIDTH + 0.5, each
        for box in found["boxes"]:
            assert not meet(each, box) or within(each, box), (each, box)
    for at, each in enumerate(found["texts"]):
        for other in found["texts"][at + 1 :]:
            assert not meet(each, other, 2.5), (each, other)
    for at, each in enumerate(found["boxes"]):
        assert each[2] >= NAME_WIDTH - 0.5, each
        assert each[4] <= WIDTH, each
        for other in found["boxes"][at + 1 :]:
            assert not meet(each, other), (each, other)


@pytest.mark.parametrize("name", STORIES)
def test_every_state_marker_and_refusal_is_named(page: Page, name: str) -> None:
    found = drawn(page, STORIES[name], "monospace")
    said: dict[str, int] = {}
    for text, *_ in found["texts"]:
        what, _, times = text.partition(" \u00d7")
        said[what] = said.get(what, 0) + int(times or 1)
    for kind in ("state", "commit", "abort", "refused"):
        wanted: dict[str, int] = {}
        for title, of, *_ in found["boxes"]:
            if kind in of:
                wanted[title] = wanted.get(title, 0) + 1
        for title, count in wanted.items():
            short = title.rpartition(" ")[2] if kind == "refused" and title not in said else title
            assert said.get(short, 0) >= count, (title, said)
    for label in [each for each in found["texts"] if each[1] == "label refused"]:
        assert "_" in label[0]


@pytest.mark.parametrize("name", ["settled", "fenced", "one", "close"])
def test_no_line_to_a_text_crosses_another_text(page: Page, name: str) -> None:
    """Of one transaction; where ten are in one drawing some do, for what must be named is named all the same."""
    found = drawn(page, STORIES[name], "monospace")
    labels = [each for each in found["texts"] if each[1].startswith("label")]
    assert found["leads"]
    across: list[tuple[str, str]] = []
    for path in found["leads"]:
        ((x, top, bottom),) = re.findall(r"M([\d.]+) ([\d.]+)V([\d.]+)H", path)
        for each in labels:
            is_over = each[2] + 1 < float(x) < each[4] - 1
            if is_over and float(top) < each[5] - 4 and each[3] + 4 < float(bottom):
                across.append((path, each[0]))
    assert across == []


def shift(events: Sequence[Event]) -> list[Event]:
    return [replace(each, at_us=each.at_us + BEGIN_US) for each in events]


def test_the_time_of_day_stands_there_with_its_zone_and_ticks_are_where_they_say() -> None:
    shown = timeline(TID, shift(one(0))).svg()
    assert ">2026-11-19</text>" in shown
    assert ">15:08:12.819 UTC</text>" in shown
    ticks = {
        words: float(x) + float(long) / 2
        for x, long, words in re.findall(
            r'<text class="axis" x="([\d.]+)" y="26" textLength="([\d.]+)"[^>]*>([^<]*)</text>', shown
        )
    }
    assert list(ticks)[:3] == ["0", "0.5 ms", "1 ms"]
    scale = ticks["2 ms"] - ticks["1 ms"]
    (produced,) = re.findall(r"<title>Produce</title><rect x=\"([\d.]+)\"", shown)
    assert float(produced) == pytest.approx(ticks["1 ms"] - 0.3 * scale, abs=0.6)


def test_a_long_rest_is_drawn_short_and_its_length_is_said() -> None:
    shown = timeline(TID, APART).svg()
    assert shown.count('class="break"') == 1
    assert re.findall(r'class="axis break"[^>]*>([^<]*)<', shown) == ["90 s"]
    ticks = re.findall(r'class="axis" x="[^"]*" y="26"[^>]*>([^<]*)<', shown)
    assert [ticks[1][-3:], ticks[-1][-2:]] == [" ms", " s"]  # each in the unit that can be read
    client = [
        (float(x), float(x) + float(wide))
        for x, wide in re.findall(
            r'box rpc"[^>]*><title>[^<]*</title><rect x="([\d.]+)"[^>]* width="([\d.]+)"', shown
        )
    ]
    assert len(client) == 6
    assert all(before[1] <= after[0] + 0.2 for before, after in pairwise(client))
    assert sum(right - left for left, right in client) > 300  # and not six lines of a pixel each


def test_a_transaction_without_rests_is_drawn_to_scale() -> None:
    shown = timeline(
        TID, [rpc("Produce", 0, 1000), rpc("Produce", 1000, 2000), rpc("EndTxn", 3000, 1000)]
    ).svg()
    assert "break" not in shown
    wide = [float(each) for each in re.findall(r'box rpc".*?width="([\d.]+)"', shown)]
    assert wide[1] == pytest.approx(2 * wide[0], abs=0.3)
    assert wide[2] == pytest.approx(wide[0], abs=0.3)


def test_dots_alone_are_spread_over_the_drawing() -> None:
    """What logs tell has times and no lengths: then rests get the room."""
    shown = timeline(TID, OF_LOGS).svg()
    lefts = [float(each) for each in re.findall(r'box state".*?<rect x="([\d.]+)"', shown)]
    assert lefts[-1] > WIDTH * 0.9
    assert all(after - before > 200 for before, after in pairwise(lefts))
    assert re.findall(r'class="axis break"[^>]*>([^<]*)<', shown) == ["45.0 ms", "233.0 ms", "200.0 ms"]


def test_what_happened_at_once_lies_side_by_side_and_what_overlaps_below_each_other() -> None:
    shown = timeline(TID, AT_ONCE, now_us=3_000).svg()
    tops = [float(each) for each in re.findall(r'box rpc".*?y="([\d.]+)"', shown)]
    assert len(set(tops[:5])) == 5
    ended = timeline(TID, SETTLED).svg()
    prepared, complete = (
        float(each)
        for each in re.findall(r"<title>(?:Prepare|Complete)Commit</title><rect x=\"([\d.]+)\"", ended)
    )
    assert complete >= prepared + drawing.SHORTEST


@pytest.mark.parametrize("at_us", [-(10**18), 10**19, -1])
def test_a_clock_that_is_far_off_breaks_nothing(at_us: int) -> None:
    assert "<svg" in timeline(TID, [rpc("EndTxn", at_us, 5)]).svg()


def test_a_decision_stands_before_the_markers_that_follow_from_it() -> None:
    """The log knows milliseconds, and the one of the decision may begin after the answer to the request that asked for it."""
    ended = rpc("EndTxn", 820_700, 250)
    told = [
        state("PrepareCommit", 821_000),
        Event(821_000, "marker", TID, "COMMIT", took_us=0),
        state("CompleteCommit", 821_000),
    ]
    assert [
        each.name for each in sorted((placed(each, [ended]) for each in told), key=lambda each: each.at_us)
    ] == [
        "PrepareCommit",
        "COMMIT",
        "CompleteCommit",
    ]
