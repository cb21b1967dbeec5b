"""Takes connections and feeds broker/connection.py with their frames. Every limit of a connection is here."""

import asyncio
import errno
import logging
import socket
from typing import Any, Final, cast

from oncelog.broker.connection import Connection
from oncelog.broker.runtime import Runtime
from oncelog.server.open_files import shares
from oncelog.server.sockets import NOT_NOW, Streams
from oncelog.tasks import Timer

log = logging.getLogger("oncelog.listener")

NO_SUCH_ADDRESS: Final = (
    frozenset(  # a name may stand for one of IPv6 where there is no IPv6: the others will do
        {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}
    )
)
BACKLOG: Final = 1024
ACCEPTS_PER_TURN: Final = 100
ACCEPT_PAUSE_MS: Final = 1000
SWEEP_MS: Final = 1000
MIN_FRAME_RATE_BYTES_PER_SECOND: Final = 1024  # a frame that arrives more slowly is a slow loris (T7)


class Listener:
    """Accepts connections and keeps their limits."""

    def __init__(self, broker: Runtime) -> None:
        self.broker = broker
        self._connections_limit = min(broker.config.max_connections, shares().connections)
        self.streams = Streams(
            broker.clock.monotonic_ms, frame_limit_bytes=broker.config.socket_request_max_bytes
        )
        self.half_received_bytes = 0
        self._accepted = 0
        self.links: dict[int, Link] = {}
        self._per_host: dict[str, int] = {}
        self._doors: list[socket.socket] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sweeper: Timer | None = None

    @property
    def connections(self) -> int:
        return len(self.links)

    @property
    def requests_begun(self) -> int:
        """Requests of the connections that are open now."""
        return sum(link.requests for link in self.links.values())

    async def start(self, host: str, port: int) -> int:
        """Binds and listens; returns the port (which the system chose if 0 was given)."""
        loop = self._loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        fault: OSError | None = None
        for family, kind, protocol, _, address in dict.fromkeys(addresses):
            try:
                self._doors.append(_door(family, kind, protocol, (address[0], port, *address[2:])))
            except OSError as why:
                fault = why
                if why.errno not in NO_SUCH_ADDRESS:
                    break
            else:
                port = cast(int, self._doors[0].getsockname()[1])  # the same for all addresses of a name
        if fault is not None:
            if not self._doors or fault.errno not in NO_SUCH_ADDRESS:
                self.abort()
                raise fault
            log.warning("listener.skipped why=%s", fault)
        loop.add_reader(self.streams, self.streams.turn)
        for door in self._doors:
            self._listen(door)
        self._sweep()
        return port

    async def stop(self, grace_ms: int = 1000) -> None:
        """Accepts no more; lets requests under way finish and their answers leave within the grace, then closes all."""
        self._shut_doors()
        for link in list(self.links.values()):
            link.stop_reading()
        waited_ms = 0
        while waited_ms < grace_ms and any(link.has_short_work for link in self.links.values()):
            await asyncio.sleep(0.01)
            waited_ms += 10
        self.abort()

    def abort(self) -> None:
        """Closes every connection now."""
        self._shut_doors()
        for link in list(self.links.values()):
            link.drop("the broker stops")
        if self._loop is not None:
            self._loop.remove_reader(self.streams)
            self._loop = None
        self.streams.close()

    def opened(self, link: "Link", host: str) -> int:
        """The number of the new connection."""
        self._accepted += 1
        self.links[self._accepted] = link
        self._per_host[host] = self._per_host.get(host, 0) + 1
        return self._accepted

    def closed(self, number: int, host: str) -> None:
        del self.links[number]
        self._per_host[host] -= 1
        if not self._per_host[host]:
            del self._per_host[host]

    def _accept(self, door: socket.socket) -> None:
        """Takes those who wait. One after the other, so that whoever is refused has given its descriptor back before the next."""
        for _ in range(ACCEPTS_PER_TURN):
            try:
                connected, peer = door.accept()
            except (*NOT_NOW, ConnectionAbortedError):
                return
            except OSError as why:  # above all: no descriptor is left
                self._pause_accepting(door, why)
                return
            host = str(peer[0])
            if self._is_full_for(host):
                log.warning("connection.refused peer=%s why=too many connections", host)
                connected.close()
                continue
            try:
                Link(self, connected, host, int(peer[1]))
            except OSError as why:
                log.warning("connection.refused peer=%s why=%s", host, why)
                connected.close()

    def _is_full_for(self, host: str) -> bool:
        return (
            len(self.links) >= self._connections_limit
            or self._per_host.get(host, 0) >= self.broker.config.max_connections_per_ip
        )

    def _pause_accepting(self, door: socket.socket, why: OSError) -> None:
        """The door would stay ready, and every turn of the loop would try in vain."""
        log.warning("listener.paused ms=%d connections=%d why=%s", ACCEPT_PAUSE_MS, len(self.links), why)
        assert self._loop is not None
        self._loop.remove_reader(door)
        self.broker.loop.call_later(ACCEPT_PAUSE_MS, lambda: self._listen(door))

    def _listen(self, door: socket.socket) -> None:
        if self._loop is not None and door in self._doors:  # else the broker stopped meanwhile
            self._loop.add_reader(door, self._accept, door)

    def _shut_doors(self) -> None:
        doors, self._doors = self._doors, []
        for door in doors:
            if self._loop is not None:
                self._loop.remove_reader(door)
            door.close()
        if self._sweeper is not None:
            self._sweeper.cancel()

    def _sweep(self) -> None:
        now = self.broker.clock.monotonic_ms()
        for link in list(self.links.values()):
            link.check(now)
        self._sweeper = self.broker.loop.call_later(SWEEP_MS, self._sweep)


class Link:
    """One connection: its stream, its requests, its limits."""

    __slots__ = (
        "_active_ms",
        "_connection",
        "_frame_since_ms",
        "_held",
        "_host",
        "_listener",
        "_number",
        "_opened_ms",
        "_queued_limit",
        "_stops",
        "_stream",
        "_write_blocked_ms",
        "write",
    )

    def __init__(self, listener: Listener, connected: socket.socket, host: str, port: int) -> None:
        config = listener.broker.config
        self._stream = listener.streams.open(
            connected, self, unsent_limit_bytes=config.connection_write_buffer_limit_bytes
        )
        self.write: Final = self._stream.write
        self._listener = listener
        self._queued_limit = config.connection_queued_requests_limit
        self._opened_ms = listener.broker.clock.monotonic_ms()
        self._active_ms: int = self._opened_ms
        self._frame_since_ms: int | None = None
        self._write_blocked_ms: int | None = None
        self._held = 0  # our share of the listener's half_received_bytes
        self._stops = False
        self._host = host
        self._number = listener.opened(self, host)
        self._connection = Connection(
            listener.broker,
            self,
            connection_id=self._number,
            peer_host=host,
            peer_port=port,
            on_idle=self._balance,
            peer_is_gone=self._stream.peer_is_gone,
        )

    def received(self, frames: list[bytes], half_bytes: int) -> None:
        now = self._active_ms = self._listener.streams.turn_ms
        if half_bytes:
            if frames or self._frame_since_ms is None:
                self._frame_since_ms = now
            self._hold(half_bytes)
            if self._listener.half_received_bytes > self._listener.broker.config.queued_max_request_bytes:
                self.drop("too many half-received bytes in all connections together")
                return
        elif self._frame_since_ms is not None:
            self._frame_since_ms = None
            self._hold(0)
        if frames:
            self._connection.frames(frames)
            if self._connection.waiting:  # else the connection has told us by now
                self._balance()

    def refused(self, why: str) -> None:
        self.drop(why)

    def ended(self) -> None:
        self._connection.close()

    def blocked(self) -> None:
        self._write_blocked_ms = self._listener.broker.clock.monotonic_ms()
        self._connection.hold(held=True)
        self._balance()

    def unblocked(self) -> None:
        self._write_blocked_ms = None
        self._connection.hold(held=False)
        self._balance()

    def gone(self) -> None:
        self._hold(0)
        self._listener.closed(self._number, self._host)
        self._connection.close()

    def close(self) -> None:
        self._stream.close()
        if (
            self._stream.unsent_bytes and self._write_blocked_ms is None
        ):  # it shall not take for ever to leave
            self._write_blocked_ms = self._listener.broker.clock.monotonic_ms()

    def drop(self, why: str) -> None:
        """Closes without ceremony: what was not sent is lost."""
        log.info("connection.dropped peer=%s why=%s", self._host, why)
        self._stream.abort()

    def stop_reading(self) -> None:
        """For good: the broker stops."""
        self._stops = True
        self._stream.read_on(False)

    @property
    def has_short_work(self) -> bool:
        """Requests that will be answered soon, and answers that have not left: everything but long polls, which have
        nothing to say at a stop."""
        return self._connection.has_short_work or self._stream.unsent_bytes > 0

    @property
    def is_closing(self) -> bool:
        return self._stream.is_closing

    @property
    def requests(self) -> int:
        return self._connection.requests

    def check(self, now: int) -> None:
        """The time limits, looked at once a second."""
        config = self._listener.broker.config
        if (
            self._write_blocked_ms is not None
            and now - self._write_blocked_ms > config.connection_write_timeout_ms
        ):
            self.drop("the client does not read")
        elif (
            self._frame_since_ms is not None
            and self._stream.reads
            and now - self._frame_since_ms
            > (config.connection_frame_timeout_ms + 1000 * self._held // MIN_FRAME_RATE_BYTES_PER_SECOND)
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
        reads = (
            self._write_blocked_ms is None
            and self._connection.waiting < self._queued_limit
            and not self._stops
        )
        if reads is not self._stream.reads:
            self._stream.read_on(reads)


def _door(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
    """A socket that listens. One for IPv6 leaves IPv4 to another, as the addresses of a name are given one by one."""
    door: socket.socket | None = None
    try:
        door = socket.socket(family, kind, protocol)
        door.setblocking(False)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        door.bind(address)
        door.listen(BACKLOG)
    except OSError as why:
        if door is not None:
            door.close()
        raise OSError(why.errno, f"cannot listen at {address[0]} port {address[1]}: {why.strerror}") from None
    return door
