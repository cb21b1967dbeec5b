"""The network between simulated clients and the broker: TCP as it really is.

Within a connection bytes arrive in order, once, in any pieces. But a connection may stall, and what its client gave up
waiting for may still arrive seconds later; answers may be lost with their connection; a reset may fall between any two
bytes. Nothing is ever doubled: copies come from clients that ask again.

Two kinds of connection behave alike: `WireLink` carries bytes to broker.connection, `CoreLink` carries decoded requests
straight to the handlers and is several times cheaper.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from random import Random
from typing import Any, Final, Protocol

from oncelog.broker.connection import LONG_POLLS, Connection
from oncelog.broker.context import CloseConnection, Context
from oncelog.broker.handlers import api_of
from oncelog.broker.handlers.produce import OneAppended
from oncelog.broker.runtime import Runtime
from oncelog.errors import OncelogError, StorageFault
from oncelog.protocol.frame import Frames
from oncelog.protocol.header import read_response_header, request_frame
from oncelog.protocol.primitives import Message
from oncelog.sim.loop import VirtualLoop
from oncelog.tasks import Cancelled, Future, Loop, Task

FRAME_LIMIT_BYTES: Final = 1 << 24
REQUEST_TIMEOUT_MS: Final = 2_000
END_MS: Final = 1.0  # the end of a stream is under way for so long, and never arrives before what was sent
FETCH: Final = 1
INIT_PRODUCER_ID: Final = 22
END_TXN: Final = 26


class Unreachable(OncelogError):
    """The connection broke or the answer did not come: whether the request was carried out is unknown."""


@dataclass(slots=True)
class Network:
    """How bad it is. All chances are per message."""

    delay_ms: float = 1.0  # mean
    cut: float = 0.2  # a message arrives in two pieces
    stall: float = 0.0  # a request comes late: by `stall_ms`, often after its client has given up
    stall_ms: tuple[float, float] = (500.0, 8_000.0)
    lose_reply: float = 0.0  # the connection breaks while the answer is under way
    reset: float = 0.0  # the connection breaks while the request is under way
    late_end: float = (
        0.0  # an EndTxn comes just after its client gave up and asked again elsewhere (KAFKA-17754)
    )
    late_init: float = 0.0  # the same of an InitProducerId


class Host(Protocol):
    """One life of the broker, as its connections see it."""

    @property
    def runtime(self) -> Runtime: ...
    @property
    def loop(self) -> Loop: ...
    @property
    def alive(self) -> bool: ...
    def told(self, frame: bytes) -> None:
        """A client has this answer, byte by byte."""
        ...

    def broken(self, fault: BaseException) -> None:
        """A handler raised what no handler may raise."""
        ...


class Link(ABC):
    """One connection. The client's end and the broker's end may be closed at different times."""

    def __init__(
        self,
        loop: VirtualLoop,
        rng: Random,
        network: Network,
        host: Host,
        number: int,
        client_id: str,
        on_closed: "Callable[[Link], None]",
    ) -> None:
        self._loop = loop
        self._rng = rng
        self._network = network
        self._host = host
        self._number = number
        self._client_id = client_id
        self._on_closed = on_closed
        self._waiting: dict[int, Future[Any]] = {}
        self._correlation = 0
        self._to_broker_ms = 0.0
        self._to_client_ms = 0.0
        self.is_open = True  # the client's end
        self._broker_open = True
        self._end_ms = inf  # the end of the stream is at the broker, once it has all that was sent before
        self._reading = True

    async def ask(self, request: Message, response: type[Message], key: int, version: int) -> Any:
        """Sends one request and waits for its answer; Unreachable if none came."""
        if not self.is_open:
            raise Unreachable("the connection is closed")
        self._correlation += 1
        answer: Future[Any] = Future()
        self._waiting[self._correlation] = answer
        self._request(self._correlation, request, key, version)
        patience = self._loop.call_later(REQUEST_TIMEOUT_MS, self.abandon)
        found = await answer
        patience.cancel()
        return self._decode(found, response, key, version)

    def abandon(self) -> None:
        """The client gives up waiting. What it has sent still arrives, then the broker sees the end of the stream."""
        if self.is_open:
            self._close_client("the client gave up")
            self._end_ms = self._loop.now_ms + END_MS
            later = max(self._to_broker_ms - self._loop.now_ms, 0.0) + END_MS
            self._loop.call_later(later, self._close_broker)

    def peer_is_gone(self) -> bool:
        """What the broker sees when it looks at the socket of a request (decision 0010): one that was given up has the end
        of the stream behind it."""
        return self._loop.now_ms >= self._end_ms

    def reset(self) -> None:
        """Breaks the connection at both ends; what was under way is lost."""
        self._close_broker()
        self._close_client("the connection broke")

    def stop_reading(self) -> None:
        """The broker stops: what it has not read yet it never will."""
        self._reading = False

    def _close_client(self, why: str) -> None:
        if not self.is_open:
            return
        self.is_open = False
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_error(Unreachable(why))
        if not self._broker_open:
            self._on_closed(self)

    def _close_broker(self) -> None:
        if not self._broker_open:
            return
        self._broker_open = False
        if self._host.alive:
            self._hang_up()
        if not self.is_open:
            self._on_closed(self)

    def _to_broker(self, run: Callable[[], None], key: int) -> None:
        """The request arrives, later than all before it."""
        network, rng, now = self._network, self._rng, self._loop.now_ms
        delay = -log(1.0 - rng.random()) * network.delay_ms  # rng.expovariate(1.0), written out
        if network.late_end and key == END_TXN and rng.random() < network.late_end:
            delay += REQUEST_TIMEOUT_MS + rng.uniform(5.0, 200.0)
        if network.late_init and key == INIT_PRODUCER_ID and rng.random() < network.late_init:
            delay += REQUEST_TIMEOUT_MS + rng.uniform(5.0, 900.0)
        if network.stall and rng.random() < network.stall:
            delay += rng.uniform(*network.stall_ms)
        at = now + delay
        if at < self._to_broker_ms:
            at = self._to_broker_ms
        self._to_broker_ms = at
        if network.reset and rng.random() < network.reset:
            run = self.reset  # and what comes behind it finds the connection closed
        self._loop.call_later(at - now, run)

    def _to_client(self, run: Callable[[], None]) -> None:
        network, rng, now = self._network, self._rng, self._loop.now_ms
        at = now - log(1.0 - rng.random()) * network.delay_ms
        if at < self._to_client_ms:
            at = self._to_client_ms
        self._to_client_ms = at
        if network.lose_reply and rng.random() < network.lose_reply:
            run = self.reset
        self._loop.call_later(at - now, run)

    def _answered(self, correlation: int, found: Any) -> None:
        answer = self._waiting.pop(correlation, None)
        if answer is not None and not answer.done():
            answer.set_result(found)

    # What the two kinds do differently

    @abstractmethod
    def _request(self, correlation: int, request: Message, key: int, version: int) -> None: ...

    @abstractmethod
    def _decode(self, found: Any, response: type[Message], key: int, version: int) -> Any: ...

    @abstractmethod
    def _hang_up(self) -> None: ...

    @property
    @abstractmethod
    def has_short_work(self) -> bool:
        """A request is under way that does not wait for others."""
        ...


class WireLink(Link):
    """Bytes in, bytes out, through the broker's own connection."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._in = Frames(FRAME_LIMIT_BYTES)
        self._out = Frames(FRAME_LIMIT_BYTES)
        self._connection = Connection(
            self._host.runtime,
            self,
            connection_id=self._number,
            peer_host="client",
            peer_port=self._number,
            on_idle=lambda: None,
            peer_is_gone=self.peer_is_gone,
        )

    def _request(self, correlation: int, request: Message, key: int, version: int) -> None:
        frame = bytes(request_frame(key, version, correlation, self._client_id, request))
        for piece in self._pieces(frame):
            self._to_broker(lambda piece=piece: self._at_broker(piece), key)

    def _decode(self, found: Any, response: type[Message], key: int, version: int) -> Any:
        _, at = read_response_header(found, key, version)
        return response.decode(found, version, at)

    def _hang_up(self) -> None:
        self._connection.close()

    @property
    def has_short_work(self) -> bool:
        return self._broker_open and self._connection.has_short_work

    # Wire: what the broker's side calls.
    def write(self, parts: list[Any]) -> None:
        if self._broker_open:
            for piece in self._pieces(b"".join(parts)):
                self._to_client(lambda piece=piece: self._at_client(piece))

    def close(self) -> None:
        self._close_broker()
        self._loop.call_later(self._network.delay_ms, lambda: self._close_client("the broker hung up"))

    def _pieces(self, data: bytes) -> list[bytes]:
        if self._rng.random() >= self._network.cut:
            return [data]
        cut = self._rng.randrange(len(data) + 1)
        return [piece for piece in (data[:cut], data[cut:]) if piece]

    def _at_broker(self, data: bytes) -> None:
        if self._broker_open and self._host.alive and self._reading:
            self._connection.frames(self._in.feed(data))

    def _at_client(self, data: bytes) -> None:
        if self.is_open:
            for frame in self._out.feed(data):
                self._host.told(frame)
                self._answered(int.from_bytes(frame[:4], "big"), frame)


@dataclass(slots=True, eq=False)
class CoreContext(Context):
    """One request on a CoreLink."""

    link: Link | None = None

    def peer_is_gone(self) -> bool:
        return self.link is not None and self.link.peer_is_gone()


class CoreLink(Link):
    """Decoded requests to the handlers, one at a time, as broker.connection would call them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._queued: deque[tuple[int, Message, int, int]] = deque()
        self._busy = False
        self._short = 0  # requests under way that are no long polls
        self._fetching: Task[Any] | None = None

    def _request(self, correlation: int, request: Message, key: int, version: int) -> None:
        self._to_broker(lambda: self._arrive(correlation, request, key, version), key)

    def _decode(self, found: Any, response: type[Message], key: int, version: int) -> Any:
        assert isinstance(found, response), f"api {key} v{version} answers {found!r}"
        return found.general() if isinstance(found, OneAppended) else found

    def _hang_up(self) -> None:
        self._queued.clear()
        if self._fetching is not None:
            self._fetching.cancel()

    @property
    def has_short_work(self) -> bool:
        return self._short > 0

    def _arrive(self, correlation: int, request: Message, key: int, version: int) -> None:
        if self._broker_open and self._host.alive and self._reading:
            self._queued.append((correlation, request, key, version))
            self._pump()

    def _pump(self) -> None:
        while self._queued and not self._busy and self._broker_open:
            self._begin(*self._queued.popleft())

    def _begin(self, correlation: int, request: Message, key: int, version: int) -> None:
        host = self._host
        api = api_of(key, version, host.runtime.offered)
        assert api is not None, f"api {key} v{version} is not served"
        self._busy = True
        turn = _Turn(self, correlation, key in LONG_POLLS)
        self._short += not turn.is_long
        context = CoreContext(
            key, version, self._client_id, "client", self._number, self._number, version, turn.release, self
        )
        task: Task[Any] = Task(host.loop, api.handle(request, context, host.runtime))
        if not task.done() and key == FETCH:
            self._fetching = task
        task.add_callback(turn.finish)

    def next(self) -> None:
        """The next request may begin."""
        self._busy = False
        self._pump()

    def ended(self, done: Future[Any], correlation: int, *, is_long: bool) -> None:
        """A request is over, whatever came of it."""
        self._short -= not is_long
        self._settle(done, correlation)

    def _settle(self, done: Future[Any], correlation: int) -> None:
        self._fetching = None
        try:
            found = done.result()
        except Cancelled:
            return
        except StorageFault as fault:
            self._host.runtime.fail(fault)
            self.reset()
            return
        except CloseConnection:
            self.reset()
            return
        except Exception as fault:  # noqa: BLE001  # told to the world: it is a defect
            self._host.broken(fault)
            return
        if self._broker_open and found is not None:
            self._to_client(lambda: self._at_client(correlation, found))

    def _at_client(self, correlation: int, found: Any) -> None:
        if self.is_open:
            self._answered(correlation, found)


class _Turn:
    """One request on a CoreLink. A class and no closures: what a `def` says of its types is looked up whenever it is met."""

    __slots__ = ("_correlation", "_is_over", "_link", "is_long")

    def __init__(self, link: CoreLink, correlation: int, is_long: bool) -> None:
        self._link = link
        self._correlation = correlation
        self._is_over = False
        self.is_long = is_long

    def release(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._link.next()

    def finish(self, done: Future[Any]) -> None:
        self._link.ended(done, self._correlation, is_long=self.is_long)
        self.release()


KINDS: Final[dict[str, type[Link]]] = {"core": CoreLink, "wire": WireLink}
