"""From events to lanes: client, coordinator, one lane a partition, one a group, and how long readers waited."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.inspect.events import UNDER_WAY, Event, Touched

CLIENT: Final = "client"
COORDINATOR: Final = "coordinator"
LANE_HEIGHT: Final = 34
BOX_HEIGHT: Final = 22
NAME_WIDTH: Final = 150
WIDTH: Final = 1080
TEXT_WIDTH: Final = 6.4  # of one character in the boxes
NOTEBOOK_STYLE: Final = (
    "svg.lanes{font:11px monospace;background:#fff;color:#1d2127}svg.lanes .rule{stroke:#e3e0d8}"
    "svg.lanes rect{fill:#c3d0ef;stroke:#2457c5}svg.lanes .state rect{fill:#d5ccec;stroke:#6b4fbb}"
    "svg.lanes .batch rect{fill:#e9d3ac;stroke:#b7791f}svg.lanes .commit rect{fill:#1f8a5b;stroke:#1f8a5b}"
    "svg.lanes .abort rect{fill:#c0392b;stroke:#c0392b}svg.lanes .pinned rect{fill:#f4e8d3;stroke:#b7791f}"
    "svg.lanes .refused rect{fill:#eecac6;stroke:#c0392b}"
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


@dataclass(frozen=True, slots=True)
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
        rows = [["TIME", "LANE", "WHAT", "TOOK", "BYTES", "ERROR", "MORE"], *self.text()]
        widths = [max(len(each[at]) for each in rows) for at in range(len(rows[0]))]
        return "\n".join(
            "  ".join(cell.ljust(widths[at]) for at, cell in enumerate(each)).rstrip() for each in rows
        )


def timeline(transactional_id: str, events: Iterable[Event], *, last: int | None = None) -> Timeline:
    """The timeline of one id; `last`: only so many transactions from the end, counted by their EndTxn."""
    mine = sorted(
        (each for each in events if each.transactional_id == transactional_id), key=lambda each: each.at_us
    )
    if last is not None:
        mine = mine[_begin_of(mine, last) :]
    return Timeline(transactional_id, tuple(mine), tuple(_boxes(mine)))


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


def _boxes(events: Sequence[Event]) -> list[Box]:
    found: list[Box] = []
    opened: dict[str, int] = {}  # partition -> when its first batch of the open transaction was written
    end = max((each.at_us + (each.took_us or 0) for each in events), default=0)
    for at, event in enumerate(events):
        until = end if event.error == UNDER_WAY else event.at_us + (event.took_us or 0)
        if event.kind == "rpc":
            found.append(Box(CLIENT, event.at_us, until, _rpc_text(event), "rpc", event.error, at))
            for each in event.touched:
                where = f"{each.topic}-{each.partition}"
                if event.name == "Produce" and each.error == "NONE":
                    found.append(Box(where, event.at_us, until, _batch_text(each), "batch", "NONE", at))
                    opened.setdefault(where, event.at_us)
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
                if where in opened:
                    begin = opened.pop(where)
                    found.append(
                        Box(
                            f"LSO {where}", begin, until, f"pinned {_ms(until - begin)}", "pinned", "NONE", at
                        )
                    )
        if event.kind == "rpc" and event.name == "EndTxn" and event.error == "NONE":
            found += _ended_without_markers(events, at, opened, until)
    last = len(events) - 1
    for where, begin in opened.items():
        text = f"pinned {_ms(end - begin)}, still"
        found.append(Box(f"LSO {where}", begin, end, text, "pinned", "NONE", last))
    return found


def _ended_without_markers(events: Sequence[Event], at: int, opened: dict[str, int], until: int) -> list[Box]:
    """A tap sees no markers: there the answer to EndTxn is the last that is known."""
    if any(each.kind == "marker" for each in events):
        return []
    found = [
        Box(f"LSO {where}", begin, until, f"pinned {_ms(until - begin)}", "pinned", "NONE", at)
        for where, begin in opened.items()
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
        text += f" {touched.count} records seq {touched.base_sequence}"
    if touched.base_offset is not None:
        text += f" at {touched.base_offset}"
    if touched.committed_offset is not None:
        text += f"={touched.committed_offset}"
    return text if touched.error == "NONE" else f"{text} {touched.error}"


def _ms(us: int) -> str:
    return f"{us / 1000:.1f} ms" if us < 10_000_000 else f"{us / 1_000_000:.0f} s"


def _svg(timeline: Timeline) -> str:
    lanes = timeline.lanes
    height = LANE_HEIGHT * max(len(lanes), 1) + 24
    begin = min((each.at_us for each in timeline.boxes), default=0)
    end = max((each.until_us for each in timeline.boxes), default=1)
    scale = (WIDTH - NAME_WIDTH - 20) / max(end - begin, 1)
    parts = [
        (
            f'<svg class="lanes" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'role="img" aria-label="{_text(timeline.transactional_id)}">'
        )
    ]
    for number, lane in enumerate(lanes):
        y = number * LANE_HEIGHT
        parts.append(f'<text class="lane" x="4" y="{y + 21}">{_text(lane, 22)}</text>')
        parts.append(f'<line class="rule" x1="{NAME_WIDTH}" x2="{WIDTH}" y1="{y + 32}" y2="{y + 32}"/>')
        free = 0.0
        labels: list[str] = []
        for box in sorted(
            (each for each in timeline.boxes if each.lane == lane), key=lambda each: each.at_us
        ):
            x = NAME_WIDTH + (box.at_us - begin) * scale
            wide = max((box.until_us - box.at_us) * scale, 4.0)
            refused = {"NONE": "", UNDER_WAY: " waits"}.get(box.error, " refused")
            label = box.text if box.error == "NONE" else f"{box.text} {box.error}"
            parts.append(
                f'<g class="box {box.kind}{refused}" data-event="{box.event}" tabindex="0">'
                f"<title>{_text(label)}</title>"
                f'<rect x="{x:.1f}" y="{y + 5}" width="{wide:.1f}" height="{BOX_HEIGHT}" rx="3"/></g>'
            )
            length = len(label) * TEXT_WIDTH
            if x + length > WIDTH and x - length > free:  # no room to the right: end at the box
                labels.append(f'<text x="{x - 3:.1f}" y="{y + 20}" text-anchor="end">{_text(label)}</text>')
                free = x + wide
            elif x >= free and x + length <= WIDTH:  # what has no room is in the box's title
                labels.append(f'<text x="{x + 3:.1f}" y="{y + 20}">{_text(label)}</text>')
                free = x + 6 + length
        parts += labels
    parts.append(
        f'<text class="axis" x="{NAME_WIDTH}" y="{height - 6}">0</text>'
        f'<text class="axis" x="{WIDTH - 8}" y="{height - 6}" text-anchor="end">{_ms(end - begin)}</text></svg>'
    )
    return "".join(parts)


def _text(text: str, limit: int = 200) -> str:
    """Text of others, safe in SVG and HTML."""
    printable = "".join(each if each.isprintable() else "\ufffd" for each in text)
    shown = printable if len(printable) <= limit else printable[: limit - 1] + "\u2026"
    return html.escape(shown)
