"""From events to lanes: client, coordinator, one lane a partition, one a group, and how long readers waited."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.inspect import drawing
from oncelog.inspect.drawing import Box, length
from oncelog.inspect.events import UNDER_WAY, Event, Touched
from oncelog.inspect.terminal import visible, width

CLIENT: Final = "client"
COORDINATOR: Final = "coordinator"


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

    def svg(self, keys: Mapping[int, str] | None = None) -> str:
        """A drawing that needs no script and asks nobody. Its colours are the page's; see drawing.STYLE.

        `keys`: by what a box names its event; else by its number.
        """
        return drawing.svg(self.transactional_id, self.lanes, self.boxes, keys or {})

    def _repr_html_(self) -> str:
        """For notebooks, which know nothing of the page's style."""
        return f"<style>{drawing.STYLE}</style>{self.svg()}"

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
                            f"LSO {where}",
                            begin,
                            until,
                            f"pinned {length(until - begin)}",
                            "pinned",
                            "NONE",
                            at,
                        )
                    )
        if event.kind == "rpc" and event.name == "EndTxn" and event.error == "NONE":
            found += _ended_without_markers(events, at, opened, until)
    last = len(events) - 1
    for where, written in opened.items():
        begin = min(when for when, _ in written)
        text = f"pinned {length(now - begin)}, still"
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
        Box(f"LSO {where}", begin, until, f"pinned {length(until - begin)}", "pinned", "NONE", at)
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
    more += [touched_text(each) for each in event.touched]
    if event.kind == "rpc" and event.client_id is not None:
        more.append(f"by {event.client_id} at {event.address}")
    return [
        f"+{(event.at_us - begin_us) / 1000:.1f} ms",
        lane,
        what,
        "-" if event.took_us is None else length(event.took_us),
        str(event.request_bytes or "-"),
        "-" if event.error == "NONE" else event.error,
        ", ".join(more),
    ]


def touched_text(touched: Touched) -> str:
    """One partition of a request, in a few words."""
    text = f"{touched.topic}-{touched.partition}"
    if touched.count is not None:
        text += f" {touched.count} record{'' if touched.count == 1 else 's'} seq {touched.base_sequence}"
    if touched.base_offset is not None:
        text += f" at {touched.base_offset}"
    if touched.committed_offset is not None:
        text += f"={touched.committed_offset}"
    return text if touched.error == "NONE" else f"{text} {touched.error}"
