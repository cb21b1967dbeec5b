"""Sockets: asyncio connections that feed broker/connection.py. Every limit of a connection is here.

All connections of a listener share one receive buffer: the loop has one thread, and what was received is taken over
before the next read. An idle connection thus holds no buffer.
"""

import asyncio
import logging
import select
from typing import Any, Final, cast

from oncelog.broker.connection import Connection
from oncelog.broker.runtime import Runtime
from oncelog.errors import MalformedMessage
from oncelog.protocol.frame import Frames
from oncelog.server.open_files import shares

log = logging.getLogger("oncelog.listener")

RECEIVE_BUFFER_BYTES: Final = 1 << 20
SWEEP_MS: Final = 1000
RDHUP: Final[int | None] = getattr(select, "POLLRDHUP", None)  # Linux has it
MIN_FRAME_RATE_BYTES_PER_SECOND: Final = 1024  # a frame that arrives more slowly is a slow loris (T7)


class Listener:
    """Accepts connections and keeps their limits."""

    def __init__(self, broker: Runtime) -> None:
        self.broker = broker
        self._shares = shares()
        self._connections_limit = min(broker.config.max_connections, self._shares.connections)
        self.buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.half_received_bytes = 0
        self._accepted = 0
        self._links: dict[int, _Link] = {}
        self._per_host: dict[str, int] = {}
        self._server: asyncio.Server | None = None
        self._sweeper: Any = None

    @property
    def connections(self) -> int:
        return len(self._links)

    @property
    def requests_begun(self) -> int:
        """Requests of the connections that are open now."""
        return sum(link.requests for link in self._links.values())

    async def start(self, host: str, port: int) -> int:
        """Binds and listens; returns the port (which the system chose if 0 was given)."""
        loop = asyncio.get_running_loop()
        backlog = self._shares.backlog
        self._server = await loop.create_server(lambda: _Link(self), host, port, backlog=backlog)
        self._sweep()
        return cast(int, self._server.sockets[0].getsockname()[1])

    async def stop(self, grace_ms: int = 1000) -> None:
        """Accepts no more; lets requests under way finish within the grace, then closes all."""
        if self._server is not None:
            self._server.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        for link in list(self._links.values()):
            link.stop_reading()
        waited_ms = 0
        while waited_ms < grace_ms and any(link.has_short_work for link in self._links.values()):
            await asyncio.sleep(0.01)
            waited_ms += 10
        self.abort()

    def abort(self) -> None:
        """Closes every connection now."""
        if self._server is not None:
            self._server.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        for link in list(self._links.values()):
            link.drop("the broker stops")

    def opened(self, link: "_Link", host: str) -> int | None:
        """The number of the new connection, or None if there are too many."""
        config = self.broker.config
        if (
            len(self._links) >= self._connections_limit
            or self._per_host.get(host, 0) >= config.max_connections_per_ip
        ):
            return None
        self._accepted += 1
        self._links[self._accepted] = link
        self._per_host[host] = self._per_host.get(host, 0) + 1
        return self._accepted

    def closed(self, number: int, host: str) -> None:
        del self._links[number]
        self._per_host[host] -= 1
        if not self._per_host[host]:
            del self._per_host[host]

    def _sweep(self) -> None:
        now = self.broker.clock.monotonic_ms()
        for link in list(self._links.values()):
            link.check(now)
        self._sweeper = self.broker.loop.call_later(SWEEP_MS, self._sweep)


class _Link(asyncio.BufferedProtocol):
    """One socket."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._config = listener.broker.config
        self._frames = Frames(self._config.socket_request_max_bytes)
        self._host = ""
        self._number: int | None = None
        self._now_ms = listener.broker.clock.monotonic_ms
        now = self._now_ms()
        self._opened_ms = now
        self._active_ms = now
        self._frame_since_ms: int | None = None
        self._write_blocked_ms: int | None = None
        self._held = 0  # our share of the listener's half_received_bytes
        self._reading = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = cast(tuple[Any, ...], self._transport.get_extra_info("peername") or ("unknown", 0))
        self._host = str(peer[0])
        self._number = self._listener.opened(self, self._host)
        self._connection = Connection(
            self._listener.broker,
            self,
            connection_id=self._number or 0,
            peer_host=self._host,
            peer_port=int(peer[1]),
            on_idle=self._balance,
            peer_is_gone=self._peer_is_gone,
        )
        self._transport.set_write_buffer_limits(high=self._config.connection_write_buffer_limit_bytes)
        if self._number is None:
            log.warning("connection.refused peer=%s why=too many connections", self._host)
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        if self._number is not None:
            self._hold(0)
            self._listener.closed(self._number, self._host)
            self._number = None
        self._connection.close()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # asyncio's signature
        return self._listener.buffer

    def buffer_updated(self, nbytes: int) -> None:
        now = self._active_ms = self._now_ms()
        try:
            frames = self._frames.feed(self._listener.buffer[:nbytes])
        except MalformedMessage as fault:
            self.drop(str(fault))
            return
        pending = self._frames.kept_bytes
        if pending:
            if frames or self._frame_since_ms is None:
                self._frame_since_ms = now
            self._hold(pending)
            if self._listener.half_received_bytes > self._config.queued_max_request_bytes:
                self.drop("too many half-received bytes in all connections together")
                return
        elif self._frame_since_ms is not None:
            self._frame_since_ms = None
            self._hold(0)
        if frames:
            self._connection.frames(frames)
            if self._connection.waiting:  # else the connection has told us by now
                self._balance()

    def pause_writing(self) -> None:
        self._write_blocked_ms = self._listener.broker.clock.monotonic_ms()
        self._connection.hold(held=True)
        self._balance()

    def resume_writing(self) -> None:
        self._write_blocked_ms = None
        self._connection.hold(held=False)
        self._balance()

    def write(self, parts: list[Any]) -> None:
        if not self._transport.is_closing():
            self._transport.write(b"".join(parts) if len(parts) > 1 else parts[0])

    def close(self) -> None:
        self._transport.close()

    def drop(self, why: str) -> None:
        """Closes without ceremony: what was not sent is lost."""
        log.info("connection.dropped peer=%s why=%s", self._host, why)
        self._connection.close()
        self._transport.abort()

    def stop_reading(self) -> None:
        if self._reading and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    def _peer_is_gone(self) -> bool:
        """Its end of the stream has arrived, perhaps behind bytes that nobody has read yet."""
        if self._transport.is_closing():
            return True
        if RDHUP is None:
            return False
        look = select.poll()
        look.register(self._transport.get_extra_info("socket").fileno(), RDHUP)
        return bool(look.poll(0))

    @property
    def has_short_work(self) -> bool:
        """Requests that will be answered soon: everything but long polls, which have nothing to say at a stop."""
        return self._connection.has_short_work

    @property
    def requests(self) -> int:
        return self._connection.requests

    def check(self, now: int) -> None:
        """The time limits, looked at once a second."""
        config = self._config
        if (
            self._write_blocked_ms is not None
            and now - self._write_blocked_ms > config.connection_write_timeout_ms
        ):
            self.drop("the client does not read")
        elif (
            self._frame_since_ms is not None
            and self._reading
            and now - self._frame_since_ms
            > (
                config.connection_frame_timeout_ms
                + 1000 * self._frames.kept_bytes // MIN_FRAME_RATE_BYTES_PER_SECOND
            )
        ):
            self.drop("a request was begun and not finished in time")
        elif (
            not self._connection.requests
            and now - self._opened_ms > config.connection_first_request_timeout_ms
        ):
            self.drop("no request in time")
        elif now - self._active_ms > config.connections_max_idle_ms and not self._connection.unanswered:
            self.drop("idle")

    def _hold(self, count: int) -> None:
        self._listener.half_received_bytes += count - self._held
        self._held = count

    def _balance(self) -> None:
        """Back-pressure: stops reading while answers or requests pile up, goes on when they are gone."""
        if self._transport.is_closing():
            return
        full = (
            self._write_blocked_ms is not None
            or self._connection.waiting >= self._config.connection_queued_requests_limit
        )
        if full and self._reading:
            self._reading = False
            self._transport.pause_reading()
        elif not full and not self._reading:
            self._reading = True
            self._transport.resume_reading()
