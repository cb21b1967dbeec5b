"""One client's connection without its socket: frames in, answers out in the order of the requests.

Requests of a connection run one at a time (as in Kafka); a handler that only waits for a sync lets the next one begin
(`Context.release_order`). The socket side is server/listener.py; the simulator plugs in its own.
"""

import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from oncelog.broker.context import CloseConnection, Context
from oncelog.broker.counters import Rpc
from oncelog.broker.faults import Faults
from oncelog.broker.handlers import Api, api_of
from oncelog.broker.ring import (
    ADD_PARTITIONS,
    ANSWER,
    SMALL_BYTES,
    SORTED_AT,
    TOOK,
    TRACED,
    Entry,
    added_to,
    shorten,
)
from oncelog.broker.runtime import Lane, Runtime
from oncelog.errors import ErrorCode, MalformedMessage, StorageFault
from oncelog.protocol.header import RequestHeader, read_request_header, response_frame_parts
from oncelog.tasks import Cancelled, Future, Task, begun

log = logging.getLogger("oncelog.connection")

FLUSH_BYTES: Final = 262_144  # a burst of answers is sent when it is larger than this
FETCH: Final = 1
NOTHING: Final[frozenset[int]] = frozenset()
LONG_POLLS: Final = frozenset({FETCH, 11, 14})  # and JoinGroup, SyncGroup


class Wire(Protocol):
    """The way back to the client."""

    def write(self, parts: list[Any]) -> None: ...
    def close(self) -> None: ...


class _Request(Context):
    """One request under way, and the place of its answer in the line. One object, for there are thousands a second."""

    __slots__ = (
        "api",
        "began_ns",
        "connection",
        "correlation_id",
        "is_ready",
        "is_released",
        "parts",
        "rpc",
        "traced",
    )

    def __init__(
        self,
        connection: "Connection",
        api: Api,
        rpc: Rpc,
        header: RequestHeader,
        peer: tuple[str, int],
        began_ns: int,
    ) -> None:
        self.api_key = header.api_key
        self.version = self.response_version = header.version
        self.client_id = header.client_id
        self.peer_host, self.peer_port = peer
        self.connection_id = connection.connection_id
        self.connection = connection
        self.api = api
        self.rpc = rpc
        self.correlation_id = header.correlation_id
        self.began_ns = began_ns
        self.traced: Entry | None = None
        self.is_ready = False
        self.is_released = False
        self.parts: list[Any] = []

    def peer_is_gone(self) -> bool:
        return self.connection.peer_is_gone()

    def release_order(self) -> None:
        if not self.is_released:
            self.is_released = True
            self.connection.released()

    def finish(self, done: Future[Any]) -> None:
        self.connection.finished(self, done)


async def _with_faults(handling: Coroutine[Any, Any, Any], faults: Faults, api_key: int, request: Any) -> Any:
    """The handler between the faults that a test armed: held before it, its reply lost after it."""
    held = faults.hold(api_key, request)
    if held is not None:
        await held
    response = await handling
    if faults.drops_reply(api_key, request):
        raise CloseConnection("a test wanted this reply to be lost")
    return response


class Connection:
    """Cuts nothing and waits for nothing: `frame` takes one whole request, `wire` gets whole answers."""

    def __init__(
        self,
        broker: Runtime,
        wire: Wire,
        *,
        connection_id: int,
        peer_host: str,
        peer_port: int,
        on_idle: Callable[[], None],
        peer_is_gone: Callable[[], bool] = lambda: False,
    ) -> None:
        self.peer_is_gone = peer_is_gone
        self._broker = broker
        self._wire = wire
        self.connection_id = connection_id
        self._on_idle = on_idle  # told whenever queued requests were taken up, so that reading may go on
        self._queued: deque[bytes] = deque()
        self._answers: deque[_Request] = deque()
        self._tasks: dict[_Request, Task[Any]] = {}  # those that wait for something
        self._busy = False
        self._held = False
        self._closed = False
        self._in_burst = False
        self._ready_bytes = 0  # of large answers not yet given to the wire
        self._rpcs = broker.counters.rpcs
        self._ring = broker.ring
        self._fresh = [] if broker.ring is None else broker.ring.fresh
        self._traced = NOTHING if broker.ring is None else TRACED
        self._peer = (peer_host, peer_port)
        self._now_ns = broker.clock.monotonic_ns
        self._clock_ns = (
            0  # when the next request of a burst is begun: one look at the clock for each, not two
        )
        broker.counters.connections_opened += 1
        self.requests = 0

    @property
    def waiting(self) -> int:
        """Requests received and not yet begun."""
        return len(self._queued)

    @property
    def unanswered(self) -> int:
        return len(self._answers) + len(self._queued)

    @property
    def has_short_work(self) -> bool:
        """Anything under way but long polls, which have nothing to say when the broker stops."""
        return any(each.api_key not in LONG_POLLS for each in self._tasks)

    def frames(self, frames: list[bytes]) -> None:
        """Takes whole requests, in order; answers that are ready at once leave in one write."""
        if self._closed:
            return
        lane = self._broker.lane
        if lane is not None and not (self._queued or self._answers or self._held):
            frames = self._express(lane, frames)
        if frames:
            self._queued.extend(frames)
            self._pump()

    def _express(self, lane: Lane, frames: list[bytes]) -> list[bytes]:
        """Answers the leading frames that are plain, and returns the others. Nothing is under way here."""
        if self._broker.faults is not None:  # they want to see every request
            return frames
        try:
            answers = lane.serve(frames, self._peer)
        except StorageFault as fault:
            self._broker.fail(fault)
        except Exception:
            log.exception("request.failed peer=%s:%d", *self._peer)
        else:
            if answers:
                self.requests += len(answers)
                self._wire.write(answers)
            return frames[len(answers) :]
        self.close()
        return []

    def hold(self, *, held: bool) -> None:
        """While held, no further request is begun: the client does not take the answers it has."""
        self._held = held
        if not held:
            self._pump()

    def close(self) -> None:
        """The client is gone or must go. What was begun is carried through, as in Kafka, and its answer thrown away:
        half an EndTxn would leave a transaction that nobody finishes. Only a Fetch, which changes nothing, is dropped."""
        if self._closed:
            return
        self._closed = True
        self._broker.counters.connections_closed += 1
        self._queued.clear()
        for request, task in list(self._tasks.items()):
            if request.api_key == FETCH:
                task.cancel()
        self._wire.close()

    def _pump(self) -> None:
        if self._in_burst:
            return
        self._in_burst = True
        took = False
        self._clock_ns = self._now_ns()
        while self._queued and not self._busy and not self._held and not self._closed:
            took = True
            self._begin(self._queued.popleft())
            if self._ready_bytes > FLUSH_BYTES:
                self._flush()  # may hold us, if the client does not take so much
        self._in_burst = False
        if not self._closed:
            self._flush()
            if took:
                self._on_idle()

    def _begin(self, frame: bytes) -> None:
        self.requests += 1
        broker = self._broker
        try:
            header = read_request_header(frame)
            key = header.api_key
            api = api_of(key, header.version, broker.offered)
            if api is None:
                log.info(
                    "connection.refused peer=%s:%d api_key=%d version=%d", *self._peer, key, header.version
                )
                self.close()
                return
            asked: Any = api.decode(frame, header.version, header.body_at)
        except MalformedMessage as fault:
            log.info("connection.malformed peer=%s:%d fault=%s", *self._peer, fault)
            self.close()
            return
        rpc = self._rpcs[key]
        size = len(frame)
        rpc.bytes_in += size + 4
        request = _Request(self, api, rpc, header, self._peer, self._clock_ns)
        self._answers.append(request)
        self._busy = True
        handling = api.handle(asked, request, broker)
        if broker.faults is not None:
            handling = _with_faults(handling, broker.faults, key, asked)
        try:
            waits_for = handling.send(None)
        except (
            StopIteration
        ) as stop:  # nearly all: there was nothing to wait for, so nothing makes a task of it
            self._settle(request, stop.value, None)
            took_ns = self._end(request)
        except (Exception, Cancelled) as fault:  # noqa: BLE001  # `_settle` answers it
            self._settle(request, None, fault)
            took_ns = self._end(request)
        else:
            if self._ring is not None and key in TRACED:
                request.traced = self._ring.begin(key, frame, asked, self._peer, request.began_ns)
            task: Task[Any] = begun(broker.loop, handling, waits_for)
            self._tasks[request] = task
            task.add_callback(request.finish)
            return
        if key in self._traced:  # as Ring.begin, without the call
            name = asked.transactional_id if key != ADD_PARTITIONS else added_to(asked)
            if name:
                entry = [name, request.began_ns, took_ns, self._peer, frame, size, None, request.parts, 0, 0]
                if size > SMALL_BYTES:
                    shorten(entry, key, asked, frame, size)
                fresh = self._fresh
                fresh.append(entry)
                if len(fresh) >= SORTED_AT and self._ring is not None:
                    self._ring.sort()

    def released(self) -> None:
        """The next request may begin."""
        self._busy = False
        if not self._in_burst:
            self._pump()

    def finished(self, request: _Request, done: Future[Any]) -> None:
        """A request that had to wait is over."""
        self._tasks.pop(request, None)
        try:
            response = done.result()
        except (Exception, Cancelled) as fault:  # noqa: BLE001  # `_settle` answers it
            self._settle(request, None, fault)
        else:
            self._settle(request, response, None)
        traced = request.traced
        if traced is not None:
            traced[TOOK], traced[ANSWER] = self._now_ns() - request.began_ns, request.parts
        self._end(request)

    def _end(self, request: _Request) -> int:
        """Counts it, and lets the next one begin and the answer leave. How long it took, in nanoseconds."""
        self._clock_ns = now_ns = self._now_ns()
        took_ns = now_ns - request.began_ns  # as Times.add, without the call
        rpc = request.rpc
        rpc.counts[took_ns.bit_length()] += 1
        rpc.sum_ns += took_ns
        if took_ns > rpc.max_ns:
            rpc.max_ns = took_ns
        if not self._closed:
            if not request.is_released:
                request.is_released = True
                self._busy = False
                if not self._in_burst:
                    self._pump()
            if not self._in_burst:
                self._flush()
        return took_ns

    def _settle(self, request: _Request, response: Any, fault: BaseException | None) -> None:
        """The one place that answers what a handler raises (API-2); also when nobody waits for the answer any more."""
        parts: list[Any] = []
        if fault is None and response is not None:  # else acks=0
            try:
                parts = response_frame_parts(
                    request.api_key, request.response_version, request.correlation_id, response
                )
            except Exception as unwritable:  # noqa: BLE001  # our own defect: answered like any other
                fault = unwritable
        if fault is not None:
            response = self._refusal(request, fault)
            if response is None:
                return
            parts = response_frame_parts(
                request.api_key, request.response_version, request.correlation_id, response
            )
        if response is not None and request.api.has_error_code and response.error_code:
            request.rpc.errors += 1
        request.parts = parts
        request.is_ready = True
        if len(parts) == 1:
            request.rpc.bytes_out += len(parts[0])
        else:
            size = sum(map(len, parts))
            request.rpc.bytes_out += size
            self._ready_bytes += size

    def _refusal(self, request: _Request, fault: BaseException) -> Any:
        """What to answer instead; None if there is no answer: the connection is closed, or its client is gone."""
        if isinstance(fault, Cancelled):
            return None
        if isinstance(fault, StorageFault):
            self._broker.fail(fault)  # nothing more may be acknowledged: the process stops
        elif isinstance(fault, CloseConnection):
            log.info("connection.closed peer=%s:%d why=%s", *self._peer, fault)
        else:
            log.error(
                "request.failed api_key=%d version=%d client_id=%.249r peer=%s:%d",
                request.api_key,
                request.version,
                request.client_id,
                *self._peer,
                exc_info=fault,
            )
            refusal = request.api.refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
            if refusal is not None:
                return refusal
        self.close()
        return None

    def _flush(self) -> None:
        answers = self._answers
        if not answers or not answers[0].is_ready:
            return
        outgoing = answers.popleft().parts
        while answers and answers[0].is_ready:
            outgoing = outgoing + answers.popleft().parts
        if outgoing:
            self._ready_bytes = 0
            self._wire.write(outgoing)
