"""What happened to transactional ids: requests as they were on the wire, state changes and markers, in one form.

The broker's ring, a tap between clients and any Kafka, and a file that a tap wrote all give these values.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from oncelog.client.faults import error_name
from oncelog.errors import CorruptBatch, MalformedMessage
from oncelog.protocol.apis import APIS
from oncelog.protocol.header import RequestHeader, read_request_header, read_response_header
from oncelog.protocol.messages.describe_trace import TracedRequest
from oncelog.record.batch import MAGIC, read_header

PRODUCE: Final = 0
INIT_PRODUCER_ID: Final = 22
ADD_PARTITIONS: Final = 24
ADD_OFFSETS: Final = 25
END_TXN: Final = 26
WRITE_MARKERS: Final = 27
TXN_OFFSET_COMMIT: Final = 28
TRACED: Final = frozenset(
    {PRODUCE, INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT}
)
NO_ANSWER: Final = "no answer"
UNDER_WAY: Final = "under way"
KEPT_BYTES: Final = 1024  # of a request and of its answer: more of a Produce is its records


@dataclass(frozen=True, slots=True)
class Touched:
    """One partition in one request. What a request does not say stays None."""

    topic: str
    partition: int
    error: str = "NONE"
    bytes: int | None = None
    count: int | None = None
    base_sequence: int | None = None
    base_offset: int | None = None
    committed_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one transactional id. `kind` says which fields mean something."""

    at_us: int  # since 1970, when it began
    kind: str  # "rpc", "state", "marker"
    transactional_id: str
    name: str  # the API, the state, or COMMIT and ABORT
    took_us: int | None = None
    error: str = "NONE"
    version: int | None = None
    client_id: str | None = None
    address: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    touched: tuple[Touched, ...] = ()
    group: str | None = None
    said: str = ""  # what else is worth a word: commit or abort, the new epoch, verify only
    request: str = ""  # hex of the frame, cut
    request_bytes: int = 0
    response: str = ""
    response_bytes: int = 0


def events_of_exchange(
    *, at_us: int, took_us: int, address: str, request: bytes, response: bytes | None
) -> Iterator[Event]:
    """The events in one request and its answer, both without their lengths. None: no answer came.

    A message that cannot be read gives none: a tap must not fall over what it only watches.
    """
    try:
        header, name, asked = _asked(request)
        told = _told(header, response) if response else None
    except MalformedMessage:
        return
    frame = Event(
        at_us=at_us,
        kind="rpc",
        transactional_id="",
        name=name,
        took_us=took_us,
        error="NONE" if told is not None else NO_ANSWER,
        version=header.version,
        client_id=header.client_id,
        address=address,
        request=request[:KEPT_BYTES].hex(),
        request_bytes=len(request),
        response=(response or b"")[:KEPT_BYTES].hex(),
        response_bytes=len(response or b""),
    )
    yield from _READ[header.api_key](frame, asked, told)


def traced_events(found: TracedRequest, transactional_id: str) -> Iterator[Event]:
    """The events in one request of a broker's ring. What is too large to be kept is told by its name and its sizes."""
    header = read_request_header(found.request)
    frame = Event(
        at_us=found.at_us,
        kind="rpc",
        transactional_id=transactional_id,
        name=APIS[header.api_key].name,
        took_us=None if found.took_us < 0 else found.took_us,
        version=header.version,
        client_id=header.client_id,
        address=f"{found.client_host}:{found.client_port}",
        request=bytes(found.request).hex(),
        request_bytes=found.request_bytes,
        response=bytes(found.response or b"").hex(),
        response_bytes=found.response_bytes,
    )
    told: Any = None
    if found.response is None:
        frame = replace(frame, error=UNDER_WAY if found.took_us < 0 else NO_ANSWER)
    elif found.response_bytes == len(found.response):
        told = _told(header, bytes(found.response))
    readable = found.request if found.short_request is None else found.short_request
    if found.short_request is None and found.request_bytes > len(found.request):
        yield replace(frame, said="too large to be kept")
        return
    _, _, asked = _asked(bytes(readable))
    yield from _READ[header.api_key](frame, asked, told)


def _asked(request: bytes) -> tuple[RequestHeader, str, Any]:
    """Raises MalformedMessage too for a request that belongs to no transaction."""
    header = read_request_header(request)
    api = APIS.get(header.api_key)
    if api is None or header.api_key not in TRACED or not api.supports(header.version):
        raise MalformedMessage(f"API key {header.api_key} version {header.version} is not traced")
    return header, api.name, api.request_class().decode(request, header.version, header.body_at)


def _told(header: RequestHeader, response: bytes) -> Any:
    _, at = read_response_header(response, header.api_key, header.version)
    return APIS[header.api_key].response_class().decode(response, header.version, at)


def _produce(frame: Event, asked: Any, told: Any) -> Iterator[Event]:
    if asked.transactional_id is None:
        return
    answers = {
        (topic.name or bytes(topic.topic_id).hex(), each.index): each
        for topic in (() if told is None else told.responses)
        for each in topic.partition_responses
    }
    touched: list[Touched] = []
    owner: tuple[int, int] | None = None
    for topic in asked.topic_data:
        name = topic.name or bytes(topic.topic_id).hex()
        for each in topic.partition_data:
            records = b"" if each.records is None else bytes(each.records)
            answer = answers.get((name, each.index))
            try:
                head = read_header(records)
            except CorruptBatch:
                head = None
            if head is not None and head.magic != MAGIC:
                head = None  # names so long that a ring kept nothing of the batch
            if head is not None:
                owner = (head.producer_id, head.producer_epoch)
            touched.append(
                Touched(
                    name,
                    each.index,
                    error="NONE" if answer is None else error_name(answer.error_code),
                    bytes=len(records) if head is None else head.size,  # a ring keeps no more than its header
                    count=None if head is None else head.count,
                    base_sequence=None if head is None else head.base_sequence,
                    base_offset=None if answer is None or answer.base_offset < 0 else answer.base_offset,
                )
            )
    yield replace(
        frame,
        transactional_id=asked.transactional_id,
        producer_id=None if owner is None else owner[0],
        producer_epoch=None if owner is None else owner[1],
        touched=tuple(touched),
        error=_first_error(frame.error, touched),
    )


def _init_producer_id(frame: Event, asked: Any, told: Any) -> Iterator[Event]:
    if not asked.transactional_id:
        return
    yield replace(
        frame,
        transactional_id=asked.transactional_id,
        producer_id=None if told is None else told.producer_id,
        producer_epoch=None if told is None else told.producer_epoch,
        error=frame.error if told is None else error_name(told.error_code),
        said=f"timeout {asked.transaction_timeout_ms} ms",
    )


def _add_partitions(frame: Event, asked: Any, told: Any) -> Iterator[Event]:
    if frame.version is not None and frame.version < 4:
        results = () if told is None else told.results_by_topic_v3_and_below
        yield _added(
            frame,
            asked.v3_and_below_transactional_id,
            asked.v3_and_below_producer_id,
            asked.v3_and_below_producer_epoch,
            asked.v3_and_below_topics,
            results,
        )
        return
    answers = {} if told is None else {each.transactional_id: each for each in told.results_by_transaction}
    for each in asked.transactions:
        results = answers[each.transactional_id].topic_results if each.transactional_id in answers else ()
        event = _added(
            frame, each.transactional_id, each.producer_id, each.producer_epoch, each.topics, results
        )
        yield replace(event, said="verify only") if each.verify_only else event


def _added(
    frame: Event, name: str, producer_id: int, producer_epoch: int, topics: Any, results: Any
) -> Event:
    errors = {
        (topic.name, each.partition_index): error_name(each.partition_error_code)
        for topic in results
        for each in topic.results_by_partition
    }
    touched = [
        Touched(topic.name, index, error=errors.get((topic.name, index), "NONE"))
        for topic in topics
        for index in topic.partitions
    ]
    return replace(
        frame,
        transactional_id=name,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        touched=tuple(touched),
        error=_first_error(frame.error, touched),
    )


def _add_offsets(frame: Event, asked: Any, told: Any) -> Iterator[Event]:
    yield replace(
        frame,
        transactional_id=asked.transactional_id,
        producer_id=asked.producer_id,
        producer_epoch=asked.producer_epoch,
        group=asked.group_id,
        error=frame.error if told is None else error_name(told.error_code),
    )


def _txn_offset_commit(frame: Event, asked: Any, told: Any) -> Iterator[Event]:
    errors = {
        (topic.name, each.partition_index): error_name(each.error_code)
        for topic in (() if told is None else told.topics)
        for each in topic.partitions
    }
    touched = [
        Touched(
            topic.name,
            each.partition_index,
            error=errors.get((topic.name, each.partition_index), "NONE"),
            committed_offset=each.committed_offset,
        )
        for topic in asked.topics
        for each in topic.partitions
    ]
    yield replace(
        frame,
        transactional_id=asked.transactional_id,
        producer_id=asked.producer_id,
        producer_epoch=asked.producer_epoch,
        group=asked.group_id,
        touched=tuple(touched),
        error=_first_error(frame.error, touched),
    )


def _end_txn(frame: Event, asked: Any, told: Any) -> Iterator[Event]:
    said = "commit" if asked.committed else "abort"
    if told is not None and told.producer_epoch >= 0:
        said += f", next {told.producer_id}/{told.producer_epoch}"
    yield replace(
        frame,
        transactional_id=asked.transactional_id,
        producer_id=asked.producer_id,
        producer_epoch=asked.producer_epoch,
        error=frame.error if told is None else error_name(told.error_code),
        said=said,
    )


_READ: Final = {
    PRODUCE: _produce,
    INIT_PRODUCER_ID: _init_producer_id,
    ADD_PARTITIONS: _add_partitions,
    ADD_OFFSETS: _add_offsets,
    TXN_OFFSET_COMMIT: _txn_offset_commit,
    END_TXN: _end_txn,
}
assert set(_READ) == TRACED


def _first_error(otherwise: str, touched: Iterable[Touched]) -> str:
    return next((each.error for each in touched if each.error != "NONE"), otherwise)


def to_line(event: Event) -> str:
    """One line of a tap's file."""
    return json.dumps(
        {name: value for name, value in asdict(event).items() if value not in (None, "", (), {})}
    )


def from_line(line: str) -> Event:
    """Raises ValueError for a line that no tap wrote."""
    try:
        fields = json.loads(line)
        fields["touched"] = tuple(Touched(**each) for each in fields.get("touched", ()))
        return Event(**fields)
    except (TypeError, AttributeError, json.JSONDecodeError) as fault:
        raise ValueError(f"wanted a line of a tap's file, found {line[:80]!r}: {fault}") from None
