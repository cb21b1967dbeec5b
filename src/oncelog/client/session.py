"""One connection to one broker: frames out, frames in, versions negotiated. Blocking, one request at a time."""

import contextlib
import socket
import struct
import time
from types import TracebackType
from typing import Any, Final, Self, TypeVar, overload

from oncelog import __version__
from oncelog.client.address import Address
from oncelog.client.faults import TimedOut, Unreachable, UnsupportedByBroker, demand
from oncelog.errors import ErrorCode, MalformedMessage
from oncelog.protocol.apis import API_VERSIONS_KEY, APIS, Api
from oncelog.protocol.header import read_response_header, request_frame
from oncelog.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from oncelog.protocol.primitives import Message

CLIENT_ID: Final = "oncelog"
RESPONSE_LIMIT_BYTES: Final = 256 * 1024 * 1024

# Where we stay below the newest version: from the next one on topics go by id, and our calls name them.
HIGHEST: Final = {0: 12, 1: 12, 8: 9, 9: 9, 20: 5, 22: 5}


AnswerT = TypeVar("AnswerT", bound=Message)

_BY_MODULE: Final = {api.module: api for api in APIS.values()}


def api_of(request: Message) -> Api:
    """The API that a request belongs to."""
    return _BY_MODULE[type(request).__module__.rpartition(".")[2]]


class Connection:
    """Opens when first used and again after a fault. A fault closes it: half an answer is never read as the next one."""

    def __init__(self, address: Address, *, client_id: str = CLIENT_ID, timeout_ms: int = 30_000) -> None:
        self.address = address
        self.client_id = client_id
        self.timeout_ms = timeout_ms
        self._socket: socket.socket | None = None
        self._correlation_id = 0
        self._offered: dict[int, tuple[int, int]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return f"broker {self.address}"

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def connect(self) -> None:
        """Opens the connection if it is not open, or if the broker ended it since; says nothing to the broker yet."""
        if self._socket is not None and self._has_ended(self._socket):
            self.close()
        if self._socket is not None:
            return
        try:
            opened = socket.create_connection(self.address, timeout=self.timeout_ms / 1000)
        except TimeoutError:
            raise Unreachable(f"connect: {self} did not answer within {self.timeout_ms} ms") from None
        except OSError as fault:
            raise Unreachable(f"connect: {self}: {fault.strerror or fault}") from None
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = opened
        self._offered = None  # a restarted broker may be another version

    def _has_ended(self, opened: socket.socket) -> bool:
        """Between two requests nothing may arrive: the end of the stream does, after a restart of the broker."""
        opened.settimeout(0)
        try:
            opened.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None

    # Versions

    def offered(self) -> dict[int, tuple[int, int]]:
        """What the broker says it speaks: API key -> (lowest, highest version)."""
        self.connect()
        if self._offered is None:
            answer = self._ask_versions(3)
            self._offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        return self._offered

    def _ask_versions(self, version: int) -> ApiVersionsResponse:
        request = ApiVersionsRequest(client_software_name="oncelog", client_software_version=__version__)
        api = APIS[API_VERSIONS_KEY]
        payload = self._round_trip(api, version, request, self.timeout_ms)
        # Whatever the version asked for, a broker that does not know it answers in version 0 (API-4).
        if payload[:2] == struct.pack(">h", ErrorCode.UNSUPPORTED_VERSION):
            version = 0
            payload = self._round_trip(api, version, ApiVersionsRequest(), self.timeout_ms)
        answer = ApiVersionsResponse.decode(payload, version)
        demand(answer.error_code, "ApiVersions", str(self))
        return answer

    def version_of(self, key: int) -> int:
        """The version in which we ask this broker."""
        api = APIS[key]
        low, high = api.min_version, min(api.max_version, HIGHEST.get(key, api.max_version))
        offered = self.offered().get(key)
        if offered is None or offered[1] < low or offered[0] > high:
            found = "nothing" if offered is None else f"{offered[0]} to {offered[1]}"
            raise UnsupportedByBroker(f"{api.name}: we speak versions {low} to {high}, {self} offers {found}")
        return min(high, offered[1])

    # Requests

    @overload
    def send(
        self,
        request: Message,
        answer: type[AnswerT],
        version: int | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> AnswerT: ...
    @overload
    def send(
        self,
        request: Message,
        answer: None = None,
        version: int | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> Any: ...
    def send(
        self,
        request: Message,
        answer: type[Any] | None = None,
        version: int | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> Any:
        """Asks and waits. Without a version it is the highest that both sides speak; then it must be one we know.

        `answer` is the class of the answer, given for the type checker's sake. `timeout_ms` is for requests that the
        broker may hold back on purpose (Fetch, JoinGroup).
        """
        api = api_of(request)
        if version is None:
            version = self.version_of(api.key)
        payload = self._round_trip(api, version, request, timeout_ms or self.timeout_ms)
        try:
            return (answer or api.response_class()).decode(payload, version)
        except MalformedMessage as fault:
            self.close()
            raise MalformedMessage(
                f"{api.name} v{version}: answer of {self} cannot be read: {fault}"
            ) from fault

    def send_only(self, request: Message, version: int | None = None) -> None:
        """Sends a request that has no answer: Produce with acks=0."""
        api = api_of(request)
        if version is None:
            version = self.version_of(api.key)
        self.connect()
        self._write(api.name, self._frame(api, version, request), self._deadline(self.timeout_ms))

    def exchange(self, frame: bytes, *, timeout_ms: int | None = None) -> bytes | None:
        """Sends raw bytes as one frame (the length is put in front) and returns the next frame without its length.

        None: the broker closed the connection without a byte (API-1).
        """
        self.connect()
        deadline = self._deadline(timeout_ms or self.timeout_ms)
        self._write("raw frame", struct.pack(">i", len(frame)) + frame, deadline)
        return self._read_frame("raw frame", deadline)

    def _frame(self, api: Api, version: int, request: Message) -> bytearray:
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        return request_frame(api.key, version, self._correlation_id, self.client_id, request)

    def _round_trip(self, api: Api, version: int, request: Message, timeout_ms: int) -> bytes:
        self.connect()
        asked = f"{api.name} v{version}"
        deadline = self._deadline(timeout_ms)
        self._write(asked, self._frame(api, version, request), deadline)
        frame = self._read_frame(asked, deadline)
        if frame is None:
            raise Unreachable(f"{asked}: {self} closed the connection without an answer")
        correlation_id, body_at = read_response_header(frame, api.key, version)
        if correlation_id != self._correlation_id:
            self.close()
            raise Unreachable(
                f"{asked}: wanted answer {self._correlation_id} of {self}, found {correlation_id}"
            )
        return frame[body_at:]

    # Bytes

    def _deadline(self, timeout_ms: int) -> float:
        return time.monotonic() + timeout_ms / 1000

    def _write(self, asked: str, data: bytes | bytearray, deadline: float) -> None:
        assert self._socket is not None
        try:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            self._socket.sendall(data)
        except TimeoutError:
            self.close()
            raise TimedOut(f"{asked}: {self} did not take the request in time") from None
        except OSError as fault:
            self.close()
            raise Unreachable(f"{asked}: connection to {self} broke: {fault.strerror or fault}") from None
        except BaseException:  # an interrupt: half a request is out
            self.close()
            raise

    def _read_frame(self, asked: str, deadline: float) -> bytes | None:
        head = self._read(asked, 4, deadline)
        if head is None:
            return None
        (size,) = struct.unpack(">i", head)
        if not 4 <= size <= RESPONSE_LIMIT_BYTES:
            self.close()
            raise Unreachable(
                f"{asked}: {self} announced an answer of {size} bytes, wanted 4 to {RESPONSE_LIMIT_BYTES}"
            )
        frame = self._read(asked, size, deadline)
        if frame is None:
            raise Unreachable(f"{asked}: {self} closed the connection in the middle of its answer")
        return frame

    def _read(self, asked: str, size: int, deadline: float) -> bytes | None:
        assert self._socket is not None
        pieces = bytearray()
        try:
            while len(pieces) < size:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                piece = self._socket.recv(min(size - len(pieces), 1 << 20))
                if not piece:
                    break
                pieces += piece
        except TimeoutError:
            self.close()
            raise TimedOut(f"{asked}: no answer of {self} in time") from None
        except ConnectionResetError:
            pieces.clear()  # Kafka closes like this too when unread bytes are left
        except OSError as fault:
            self.close()
            raise Unreachable(f"{asked}: connection to {self} broke: {fault.strerror or fault}") from None
        except BaseException:  # an interrupt: the answer would be taken for that of the next request
            self.close()
            raise
        if len(pieces) == size:
            return bytes(pieces)
        self.close()
        if pieces:
            raise Unreachable(f"{asked}: {self} closed the connection after {len(pieces)} of {size} bytes")
        return None
