"""From events to lanes: client, coordinator, one lane a partition, one a group, and how long readers waited."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.inspect.events import UNDER_WAY, Event, Touched
from oncelog.inspect.terminal import visible, width

CLIENT: Final = "client"
COORDINATOR: Final = "coordinator"
LANE_HEIGHT: Final = 34
BOX_HEIGHT: Final = 22
NAME_WIDTH: Final = 166
WIDTH: Final = 1080
TEXT_WIDTH: Final = 6.7  # of one character in the boxes
AXIS_WIDTH: Final = 6.1  # of one below them
SHORTEST_TEXT: Final = 4  # characters that still tell something
BREAK_WIDTH: Final = 46  # of a stretch of time in which nothing happens, drawn short
BREAKS_AT_MOST: Final = 8
NARROW: Final = 12.0  # a box of up to this width has its text beside it
BREAK_SHARE: Final = 0.2  # of the time drawn: nothing for longer than this is drawn short
NOTEBOOK_STYLE: Final = (
    "svg.lanes{font:11px monospace;background:#fff;color:#1d2127}svg.lanes .rule{stroke:#e3e0d8}"
    "svg.lanes rect{fill:#c3d0ef;stroke:#2457c5}svg.lanes .state rect{fill:#d5ccec;stroke:#6b4fbb}"
    "svg.lanes .batch rect{fill:#e9d3ac;stroke:#b7791f}svg.lanes .commit rect{fill:#1f8a5b;stroke:#1f8a5b}"
    "svg.lanes .abort rect{fill:#c0392b;stroke:#c0392b}svg.lanes .pinned rect{fill:#f4e8d3;stroke:#b7791f}"
    "svg.lanes .refused rect{fill:#eecac6;stroke:#c0392b}svg.lanes rect.break{fill:#f3f1eb;stroke:none}"
)


@dataclass(frozen=True, slots=True)
class Box:
    """Something in a lane. `event` is its place in the list of events."""

    lane: str
    at_us: int
    until_us: int
    text: str
    kind: str  # "rpc", "state", "batch", "commit", "abort", "offset", "pinned"
    error: str
    event: int


@dataclass(frozen=True, slots=True, repr=False)
class Timeline:
    """The events of one transactional id, oldest first, and their boxes."""

    transactional_id: str
    events: tuple[Event, ...]
    boxes: tuple[Box, ...]

    @property
    def lanes(self) -> tuple[str, ...]:
        """In the order of the page: who asks, who decides, where it is written, who waits."""
        fixed = [CLIENT, COORDINATOR]
        found = dict.fromkeys(each.lane for each in self.boxes)
        partitions = sorted(
            each for each in found if each not in fixed and not each.startswith(("LSO ", "group "))
        )
        groups = sorted(each for each in found if each.startswith("group "))
        pinned = sorted(each for each in found if each.startswith("LSO "))
        return tuple([each for each in fixed if each in found] + partitions + groups + pinned)

    def text(self) -> list[list[str]]:
        """Rows for a terminal: when, lane, what, how long, bytes, error, more."""
        if not self.events:
            return []
        begin = self.events[0].at_us
        return [row(each, begin) for each in self.events]

    def svg(self) -> str:
        """A drawing that needs no script and asks nobody. Its colours are the page's; see NOTEBOOK_STYLE."""
        return _svg(self)

    def _repr_html_(self) -> str:
        """For notebooks, which know nothing of the page's style."""
        return f"<style>{NOTEBOOK_STYLE}</style>{self.svg()}"

    def __str__(self) -> str:
        """A table for a terminal: nothing in it that a client sent can move the cursor."""
        told = [["TIME", "LANE", "WHAT", "TOOK", "BYTES", "ERROR", "MORE"], *self.text()]
        rows = [[visible(each) for each in row] for row in told]
        widths = [max(width(each[at]) for each in rows) for at in range(len(rows[0]))]
        return "\n".join(
            "  ".join(each + " " * (widths[at] - width(each)) for at, each in enumerate(row)).rstrip()
            for row in rows
        )

    __repr__ = __str__  # what a prompt shows of `broker.txn(...).timeline()`


def timeline(
    transactional_id: str, events: Iterable[Event], *, last: int | None = None, now_us: int | None = None
) -> Timeline:
    """The timeline of one id; `last`: only so many transactions from the end, counted by their EndTxn.

    What is still open, or under way, lasts until `now_us`; without it until the last event.
    """
    mine = sorted(
        (each for each in events if each.transactional_id == transactional_id), key=lambda each: each.at_us
    )
    if last is not None:
        mine = mine[_begin_of(mine, last) :]
    return Timeline(transactional_id, tuple(mine), tuple(_boxes(mine, now_us)))


def _begin_of(events: Sequence[Event], last: int) -> int:
    """The first event of the `last` transactions: after the EndTxn before them that ended one."""
    ends = [at for at, each in enumerate(events) if each.name == "EndTxn" and each.error == "NONE"]
    closed = bool(ends) and all(each.kind != "rpc" for each in events[ends[-1] + 1 :])
    wanted = last + 1 if closed else last
    if len(ends) < wanted:
        return 0
    begin = ends[-wanted] + 1
    while (
        begin < len(events) and events[begin].kind != "rpc"
    ):  # what the coordinator still did for the one before
        begin += 1
    return begin


def _boxes(events: Sequence[Event], now_us: int | None) -> list[Box]:
    found: list[Box] = []
    # Partition -> when each batch of its open transaction was written, and its offset. Times of batches are the client's: by
    # them one may stand before the marker of the transaction before it, by its offset it does not.
    opened: dict[str, Written] = {}
    end = max((each.at_us + (each.took_us or 0) for each in events), default=0)
    now = end if now_us is None else max(end, now_us)
    for at, event in enumerate(events):
        until = now if event.error == UNDER_WAY else event.at_us + (event.took_us or 0)
        if event.kind == "rpc":
            found.append(Box(CLIENT, event.at_us, until, _rpc_text(event), "rpc", event.error, at))
            for each in event.touched:
                where = f"{each.topic}-{each.partition}"
                if event.name == "Produce" and each.error == "NONE":
                    found.append(Box(where, event.at_us, until, _batch_text(each), "batch", "NONE", at))
                    opened.setdefault(where, []).append((event.at_us, each.base_offset))
                elif event.name == "TxnOffsetCommit":
                    text = f"{where}={each.committed_offset}"
                    found.append(
                        Box(f"group {event.group}", event.at_us, until, text, "offset", each.error, at)
                    )
        elif event.kind == "state":
            found.append(Box(COORDINATOR, event.at_us, event.at_us, event.name, "state", "NONE", at))
        elif event.kind == "marker":
            for each in event.touched:
                where = f"{each.topic}-{each.partition}"
                text = event.name if each.base_offset is None else f"{event.name} {each.base_offset}"
                found.append(Box(where, event.at_us, until, text, event.name.lower(), "NONE", at))
                ended, rest = _ended_by(each.base_offset, opened.pop(where, []))
                if rest:
                    opened[where] = rest
                if ended:
                    begin = min(when for when, _ in ended)
                    found.append(
                        Box(
                            f"LSO {where}", begin, until, f"pinned {_ms(until - begin)}", "pinned", "NONE", at
                        )
                    )
        if event.kind == "rpc" and event.name == "EndTxn" and event.error == "NONE":
            found += _ended_without_markers(events, at, opened, until)
    last = len(events) - 1
    for where, written in opened.items():
        begin = min(when for when, _ in written)
        text = f"pinned {_ms(now - begin)}, still"
        found.append(Box(f"LSO {where}", begin, now, text, "pinned", "NONE", last))
    return found


Written = list[tuple[int, int | None]]


def _ended_by(marker: int | None, written: Written) -> tuple[Written, Written]:
    """The batches before a marker and those behind it, by their offsets where they are known."""
    behind: Written = []
    before: Written = []
    for when, offset in written:
        is_behind = marker is not None and offset is not None and offset > marker
        (behind if is_behind else before).append((when, offset))
    return before, behind


def _ended_without_markers(
    events: Sequence[Event], at: int, opened: dict[str, Written], until: int
) -> list[Box]:
    """A tap sees no markers: there the answer to EndTxn is the last that is known."""
    if any(each.kind == "marker" for each in events):
        return []
    found = [
        Box(f"LSO {where}", begin, until, f"pinned {_ms(until - begin)}", "pinned", "NONE", at)
        for where, begin in ((where, min(when for when, _ in each)) for where, each in opened.items())
    ]
    opened.clear()
    return found


def _rpc_text(event: Event) -> str:
    said = f" {event.said.split(',')[0]}" if event.name == "EndTxn" else ""
    return f"{event.name}{said}"


def _batch_text(touched: Touched) -> str:
    if touched.base_offset is None or touched.count is None:
        return "batch"
    return f"{touched.base_offset}-{touched.base_offset + touched.count - 1}"


def row(event: Event, begin_us: int) -> list[str]:
    """One event for a terminal: when, lane, what, how long, bytes, error, more."""
    lane = {"rpc": CLIENT, "state": COORDINATOR}.get(event.kind, "log")
    what = event.name if event.version is None else f"{event.name} v{event.version}"
    more = [event.said] if event.said else []
    if event.producer_id is not None:
        more.insert(0, f"{event.producer_id}/{event.producer_epoch}")
    if event.group is not None:
        more.append(f"group {event.group}")
    more += [_touched_text(each) for each in event.touched]
    if event.kind == "rpc" and event.client_id is not None:
        more.append(f"by {event.client_id} at {event.address}")
    return [
        f"+{(event.at_us - begin_us) / 1000:.1f} ms",
        lane,
        what,
        "-" if event.took_us is None else _ms(event.took_us),
        str(event.request_bytes or "-"),
        "-" if event.error == "NONE" else event.error,
        ", ".join(more),
    ]


def _touched_text(touched: Touched) -> str:
    text = f"{touched.topic}-{touched.partition}"
    if touched.count is not None:
        text += f" {touched.count} record{'' if touched.count == 1 else 's'} seq {touched.base_sequence}"
    if touched.base_offset is not None:
        text += f" at {touched.base_offset}"
    if touched.committed_offset is not None:
        text += f"={touched.committed_offset}"
    return text if touched.error == "NONE" else f"{text} {touched.error}"


def _ms(us: int) -> str:
    if us < 1_000_000:
        return f"{us / 1000:.1f} ms"
    return f"{us / 1_000_000:.1f} s" if us < 10_000_000 else f"{us / 1_000_000:.0f} s"


class _Axis:
    """From times to the width of the drawing. Long stretches in which nothing happens are drawn short, and marked."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self.begin = min((each.at_us for each in boxes), default=0)
        self.end = max((each.until_us for each in boxes), default=1)
        self.breaks = self._long_rests(boxes)
        drawn = max(self.end - self.begin - sum(until - at for at, until in self.breaks), 1)
        room = WIDTH - NAME_WIDTH - 20
        is_dots = all(each.at_us == each.until_us for each in boxes if each.kind != "pinned")
        self.break_width = float(BREAK_WIDTH)
        if self.breaks and is_dots:  # of logs alone: nothing that lasts needs the room
            self.break_width = room * (0.97 if drawn == 1 else 0.8) / len(self.breaks)
        self._scale = (room - self.break_width * len(self.breaks)) / drawn

    def _long_rests(self, boxes: Sequence[Box]) -> list[tuple[int, int]]:
        """Between things that happen: that readers wait meanwhile is no event."""
        busy = self.begin
        rests: list[tuple[int, int]] = []
        for at, until in sorted((each.at_us, each.until_us) for each in boxes if each.kind != "pinned"):
            if at > busy:
                rests.append((busy, at))
            busy = max(busy, until)
        if self.end > busy:
            rests.append((busy, self.end))
        drawn = self.end - self.begin
        long: list[tuple[int, int]] = []
        for at, until in sorted(rests, key=lambda each: each[0] - each[1])[:BREAKS_AT_MOST]:
            if until - at > drawn * BREAK_SHARE:
                long.append((at, until))
                drawn -= until - at
        return sorted(long)

    def x(self, at_us: int) -> float:
        found = NAME_WIDTH + (at_us - self.begin) * self._scale
        for begin, until in self.breaks:
            if at_us > begin:
                inside = min(at_us, until) - begin
                found += self.break_width * inside / (until - begin) - inside * self._scale
        return found


def _svg(timeline: Timeline) -> str:
    lanes = timeline.lanes
    height = LANE_HEIGHT * max(len(lanes), 1) + 24
    axis = _Axis(timeline.boxes)
    parts = [
        (
            f'<svg class="lanes" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'role="img" aria-label="{_text(timeline.transactional_id)}">'
        )
    ]
    whole = _ms(axis.end - axis.begin)
    free, limit = NAME_WIDTH + 12.0, WIDTH - 14 - len(whole) * AXIS_WIDTH  # between the labels at both ends
    for begin, until in axis.breaks:
        x, wide = axis.x(begin), axis.break_width
        parts.append(
            f'<rect class="break" x="{x + 3:.1f}" y="0" width="{wide - 6:.1f}" height="{height - 20}"/>'
        )
        said = f"\u2026{_ms(until - begin)}\u2026"
        left, right = (x + wide / 2 + side * len(said) * AXIS_WIDTH / 2 for side in (-1, 1))
        if free <= left and right <= limit:
            free = right + 4
            parts.append(
                f'<text class="axis" x="{x + wide / 2:.1f}" y="{height - 6}" text-anchor="middle">{said}</text>'
            )
    for number, lane in enumerate(lanes):
        y = number * LANE_HEIGHT
        parts.append(f'<text class="lane" x="4" y="{y + 21}">{_text(lane, 22)}</text>')
        parts.append(f'<line class="rule" x1="{NAME_WIDTH}" x2="{WIDTH}" y1="{y + 32}" y2="{y + 32}"/>')
        parts += _lane(axis, [each for each in timeline.boxes if each.lane == lane], y)
    parts.append(
        f'<text class="axis" x="{NAME_WIDTH}" y="{height - 6}">0</text>'
        f'<text class="axis" x="{WIDTH - 8}" y="{height - 6}" text-anchor="end">'
        f"{whole}</text></svg>"
    )
    return "".join(parts)


def _lane(axis: _Axis, boxes: Sequence[Box], y: int) -> list[str]:
    """The boxes of one lane, then their labels, none of which covers another one or the next box."""
    parts: list[str] = []
    labels: list[str] = []
    placed = sorted(
        (axis.x(each.at_us), max(axis.x(each.until_us) - axis.x(each.at_us), 4.0), at)
        for at, each in enumerate(boxes)
    )
    free = float(NAME_WIDTH)  # where the label or box before ends
    for number, (x, wide, at) in enumerate(placed):
        box = boxes[at]
        refused = {"NONE": "", UNDER_WAY: " waits"}.get(box.error, " refused")
        label = box.text if box.error == "NONE" else f"{box.text} {box.error}"
        parts.append(
            f'<g class="box {box.kind}{refused}" data-event="{box.event}" tabindex="0">'
            f"<title>{_text(label)}</title>"
            f'<rect x="{x:.1f}" y="{y + 5}" width="{wide:.1f}" height="{BOX_HEIGHT}" rx="3"/></g>'
        )
        until = placed[number + 1][0] if number + 1 < len(placed) else WIDTH
        begin, shown, anchor = _label(label, x, wide, free=free, until=until)
        if shown:
            labels.append(f'<text x="{begin:.1f}" y="{y + 20}"{anchor}>{_text(shown)}</text>')
        free = max(x + wide, begin + len(shown) * TEXT_WIDTH if not anchor else 0.0)
    return parts + labels


def _label(label: str, x: float, wide: float, *, free: float, until: float) -> tuple[float, str, str]:
    """Where a box's text begins, as much of it as has room, and its anchor: in the box, beside it, or cut off."""
    length = len(label) * TEXT_WIDTH
    start = max(x + 4, free)
    inside = min(x + wide, until)
    if start + length <= inside:
        return start, label, ""
    beside = max(x + wide + 3, free)
    if wide <= NARROW and beside + length <= until:
        return beside, label, ""
    if start + length <= until:
        return start, label, ""
    if x - 3 - length >= free:
        return x - 3, label, ' text-anchor="end"'
    room = int((until - 2 - start) / TEXT_WIDTH)
    return start, (label[: room - 1] + "\u2026" if room >= SHORTEST_TEXT else ""), ""


def _text(text: str, limit: int = 200) -> str:
    """Text of others, safe in SVG and HTML."""
    printable = "".join(each if each.isprintable() else "\ufffd" for each in text)
    shown = printable if len(printable) <= limit else printable[: limit - 1] + "\u2026"
    return html.escape(shown)
