"""What a transactional id said and was told: from an oncelog broker's ring, or from what a tap wrote; with the logs' states and markers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker, error_name
from oncelog.errors import ErrorCode
from oncelog.inspect import replay
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.events import Event, from_line, traced_events
from oncelog.inspect.replay import Past, Pasts, Replayed, StateRecord
from oncelog.inspect.timeline import Timeline, timeline

MS: Final = 1000  # microseconds
FROM_RING: Final = "the broker's record of requests, states and markers from the logs"
FROM_TAP: Final = "a tap's record, states and markers from the logs"
FROM_LOGS: Final = "the logs: states, batches and markers, no requests"
CAUSES: Final[Mapping[str, frozenset[str]]] = {
    "Empty": frozenset({"InitProducerId"}),
    "Ongoing": frozenset({"Produce", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit"}),
    "PrepareCommit": frozenset({"EndTxn"}),
    "PrepareAbort": frozenset({"EndTxn", "InitProducerId"}),
    "CompleteCommit": frozenset({"EndTxn"}),
    "CompleteAbort": frozenset({"EndTxn", "InitProducerId"}),
    "COMMIT": frozenset({"EndTxn"}),
    "ABORT": frozenset({"EndTxn", "InitProducerId"}),
}
# An EndTxn that was answered with one of these ended nothing.
ENDED_NOTHING: Final = frozenset(
    {
        "PRODUCER_FENCED",
        "INVALID_PRODUCER_EPOCH",
        "INVALID_PRODUCER_ID_MAPPING",
        "INVALID_TXN_STATE",
        "CONCURRENT_TRANSACTIONS",
    }
)


@dataclass(frozen=True, slots=True)
class Told:
    """A timeline and where it comes from."""

    timeline: Timeline
    source: str
    states: tuple[StateRecord, ...]
    known: int  # transactions that the log still holds
    untold: str | None = None  # why the state log is not told, if it is not


def requests(
    cluster: Cluster, door: SideDoor, transactional_id: str, after: int = -1
) -> list[tuple[int, Event]] | None:
    """What the broker's ring holds, each with its number. None: not kept by this broker."""
    found = door.trace(transactional_id, after)
    if found is None or not found.enabled:
        return None
    numbered = [
        (each.number, event)
        for each in found.requests
        for event in traced_events(each, transactional_id)
        if event.transactional_id == transactional_id
    ]
    named = _named(cluster, [event for _, event in numbered])
    return [(number, event) for (number, _), event in zip(numbered, named, strict=True)]


def _named(cluster: Cluster, events: Sequence[Event]) -> Iterator[Event]:
    """Produce names topics by their ids from version 13 on: here they get their names back, unless they were deleted."""
    if not any(len(one.topic) == 32 for each in events for one in each.touched):
        yield from events
        return
    names = {each.id.hex(): each.name for each in cluster.topics()}
    for each in events:
        yield replace(
            each, touched=tuple(replace(one, topic=names.get(one.topic, one.topic)) for one in each.touched)
        )


def tapped(record: Path | None, transactional_id: str) -> list[tuple[int, Event]]:
    """What a tap has written so far, each with the number of its line; a last line that is not whole yet is left for later."""
    if record is None or not record.exists():
        return []
    with record.open(encoding="utf-8") as lines:
        found = [(number, from_line(line)) for number, line in enumerate(lines) if line.endswith("\n")]
    return [(number, each) for number, each in found if each.transactional_id == transactional_id]


def tell(
    cluster: Cluster,
    door: SideDoor,
    transactional_id: str,
    *,
    last: int | None = None,
    record: Path | None = None,
    now_us: int | None = None,
    pasts: Pasts | None = None,
) -> Told:
    """All that can be known of the last so many transactions of an id, in one timeline. `pasts`: of who asks again and again."""
    source = FROM_TAP if tapped(record, transactional_id) else FROM_RING

    def ask() -> list[tuple[int, Event]]:
        if source == FROM_TAP:
            return tapped(record, transactional_id)
        return requests(cluster, door, transactional_id) or []

    before = ask()
    logged = past_of(cluster, transactional_id, pasts)
    states = logged.states
    after = ask()
    seen = [each for _, each in after] if logged.untold is not None else _until_then(before, after, states)
    past = replay.transactions(transactional_id, states)
    if not seen:
        chosen = past if last is None else past[-last:]
        told = [one for each in chosen for one in replay.events(cluster, each)]
        return Told(
            timeline(transactional_id, told, now_us=now_us), FROM_LOGS, states, len(past), logged.untold
        )
    among = placed_among(cluster, past, seen, last)
    merged = timeline(transactional_id, [*seen, *among], last=last, now_us=now_us)
    return Told(merged, source, states, len(past), logged.untold)


def past_of(cluster: Cluster, transactional_id: str, pasts: Pasts | None = None) -> Past:
    """What the state log holds of an id; nothing where there is no such log yet, or where we may not read it: then it says why."""
    try:
        return (Pasts() if pasts is None else pasts).of(cluster, transactional_id)
    except RefusedByBroker as fault:
        if fault.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return Past((), ())  # no transaction was ever begun here
        return Past((), (), error_name(fault.error))


def _until_then(
    before: Sequence[tuple[int, Event]], after: Sequence[tuple[int, Event]], states: Sequence[StateRecord]
) -> list[Event]:
    """Requests and states are asked for one after the other while clients go on: a request that came meanwhile counts only
    if the states reach as far, or it would stand there without them.
    """
    newest = max((number for number, _ in before), default=-1)
    reached_us = (states[-1].at_ms + 1) * MS if states else 0
    return [event for number, event in after if number <= newest or event.at_us < reached_us]


def placed_among(
    cluster: Cluster, past: Sequence[Replayed], seen: Sequence[Event], last: int | None = None
) -> list[Event]:
    """States and markers since the first request that was seen, each put where the requests say it can only have been.

    Several transactions may have ended in one millisecond of the logs: each ends with the next end that was asked for.
    """
    since = seen[0].at_us // MS * MS
    recent = [each for each in past if (each.ended_ms or each.began_ms) * MS >= since]
    first = 0 if last is None else max(len(recent) - last - 1, 0)
    rest = list(seen)
    found: list[Event] = []
    for at, each in enumerate(recent):
        told = replay.events(cluster, each) if at >= first else replay.state_events(each)
        if at >= first:
            found += [placed(one, rest) for one in told if one.kind != "rpc" and one.at_us >= since]
        ended = next((one for one in told if one.name.startswith("Complete")), None)
        by = None if ended is None else cause(ended, rest)
        if by is not None:
            rest = rest[rest.index(by) + 1 :]
    return found


def cause(event: Event, seen: Sequence[Event]) -> Event | None:
    """The first request that can have caused it. Logs know milliseconds only, and the time of a request may be one early."""
    for each in seen:
        end = event.at_us + MS if each.took_us is None else each.at_us + each.took_us
        is_near = each.at_us < event.at_us + MS and end + MS >= event.at_us
        if is_near and each.name in CAUSES.get(event.name, ()) and _fits(each, event):
            return each
    return None


def placed(event: Event, seen: Sequence[Event]) -> Event:
    """What a request caused was not before it began, nor after it was answered."""
    by = cause(event, seen)
    if by is None:
        return event
    end = event.at_us + MS if by.took_us is None else by.at_us + by.took_us
    latest = min(end, event.at_us + MS - 1)
    if event.kind == "marker":
        when = latest - 1  # before the state that says they are written
    elif event.name.startswith("Complete"):
        when = latest
    elif event.name.startswith("Prepare"):
        when = min(max(event.at_us, by.at_us), latest - 2)  # before the markers that it decides
    else:
        when = min(max(event.at_us, by.at_us), end)
    return replace(event, at_us=max(when, by.at_us))


def _fits(request: Event, event: Event) -> bool:
    """Whether a request can have caused it: a commit no abort; by the epochs, where an end may raise it by one (KIP-890)."""
    if request.name == "EndTxn" and (
        request.said.split(",")[0] not in event.name.lower() or request.error in ENDED_NOTHING
    ):
        return False
    if request.producer_epoch is None or event.producer_epoch is None or request.name == "InitProducerId":
        return True
    raised = 1 if request.name == "EndTxn" else 0
    return request.producer_epoch <= event.producer_epoch <= request.producer_epoch + raised
