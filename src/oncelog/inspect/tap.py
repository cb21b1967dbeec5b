"""A transparent proxy between clients and any Kafka that notes what transactional ids said and were told.

Clients learn addresses of brokers from Metadata, FindCoordinator and DescribeCluster: the tap opens a port for each broker it
hears of and puts that one in the answer. All other bytes pass as they are. TLS cannot be read and is refused.
"""

import asyncio
import contextlib
import logging
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from oncelog.client.address import Address
from oncelog.errors import MalformedMessage
from oncelog.inspect.events import TRACED, Event, events_of_exchange
from oncelog.protocol.apis import APIS
from oncelog.protocol.header import read_request_header, read_response_header, response_frame_parts

log = logging.getLogger("oncelog.tap")

METADATA: Final = 3
FIND_COORDINATOR: Final = 10
DESCRIBE_CLUSTER: Final = 60
NAMES_BROKERS: Final = frozenset({METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER})
API_VERSIONS: Final = 18
REWRITTEN: Final = NAMES_BROKERS | {API_VERSIONS}
PRODUCE: Final = 0
FRAME_LIMIT_BYTES: Final = 256 * 1024 * 1024
TLS_HANDSHAKE: Final = 0x16


class _Asked:
    """A request that waits for its answer. `frame` is kept only where the tap looks inside."""

    __slots__ = ("at_us", "frame", "key", "started", "version")

    def __init__(self, key: int, version: int, frame: bytes | None) -> None:
        self.key = key
        self.version = version
        self.frame = frame
        self.at_us = time.time_ns() // 1000
        self.started = time.monotonic_ns()


class Tap:
    """Listens for one broker, and for each further one that the first names. `note` gets every event as it ends."""

    def __init__(self, upstream: Address, *, host: str, port: int, note: Callable[[Event], None]) -> None:
        self._upstream = upstream
        self._host = host
        self._port = port
        self._note = note
        self._doors: dict[Address, asyncio.Server] = {}
        self._at: dict[Address, Address] = {}
        self._opening: dict[Address, asyncio.Future[Address]] = {}
        self._talks: set[asyncio.Task[None]] = set()

    async def start(self) -> Address:
        """Where clients find it."""
        return await self._door(self._upstream, self._port)

    async def stop(self) -> None:
        for door in self._doors.values():
            door.close()
        for talk in list(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _door(self, upstream: Address, port: int = 0) -> Address:
        """The tap's own address for a broker; opened when first asked for."""
        if upstream in self._at:
            return self._at[upstream]
        waiting = self._opening.get(upstream)
        if waiting is not None:
            return await waiting
        opening = self._opening[upstream] = asyncio.get_running_loop().create_future()

        def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._talk(upstream, reader, writer))
            self._talks.add(task)
            task.add_done_callback(self._talks.discard)

        try:
            door = await asyncio.start_server(talk, self._host, port)
        except OSError as fault:
            del self._opening[upstream]
            opening.set_exception(fault)
            opening.exception()  # whoever waits is told; nobody else complains
            raise
        found = door.sockets[0].getsockname()
        self._doors[upstream] = door
        self._at[upstream] = Address(self._host, int(found[1]))
        opening.set_result(self._at[upstream])
        return self._at[upstream]

    async def _talk(
        self, upstream: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        peer = writer.get_extra_info("peername")
        address = f"{peer[0]}:{peer[1]}"
        asked: deque[_Asked] = deque()
        try:
            there, back = await asyncio.open_connection(upstream.host, upstream.port)
        except OSError:
            writer.close()
            return
        ways = [
            asyncio.create_task(self._requests(reader, back, asked)),
            asyncio.create_task(self._answers(there, writer, asked, address)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for fault in await asyncio.gather(*ways, return_exceptions=True):
                if isinstance(fault, MalformedMessage):
                    log.warning("tap.refused peer=%s why=%s", address, fault)
            for each in asked:  # what the broker never answered
                self._tell(each, address, None)
            for end in (writer, back):
                with contextlib.suppress(OSError):
                    end.close()

    async def _requests(
        self, reader: asyncio.StreamReader, back: asyncio.StreamWriter, asked: deque[_Asked]
    ) -> None:
        while (frame := await _frame(reader)) is not None:
            key, version = struct.unpack_from(">hh", frame) if len(frame) >= 4 else (-1, -1)
            looks_inside = key in TRACED or key in REWRITTEN
            if not (key == PRODUCE and _wants_no_answer(frame)):
                asked.append(_Asked(key, version, frame if looks_inside else None))
            back.write(struct.pack(">i", len(frame)))
            back.write(frame)
            await back.drain()

    async def _answers(
        self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: deque[_Asked], address: str
    ) -> None:
        while (frame := await _frame(there)) is not None:
            first = asked.popleft() if asked else None
            if first is not None and first.key in REWRITTEN:
                frame = await self._rewritten(first, frame)
            if first is not None:
                self._tell(first, address, frame)  # before the client knows: what it saw done is noted
            writer.write(struct.pack(">i", len(frame)))
            writer.write(frame)
            await writer.drain()

    def _tell(self, asked: _Asked, address: str, response: bytes | None) -> None:
        if asked.key in TRACED and asked.frame is not None:
            took_us = (time.monotonic_ns() - asked.started) // 1000
            for event in events_of_exchange(
                at_us=asked.at_us, took_us=took_us, address=address, request=asked.frame, response=response
            ):
                self._note(event)

    async def _rewritten(self, asked: _Asked, frame: bytes) -> bytes:
        api = APIS[asked.key]
        if asked.key == API_VERSIONS and frame[4:6] != b"\0\0":
            return frame  # refused in version 0: the client asks again
        if not api.supports(asked.version):
            raise MalformedMessage(
                f"{api.name} v{asked.version}: the tap reads versions {api.min_version} to {api.max_version}"
            )
        correlation_id, at = read_response_header(frame, asked.key, asked.version)
        answer: Any = api.response_class().decode(frame, asked.version, at)
        if asked.key == API_VERSIONS:
            if not _lowered(answer):
                return frame
        else:
            for each in answer.coordinators or [answer] if asked.key == FIND_COORDINATOR else answer.brokers:
                if each.host:
                    ours = await self._door(Address(each.host, each.port))
                    each.host, each.port = ours.host, ours.port
        parts = response_frame_parts(asked.key, asked.version, correlation_id, answer)
        return b"".join(bytes(part) for part in parts)[4:]


def _lowered(answer: Any) -> bool:
    """Takes versions that we could not read out of what the broker offers; whether there were any."""
    changed = False
    for each in answer.api_keys:
        if each.api_key in NAMES_BROKERS | TRACED and each.max_version > APIS[each.api_key].max_version:
            each.max_version = APIS[each.api_key].max_version
            changed = True
    return changed


def _wants_no_answer(frame: bytes) -> bool:
    """Produce with acks=0 is never answered."""
    header = read_request_header(frame)
    try:
        asked: Any = APIS[PRODUCE].request_class().decode(frame, header.version, header.body_at)
    except MalformedMessage:
        return False
    return asked.acks == 0


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    """One frame without its length; None when the stream ends, in the middle of a frame too."""
    try:
        head = await reader.readexactly(4)
        (size,) = struct.unpack(">i", head)
        if head[0] == TLS_HANDSHAKE:
            raise MalformedMessage(
                "the tap was offered TLS, which it cannot read: point it at a plain listener"
            )
        if not 0 <= size <= FRAME_LIMIT_BYTES:
            raise MalformedMessage(f"a frame of {size} bytes, wanted 0 to {FRAME_LIMIT_BYTES}")
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
