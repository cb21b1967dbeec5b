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
from oncelog.broker.ring import TRACED
from oncelog.broker.runtime import Runtime
from oncelog.errors import ErrorCode, MalformedMessage, StorageFault
from oncelog.protocol.header import RequestHeader, read_request_header, response_frame_parts
from oncelog.tasks import Cancelled, Future, Task

log = logging.getLogger("oncelog.connection")

FLUSH_BYTES: Final = 262_144  # a burst of answers is sent when it is larger than this
FETCH: Final = 1
LONG_POLLS: Final = frozenset({FETCH, 11, 14})  # and JoinGroup, SyncGroup


class Wire(Protocol):
    """The way back to the client."""

    def write(self, parts: list[Any]) -> None: ...
    def close(self) -> None: ...


class _Answer:
    """The place of one answer in the line."""

    __slots__ = ("parts", "ready")

    def __init__(self) -> None:
        self.ready = False
        self.parts: list[Any] = []


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
    ) -> None:
        self._broker = broker
        self._wire = wire
        self._connection_id = connection_id
        self._peer_host = peer_host
        self._peer_port = peer_port
        self._on_idle = on_idle  # told whenever queued requests were taken up, so that reading may go on
        self._queued: deque[bytes] = deque()
        self._answers: deque[_Answer] = deque()
        self._tasks: dict[int, tuple[int, Task[Any]]] = {}  # by number: api key and what is under way
        self._count = 0
        self._busy = False
        self._held = False
        self._closed = False
        self._in_burst = False
        self._ready_bytes = 0  # of large answers not yet given to the wire
        self._rpcs = broker.counters.rpcs
        self._ring = broker.ring
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
        return any(key not in LONG_POLLS for key, _ in self._tasks.values())

    def frames(self, frames: list[bytes]) -> None:
        """Takes whole requests, in order; answers that are ready at once leave in one write."""
        if self._closed:
            return
        self._queued.extend(frames)
        self._pump()

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
        for key, task in list(self._tasks.values()):
            if key == FETCH:
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
        try:
            header = read_request_header(frame)
            api = api_of(header.api_key, header.version, self._broker.offered)
            if api is None:
                log.info(
                    "connection.refused peer=%s:%d api_key=%d version=%d",
                    self._peer_host,
                    self._peer_port,
                    header.api_key,
                    header.version,
                )
                self.close()
                return
            request = api.decode(frame, header.version, header.body_at)
        except MalformedMessage as fault:
            log.info("connection.malformed peer=%s:%d fault=%s", self._peer_host, self._peer_port, fault)
            self.close()
            return
        broker = self._broker
        began_ns = self._clock_ns
        rpc = self._rpcs[header.api_key]
        rpc.bytes_in += len(frame) + 4
        answer = _Answer()
        self._answers.append(answer)
        self._busy = True
        released = False

        def release() -> None:
            nonlocal released
            if not released:
                released = True
                self._busy = False
                if not self._in_burst:
                    self._pump()

        context = Context(
            header.api_key,
            header.version,
            header.client_id,
            self._peer_host,
            self._peer_port,
            self._connection_id,
            header.version,
            release,
        )
        self._count += 1
        number = self._count
        ring = self._ring if header.api_key in TRACED else None
        traced = None if ring is None else ring.begin(header.api_key, frame, request, self._peer, began_ns)
        handling = api.handle(request, context, broker)
        faults = broker.faults
        if faults is not None:
            handling = _with_faults(handling, faults, header.api_key, request)
        task: Task[Any] = Task(broker.loop, handling)

        def finish(done: Future[Any]) -> None:
            if self._tasks:
                self._tasks.pop(number, None)
            self._settle(done, api, rpc, header, context, answer)
            self._clock_ns = self._now_ns()
            took_ns = self._clock_ns - began_ns  # as Times.add, without the call
            rpc.counts[took_ns.bit_length()] += 1
            rpc.sum_ns += took_ns
            if took_ns > rpc.max_ns:
                rpc.max_ns = took_ns
            if ring is not None and traced is not None:
                ring.end(traced, took_ns, answer.parts)
            if not self._closed:
                if not released:
                    release()
                if not self._in_burst:
                    self._flush()

        if task.done():
            finish(task)
        else:
            self._tasks[number] = (header.api_key, task)
            task.add_callback(finish)

    def _settle(
        self,
        done: Future[Any],
        api: Api,
        rpc: Rpc,
        header: RequestHeader,
        context: Context,
        answer: _Answer,
    ) -> None:
        """The one place that catches what a handler raises (API-2); also when nobody waits for the answer any more."""
        try:
            response: Any = done.result()
            parts: list[Any] = []
            if response is not None:  # else acks=0
                parts = response_frame_parts(
                    header.api_key, context.response_version, header.correlation_id, response
                )
        except Cancelled:
            return
        except StorageFault as fault:
            self._broker.fail(fault)  # nothing more may be acknowledged: the process stops
            self.close()
            return
        except CloseConnection as why:
            log.info("connection.closed peer=%s:%d why=%s", self._peer_host, self._peer_port, why)
            self.close()
            return
        except Exception:
            log.exception(
                "request.failed api_key=%d version=%d client_id=%.249r peer=%s:%d",
                header.api_key,
                header.version,
                header.client_id,
                self._peer_host,
                self._peer_port,
            )
            refusal = api.refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
            if refusal is None:
                self.close()
                return
            response = refusal
            parts = response_frame_parts(
                header.api_key, context.response_version, header.correlation_id, refusal
            )
        if api.has_error_code and response is not None and response.error_code:
            rpc.errors += 1
        answer.parts = parts
        answer.ready = True
        if len(parts) == 1:
            rpc.bytes_out += len(parts[0])
        else:
            size = sum(map(len, parts))
            rpc.bytes_out += size
            self._ready_bytes += size

    def _flush(self) -> None:
        outgoing: list[Any] = []
        answers = self._answers
        while answers and answers[0].ready:
            outgoing += answers.popleft().parts
        if outgoing:
            self._ready_bytes = 0
            self._wire.write(outgoing)
