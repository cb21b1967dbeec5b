"""The screens, each a function from a plain value to markup. Every screen names the command that gives the same answer."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any, Final, cast

from oncelog.client.cluster import Away
from oncelog.inspect.abort import Plan
from oncelog.inspect.annotate import Piece, hex_lines, text_of
from oncelog.inspect.ask import Cause
from oncelog.inspect.drawing import length, when
from oncelog.inspect.events import NO_ANSWER, UNDER_WAY, Event
from oncelog.inspect.explain import Explanation
from oncelog.inspect.groups import OF_NOBODY, GroupOffset, GroupView
from oncelog.inspect.inspector import (
    STRIP_OFFSETS,
    HistoryPage,
    Now,
    PartitionPage,
    TransactionPage,
)
from oncelog.inspect.lengths import age
from oncelog.inspect.page.markup import Child, Safe, action, el, join, link, table, text
from oncelog.inspect.replay import Replayed, StateRecord
from oncelog.inspect.spark_queries import MicroBatch, SparkQuery
from oncelog.inspect.strip import Stretch
from oncelog.inspect.timeline import CLIENT, COORDINATOR, Timeline, touched_text
from oncelog.inspect.trace import cause
from oncelog.inspect.views import LastRequest, Pin, TransactionRow, away_said
from oncelog.inspect.wire import pieces_of_answer, pieces_of_request
from oncelog.model import CONSUMER_OFFSETS, TopicPartition

SCREENS: Final = (
    ("now", "Now"),
    ("txn", "Transactions"),
    ("topics", "Partitions"),
    ("groups", "Groups"),
    ("spark", "Spark"),
    ("cost", "Cost"),
    ("learn", "Learn"),
)
NEEDS_ONCELOG: Final = "n/a (needs oncelog broker)"
SHOWN_ROWS: Final = 500
LONGEST_WHOLE: Final = 40  # characters
SHOWN_UNTOLD: Final = 12
NOT_HELD: Final = "No partition is held: every reader sees everything."
NOT_HELD_AS_FAR_AS_ASKED: Final = "No partition is held, of those that could be asked about."
SHOWN_STATES: Final = 12  # under the lanes
SHOWN_HISTORY: Final = 60
SHOWN_BATCHES: Final = 400
BARS: Final = 90
WIDEST_BAR: Final = 92
BARS_HEIGHT: Final = 70
LOWEST_BAR: Final = 4
OUTCOMES: Final = (
    ("committed", "commit", "committed"),
    ("aborted", "abort", "aborted"),
    ("open", "open", "open"),
)
OVER: Final = ("waits", "committed", "marker", "aborted", "open")  # what is drawn over what
STRIP_WIDTH: Final = 1120
BAND_NAMES: Final = 152  # of a strip, at its left
LINE_WIDTH: Final = 120
LINE_HEIGHT: Final = 26
RATIO: Final = re.compile(r"(\d+(?:\.\d+)?)x")
# Files that `oncelog bench eos --out` makes.
HEADINGS: Final[Mapping[str, str]] = {
    "eos": "Kept in the page cache, synced later",
    "eos-power": "With a sync before every answer",
}
# What the boxes of the lanes are, by their classes.
LEGEND: Final = (
    ("rpc", "request"),
    ("refused", "refused"),
    ("state", "state"),
    ("batch", "batch"),
    ("offset", "offsets"),
    ("commit", "commit marker"),
    ("abort", "abort marker"),
    ("pinned", "readers wait"),
    ("break", "nothing happens: drawn short"),
)


def inner(title: str, body: Child, beside: Child = None) -> Safe:
    """What is put in place anew while a screen is live."""
    return join(el("div", el("h1", title), beside, class_="head"), body)


def page(
    screen: str,
    title: str,
    command: str,
    body: Child,
    *,
    bootstrap: str,
    live: bool = True,
    beside: Child = None,
) -> str:
    """A whole document. Without script it is the same page, only not live. `beside`: what stands beside its heading."""
    tabs = [
        el(
            "a",
            name,
            href=f"/{key}",
            class_="tab here" if key == screen else "tab",
            accesskey=str(number + 1),
        )
        for number, (key, name) in enumerate(SCREENS)
    ]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} - oncelog"),
        el("link", rel="icon", href="/static/oncelog.svg"),
        el("link", rel="stylesheet", href="/static/oncelog.css"),
        el("script", Safe(""), src="/static/oncelog.js", type="module"),
    )
    bar = el(
        "header",
        el("a", "oncelog", href="/now", class_="brand"),
        el("nav", *tabs, aria_label="screens"),
        el("button", "pause", id="pause", type="button", hidden=True, aria_pressed="false"),
        el("span", id="since", role="status"),
        el("span", bootstrap, class_="where"),
    )
    foot = el("footer", "the same on the command line: ", el("code", command))
    shown = inner(title, body, beside)
    main = el("main", shown, id="main", data_live="yes" if live else None, tabindex="-1")
    return "<!doctype html>" + el("html", head, el("body", bar, main, foot), lang="en")


# ---- Now


def now(value: Now) -> Safe:
    untold = value.untold  # partitions that nobody could be asked about
    longest = max((each.pinned_ms or 0 for each in value.pins), default=0)
    hidden, waiting = (
        sum(each.hidden for each in value.pins),
        {group for each in value.pins for group in each.groups},
    )
    tiles = [
        _tile(
            "held partitions",
            f"{len(value.pins):,}",
            bad=bool(value.pins),
            note=f"for up to {age(longest)}, {_count(hidden, 'record')} hidden, {_count(len(waiting), 'group')} waiting"
            if value.pins
            else "as far as could be asked"
            if untold
            else "every reader sees everything",
        ),
        _tile(
            "open transactions",
            f"{len(value.opened):,}",
            note=f"the oldest for {age(value.opened[0].age_ms)}"
            if value.opened
            else "as far as could be asked"
            if value.away
            else "nobody is writing",
        ),
        _tile("transactional ids", f"{value.known_ids:,}", note=f"on {_count(value.brokers, 'broker')}"),
    ]
    rates = [
        _tile(f"{name} a second", amount(rate, is_bytes="bytes" in name), line=value.past[name])
        for name, rate in value.rates.items()
    ]
    if not value.from_oncelog:
        rates = [_tile("rates", NEEDS_ONCELOG)]
    return join(
        el("section", *tiles, class_="tiles"),
        el("section", *rates, class_="tiles rates") if rates else None,
        el("h2", "Who holds readers back"),
        pins(value.pins, empty=NOT_HELD_AS_FAR_AS_ASKED if untold else NOT_HELD),
        _untold(untold),
        not_asked(value.away),
        el("h2", "Open transactions, oldest first"),
        transactions(value.opened[:SHOWN_ROWS], empty="No transaction is open."),
        el("p", link(f"all {len(value.opened):,}", "txn"), class_="empty")
        if len(value.opened) > SHOWN_ROWS
        else None,
    )


def _count(number: int, of: str) -> str:
    return f"{number:,} {of}{'' if number == 1 else 's'}"


def _tile(
    name: str, value: str, *, bad: bool = False, line: Sequence[float] = (), note: str | None = None
) -> Safe:
    return el(
        "div",
        el("b", value),
        el("span", name),
        None if note is None else el("small", note),
        spark_line(line) if len(line) > 1 and any(line) else None,
        class_="tile bad" if bad else "tile",
    )


def amount(value: float, *, is_bytes: bool = False) -> str:
    """A number in a few characters."""
    if is_bytes:
        for unit in ("B", "KB", "MB"):
            if value < 1000:
                return f"{value:,.0f} {unit}" if unit == "B" or value >= 100 else f"{value:,.1f} {unit}"
            value /= 1000
        return f"{value:,.1f} GB"
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:,.1f}"


def spark_line(values: Sequence[float]) -> Safe:
    """How it went, oldest at the left, as a line without numbers."""
    most = max(*values, 1e-9)
    step = LINE_WIDTH / (len(values) - 1)
    points = " ".join(
        f"{at * step:.1f},{LINE_HEIGHT - 2 - each / most * (LINE_HEIGHT - 4):.1f}"
        for at, each in enumerate(values)
    )
    return Safe(
        f'<svg class="line" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LINE_WIDTH} {LINE_HEIGHT}" '
        f'preserveAspectRatio="none" aria-hidden="true"><polyline points="{points}"/></svg>'
    )


def _more(count: int) -> Safe | None:
    return (
        el("p", f"and {count - SHOWN_ROWS:,} more: narrow the pattern", class_="empty")
        if count > SHOWN_ROWS
        else None
    )


def facts(rows: Sequence[tuple[str, Child]]) -> Safe:
    """Names with their values, as many side by side as fit."""
    return el("dl", *(el("div", el("dt", name), el("dd", fact)) for name, fact in rows))


def _untold(found: Sequence[Any]) -> Safe | None:
    """Partitions that may be held or not."""
    if not found:
        return None
    named = [f"{each.topic}-{each.partition}: {each.why}" for each in found[:SHOWN_UNTOLD]]
    more = f" and {len(found) - SHOWN_UNTOLD:,} more" if len(found) > SHOWN_UNTOLD else ""
    said = f"Not told of {_count(len(found), 'partition')}: {', '.join(named)}{more}"
    return el("p", said, class_="warning")


def not_asked(away: Sequence[Away]) -> Safe | None:
    """Brokers whose ids and groups are not in what is shown."""
    said = away_said(away)
    return None if said is None else el("p", f"{said[0].upper()}{said[1:]}", class_="warning")


def pins(found: Sequence[Pin], *, empty: str) -> Safe:
    rows = [
        (
            _partition_link(each.topic, each.partition),
            each.last_stable_offset,
            each.high_watermark,
            each.hidden,
            _whole(age(each.pinned_ms)),
            _owner(each),
            _client(each),
            el(
                "span",
                el("span", each.kind, class_=f"kind {each.kind}"),
                " ",
                None if each.time_left_ms is None else _whole(_left(each.time_left_ms)),
            ),
            el("span", *([_whole(group), " "] for group in each.groups)) if each.groups else "-",
            _abort_link(each),
        )
        for each in found
    ]
    head = "partition|LSO|high watermark|hidden|pinned|owner|client|kind|blocks|".split("|")
    return table(head, rows, empty=empty)


def _owner(pin: Pin) -> Child:
    if pin.transactional_id is not None:
        return _id_link(pin.transactional_id)
    return el("span", "not told", title=pin.frees) if pin.kind == "unknown" else "nobody"


def _left(ms: int) -> str:
    """Until its timeout ends it."""
    return f"{age(ms)} left" if ms >= 0 else f"overdue by {age(-ms)}"


def _partition_link(topic: str, partition: int) -> Safe:
    return _whole(link(f"{topic}-{partition}", "partition", topic, partition), f"{topic}-{partition}")


def _id_link(transactional_id: str) -> Safe:
    return _whole(link(transactional_id, "txn", transactional_id), transactional_id)


def _whole(shown: Child, said: str | None = None) -> Safe:
    """Not broken over two lines, unless it is too long for that. `said`: its text, where it is no text."""
    long = len(str(shown) if said is None else said)
    return el("span", shown, class_="whole" if long <= LONGEST_WHOLE else None)


def _client(pin: Pin) -> Child:
    if not pin.from_oncelog:
        return NEEDS_ONCELOG
    if pin.client_id is None:
        return "-"
    return el(
        "span", f"{pin.client_id} ", el("small", _whole(f"at {pin.address or '?'}")), title=pin.software
    )


def _abort_link(pin: Pin) -> Child:
    if pin.transactional_id is not None and pin.kind == "long":
        return action("abort\u2026", "abort", tid=pin.transactional_id)
    if pin.kind == "hanging" and pin.start_offset is not None:
        where = f"{pin.topic}-{pin.partition}"
        return action("abort\u2026", "abort", partition=where, start=pin.start_offset)
    return None


# ---- Transactions


def transactions(found: Sequence[TransactionRow], *, empty: str) -> Safe:
    rows = [
        (
            _id_link(each.transactional_id),
            _state(each.state),
            _whole(f"{each.producer_id} / {each.producer_epoch}"),
            _whole(age(each.age_ms)),
            _whole("-" if each.time_left_ms is None else _left(each.time_left_ms)),
            each.partitions or "-",
        )
        for each in found
    ]
    head = "transactional id|state|producer id / epoch|open for|timeout|partitions".split("|")
    return table(head, rows, empty=empty)


def _state(name: str) -> Safe:
    return el("span", name, class_=f"state {name}")


def transaction_list(found: Sequence[TransactionRow], count: int, match: str) -> Safe:
    """The first of `count` that match."""
    form = el(
        "form",
        el("label", "matching ", el("input", name="match", value=match, placeholder="refunds-*")),
        el("button", "show"),
        method="get",
        action="/txn",
    )
    return join(form, transactions(found, empty="No transactional id matches."), _more(count))


def transaction_head(value: TransactionPage) -> Safe:
    view = value.view
    return el(
        "p",
        _state(view.state),
        action("history", "history", view.transactional_id),
        _do("abort\u2026", "abort", tid=view.transactional_id) if view.state == "Ongoing" else None,
        class_="ways",
    )


def _do(label: str, *path: object, **query: object) -> Safe:
    """The way to what cannot be taken back."""
    return el("span", action(label, *path, **query), class_="do")


def transaction(value: TransactionPage) -> Safe:
    view = value.view
    told: list[tuple[str, Child]] = [("producer id / epoch", f"{view.producer_id} / {view.producer_epoch}")]
    if view.age_ms is not None:
        told += [("under way for", age(view.age_ms)), ("times out in", age(view.time_left_ms))]
    told += [
        ("coordinator", view.coordinator),
        ("epoch bumped by", _bump(value)),
        ("last request", _last_request(value.view.last_request, value.view.from_oncelog)),
    ]
    partitions = [
        (
            _partition_link(each.topic, each.partition),
            "-" if each.start_offset is None else each.start_offset,
            "-" if each.records is None else each.records,
            "-" if each.bytes is None else each.bytes,
            each.last_stable_offset,
            each.high_watermark,
            "pins" if each.pins else "-",
        )
        for each in view.partitions
    ]
    return join(
        facts(told),
        _untold_states(value),
        el("h2", "Lanes"),
        lanes(value.timeline, Logs(value.states, value.state_log)),
        el("p", f"From {value.source}. ", *_how_many(value), class_="empty"),
        el("h2", "Partitions of the open transaction"),
        table(
            "partition|first offset|records|bytes|LSO|high watermark|".split("|"),
            partitions,
            empty="None is open.",
        ),
        el("h2", "States, newest first"),
        states(value.states[-SHOWN_STATES:]),
        el("p", link("all of them", "history", view.transactional_id), class_="empty")
        if len(value.states) > SHOWN_STATES
        else None,
    )


def _untold_states(value: TransactionPage | HistoryPage) -> Safe | None:
    why = value.untold
    return (
        None if why is None else el("p", f"The log of its states could not be read: {why}", class_="warning")
    )


def _how_many(value: TransactionPage) -> list[Child]:
    """Links to show more or fewer transactions at once."""
    if value.known < 2:
        return []
    shown: list[Child] = ["Show the last"]
    for count in (1, 3, 10):
        shown += [
            " ",
            str(count)
            if count == value.last
            else link(count, "txn", value.view.transactional_id, last=count),
        ]
    return [*shown, f" of {value.known}."]


def _bump(value: TransactionPage) -> str:
    if not value.view.from_oncelog:
        return NEEDS_ONCELOG
    bump = value.view.bump
    return "never bumped" if bump is None else f"{_caused(bump)}, to epoch {bump.producer_epoch}"


def _caused(bump: Cause) -> str:
    return bump.cause if bump.client_id is None else f"{bump.cause} {bump.client_id} at {bump.address}"


def _last_request(found: LastRequest | None, from_oncelog: bool) -> str:
    if not from_oncelog:
        return NEEDS_ONCELOG
    if found is None:
        return "none is kept"
    answer = "" if found.error == "NONE" else f", {found.error}"
    return f"{found.name} {age(found.ago_ms)} ago by {found.client_id} at {found.address}{answer}"


def history_head(value: HistoryPage) -> Safe:
    view = value.view
    return el("p", _state(view.state), action("lanes", "txn", view.transactional_id), class_="ways")


def history(value: HistoryPage) -> Safe:
    """All that the log holds of one id: who had it, how its transactions ended and how long they took."""
    view, done = value.view, value.transactions
    lasted = sorted(each.ended_ms - each.began_ms for each in done if each.ended_ms is not None)
    told: list[tuple[str, Child]] = [
        ("producer id / epoch", f"{view.producer_id} / {view.producer_epoch}"),
        ("committed", f"{sum(each.outcome == 'commit' for each in done):,}"),
        ("aborted", f"{sum(each.outcome == 'abort' for each in done):,}"),
        ("half of them took up to", age(median_low(lasted)) if lasted else "-"),
        ("the longest took", age(lasted[-1]) if lasted else "-"),
    ]
    bumps = [
        (
            _clock(each.at_ms),
            str(each.producer_epoch),
            each.cause,
            "-" if each.client_id is None else each.client_id,
            "-" if each.address is None else each.address,
        )
        for each in reversed(value.bumps)
    ]
    return join(
        facts(told),
        _untold_states(value),
        el("h2", "How they ended, oldest at the left, and how long they took"),
        outcomes_svg(done),
        el("h2", "Who had the id, and why its epoch was bumped, newest first"),
        table(
            "when (UTC)|to epoch|cause|client|address".split("|"),
            bumps[:SHOWN_ROWS],
            empty="Nobody bumped it." if view.from_oncelog else NEEDS_ONCELOG,
        ),
        el("h2", "Transactions, newest first"),
        _past_transactions(done),
        el("h2", "States, newest first"),
        states(value.states[-SHOWN_HISTORY:]),
    )


def _past_transactions(done: Sequence[Replayed]) -> Safe:
    rows = [
        (
            each.number,
            el("span", each.outcome, class_=f"verdict {each.outcome}"),
            _clock(each.began_ms),
            "-" if each.ended_ms is None else _whole(age(each.ended_ms - each.began_ms)),
            _whole(f"{each.producer_id} / {each.producer_epoch}"),
            _each_whole(each.partitions),
            each.states[0].offset,
        )
        for each in reversed(done[-SHOWN_HISTORY:])
    ]
    head = "transaction|outcome|began (UTC)|took|producer id / epoch|partitions|state record".split("|")
    return table(head, rows, empty="The log holds none.")


def _each_whole(partitions: Sequence[TopicPartition]) -> Child:
    """Their names, of which none is broken over two lines where there is room."""
    if not partitions:
        return "-"
    last = len(partitions) - 1
    return [
        [el("span", f"{each}{',' if at < last else ''}", class_="name"), " "]
        for at, each in enumerate(partitions)
    ]


def outcomes_svg(done: Sequence[Replayed]) -> Safe:
    """A bar for each of the last ones, as high as it was long, in the colour of its end."""
    shown = done[-BARS:]
    if not shown:
        return el("p", "The log holds no transaction.", class_="empty")
    lasted = [max((each.ended_ms or each.states[-1].at_ms) - each.began_ms, 0) for each in shown]
    most = max(*lasted, 1)
    step = min(STRIP_WIDTH / len(shown), WIDEST_BAR)
    bars: list[str] = []
    for at, (each, ms) in enumerate(zip(shown, lasted, strict=True)):
        high, x = max(ms / most * BARS_HEIGHT, LOWEST_BAR), at * step + 1
        top, wide = 16 + BARS_HEIGHT - high, max(step - 4, 2)
        bars.append(
            f'<rect class="bar {each.outcome}" x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="2">'
            f"<title>{each.number}: {text(each.outcome)}, {age(ms)}</title></rect>"
        )
        if step == WIDEST_BAR:  # there is room to say it
            middle = x + wide / 2
            bars.append(
                f'<text x="{middle:.1f}" y="{top - 4:.1f}" text-anchor="middle">{age(ms)}</text>'
                f'<text class="axis" x="{middle:.1f}" y="{BARS_HEIGHT + 29}" text-anchor="middle">{each.number}</text>'
            )
    return join(
        el(
            "div",
            Safe(
                f'<svg class="strip bars" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {STRIP_WIDTH} {BARS_HEIGHT + 34}" '
                f'role="img" aria-label="the last {len(shown)} transactions">'
                f'<line class="rule" x1="0" x2="{STRIP_WIDTH}" y1="{BARS_HEIGHT + 16.5}" y2="{BARS_HEIGHT + 16.5}"/>'
                f"{''.join(bars)}</svg>"
            ),
            class_="scroll",
        ),
        el(
            "p",
            *(
                el("span", name, class_=f"fate {key}")
                for key, outcome, name in OUTCOMES
                if any(each.outcome == outcome for each in shown)
            ),
            f"the highest is {age(most)}",
            class_="legend",
        ),
    )


def states(found: Sequence[StateRecord]) -> Safe:
    rows = [
        (
            each.offset,
            _clock(each.at_ms),
            el("span", each.state or "tombstone", class_=f"state {each.state}"),
            f"{each.producer_id} / {each.producer_epoch}",
            _each_whole(each.partitions),
        )
        for each in reversed(found)
    ]
    return table(
        "record|when (UTC)|state|producer id / epoch|partitions".split("|"),
        rows,
        empty="The log holds no record.",
    )


@dataclass(frozen=True, slots=True)
class Logs:
    """Where the lanes come from: the state records of the id, and the partition that holds them. Without the second one no log
    can be looked into any more, and nothing is linked."""

    states: Sequence[StateRecord] = ()
    state_log: TopicPartition | None = None


def lanes(found: Timeline, logs: Logs) -> Safe:
    """The drawing, and under it a pane for each event that a click or the keyboard opens."""
    if not found.events:
        return el("p", "Nothing was seen of it yet.", class_="empty")
    records = _records_of(found.events, logs.states)
    caused = _states_by_request(found.events)
    waits = [
        [each.text for each in found.boxes if each.kind == "pinned" and each.event == number]
        for number in range(len(found.events))
    ]
    keys = _keys(found.events, records)
    panes: list[Safe] = []
    before: Event | None = None
    for number, event in enumerate(found.events):
        panes.append(
            el(
                "details",
                el("summary", _summary(event, found.events[0].at_us, before)),
                _pane(event, records.get(number), waits[number], logs),
                _touched(event, linked=logs.state_log is not None),
                _states_of([records[each] for each in caused.get(number, ()) if each in records], logs),
                _wire(f"{event.name}, request", event.request, event.request_bytes, pieces_of_request),
                _wire(
                    f"{event.name}, answer",
                    event.response,
                    event.response_bytes,
                    _fields_of_answer(event.request),
                ),
                _why(event.error, event.transactional_id),
                id=f"event-{keys[number]}",
                class_="event",
            )
        )
        before = event
    kinds = {each.kind for each in found.boxes}
    refused = any(each.error not in ("NONE", UNDER_WAY) for each in found.boxes)
    drawn = found.svg(keys)
    legend = [
        el("span", name, class_=f"key key-{key}")
        for key, name in LEGEND
        if key in kinds or (key == "refused" and refused) or (key == "break" and 'class="break"' in drawn)
    ]
    return join(
        el("div", Safe(drawn), el("p", *legend, class_="legend"), class_="scroll lanes-box"),
        el("div", *panes, class_="events"),
    )


def _keys(events: Sequence[Event], records: Mapping[int, StateRecord]) -> dict[int, str]:
    """What an event is called, now and whenever it is drawn again: its place changes when another transaction begins."""
    found: dict[int, str] = {}
    for number, event in enumerate(events):
        record = records.get(number)
        if record is not None:
            said = f"state {record.offset}"
        elif event.kind == "marker":
            said = f"marker {[(each.topic, each.partition, each.base_offset) for each in event.touched]}"
        else:
            said = f"{event.kind} {event.name} {event.at_us} {event.request}"
        key, again = hashlib.blake2s(said.encode(), digest_size=6).hexdigest(), 0
        while f"{key}{again or ''}" in found.values():
            again += 1
        found[number] = f"{key}{again or ''}"
    return found


def _summary(event: Event, begin_us: int, before: Event | None) -> Safe:
    """One event in columns; its colour is that of its box. Who it is is said where it is another one than before."""
    lane = {"rpc": CLIENT, "state": COORDINATOR}.get(event.kind, "log")
    key = {"rpc": "rpc", "state": "state"}.get(event.kind, event.name.lower())
    more: list[Child] = []
    if event.error not in ("NONE", UNDER_WAY):
        key = "refused"
        more.append(el("span", event.error, class_="lost"))
    elif event.error == UNDER_WAY:
        more.append(UNDER_WAY)
    more += [event.said] if event.said else []
    more += [] if event.group is None else [f"group {event.group}"]
    more += [touched_text(each) for each in event.touched]
    who = (event.producer_id, event.producer_epoch)
    is_new = before is None or who != (before.producer_id, before.producer_epoch)
    if is_new and event.producer_id not in (None, -1):  # who asks for an identity has none
        more.append(f"producer {event.producer_id} / {event.producer_epoch}")
    cells: tuple[tuple[Child, str | None], ...] = (
        (f"+{(event.at_us - begin_us) / 1000:,.1f} ms", "number"),
        (lane, None),
        (event.name if event.version is None else f"{event.name} v{event.version}", f"key key-{key}"),
        ("" if event.took_us is None or event.kind != "rpc" else length(event.took_us), "number"),
        (f"{event.request_bytes:,} B" if event.request_bytes else "", "number"),
        ([[", " if at else None, each] for at, each in enumerate(more)], "more"),
    )
    return el("span", *([el("span", cell, class_=of), " "] for cell, of in cells), class_="row")


def _records_of(events: Sequence[Event], states: Sequence[StateRecord]) -> dict[int, StateRecord]:
    """Of each state in the lanes its record. The lanes have the last of them, without those in which no transaction was under
    way: from the end on, the next record with its state and producer is the one.
    """
    found: dict[int, StateRecord] = {}
    left = list(states)
    for number in reversed(range(len(events))):
        event = events[number]
        if event.kind != "state":
            continue
        wanted = (event.name, event.producer_id, event.producer_epoch)
        at = len(left) - 1
        while at >= 0 and (left[at].state, left[at].producer_id, left[at].producer_epoch) != wanted:
            at -= 1
        if at >= 0:
            found[number] = left[at]
            del left[at:]
    return found


def _states_by_request(events: Sequence[Event]) -> dict[int, list[int]]:
    """Of each request the states that it caused: by their times, and a state that adds partitions by these too, for in one
    millisecond of the log there may be several requests.
    """
    found: dict[int, list[int]] = {}
    asked = [(number, each) for number, each in enumerate(events) if each.kind == "rpc" and each.request]
    before: set[TopicPartition] = set()
    for number, event in enumerate(events):
        if event.kind != "state":
            continue
        partitions = {TopicPartition(each.topic, each.partition) for each in event.touched}
        added, before = partitions - before, partitions
        by = cause(event, [each for _, each in asked if event.name != "Ongoing" or _adds(each, added)])
        if by is None:
            continue
        at = next(at for at, (_, each) in enumerate(asked) if each is by)
        found.setdefault(asked[at][0], []).append(number)
        if event.name.startswith("Complete"):
            asked = asked[at + 1 :]  # the next end is another transaction's
    return found


def _adds(request: Event, added: Set[TopicPartition]) -> bool:
    """Whether a request names one of the partitions that came with a state; a group's are those of __consumer_offsets."""
    if request.name in ("AddOffsetsToTxn", "TxnOffsetCommit"):
        return any(each.topic == CONSUMER_OFFSETS for each in added)
    return any(TopicPartition(each.topic, each.partition) in added for each in request.touched)


def _pane(event: Event, record: StateRecord | None, waits: Sequence[str], logs: Logs) -> Safe | None:
    """What has no bytes of its own on the wire, from the logs: a state, a marker, and how long readers waited."""
    told: list[tuple[str, Child]] = []
    if event.kind == "state" and record is not None:
        told = _fields_of(record, logs)
    elif event.kind == "rpc":
        told = [
            ("client", "-" if event.client_id is None else event.client_id),
            ("address", "-" if event.address is None else event.address),
            ("asked", _time(event.at_us // 1000)),
            ("answered after", UNDER_WAY if event.took_us is None else length(event.took_us)),
        ]
        if event.producer_id is not None:
            told.append(("producer id / epoch", f"{event.producer_id} / {event.producer_epoch}"))
    else:
        what = (
            "a state of the coordinator" if event.kind == "state" else "a marker, written by the coordinator"
        )
        told = [
            ("what", f"{event.name}: {what}"),
            ("written", _time(event.at_us // 1000)),
            ("producer id / epoch", f"{event.producer_id} / {event.producer_epoch}"),
        ]
    told += [("readers at read_committed", each) for each in waits]
    return facts(told) if told else None


def _fields_of(record: StateRecord, logs: Logs) -> list[tuple[str, Child]]:
    """A record of the state log, and the way to its bytes."""
    return [
        ("state", el("span", record.state or "tombstone", class_=f"state {record.state}")),
        ("record", _place(logs.state_log, record.offset, linked=True)),
        ("written", _time(record.at_ms)),
        ("producer id / epoch", f"{record.producer_id} / {record.producer_epoch}"),
        ("timeout", age(record.timeout_ms)),
        ("began", _time(record.start_ms) if record.start_ms >= 0 else "-"),
        ("partitions", _each_whole(record.partitions)),
        ("client's protocol", f"version {record.client_version}"),
    ]


def _states_of(found: Sequence[StateRecord], logs: Logs) -> Safe | None:
    if not found:
        return None
    return join(el("h3", "state records that it caused"), *(facts(_fields_of(each, logs)) for each in found))


def _time(at_ms: int) -> Safe:
    """With its zone; a script adds that of who reads as a title."""
    return el("time", when(at_ms * 1000), data_ms=at_ms)


def _clock(at_ms: int) -> Safe:
    """Below a heading that says the zone."""
    return el("time", when(at_ms * 1000).removesuffix(" UTC"), data_ms=at_ms)


def _place(where: TopicPartition | None, offset: int | None, *, linked: bool) -> Child:
    """An offset of a partition, with the way to the bytes of its batch."""
    if offset is None:
        return "-"
    if where is None:
        return str(offset)
    name = f"{where.topic}-{where.partition} at {offset}"
    return link(name, "partition", where.topic, where.partition, offset=offset) if linked else name


def _touched(event: Event, *, linked: bool) -> Safe | None:
    """The partitions of a request or a marker; a batch leads to its records and bytes."""
    if event.kind == "state" or not event.touched:
        return None
    rows = [
        (
            f"{each.topic}-{each.partition}",
            _place(TopicPartition(each.topic, each.partition), each.base_offset, linked=linked),
            *(
                "-" if value is None else value
                for value in (each.count, each.base_sequence, each.bytes, each.committed_offset)
            ),
            "-" if each.error == "NONE" else each.error,
        )
        for each in event.touched
    ]
    head = "partition|marker|records|sequence|bytes|group's offset|error".split("|")
    if event.kind == "rpc":
        head[1] = "batch"
    kept = [at for at in range(len(head)) if at == 0 or any(row[at] != "-" for row in rows)]
    return table([head[at] for at in kept], [[row[at] for at in kept] for row in rows], empty="")


def _why(error: str, transactional_id: str) -> Safe | None:
    if error in ("NONE", NO_ANSWER, UNDER_WAY):
        return None
    return el("p", link(f"why {error}?", "explain", error, tid=transactional_id))


def _wire(name: str, data: str, size: int, fields_of: Callable[[bytes], list[Piece]]) -> Safe | None:
    """A message as its bytes, each with its meaning."""
    if not data:
        return None
    raw = bytes.fromhex(data)
    cut = f", the first {len(raw)} shown" if len(raw) < size else ""
    pieces = fields_of(raw) or [Piece(0, raw, "", text_of(raw))]
    return join(el("h3", f"{name}: {size:,} bytes{cut}"), _pre(list(hex_lines(pieces))))


def _fields_of_answer(request: str) -> Callable[[bytes], list[Piece]]:
    """An answer does not say what it answers: its request does."""
    head = bytes.fromhex(request[:8])
    key, version = int.from_bytes(head[:2], "big"), int.from_bytes(head[2:], "big")
    return lambda raw: pieces_of_answer(raw, key, version)


def _pre(lines: Sequence[str]) -> Safe:
    return Safe("<pre>" + "\n".join(text(line, 4000) for line in lines) + "</pre>")


def explanation(value: Explanation) -> Safe:
    rows = [
        (
            el("span", each.verdict, class_=f"verdict {each.verdict}"),
            each.cause,
            each.text,
            each.evidence,
            each.do,
        )
        for each in value.causes
    ]
    return join(
        el("p", value.text),
        el("p", f"What the client must do: {value.then}."),
        table("|cause|what happened|evidence|what to do".split("|"), rows, empty="No cause is known."),
    )


# ---- Partitions


def topics(found: Sequence[tuple[str, int]]) -> Safe:
    rows = [
        (name, Safe(" ".join(link(str(each), "partition", name, each) for each in range(count))))
        for name, count in found
    ]
    return table(["topic", "partitions"], rows, empty="There is no topic.")


def partition(value: PartitionPage, hexed: Sequence[Piece], offset: int | None) -> Safe:
    ends = value.ends
    rows = [
        (
            link(each.first_offset, "partition", value.topic, value.partition, offset=each.first_offset),
            each.last_offset,
            el("span", each.marker or each.fate, class_=f"fate {each.fate}"),
            each.count,
            each.bytes,
            "-" if each.producer_id < 0 else f"{each.producer_id} / {each.producer_epoch}",
            "-" if each.base_sequence < 0 else each.base_sequence,
            "yes" if each.fate == "committed" and each.last_offset < ends.last_stable_offset else "no",
            "yes" if each.fate != "marker" else "no",
        )
        for each in reversed(value.stretches[-SHOWN_BATCHES:])
    ]
    head = "first|last|fate|records|bytes|producer|sequence|read_committed sees|read_uncommitted sees".split(
        "|"
    )
    return join(
        facts(
            [
                ("log start", f"{ends.log_start:,}"),
                ("last stable offset", f"{ends.last_stable_offset:,}"),
                ("high watermark", f"{ends.high_watermark:,}"),
                (
                    "readers at read_committed wait for",
                    f"{ends.high_watermark - ends.last_stable_offset:,} offsets",
                ),
            ]
        ),
        el("div", strip_svg(value), class_="scroll"),
        _legend(value),
        _hex_pane(hexed, offset),
        el("h2", "Batches, newest first"),
        table(head, rows, empty="The partition is empty."),
        el("p", f"and {len(value.stretches) - SHOWN_BATCHES:,} older ones in the strip", class_="empty")
        if len(value.stretches) > SHOWN_BATCHES
        else None,
    )


def strip_svg(value: PartitionPage) -> Safe:
    """The offsets as two bands, what readers of either isolation get, and where each stands."""
    begin, end = value.start, max(value.stop, value.start + 1)
    marks: list[str] = []
    for name, offset, y in (
        ("LSO", value.ends.last_stable_offset, 100),
        ("HW", value.ends.high_watermark, 12),
    ):
        if not begin <= offset <= end:
            continue
        x = _strip_x(value, offset)
        near, anchor = (x - 5, "end") if x > STRIP_WIDTH * 0.7 else (x + 5, "start")
        marks.append(
            f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{min(y - 9, 16)}" y2="{max(y, 86)}"/>'
            f'<text class="label" x="{near:.1f}" y="{y}" text-anchor="{anchor}">{name} {offset}</text>'
        )
    return Safe(
        f'<svg class="strip" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {STRIP_WIDTH} 106" role="img" '
        f'aria-label="offsets {begin} to {end}">'
        f"{_band(value, 'read_uncommitted', _runs(value.stretches), 20)}"
        f"{_band(value, 'read_committed', _seen_by_committed(value), 54)}{''.join(marks)}</svg>"
    )


def _strip_x(value: PartitionPage, offset: int) -> float:
    begin, end = value.start, max(value.stop, value.start + 1)
    return BAND_NAMES + (max(offset, begin) - begin) * (STRIP_WIDTH - BAND_NAMES - 10) / (end - begin)


def _band(value: PartitionPage, name: str, runs: Sequence[tuple[str, int, int]], y: int) -> str:
    """What is rare is drawn over what is common, and never too thin to be seen."""
    parts: list[str] = []
    for fate, first, last in sorted(runs, key=lambda each: OVER.index(each[0])):
        x = _strip_x(value, first)
        wide = max(_strip_x(value, last + 1) - x - 0.5, 2.5 if fate in ("aborted", "open", "waits") else 1.0)
        x = min(x, STRIP_WIDTH - 10 - wide)
        parts.append(
            f'<rect class="fate {fate}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="26">'
            f"<title>{text(fate)} {first}-{last}</title></rect>"
        )
    return (
        f'<g class="band {name}"><text class="lane" x="4" y="{y + 17}">{name} gets</text>{"".join(parts)}</g>'
    )


def _seen_by_committed(value: PartitionPage) -> list[tuple[str, int, int]]:
    """Committed records below the last stable offset; what lies behind that waits, whatever its fate."""
    lso = value.ends.last_stable_offset
    seen = [
        (fate, first, min(last, lso - 1))
        for fate, first, last in _runs(value.stretches)
        if fate == "committed" and first < lso
    ]
    return [*seen, ("waits", max(lso, value.start), value.stop - 1)] if lso < value.stop else seen


def _runs(found: Sequence[Stretch]) -> list[tuple[str, int, int]]:
    """Batches of one fate that follow each other as one."""
    runs: list[tuple[str, int, int]] = []
    for each in found:
        if runs and runs[-1][0] == each.fate and runs[-1][2] + 1 == each.first_offset:
            runs[-1] = (each.fate, runs[-1][1], each.last_offset)
        else:
            runs.append((each.fate, each.first_offset, each.last_offset))
    return runs


def _legend(value: PartitionPage) -> Safe:
    """What the colours mean, which offsets these are, and the way to others."""
    ends, where = value.ends, ("partition", value.topic, value.partition)
    older = max(value.start - STRIP_OFFSETS, ends.log_start)
    return el(
        "p",
        *(el("span", each, class_=f"fate {each}") for each in ("committed", "open", "aborted", "marker")),
        el("span", "waits for the last stable offset", class_="fate waits"),
        el("span", f"offsets {value.start:,} to {max(value.stop - 1, value.start):,}"),
        link("older", *where, start=older) if value.start > ends.log_start else None,
        link("newest", *where) if value.stop < ends.high_watermark else None,
        class_="legend",
    )


def _hex_pane(hexed: Sequence[Piece], offset: int | None) -> Safe | None:
    if offset is None:
        return None
    rows = [
        (
            each.at,
            el("code", each.data[:32].hex(" ") + (" \u2026" if len(each.data) > 32 else "")),
            each.name,
            each.value,
        )
        for each in hexed
    ]
    return join(
        el("h2", f"The bytes of the batch with offset {offset}", class_="bytes"),
        table("byte|hex|field|value".split("|"), rows, empty="No batch holds this offset any more."),
    )


# ---- Groups, Spark, Cost, Learn


def groups(found: Sequence[GroupView]) -> Safe:
    rows = [
        (
            group.group,
            el("span", group.state, class_="state"),
            _partition_link(each.topic, each.partition),
            "-" if each.committed_offset is None else each.committed_offset,
            "-" if each.lag_offsets is None else each.lag_offsets,
            _lag_records(each),
            _blocked_by(each.blocked_by),
        )
        for group in found
        for each in group.offsets
    ]
    head = "group|state|partition|committed|lag in offsets|lag in visible records|waits for".split("|")
    return table(head, rows, empty="No group has committed an offset.")


def _lag_records(found: GroupOffset) -> Child:
    if found.lag_records is not None:
        return found.lag_records
    return "-" if found.lag_offsets is None else "many"


def _blocked_by(holder: str | None) -> Child:
    if holder is None:
        return "-"
    shown = OF_NOBODY[holder] if holder in OF_NOBODY else _id_link(holder)
    return el("span", el("span", "waits", class_="kind long"), " ", shown)


def spark(found: Sequence[SparkQuery]) -> Safe:
    if not found:
        return el("p", "No query of oncelog's Spark sink has committed here yet.", class_="empty")
    return join(*(_query(each) for each in found))


def _query(query: SparkQuery) -> Safe:
    longest = max((_took(each) for each in query.recent), default=0)
    rows = [
        (
            "-" if each.micro_batch is None else each.micro_batch,
            each.number,
            el("span", each.outcome, class_=f"verdict {each.outcome}"),
            _clock(each.began_ms),
            _whole(_short(each.write_ms)),
            _whole(_short(each.end_ms)),
            _split(each, longest),
            _places(each.offsets) or "-",
        )
        for each in reversed(query.recent)
    ]
    told: tuple[tuple[str, Child], ...] = (
        ("query", query.query),
        ("last micro-batch in the log", f"{query.micro_batch:,}"),
        ("transaction", link(query.transactional_id, "txn", query.transactional_id)),
        ("state", query.state),
        ("committed / aborted", f"{query.committed:,} / {query.aborted:,}"),
        ("source offsets", _places(query.offsets)),
    )
    return el(
        "section",
        el("h2", query.transactional_id),
        facts(told),
        table(
            "micro-batch|transaction|outcome|began (UTC)|write|end|write and end|offsets".split("|"),
            rows,
            empty="The state log holds none of them any more.",
        ),
        el(
            "p",
            el("span", "write: from the first partition to the decision", class_="fate open"),
            el("span", "end: from the decision until all markers are written", class_="fate committed"),
            f"the longest is {age(longest)}; the log knows whole milliseconds",
            class_="legend",
        )
        if rows
        else None,
    )


def _short(ms: int | None) -> str:
    """The log knows whole milliseconds."""
    return "< 1 ms" if ms == 0 else age(ms)


def _places(offsets: Sequence[tuple[str, int, int]]) -> str:
    return ", ".join(f"{topic}-{partition}={offset}" for topic, partition, offset in offsets)


def _took(each: MicroBatch) -> int:
    return (each.write_ms or 0) + (each.end_ms or 0)


def _split(each: MicroBatch, longest: int) -> Safe:
    """How its time was split, drawn beside the longest of those shown."""
    scale = LINE_WIDTH / max(longest, 1)
    write, end = (
        (each.write_ms or 0) * scale,
        max((each.end_ms or 0) * scale, 2.0 if each.end_ms is not None else 0.0),
    )
    write = min(write, LINE_WIDTH - end)
    return Safe(
        f'<svg class="split" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LINE_WIDTH} 12" aria-hidden="true">'
        f'<rect class="write" x="0" y="1" width="{write:.1f}" height="10"/>'
        f'<rect class="end" x="{write:.1f}" y="1" width="{end:.1f}" height="10"/></svg>'
    )


def cost(results: Path | None, measured: Sequence[Mapping[str, str]] | None, *, can_measure: bool) -> Safe:
    """The measured tables, from the raw files of `oncelog bench eos` and `make bench`; and a quick look at this machine."""
    parts: list[Child] = []
    if can_measure:
        parts.append(
            el(
                "form",
                el("button", "Measure here"),
                el("span", "a few seconds of load on a broker of its own: a look, not a measurement"),
                method="post",
                action="/cost",
                class_="story",
            )
        )
    if measured is not None:
        parts += [el("h2", "Just now, on this machine"), _rows_table(measured)]
    files = (
        []
        if results is None
        else [results]
        if results.is_file()
        else sorted(results.glob("*.json"), key=_eos_first)
    )
    kept = [section for file in files if (section := _kept(file)) is not None]
    if not kept:
        text = "No measurement is kept here: oncelog bench eos --out DIR makes one, --results DIR shows it."
        parts.append(el("p", text, class_="empty"))
    return join(*parts, *kept)


def _eos_first(file: Path) -> tuple[bool, str]:
    return not file.stem.startswith("eos"), file.stem


def _kept(file: Path) -> Safe | None:
    """One file of results: its table and where it was measured; a file of another form is left folded."""
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return None
    if not isinstance(found, dict):
        return None
    fields = cast(dict[str, Any], found)
    rows: Any = fields.get("table")
    if (
        not isinstance(rows, list)
        or not rows
        or not all(isinstance(each, Mapping) for each in cast(list[Any], rows))
    ):
        shown = el("pre", json.dumps(fields, indent=1)[:4000])
        return el("details", el("summary", file.stem), shown, id=f"results-{file.stem}")
    told: dict[str, Any] = {**cast(dict[str, Any], fields.get("machine") or {})}
    told |= {
        name: fields[name] for name in ("oncelog", "when", "commit", "rounds", "seconds") if name in fields
    }
    circumstances = [f"{name.replace('_', ' ')}: {value}" for name, value in told.items()]
    return join(
        el("h2", HEADINGS.get(file.stem, file.stem)),
        _rows_table(cast(list[Mapping[str, str]], rows)),
        el("p", "; ".join(circumstances), class_="empty") if circumstances else None,
    )


def _rows_table(rows: Sequence[Mapping[str, str]]) -> Safe:
    """What CPU time each side took stands with its figure: in the file it is one cell for all of them."""
    folded = [_with_cpu(each) for each in rows]
    head = list(dict.fromkeys(name for each, _ in folded for name in each))
    shown = [
        [_cell(name, each.get(name, ""), cpu.get(name), is_name=at == 0) for at, name in enumerate(head)]
        for each, cpu in folded
    ]
    has_ratio = any(name.startswith("ratio") for name in head)
    has_cpu = any(cpu for _, cpu in folded)
    notes: list[Child] = []
    if has_ratio:
        notes.append(
            el(
                "span",
                "ratio: oncelog divided by Kafka (by the tuned one where there is one) in the same round: the median, from..to, "
                "and a bar from 0.1x over 1x to 10x",
                class_="fate committed",
            )
        )
        if any("**" in str(value) for each in rows for value in each.values()):
            notes.append(el("span", "lost", class_="fate aborted"))
    if has_cpu:
        notes.append("small: CPU time of the broker + of its clients")
    return join(
        el("p", *notes, class_="legend") if notes else None,
        el("div", table(head, shown, empty="Nothing was measured."), class_="figures"),
    )


def _with_cpu(row: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """A row without its columns of CPU times, and these by the sides that they belong to; as it is where they fit to no sides."""
    kept = {name: str(value) for name, value in row.items()}
    times = {name: kept[name] for name in kept if name.endswith("CPU")}
    sides = [
        name
        for at, name in enumerate(kept)
        if at and kept[name] and name not in times and not name.startswith(("ratio", "bar"))
    ]
    cpu: dict[str, list[str]] = {}
    for name, said in times.items():
        figures, _, unit = said.rpartition(" ")
        parts = figures.split(" / ")
        if said and len(parts) != len(sides):
            return kept, {}
        for side, part in zip(sides, parts, strict=False):
            cpu.setdefault(side, []).append(f"{part} {unit}" if name == list(times)[-1] else part)
    rest = {name: value for name, value in kept.items() if name not in times}
    return rest, {side: " + ".join(parts) for side, parts in cpu.items()}


def _cell(name: str, said: str, cpu: str | None, *, is_name: bool) -> Child:
    """As the file has it; what is lost stands out, and a ratio is drawn too."""
    if is_name:
        return el("span", said, class_="figure")
    if not said:
        return None
    ratio = RATIO.match(said) if name.startswith("ratio") else None
    if ratio is not None:
        is_lost = "**" in said
        shown, _, verdict = said.replace("**", "").partition(") ")
        return el(
            "span",
            _whole(f"{shown})" if verdict else shown),
            el("span", _ratio_svg(float(ratio[1]), is_lost=is_lost), verdict or None, class_="verdict-of"),
            class_="lost" if is_lost else "ratio",
        )
    if "**" in said:
        return el("span", said.replace("**", ""), class_="lost")
    return el("span", _whole(said), None if cpu is None else el("small", cpu))


def _ratio_svg(ratio: float, *, is_lost: bool) -> Safe:
    """From 1x in the middle, 10 times either way at the ends."""
    middle = LINE_WIDTH / 2
    x = middle * (1 + max(-1.0, min(1.0, math.log10(max(ratio, 0.001)))))
    return Safe(
        f'<svg class="split" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LINE_WIDTH} 12" aria-hidden="true">'
        f'<rect class="track" x="0" y="2" width="{LINE_WIDTH}" height="8"/>'
        f'<rect class="{"bad" if is_lost else "end"}" x="{min(x, middle):.1f}" y="2" width="{abs(x - middle):.1f}" height="8"/>'
        f'<line class="mark" x1="{middle}" x2="{middle}" y1="0" y2="12"/></svg>'
    )


def learn(
    stories: Sequence[tuple[str, str, str]], told: Timeline | None, chosen: str | None, said: Sequence[str]
) -> Safe:
    """Stories that run on a broker of their own: what is said, and the lanes."""
    buttons = [
        el(
            "form",
            el("input", type="hidden", name="story", value=key),
            el("button", title, class_="here" if key == chosen else None),
            el("span", what),
            method="post",
            action="/learn",
            class_="story",
        )
        for key, title, what in stories
    ]
    result = (
        join(el("h2", "What happened"), el("ol", *(el("li", each) for each in said)), lanes(told, Logs()))
        if told is not None
        else None
    )
    return join(
        el("p", "Each runs now, on a broker of its own that is thrown away afterwards."),
        el("div", *buttons, class_="stories"),
        result,
    )


# ---- Abort


def abort_form(
    plan: Plan, hidden: Mapping[str, str], held: Sequence[Pin], now_ms: int, *, has_token: bool
) -> Safe:
    """`held`: the partitions that this transaction holds."""
    rows = [
        (
            f"{each.topic}-{each.partition}",
            each.start_offset,
            each.end_offset,
            each.end_offset - each.start_offset,
        )
        for each in plan.hidden
    ]
    what = (
        f"the transaction of {plan.transactional_id}"
        if plan.transactional_id is not None
        else "a transaction without an owner"
    )
    token = (
        None
        if has_token
        else el("label", "token ", el("input", name="token", type="password", required=True))
    )
    groups = sorted({group for each in held for group in each.groups})
    since = plan.start_ms if plan.start_ms >= 0 else next((each.since_ms for each in held), None)
    told: list[tuple[str, Child]] = [
        ("open for", age(None if since is None else now_ms - since)),
        ("client", next((_client(each) for each in held), "-")),
        ("holds back", ", ".join(f"{each.topic}-{each.partition}" for each in held) or "nobody"),
        ("hides", _count(sum(each.hidden for each in held), "record")),
        ("groups that wait", ", ".join(groups) or "none"),
    ]
    return join(
        el("p", f"This aborts {what}, producer {plan.producer_id} / {plan.producer_epoch}."),
        facts(told),
        el(
            "p",
            "Its records become invisible for ever; its owner is refused from then on."
            if plan.transactional_id
            else "Its records become invisible for ever.",
            class_="warning",
        ),
        table(
            "partition|first offset|up to offset|offsets at most".split("|"),
            rows,
            empty="Nothing is written in it yet.",
        ),
        el(
            "form",
            *(el("input", type="hidden", name=name, value=value) for name, value in hidden.items()),
            token,
            el("button", "Abort it", class_="danger"),
            el("a", "Leave it", href="/now", class_="button"),
            method="post",
            action="/abort",
        ),
    )
