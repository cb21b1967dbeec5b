"""Several requests under way on one connection, answered in their order, by somebody who never waits: `step` moves bytes."""

import socket
import ssl
import struct
import time
from collections import deque
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar, cast

from oncelog.client.faults import Unreachable
from oncelog.client.session import RESPONSE_LIMIT_BYTES, Connection, api_of
from oncelog.errors import MalformedMessage
from oncelog.protocol.frame import Frames
from oncelog.protocol.header import read_response_header, write_request_header
from oncelog.protocol.primitives import Message

RECEIVE_BYTES: Final = 1 << 16
PIECES_AT_ONCE: Final = 64  # well below what every system takes in one sendmsg
WOULD_WAIT: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

AboutT = TypeVar("AboutT")
AnswerT = TypeVar("AnswerT", bound=Message)


class _Posted(NamedTuple, Generic[AboutT]):
    about: AboutT
    api_key: int
    version: int
    correlation_id: int
    at: float


class Pipeline(Generic[AboutT, AnswerT]):
    """Requests that all have one kind of answer. `about` of each comes back with its answer.

    Unreachable when the connection broke: what was under way is unknown, and the pipeline is of no more use.
    """

    def __init__(self, connection: Connection, answer: type[AnswerT]) -> None:
        self.connection = connection
        self._answer = answer
        self._socket: socket.socket | None = None
        self._out: deque[memoryview] = deque()
        self._posted: deque[_Posted[AboutT]] = deque()
        self._frames = Frames(RESPONSE_LIMIT_BYTES)

    def open(self) -> None:
        """Waits for the connection, its TLS and its SASL; also again, when nothing is under way (`must_open`)."""
        self._socket = self.connection.opened()
        self._socket.setblocking(False)

    def close(self) -> None:
        self.connection.close()
        self._socket = None
        self._out.clear()

    @property
    def must_open(self) -> bool:
        """Whether `open` has to be called before the next `post`: first of all, and when a SASL session ends."""
        return self._socket is None or self.connection.must_authenticate

    @property
    def under_way(self) -> int:
        return len(self._posted)

    def unanswered(self) -> list[AboutT]:
        """What the requests under way were about, the oldest first; also after `close`."""
        return [each.about for each in self._posted]

    @property
    def oldest(self) -> float | None:
        """When the request was posted that is answered next."""
        return self._posted[0].at if self._posted else None

    @property
    def has_to_send(self) -> bool:
        return bool(self._out)

    def fileno(self) -> int:
        assert self._socket is not None
        return self._socket.fileno()

    def post(self, request: Message, version: int, about: AboutT) -> None:
        """Queues a request. Large record bytes in it are sent from where they are, not copied."""
        api = api_of(request)
        correlation_id = self.connection.next_correlation_id()
        head = bytearray(4)
        write_request_header(head, api.key, version, correlation_id, self.connection.client_id)
        parts = request.encode_parts(version)
        struct.pack_into(">i", head, 0, len(head) - 4 + sum(map(len, parts)))
        self._out.extend(memoryview(part) for part in (head, *parts) if len(part))
        self._posted.append(_Posted(about, api.key, version, correlation_id, time.monotonic()))

    def step(self) -> list[tuple[AboutT, AnswerT]]:
        """Sends what the kernel takes and returns the answers that are here."""
        opened = self._socket
        if opened is None:
            return []
        try:
            found = self._receive(opened)
            self._send(opened)
        except OSError as fault:
            self.close()
            raise Unreachable(f"connection to {self.connection} broke: {fault.strerror or fault}") from None
        except MalformedMessage as fault:
            self.close()
            raise Unreachable(f"answer of {self.connection} cannot be read: {fault}") from fault
        return found

    def _send(self, opened: socket.socket) -> None:
        out = self._out
        try:
            while out:
                if isinstance(opened, ssl.SSLSocket):
                    sent = opened.send(out[0])
                else:
                    sent = opened.sendmsg(list(islice(out, PIECES_AT_ONCE)))
                while out and sent >= len(out[0]):
                    sent -= len(out.popleft())
                if sent:
                    out[0] = out[0][sent:]
        except WOULD_WAIT:
            return

    def _receive(self, opened: socket.socket) -> list[tuple[AboutT, AnswerT]]:
        found: list[tuple[AboutT, AnswerT]] = []
        while True:
            try:
                data = opened.recv(RECEIVE_BYTES)
            except WOULD_WAIT:
                return found
            except OSError:
                if found:
                    return found  # the next step meets it again, with nothing to tell
                raise
            if not data:
                if found:
                    return found
                raise ConnectionResetError("the broker closed it")
            for frame in self._frames.feed(data):
                if not self._posted:
                    raise MalformedMessage("an answer to no request")
                asked = self._posted[0]
                correlation_id, body_at = read_response_header(frame, asked.api_key, asked.version)
                if correlation_id != asked.correlation_id:
                    raise MalformedMessage(f"wanted answer {asked.correlation_id}, found {correlation_id}")
                answer = cast(AnswerT, self._answer.decode(frame, asked.version, body_at))
                found.append((asked.about, answer))
                self._posted.popleft()
