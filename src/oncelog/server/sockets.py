"""Connected sockets on an epoll of our own, which asyncio watches as if it were one socket (decision 0022).

An event is one look into a dict and one read. Answers are sent directly, those of one turn together at its end; a buffer for
writing, and a wish to be told of room, exist only while a socket does not take all.
"""

import logging
import select
import socket
from collections import deque
from collections.abc import Callable
from itertools import islice
from time import monotonic_ns
from typing import Any, Final, Protocol

from oncelog.errors import MalformedMessage, OncelogError
from oncelog.protocol.frame import Frames

log = logging.getLogger("oncelog.sockets")

if not hasattr(select, "epoll"):
    raise OncelogError("the broker runs on Linux: its sockets are served by epoll, which this system lacks")

SENT_TOGETHER_NS: Final = 2_000_000  # an answer waits no longer for the others of its turn
JOINED_BYTES: Final = 65_536  # what is larger is sent from where it lies, and at once
RECEIVE_BUFFER_BYTES: Final = 1 << 20
EVENTS_PER_TURN: Final = 256  # the others come first in the next turn: the kernel hands them out in a circle
PIECES_PER_SEND: Final = 1024  # as many as the system takes (IOV_MAX)
NOT_NOW: Final = (BlockingIOError, InterruptedError)  # any other OSError means that the connection is lost
READABLE: Final = select.EPOLLIN
WRITABLE: Final = select.EPOLLOUT


class Owner(Protocol):
    """Who is told what happens to a stream."""

    def received(self, frames: list[bytes], half_bytes: int) -> None:
        """Whole requests without their lengths, and how much there is of one that is not complete. One of the two is there."""
        ...

    def refused(self, why: str) -> None:
        """The stream cannot be cut any more."""
        ...

    def ended(self) -> None:
        """The other side sends no more; it may still read."""
        ...

    def blocked(self) -> None:
        """More than the limit waits to be sent."""
        ...

    def unblocked(self) -> None:
        """Most of it has left."""
        ...

    def gone(self) -> None:
        """The socket is closed, whoever did it."""
        ...


class Streams:
    """All open streams. They share one receive buffer: there is one thread, and what was received is taken over before
    the next read. An idle stream thus holds no buffer."""

    def __init__(self, now_ms: Callable[[], int], *, frame_limit_bytes: int) -> None:
        self.epoll = select.epoll()
        self.frame_limit_bytes = frame_limit_bytes
        self.opened: dict[int, Stream] = {}
        self.buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.sends_later = False
        self.later: list[Stream] = []  # those that have something to send at the end of the turn
        self._now_ms = now_ms
        self.turn_ms = now_ms()  # when the turn began: one look at the clock for all that arrived

    def fileno(self) -> int:
        return self.epoll.fileno()

    def open(self, connected: socket.socket, owner: Owner, *, unsent_limit_bytes: int) -> "Stream":
        return Stream(self, connected, owner, unsent_limit_bytes)

    def turn(self) -> None:
        """Reads once from each stream that has something, sends on where there is room again, then sends the answers.

        Sent one by one, they would wake a client on the other core again and again; this saves more than all else here."""
        self.turn_ms = self._now_ms()
        opened, later = self.opened, self.later
        ready = self.epoll.poll(0, EVENTS_PER_TURN)
        self.sends_later = len(ready) > 1  # else there is no other to wait for
        send_at = monotonic_ns() + SENT_TOGETHER_NS
        for file, events in ready:
            stream = opened.get(file)
            if stream is None:
                continue  # an earlier one of this turn closed it
            try:
                if events == READABLE:
                    stream.read()
                else:
                    stream.wake()
            except Exception:  # the edge of a connection: a defect ends this one, and no other
                log.exception("stream.failed")
                stream.abort()
            if later and monotonic_ns() > send_at:
                self._send_later()
                send_at = monotonic_ns() + SENT_TOGETHER_NS
        self.sends_later = False
        self._send_later()

    def close(self) -> None:
        self.epoll.close()

    def _send_later(self) -> None:
        for stream in self.later:
            try:
                stream.send_later()
            except Exception:  # as above
                log.exception("stream.failed")
                stream.abort()
        self.later.clear()


class Stream:
    """One connected socket."""

    __slots__ = (
        "_events",
        "_file",
        "_frames",
        "_is_blocked",
        "_later",
        "_limit_bytes",
        "_owner",
        "_receive",
        "_send",
        "_socket",
        "_streams",
        "_unsent",
        "is_closing",
        "reads",
        "unsent_bytes",
    )

    def __init__(
        self, streams: Streams, connected: socket.socket, owner: Owner, unsent_limit_bytes: int
    ) -> None:
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._streams = streams
        self._owner = owner
        self._socket = connected
        self._receive = connected.recv_into
        self._send = connected.send
        self._file = connected.fileno()  # -1 when it is closed
        self._frames = Frames(streams.frame_limit_bytes)
        self._later: Any = None  # to be sent at the end of the turn
        self._unsent: deque[memoryview] = deque()  # what the socket did not take
        self.unsent_bytes = 0
        self._limit_bytes = unsent_limit_bytes
        self._is_blocked = False
        self.reads = True
        self.is_closing = False
        self._events = 0
        self._watch()
        streams.opened[self._file] = self

    def read(self) -> None:
        """Once, so that none waits long for another."""
        try:
            count = self._receive(self._streams.buffer)
        except NOT_NOW:
            return
        except OSError as why:
            self._lose(why)
            return
        if not count:
            self._owner.ended()
            return
        try:
            frames = self._frames.feed(self._streams.buffer[:count])
        except MalformedMessage as fault:
            self._owner.refused(str(fault))
        else:
            self._owner.received(frames, self._frames.kept_bytes)

    def wake(self) -> None:
        """There is room for writing, or the connection was reset. Then writing tells it; reading gives what came before
        the reset, and then tells it."""
        if self._unsent:
            self._send_on()
        if self._events & READABLE:
            self.read()

    def write(self, parts: list[Any]) -> None:
        if self.is_closing:
            return
        if self._later is not None:
            parts, self._later = [self._later, *parts], None
        if self._unsent or (len(parts) > 1 and sum(map(len, parts)) > JOINED_BYTES):
            self._keep(parts)
            if not self._events & WRITABLE:
                self._send_on()
            self._measure()
            return
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if self._streams.sends_later:
            self._later = data
            self._streams.later.append(self)
        else:
            self._send_now(data)

    def send_later(self) -> None:
        """The turn is over."""
        data, self._later = self._later, None
        if data is not None:  # else it has left together with something large
            self._send_now(data)

    def read_on(self, reads: bool, /) -> None:
        if not self.is_closing:
            self.reads = reads
            self._watch()

    def close(self) -> None:
        self.send_later()
        if not self.is_closing:
            self.is_closing = True
            if self._unsent:
                self._watch()
            else:
                self._end()

    def abort(self) -> None:
        if self._file >= 0:
            self.is_closing = True
            self._end()

    def peer_is_gone(self) -> bool:
        if self.is_closing:
            return True
        look = select.poll()
        look.register(self._file, select.POLLRDHUP)
        return bool(look.poll(0))

    def _send_now(self, data: Any) -> None:
        try:
            sent = self._send(data)
        except NOT_NOW:
            sent = 0
        except OSError as why:
            self._lose(why)
            return
        if sent < len(data):
            self._keep([memoryview(data)[sent:]])
            self._watch()
            self._measure()

    def _keep(self, parts: list[Any]) -> None:
        for part in parts:
            if len(part):
                self._unsent.append(memoryview(part))
                self.unsent_bytes += len(part)

    def _send_on(self) -> None:
        unsent = self._unsent
        try:
            sent = self._socket.sendmsg(list(islice(unsent, PIECES_PER_SEND)))
        except NOT_NOW:
            sent = 0
        except OSError as why:
            self._lose(why)
            return
        self.unsent_bytes -= sent
        while sent:
            piece = unsent.popleft()
            if len(piece) > sent:
                unsent.appendleft(piece[sent:])
                break
            sent -= len(piece)
        if self._is_blocked and self.unsent_bytes <= self._limit_bytes // 4:
            self._is_blocked = False
            self._owner.unblocked()  # may write more, or close
        if self.is_closing and not unsent:
            self.abort()  # nothing is lost by it any more
        elif self._file >= 0:
            self._watch()

    def _measure(self) -> None:
        if self.unsent_bytes > self._limit_bytes and not self._is_blocked and not self.is_closing:
            self._is_blocked = True
            self._owner.blocked()

    def _watch(self) -> None:
        """Tells the epoll what we wait for. A stream that waits for nothing is taken out of it, or a reset would be told
        in every turn while nobody reads."""
        events = (READABLE if self.reads and not self.is_closing else 0) | (WRITABLE if self._unsent else 0)
        if events == self._events:
            return
        if not events:
            self._streams.epoll.unregister(self._file)
        elif not self._events:
            self._streams.epoll.register(self._file, events)
        else:
            self._streams.epoll.modify(self._file, events)
        self._events = events

    def _lose(self, why: OSError) -> None:
        log.debug("stream.lost why=%s", why)
        self.abort()

    def _end(self) -> None:
        file, self._file = self._file, -1
        del self._streams.opened[file]
        if self._events:  # a process that was forked has a copy, which would keep the socket in the epoll
            self._streams.epoll.unregister(file)
            self._events = 0
        self._socket.close()
        self._unsent.clear()
        self.unsent_bytes, self._later = 0, None
        self._owner.gone()
