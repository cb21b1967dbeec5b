"""Connected sockets in a thread of their own, in C (wire.c, decision 0024): the twin of sockets.py, which serves where it cannot be built."""

import logging
import socket
from collections.abc import Callable
from time import monotonic_ns
from typing import Any, Protocol

from oncelog.config import BrokerConfig
from oncelog.server.build import CannotBuild, load
from oncelog.server.sockets import PlainStreams
from oncelog.server.streams import SENT_TOGETHER_NS, Owner, Stream, Streams

log = logging.getLogger("oncelog.sockets")


def streams_of(config: BrokerConfig, now_ms: Callable[[], int]) -> Streams:
    """What the settings ask for, as far as this machine has it."""
    if config.socket_thread == "native":
        try:
            return NativeStreams(load("wire"), now_ms, frame_limit_bytes=config.socket_request_max_bytes)
        except (CannotBuild, OSError, ImportError) as why:
            log.warning("sockets.not_native why=%s", why)
    return PlainStreams(now_ms, frame_limit_bytes=config.socket_request_max_bytes)


class Channel(Stream, Protocol):
    """One socket of the thread."""

    @property
    def owner(self) -> Owner | None:
        """None when it is closed."""
        ...

    def unblock(self) -> None:
        """The owner may be told `blocked` again."""
        ...


class Wire(Protocol):
    """The thread; said in full in wire.c."""

    sends_later: bool

    def fileno(self) -> int: ...

    def take(self) -> list[tuple[Channel, list[bytes], int, int, int]]:
        """Who has news: whole frames, bytes of one that is not complete, and what else is told; the last is a length that cannot be."""
        ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class NativeStreams:
    """As PlainStreams. A turn takes what the thread has received, and hands it the answers."""

    def __init__(self, module: Any, now_ms: Callable[[], int], *, frame_limit_bytes: int) -> None:
        self._wire: Wire = module.Wire(frame_limit_bytes)
        self._channel: Callable[[Wire, int, Owner, int], Channel] = module.Channel
        self._told = module
        self._now_ms = now_ms
        self.turn_ms = now_ms()
        self._frame_limit_bytes = frame_limit_bytes

    @property
    def sends_later(self) -> bool:
        return self._wire.sends_later

    def fileno(self) -> int:
        return self._wire.fileno()

    def open(self, connected: socket.socket, owner: Owner, *, unsent_limit_bytes: int) -> Stream:
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        channel = self._channel(self._wire, connected.fileno(), owner, unsent_limit_bytes)
        connected.detach()  # the thread closes it
        return channel

    def turn(self) -> None:
        self.turn_ms = self._now_ms()
        wire = self._wire
        taken = wire.take()
        wire.sends_later = len(taken) > 1
        send_at = monotonic_ns() + SENT_TOGETHER_NS
        for channel, frames, half_bytes, told, refused in taken:
            owner = channel.owner
            if owner is None:
                continue  # an earlier one of this turn closed it
            try:
                if told:
                    self._tell(channel, owner, frames, half_bytes, told, refused)
                elif frames or half_bytes:  # else something large has left, and its memory is free
                    owner.received(frames, half_bytes)
            except Exception:  # the edge of a connection: a defect ends this one, and no other
                log.exception("stream.failed")
                channel.abort()
            if monotonic_ns() > send_at:
                wire.flush()
                send_at = monotonic_ns() + SENT_TOGETHER_NS
        wire.sends_later = False
        wire.flush()

    def close(self) -> None:
        self._wire.close()

    def _tell(
        self, channel: Channel, owner: Owner, frames: list[bytes], half_bytes: int, told: int, refused: int
    ) -> None:
        """The rare things, in the order in which they happened. Each may close the channel."""
        module = self._told
        if told & module.ROOM:
            channel.unblock()
            owner.unblocked()
        if (frames or half_bytes) and channel.owner is not None:
            owner.received(frames, half_bytes)
        if told & module.REFUSED and channel.owner is not None:
            owner.refused(f"a frame of {refused} bytes, wanted 0 to {self._frame_limit_bytes}")
        if told & module.ENDED and channel.owner is not None:
            owner.ended()
        if told & (module.LOST | module.DRAINED):
            channel.abort()
