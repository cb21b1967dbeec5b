"""One trace per transaction for OpenTelemetry: the transaction is the root, requests and markers are its children.

Written as OTLP over HTTP in its JSON form, with what Python has: no other package is needed. The ids of a trace are made of where
the transaction stands in the state log, so that who sends it twice sends the same trace.
"""

import hashlib
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from oncelog import __version__
from oncelog.client import state_log
from oncelog.client.cluster import Cluster
from oncelog.client.faults import RefusedByBroker, TimedOut, Unreachable
from oncelog.client.fetcher import PartitionFetcher
from oncelog.inspect import ask, replay, trace
from oncelog.inspect.ask import SideDoor
from oncelog.inspect.events import Event
from oncelog.inspect.replay import Replayed, StateRecord
from oncelog.model import CONSUMER_OFFSETS, TRANSACTION_STATE, Isolation, TopicPartition
from oncelog.record.batch import batches, records_of

MS_US: Final = 1000
INTERNAL: Final = 1
SERVER: Final = 2
ERROR: Final = 2
TRACES_AT_ONCE: Final = 100
POST_TIMEOUT_S: Final = 10.0
LINKS_AT_MOST: Final = 32
TRACEPARENT: Final = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?")


@dataclass(frozen=True, slots=True)
class Traced:
    """One finished transaction and all that is known of it."""

    transaction: Replayed
    events: tuple[Event, ...]
    links: tuple[
        tuple[str, str], ...
    ] = ()  # trace and span that its records were written in, by their headers


class Finished:
    """Reads the state log on and on: `new` gives the transactions that ended since the last call, of all ids."""

    def __init__(self, cluster: Cluster, *, match: str | None, from_now: bool) -> None:
        self._cluster = cluster
        self._match = match
        self._open: dict[str, list[StateRecord]] = {}
        count = len(cluster.topic(TRANSACTION_STATE).partitions)
        places = [TopicPartition(TRANSACTION_STATE, each) for each in range(count)]
        ends = ask.ends_of(cluster, places)
        self._at = {each: ends[each].high_watermark if from_now else ends[each].log_start for each in places}

    def new(self) -> Iterator[Replayed]:
        for where, ends in ask.ends_of(self._cluster, self._at).items():
            begin = max(self._at[where], ends.log_start)
            if begin < ends.high_watermark:
                yield from self._read(where, begin, ends.high_watermark)
                self._at[where] = ends.high_watermark

    def _read(self, where: TopicPartition, start: int, stop: int) -> Iterator[Replayed]:
        for name, record in state_log.all_records(self._cluster, where, start, stop):
            if self._match is None or fnmatchcase(name, self._match):
                state = replay.state_record(record.offset, record.timestamp, record.value)
                yield from self._note(name, state)

    def _note(self, name: str, state: StateRecord) -> Iterator[Replayed]:
        known = self._open.setdefault(name, [])
        known.append(state)
        if state.state in ("CompleteCommit", "CompleteAbort"):
            yield from replay.transactions(name, known)
            known.clear()
        if state.state in (None, "Empty") or not known:
            del self._open[name]


def traced(cluster: Cluster, door: SideDoor, found: Replayed) -> Traced:
    """With its requests from the broker's ring where there are any, else with its batches from the log."""
    inside = replay.events(cluster, found)
    began_us, ended_us = found.began_ms * MS_US, ((found.ended_ms or found.began_ms) + 1) * MS_US
    near = [
        event
        for _, event in trace.requests(cluster, door, found.transactional_id) or ()
        if event.at_us < ended_us
        and event.at_us + (event.took_us or 0)
        >= began_us - MS_US  # times of requests may be a millisecond early
        and _is_of(event, found)
        and event.name != "InitProducerId"
    ]
    mine = own(near, found.outcome)
    if mine:
        placed = [trace.placed(each, mine) for each in inside if each.kind != "rpc"]
        told = tuple(sorted([*mine, *placed], key=lambda each: each.at_us))
    else:
        told = tuple(inside)
    return Traced(found, told, tuple(_links(cluster, found, inside)))


def _links(cluster: Cluster, found: Replayed, inside: Sequence[Event]) -> list[tuple[str, str]]:
    """What the headers `traceparent` of its records name (W3C), each once; no more than the first few."""
    written: dict[TopicPartition, list[int]] = {}
    for event in inside:
        for each in event.touched:
            if event.kind == "rpc" and each.base_offset is not None and each.topic != CONSUMER_OFFSETS:
                written.setdefault(TopicPartition(each.topic, each.partition), []).append(each.base_offset)
    links: dict[tuple[str, str], None] = {}
    for where, offsets in written.items():
        try:
            for given in _traceparents(cluster, found, where, offsets):
                links[given] = None
                if len(links) == LINKS_AT_MOST:
                    return list(links)
        except RefusedByBroker:
            continue  # the topic was deleted since
    return list(links)


def _traceparents(
    cluster: Cluster, found: Replayed, where: TopicPartition, offsets: Sequence[int]
) -> Iterator[tuple[str, str]]:
    with PartitionFetcher(
        cluster, where, start=min(offsets), stop=max(offsets) + 1, isolation=Isolation.READ_UNCOMMITTED
    ) as fetcher:
        for fetched in fetcher:
            for at, header in batches(fetched.data):
                if header.base_offset not in offsets or header.producer_id != found.producer_id:
                    continue
                for record in records_of(fetched.data[at : at + header.size], header):
                    for each in record.headers:
                        given = (
                            TRACEPARENT.fullmatch(each.value or b"") if each.name == "traceparent" else None
                        )
                        if given is not None:
                            yield given[1].decode(), given[2].decode()


def own(near: Sequence[Event], outcome: str) -> list[Event]:
    """Of requests around a transaction, its own: logs know milliseconds, but an end lies between two transactions."""
    runs: list[list[Event]] = [[]]
    for each in near:
        runs[-1].append(each)
        if each.name == "EndTxn" and each.error == "NONE":
            runs.append([])
    ended = [each for each in runs[:-1] if each[-1].said.startswith(outcome)]
    return ended[-1] if ended else runs[-1]


def _is_of(request: Event, found: Replayed) -> bool:
    return request.producer_epoch is None or request.producer_epoch == found.producer_epoch


def spans(found: Traced) -> list[dict[str, Any]]:
    """The root first."""
    txn = found.transaction
    trace_id = hashlib.sha256(f"{txn.transactional_id}\0{txn.states[0].offset}".encode()).hexdigest()[:32]
    root_id = _span_id(trace_id, "root")
    rpcs = [each for each in found.events if each.kind == "rpc"]
    begin = min([txn.began_ms * MS_US, *(each.at_us for each in rpcs)])
    end = max(
        [(txn.ended_ms or txn.began_ms) * MS_US, *(each.at_us + (each.took_us or 0) for each in found.events)]
    )
    client = next((each for each in rpcs if each.client_id is not None), None)
    root = _span(
        trace_id,
        root_id,
        f"transaction {txn.outcome}",
        INTERNAL,
        begin,
        end,
        {
            "messaging.system": "kafka",
            "messaging.client.id": None if client is None else client.client_id,
            "network.peer.address": None if client is None else client.address,
            "oncelog.transactional_id": txn.transactional_id,
            "oncelog.outcome": txn.outcome,
            "oncelog.producer_id": txn.producer_id,
            "oncelog.producer_epoch": txn.producer_epoch,
        },
    )
    root["events"] = [
        {"timeUnixNano": str(each.at_us * 1000), "name": each.name}
        for each in found.events
        if each.kind == "state"
    ]
    if found.links:
        root["links"] = [{"traceId": trace, "spanId": span} for trace, span in found.links]
    children = [
        _child(trace_id, root_id, number, each)
        for number, each in enumerate(found.events)
        if each.kind != "state"
    ]
    return [root, *children]


def _child(trace_id: str, root_id: str, number: int, event: Event) -> dict[str, Any]:
    topics = sorted({each.topic for each in event.touched})
    partitions = sorted({str(each.partition) for each in event.touched})
    span = _span(
        trace_id,
        _span_id(trace_id, str(number)),
        event.name if event.kind == "rpc" else f"{event.name} marker",
        SERVER if event.kind == "rpc" else INTERNAL,
        event.at_us,
        event.at_us + (event.took_us or 0),
        {
            "messaging.system": "kafka",
            "messaging.operation.name": event.name,
            "messaging.destination.name": ",".join(topics) or None,
            "messaging.destination.partition.id": ",".join(partitions) or None,
            "messaging.consumer.group.name": event.group,
            "messaging.client.id": event.client_id,
            "messaging.batch.message_count": sum(each.count or 0 for each in event.touched) or None,
            "messaging.message.body.size": sum(each.bytes or 0 for each in event.touched) or None,
            "error.type": None if event.error == "NONE" else event.error,
        },
    )
    span["parentSpanId"] = root_id
    if event.error != "NONE":
        span["status"] = {"code": ERROR, "message": event.error}
    return span


def _span(
    trace_id: str,
    span_id: str,
    name: str,
    kind: int,
    begin_us: int,
    end_us: int,
    attributes: Mapping[str, object],
) -> dict[str, Any]:
    return {
        "traceId": trace_id,
        "spanId": span_id,
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(begin_us * 1000),
        "endTimeUnixNano": str(max(end_us, begin_us) * 1000),
        "attributes": [
            {
                "key": key,
                "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)},
            }
            for key, value in attributes.items()
            if value is not None
        ],
    }


def _span_id(trace_id: str, what: str) -> str:
    return hashlib.sha256(f"{trace_id}\0{what}".encode()).hexdigest()[:16]


def document(found: Sequence[Traced], *, bootstrap: str) -> dict[str, Any]:
    """An ExportTraceServiceRequest in JSON."""
    resource = {"service.name": "oncelog", "service.version": __version__, "server.address": bootstrap}
    return {
        "resourceSpans": [
            {
                "resource": {
                    "attributes": [
                        {"key": key, "value": {"stringValue": value}} for key, value in resource.items()
                    ]
                },
                "scopeSpans": [
                    {
                        "scope": {"name": "oncelog.inspect", "version": __version__},
                        "spans": [span for each in found for span in spans(each)],
                    }
                ],
            }
        ]
    }


def post(endpoint: str, body: Mapping[str, Any]) -> None:
    """To ENDPOINT/v1/traces, as every OpenTelemetry collector takes it. A fault says what the collector said."""
    url = f"{endpoint.rstrip('/')}/v1/traces"
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=POST_TIMEOUT_S) as answer:
            answer.read()
    except urllib.error.HTTPError as fault:
        raise Unreachable(f"{url}: wanted status 200, found {fault.code}: {fault.read(200)!r}") from None
    except TimeoutError:
        raise TimedOut(f"{url}: no answer within {POST_TIMEOUT_S:.0f} s") from None
    except (urllib.error.URLError, OSError) as fault:
        raise Unreachable(f"{url}: {fault}") from None
