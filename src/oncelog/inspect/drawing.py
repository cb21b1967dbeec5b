"""Lanes as SVG: nothing covers anything else. Every text is given the width that it was placed with, whatever the font.

A box that is too short for its text has it beside it, or below with a line that leads there. What overlaps in time lies in
tracks below each other. Long stretches in which nothing happens are drawn short.
"""

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from oncelog.inspect.events import UNDER_WAY
from oncelog.inspect.terminal import width

WIDTH: Final = 1120
NAME_WIDTH: Final = 184
RIGHT: Final = WIDTH - 14  # where the time ends
HEAD_HEIGHT: Final = 34
BOX_HEIGHT: Final = 22
BOX_TOP: Final = 6
TRACK_HEIGHT: Final = 34
ROW_HEIGHT: Final = 15  # of texts below their boxes
CHARACTER: Final = 6.65  # width of one in a label, at 11 px
SMALL_CHARACTER: Final = 6.05  # at 10 px
NAME_CHARACTERS: Final = 26
LABEL_CHARACTERS: Final = 60
SHORTEST: Final = 5.0  # no box is narrower
NARROW: Final = 14.0  # up to here a text may stand beside its box
ROWS_AT_MOST: Final = 5  # of texts below a track; states and refusals are written however many rows it takes
TRACKS_AT_MOST: Final = 8
TICK_APART: Final = 84
BREAK_WIDTH: Final = 52
BREAKS_AT_MOST: Final = 8
BREAK_SHARE: Final = 0.2  # of the time drawn: nothing for longer than this is drawn short
ALWAYS_SAID: Final = frozenset({"state", "commit", "abort"})
STYLE: Final = (
    "svg.lanes{font:11px monospace;background:#fff;color:#1d2127;fill:#1d2127}svg.lanes .rule{stroke:#e3e0d8}"
    "svg.lanes .tick{stroke:#efede7}svg.lanes .lead{stroke:#8b93a0;fill:none}svg.lanes text.refused{fill:#c0392b}svg.lanes .axis{font-size:10px;fill:#66707c}"
    "svg.lanes .box rect{fill:#c3d0ef;stroke:#2457c5}svg.lanes .state rect{fill:#d5ccec;stroke:#6b4fbb}"
    "svg.lanes .batch rect{fill:#e9d3ac;stroke:#b7791f}svg.lanes .offset rect{fill:#c2e0d3;stroke:#1f8a5b}"
    "svg.lanes .commit rect{fill:#1f8a5b;stroke:#1f8a5b}"
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


def svg(title: str, lanes: Sequence[str], boxes: Sequence[Box], keys: Mapping[int, str]) -> str:
    """The drawing. `keys`: what stands for an event in `data-event`; else its number."""
    axis = _Axis(boxes)
    top = float(HEAD_HEIGHT)
    drawn: list[str] = []
    for lane in lanes:
        parts, bottom = _lane(lane, [each for each in boxes if each.lane == lane], axis, top, keys)
        drawn += parts
        drawn.append(f'<line class="rule" x1="0" x2="{WIDTH}" y1="{bottom:.1f}" y2="{bottom:.1f}"/>')
        top = bottom
    head = (
        f'<svg class="lanes" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 4:.0f}" '
        f'role="img" aria-label="{safe(title)}">'
    )
    return "".join([head, *_breaks(axis, top), *_ticks(axis, top), *drawn, "</svg>"])


# ---- time


class _Axis:
    """From times to the width of the drawing. Long stretches in which nothing happens are drawn short, and marked."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self.begin = min((each.at_us for each in boxes), default=0)
        self.end = max((each.until_us for each in boxes), default=0)
        self.breaks = self._long_rests(boxes)
        drawn = max(self.end - self.begin - sum(until - at for at, until in self.breaks), 1)
        room = RIGHT - NAME_WIDTH - SHORTEST
        self.is_dots = all(each.at_us == each.until_us for each in boxes if each.kind != "pinned")
        self.break_width = float(BREAK_WIDTH)
        if self.breaks and self.is_dots:  # of logs alone: nothing that lasts needs the room
            self.break_width = room * (0.97 if drawn == 1 else 0.8) / len(self.breaks)
        self.scale = (room - self.break_width * len(self.breaks)) / drawn

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
        found = NAME_WIDTH + (at_us - self.begin) * self.scale
        for begin, until in self.breaks:
            if at_us > begin:
                inside = min(at_us, until) - begin
                found += self.break_width * inside / (until - begin) - inside * self.scale
        return found

    def grey(self) -> list[tuple[float, float]]:
        """Where the breaks are. Texts keep off them, unless they are most of the drawing."""
        if self.is_dots:
            return []
        return [(self.x(begin), self.x(begin) + self.break_width) for begin, _ in self.breaks]

    def drawn(self) -> Iterator[tuple[int, int]]:
        """The stretches that are drawn to scale."""
        since = self.begin
        for begin, until in self.breaks:
            yield since, begin
            since = until
        yield since, self.end


def _breaks(axis: _Axis, bottom: float) -> Iterator[str]:
    for begin, until in axis.breaks:
        x, wide = axis.x(begin) + 3, axis.break_width - 6
        yield (
            f'<rect class="break" x="{x:.1f}" y="{HEAD_HEIGHT - 10}" width="{wide:.1f}" height="{bottom - HEAD_HEIGHT + 10:.1f}">'
            f"<title>nothing happens for {length(until - begin)}</title></rect>"
        )


def _ticks(axis: _Axis, bottom: float) -> list[str]:
    """The time of day at the left, with its zone; from there on a line for each step, and the lengths of the breaks."""
    day, _, clock = when(axis.begin).partition(" ")
    parts = [
        f'<text class="axis" x="4" y="12">{day}</text><text class="axis clock" x="4" y="26">{clock}</text>',
        f'<line class="rule" x1="0" x2="{WIDTH}" y1="{HEAD_HEIGHT}" y2="{HEAD_HEIGHT}"/>',
    ]
    taken: list[tuple[float, float]] = []
    for begin, until in axis.breaks:
        said = length(until - begin)
        middle, half = axis.x(begin) + axis.break_width / 2, len(said) * SMALL_CHARACTER / 2
        parts.append(
            f'<text class="axis break" x="{middle - half:.1f}" y="14" {_fixed(said, SMALL_CHARACTER)}>{said}</text>'
        )
    step = _step(TICK_APART / axis.scale)
    for begin, until in axis.drawn():
        first = -(-(begin - axis.begin) // step)
        for at in range(first, (until - axis.begin) // step + 1):
            x, said = axis.x(axis.begin + at * step), _tick_text(at * step, step)
            parts.append(
                f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD_HEIGHT - 5}" y2="{bottom:.1f}"/>'
            )
            half = len(said) * SMALL_CHARACTER / 2
            left = min(max(x - half, NAME_WIDTH), WIDTH - 2 * half - 2)
            if not _meets(taken, left, left + 2 * half):
                taken.append((left - 6, left + 2 * half + 6))
                parts.append(
                    f'<text class="axis" x="{left:.1f}" y="26" {_fixed(said, SMALL_CHARACTER)}>{said}</text>'
                )
    return parts


def _step(least: float) -> int:
    """1, 2 or 5 times a power of ten, in microseconds."""
    power = 10 ** max(math.floor(math.log10(max(least, 1))), 0)
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least or each == 10)


def _tick_text(us: int, step: int) -> str:
    if us == 0:
        return "0"
    unit, name = (1000, "ms") if us < 10_000_000 and step < 1_000_000 else (1_000_000, "s")
    digits = max(0, round(math.log10(unit)) - int(math.log10(step)))
    said = f"{us / unit:,.{digits}f}"
    return f"{said.rstrip('0').rstrip('.') if digits else said} {name}"


def length(us: int) -> str:
    """How long something took."""
    if us < 1_000_000:
        return f"{us / 1000:.1f} ms"
    return f"{us / 1_000_000:.1f} s" if us < 10_000_000 else f"{us / 1_000_000:.0f} s"


def when(us: int) -> str:
    """Day and time of day, with the zone."""
    try:
        at = datetime.fromtimestamp(us // 1000 / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # of a client's clock
        return f"{us // 1000} ms since 1970"
    return at.strftime("%Y-%m-%d %H:%M:%S.") + f"{us // 1000 % 1000:03} UTC"


# ---- one lane


@dataclass(slots=True)
class _Placed:
    """A box with its place."""

    box: Box
    x: float
    wide: float

    @property
    def end(self) -> float:
        return self.x + self.wide

    @property
    def label(self) -> str:
        said = self.box.text if self.box.error == "NONE" else f"{self.box.text} {self.box.error}"
        return said if len(said) <= LABEL_CHARACTERS else said[: LABEL_CHARACTERS - 1] + "\u2026"

    @property
    def is_refused(self) -> bool:
        return self.box.error not in ("NONE", UNDER_WAY)

    @property
    def kind(self) -> str:
        waits = " waits" if self.box.error == UNDER_WAY else ""
        return f"{self.box.kind}{' refused' if self.is_refused else waits}"


@dataclass(slots=True)
class _Flag:
    """Boxes that follow each other and say the same, whose text does not fit into them."""

    of: list[_Placed]
    said: str

    @property
    def text(self) -> str:
        said = self.said
        return said if len(self.of) == 1 else f"{said} \u00d7{len(self.of)}"

    @property
    def long(self) -> float:
        return _long(self.text)

    @property
    def x(self) -> float:
        """Where the line to the text begins."""
        return self.of[0].x + min(self.of[0].wide / 2, 6.0)

    @property
    def must(self) -> bool:
        return self.of[0].box.kind in ALWAYS_SAID or self.of[0].is_refused


@dataclass(slots=True)
class _Rows:
    """The rows of texts below a track: what of them is taken by texts, and by lines that go further down."""

    grey: list[tuple[float, float]]
    taken: list[list[tuple[float, float]]] = field(default_factory=list[list[tuple[float, float]]])
    lines: list[list[float]] = field(default_factory=list[list[float]])

    def place(self, flag: _Flag) -> tuple[int, float] | None:
        """Its row and where its text begins."""
        rights, lefts = flag.x + 5, flag.x - 5 - flag.long
        sides = [left for left in (rights, lefts) if left >= NAME_WIDTH and left + flag.long <= WIDTH - 2]
        sides = sides or [max(float(NAME_WIDTH), WIDTH - 2 - flag.long)]
        off_grey = [left for left in sides if not _meets(self.grey, left, left + flag.long)]
        for careful, tried in ((True, off_grey), (True, sides), (False, sides if flag.must else [])):
            for row in range(3 * ROWS_AT_MOST if flag.must else ROWS_AT_MOST):
                self._grow(row)
                for left in tried:
                    if self._is_free(flag, row, left, careful=careful):
                        self.taken[row].append((left, left + flag.long))
                        for above in range(row):
                            self.lines[above].append(flag.x)
                        return row, left
        return None

    def _grow(self, row: int) -> None:
        while len(self.taken) <= row:
            self.taken.append([])
            self.lines.append([])

    def _is_free(self, flag: _Flag, row: int, left: float, *, careful: bool) -> bool:
        right = left + flag.long
        if _meets(self.taken[row], left - 7, right + 7):
            return False
        if not careful:
            return True
        if any(left - 3 < x < right + 3 for x in self.lines[row]):
            return False
        return not any(
            one - 2 < flag.x < other + 2 for above in range(row) for one, other in self.taken[above]
        )

    @property
    def used(self) -> int:
        return max((at + 1 for at, each in enumerate(self.taken) if each), default=0)


def _lane(
    name: str, boxes: Sequence[Box], axis: _Axis, top: float, keys: Mapping[int, str]
) -> tuple[list[str], float]:
    """Its drawing, and where it ends."""
    parts = [
        f'<text class="lane" x="4" y="{top + BOX_TOP + 15:.1f}">{safe(short(name, NAME_CHARACTERS))}<title>{safe(name)}</title></text>'
    ]
    for track in _tracks(boxes, axis):
        drawn, top = _track(track, top, keys, axis.grey())
        parts += drawn
    return parts, top


def _tracks(boxes: Sequence[Box], axis: _Axis) -> list[list[_Placed]]:
    """What overlaps in time lies below each other; what happened in one moment side by side."""
    placed = sorted(
        (
            _Placed(each, axis.x(each.at_us), max(axis.x(each.until_us) - axis.x(each.at_us), SHORTEST))
            for each in boxes
        ),
        key=lambda each: (each.box.at_us, each.box.event),
    )
    tracks: list[list[_Placed]] = []
    for each in placed:
        for track in tracks:
            before = track[-1]
            if before.end > each.x + 0.5 and each.wide <= SHORTEST and before.wide <= SHORTEST:
                each.x = before.end + 2.0
            if before.end <= each.x + 0.5:
                track.append(each)
                break
        else:
            if len(tracks) < TRACKS_AT_MOST:
                tracks.append([each])
            else:
                tracks[-1].append(each)
    for track in tracks:
        _pull_in(track)
    return tracks or [[]]


def _pull_in(track: list[_Placed]) -> None:
    """What was moved aside must not leave the drawing."""
    limit = WIDTH - 2.0
    for each in reversed(track):
        if each.end <= limit:
            return
        each.x = limit - each.wide
        limit = each.x - 2.0


def _track(
    track: list[_Placed], top: float, keys: Mapping[int, str], grey: list[tuple[float, float]]
) -> tuple[list[str], float]:
    parts = [_drawn(each, top, keys) for each in track]
    labels: list[str] = []
    flags: list[_Flag] = []
    free = float(NAME_WIDTH)  # where what stands in the row of the boxes ends
    runs = list(_runs(track))
    for at, run in enumerate(runs):
        until = runs[at + 1][0].x if at + 1 < len(runs) else WIDTH
        each, y = run[0], top + BOX_TOP + 15
        long, end = _long(each.label), run[-1].end
        if _fits(each, each.label):
            labels.append(_label(each.label, each.x + 5, y))
        elif each.is_refused and _fits(each, each.box.text):
            labels.append(_label(each.box.text, each.x + 5, y))
            flags.append(_Flag(run, each.box.error))
        elif len(run) > 1 or each.wide > NARROW:
            flags.append(_Flag(run, each.label))
        elif end + 5 + long <= until - 5 and not _meets(grey, end, end + 5 + long):
            labels.append(_label(each.label, end + 5, y, refused=each.is_refused))
            end += 5 + long
        elif each.x - 5 - long >= free + 7 and not _meets(grey, each.x - 5 - long, each.x):
            labels.append(_label(each.label, each.x - 5 - long, y, refused=each.is_refused))
        else:
            flags.append(_Flag(run, each.label))
        free = end
    rows = _Rows(grey)
    base = top + BOX_TOP + BOX_HEIGHT
    for flag in _in_order(flags):
        found = rows.place(flag)
        if found is None:
            continue
        row, left = found
        y = base + 6 + row * ROW_HEIGHT
        side = left - 2 if left > flag.x else left + flag.long + 2
        labels.append(_lead(flag, base, y, side))
        labels.append(_label(flag.text, left, y + 8, refused=flag.of[0].is_refused))
    return parts + labels, top + TRACK_HEIGHT + rows.used * ROW_HEIGHT


def _fits(placed: _Placed, said: str) -> bool:
    """Whether a text has room in the box."""
    return _long(said) + 8 <= placed.wide


def _meets(taken: Sequence[tuple[float, float]], left: float, right: float) -> bool:
    return any(left < other and one < right for one, other in taken)


def _runs(track: Sequence[_Placed]) -> Iterator[list[_Placed]]:
    """Boxes that follow each other, say the same and have no room for it: one text will do for them."""
    run: list[_Placed] = []
    for each in track:
        if run and (
            each.label != run[0].label
            or _fits(each, each.box.text)
            or _fits(run[-1], run[-1].box.text)
            or each.x - run[-1].end > _long(each.label) + 20
        ):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _in_order(flags: Sequence[_Flag]) -> list[_Flag]:
    """So that no line to a text crosses another text: those at the right edge from the left on, then all others from the right."""
    edge = [each for each in flags if each.x + 5 + each.long > WIDTH - 2]
    reach = min((each.x - 5 - each.long for each in edge), default=WIDTH)
    edge = [each for each in flags if each.x > reach]
    return [*edge, *(each for each in reversed(flags) if each not in edge)]


def _drawn(placed: _Placed, top: float, keys: Mapping[int, str]) -> str:
    box = placed.box
    return (
        f'<g class="box {placed.kind}" data-event="{safe(keys.get(box.event, str(box.event)))}" tabindex="0">'
        f"<title>{safe(placed.label)}</title>"
        f'<rect x="{placed.x:.1f}" y="{top + BOX_TOP:.1f}" width="{placed.wide:.1f}" height="{BOX_HEIGHT}" rx="3"/></g>'
    )


def _lead(flag: _Flag, base: float, y: float, side: float) -> str:
    """From a box down to its text; under several boxes first along all of them."""
    along = ""
    if len(flag.of) > 1:
        along = f"M{flag.of[0].x:.1f} {base + 2.5:.1f}H{flag.of[-1].end:.1f}"
    return f'<path class="lead" d="{along}M{flag.x:.1f} {base + 1:.1f}V{y + 4:.1f}H{side:.1f}"/>'


def _label(said: str, x: float, y: float, *, refused: bool = False) -> str:
    kind = "label refused" if refused else "label"
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" {_fixed(said, CHARACTER)}>{safe(said)}</text>'


def _fixed(said: str, character: float) -> str:
    """The width that it was placed with, in any font."""
    return f'textLength="{width(said) * character:.1f}" lengthAdjust="spacingAndGlyphs"'


def _long(said: str) -> float:
    return width(said) * CHARACTER


def short(name: str, characters: int) -> str:
    """Its beginning and its end: the number of a partition is at the end."""
    if len(name) <= characters:
        return name
    tail = characters // 3
    return f"{name[: characters - tail - 1]}\u2026{name[-tail:]}"


def safe(said: str, limit: int = 200) -> str:
    """Text of others, for SVG and HTML."""
    printable = "".join(each if each.isprintable() else "\ufffd" for each in said)
    shown = printable if len(printable) <= limit else printable[: limit - 1] + "\u2026"
    return html.escape(shown)
