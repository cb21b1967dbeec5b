"""One connection to one broker: frames out, frames in, versions negotiated, TLS and SASL where asked for. Blocking."""

import contextlib
import secrets
import socket
import ssl
import struct
import time
from collections import deque
from types import TracebackType
from typing import Any, Final, Self, TypeVar, overload

from oncelog import __version__
from oncelog.client.address import Address
from oncelog.client.faults import (
    AuthenticationFailed,
    TimedOut,
    Unreachable,
    UnsupportedByBroker,
    demand,
    error_name,
)
from oncelog.client.sasl import BadServer, exchange
from oncelog.client.security import PLAINTEXT, Security
from oncelog.errors import ErrorCode, MalformedMessage
from oncelog.protocol.apis import API_VERSIONS_KEY, APIS, Api
from oncelog.protocol.header import read_response_header, request_frame
from oncelog.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from oncelog.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from oncelog.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from oncelog.protocol.primitives import Message

CLIENT_ID: Final = "oncelog"
RESPONSE_LIMIT_BYTES: Final = 256 * 1024 * 1024
RECEIVE_BYTES: Final = 1 << 20  # at once
SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
HANDSHAKE_VERSION: Final = 1  # from here on the exchange itself is a request too (KIP-152)
SESSION_PART: Final = 0.85  # of a SASL session's life, after which we authenticate anew (KIP-368)
TLS_ALERT: Final = 0x15  # how a TLS listener begins its answer to plain bytes

# Where we stay below the newest version: from the next one on topics go by id, and our calls name them.
HIGHEST: Final = {0: 12, 1: 12, 8: 9, 9: 9, 20: 5, 22: 5}


AnswerT = TypeVar("AnswerT", bound=Message)

_BY_MODULE: Final = {api.module: api for api in APIS.values()}


def api_of(request: Message) -> Api:
    """The API that a request belongs to."""
    return _BY_MODULE[type(request).__module__.rpartition(".")[2]]


def _is_alert(fault: OSError) -> bool:
    ended = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
    return isinstance(fault, ssl.SSLError) and not isinstance(fault, ended)


class Connection:
    """Opens when first used and again after a fault. A fault closes it: half an answer is never read as the next one."""

    def __init__(
        self,
        address: Address,
        *,
        client_id: str = CLIENT_ID,
        timeout_ms: int = 30_000,
        security: Security = PLAINTEXT,
    ) -> None:
        self.address = address
        self.client_id = client_id
        self.timeout_ms = timeout_ms
        self.security = security
        self._socket: socket.socket | None = None
        self._correlation_id = 0
        self._offered: dict[int, tuple[int, int]] | None = None
        self._features: dict[str, int] = {}
        self._awaited: deque[tuple[Api, int, int]] = (
            deque()
        )  # of posted requests: api, version, correlation id
        self._authenticate_again: float | None = None
        self._proven = (
            False  # whether a byte ever came back: before it, a TLS alert means that we are not wanted
        )

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
        """Opens the connection if it is not open, or if the broker ended it since. Says nothing to the broker yet, but what
        TLS and SASL want.
        """
        if self._awaited:  # bytes may come, and nobody may be asked in between
            return
        if self._socket is not None and self._has_ended(self._socket):
            self.close()
        if self._socket is None:
            self._socket = self._dial()
            self._offered = None  # a restarted broker may be another version
            self._proven = False
            if self.security.uses_sasl:
                self._authenticate()
        elif self.must_authenticate:
            self._authenticate()

    def _dial(self) -> socket.socket:
        try:
            opened = socket.create_connection(self.address, timeout=self.timeout_ms / 1000)
        except TimeoutError:
            raise Unreachable(f"connect: {self} did not answer within {self.timeout_ms} ms") from None
        except OSError as fault:
            raise Unreachable(f"connect: {self}: {fault.strerror or fault}") from None
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._wrap(opened) if self.security.uses_tls else opened

    def _wrap(self, opened: socket.socket) -> socket.socket:
        try:
            return self.security.tls().wrap_socket(opened, server_hostname=self.address.host)
        except ssl.SSLCertVerificationError as fault:  # a ValueError too, so it comes first
            said, kind = f"its certificate is not to be trusted: {fault.verify_message}", AuthenticationFailed
        except ValueError as fault:
            said, kind = str(fault), AuthenticationFailed
        except (ssl.SSLEOFError, ConnectionError):
            said, kind = "closed the connection in the TLS handshake; does it speak TLS?", Unreachable
        except ssl.SSLError as fault:
            said, kind = f"no TLS handshake: {fault.reason or fault}", AuthenticationFailed
        except OSError as fault:  # the time was up, for example
            said, kind = f"no TLS handshake: {fault.strerror or fault}", Unreachable
        opened.close()
        raise kind(f"connect: {self}: {said}")

    def _has_ended(self, opened: socket.socket) -> bool:
        """Between two requests nothing may arrive: the end of the stream does, after a restart of the broker."""
        opened.settimeout(0)
        try:
            # TLS cannot peek; a byte that is taken here was not for us anyway.
            opened.recv(1, 0 if isinstance(opened, ssl.SSLSocket) else socket.MSG_PEEK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        self._awaited.clear()
        self._authenticate_again = None
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None

    def opened(self) -> socket.socket:
        """The socket, connected and authenticated, for who moves the bytes himself; `close` it here."""
        self.offered()
        assert self._socket is not None
        return self._socket

    @property
    def must_authenticate(self) -> bool:
        """Whether the SASL session is about to end: the next `connect` begins a new one, when nothing is under way."""
        return self._authenticate_again is not None and time.monotonic() >= self._authenticate_again

    # Who we are

    def _authenticate(self) -> None:
        """SaslHandshake and as many SaslAuthenticate as the mechanism needs. A refusal is final: the connection closes."""
        begun = time.monotonic()
        self._authenticate_again = None
        mechanism = self.security.mechanism or ""
        try:
            version = self._version_of(
                SASL_AUTHENTICATE
            )  # asks for versions, which a broker answers only before
            answer = self._ask(
                SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse, HANDSHAKE_VERSION
            )
            if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
                offered = ", ".join(sorted(answer.mechanisms)) or "nothing"
                raise AuthenticationFailed(f"SaslHandshake: {self} offers {offered}, not {mechanism}")
            if answer.error_code != ErrorCode.NONE:
                raise AuthenticationFailed(
                    f"SaslHandshake for {mechanism}: {self} answered {error_name(answer.error_code)}"
                )
            lifetime_ms = self._exchange_proofs(mechanism, version)
        except BaseException:
            self.close()
            raise
        if lifetime_ms > 0:
            self._authenticate_again = begun + SESSION_PART * lifetime_ms / 1000

    def _exchange_proofs(self, mechanism: str, version: int) -> int:
        """How long the session lasts, in ms; 0 for ever."""
        who = f"SASL {mechanism} as {self.security.username!r}"
        proofs = exchange(
            mechanism, self.security.username or "", self.security.password or "", secrets.token_urlsafe(24)
        )
        lifetime_ms = 0
        message = next(proofs)
        try:
            while True:
                answer = self._ask(
                    SaslAuthenticateRequest(auth_bytes=message), SaslAuthenticateResponse, version
                )
                if answer.error_code != ErrorCode.NONE:
                    said = answer.error_message or error_name(answer.error_code)
                    raise AuthenticationFailed(f"{who}: {self} answered {said}")
                lifetime_ms = answer.session_lifetime_ms
                message = proofs.send(bytes(answer.auth_bytes))
        except StopIteration:
            return lifetime_ms
        except BadServer as fault:
            raise AuthenticationFailed(f"{who}: {self}: {fault}") from None

    # Versions

    def offered(self) -> dict[int, tuple[int, int]]:
        """What the broker says it speaks: API key -> (lowest, highest version)."""
        self.connect()
        return self._offers()

    def features(self) -> dict[str, int]:
        """The features that the cluster has finalized, each with its level (KIP-584); one at level 0 is not listed."""
        self.offered()
        return self._features

    def _offers(self) -> dict[int, tuple[int, int]]:
        """As `offered`, on the connection as it is: authentication needs it before it is done."""
        if self._offered is None:
            answer = self._ask_versions(3)
            self._offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
            self._features = {each.name: each.max_version_level for each in answer.finalized_features}
        return self._offered

    def _ask_versions(self, version: int) -> ApiVersionsResponse:
        request = ApiVersionsRequest(client_software_name="oncelog", client_software_version=__version__)
        api = APIS[API_VERSIONS_KEY]
        frame, at = self._round_trip(api, version, request, self.timeout_ms)
        # Whatever the version asked for, a broker that does not know it answers in version 0 (API-4).
        if struct.unpack_from(">h", frame, at)[0] == ErrorCode.UNSUPPORTED_VERSION:
            version = 0
            frame, at = self._round_trip(api, version, ApiVersionsRequest(), self.timeout_ms)
        answer = ApiVersionsResponse.decode(frame, version, at)
        demand(answer.error_code, "ApiVersions", str(self))
        return answer

    def version_of(self, key: int) -> int:
        """The version in which we ask this broker."""
        self.connect()
        return self._version_of(key)

    def _version_of(self, key: int) -> int:
        api = APIS[key]
        low, high = api.min_version, min(api.max_version, HIGHEST.get(key, api.max_version))
        offered = self._offers().get(key)
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
        self.connect()
        return self._ask(request, answer, version, timeout_ms=timeout_ms)

    def _ask(
        self,
        request: Message,
        answer: type[Any] | None = None,
        version: int | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> Any:
        """As `send`, on the connection as it is."""
        api = api_of(request)
        if version is None:
            version = self._version_of(api.key)
        frame, at = self._round_trip(api, version, request, timeout_ms or self.timeout_ms)
        return self._decoded(api, version, frame, at, answer)

    def _decoded(
        self, api: Api, version: int, frame: bytearray, at: int, answer: type[Message] | None
    ) -> Any:
        try:
            return (answer or api.response_class()).decode(frame, version, at)
        except MalformedMessage as fault:
            self.close()
            raise MalformedMessage(
                f"{api.name} v{version}: answer of {self} cannot be read: {fault}"
            ) from fault

    def post(self, request: Message, version: int | None = None) -> None:
        """Sends a request whose answer is collected later; answers come in the order of posting. Until all are collected
        nothing else may be asked. Only for requests much smaller than what the kernel buffers: nobody reads meanwhile.
        """
        api = api_of(request)
        if version is None:
            version = self.version_of(api.key)
        self.connect()
        self._write(
            f"{api.name} v{version}", self._frame(api, version, request), self._deadline(self.timeout_ms)
        )
        self._awaited.append((api, version, self._correlation_id))

    def collect(self, answer: type[AnswerT], *, timeout_ms: int | None = None) -> AnswerT:
        """Waits for the answer to the oldest request that was posted."""
        if not self._awaited:
            raise Unreachable(f"connection to {self} was closed with a request under way")
        api, version, correlation_id = self._awaited[0]
        deadline = self._deadline(timeout_ms or self.timeout_ms)
        frame, at = self._read_answer(api, version, correlation_id, deadline)
        self._awaited.popleft()
        return self._decoded(api, version, frame, at, answer)

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
        answer = self._read_frame("raw frame", deadline)
        return None if answer is None else bytes(answer)

    def _frame(self, api: Api, version: int, request: Message) -> bytearray:
        return request_frame(api.key, version, self.next_correlation_id(), self.client_id, request)

    def next_correlation_id(self) -> int:
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        return self._correlation_id

    def _round_trip(self, api: Api, version: int, request: Message, timeout_ms: int) -> tuple[bytearray, int]:
        """The answer's frame and where in it the body begins. The connection must be open."""
        deadline = self._deadline(timeout_ms)
        self._write(f"{api.name} v{version}", self._frame(api, version, request), deadline)
        return self._read_answer(api, version, self._correlation_id, deadline)

    def _read_answer(self, api: Api, version: int, wanted: int, deadline: float) -> tuple[bytearray, int]:
        asked = f"{api.name} v{version}"
        frame = self._read_frame(asked, deadline)
        if frame is None:
            raise Unreachable(f"{asked}: {self} closed the connection without an answer")
        correlation_id, body_at = read_response_header(frame, api.key, version)
        if correlation_id != wanted:
            self.close()
            raise Unreachable(f"{asked}: wanted answer {wanted} of {self}, found {correlation_id}")
        return frame, body_at

    # Bytes

    def _deadline(self, timeout_ms: int) -> float:
        return time.monotonic() + timeout_ms / 1000

    def _write(self, asked: str, data: bytes | bytearray, deadline: float) -> None:
        if self._socket is None:
            raise Unreachable(f"{asked}: the connection to {self} is closed")
        try:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            self._socket.sendall(data)
        except TimeoutError:
            self.close()
            raise TimedOut(f"{asked}: {self} did not take the request in time") from None
        except OSError as fault:
            raise self._broke(asked, fault) from None
        except BaseException:  # an interrupt: half a request is out
            self.close()
            raise

    def _broke(self, asked: str, fault: OSError) -> Unreachable | AuthenticationFailed:
        """Closes; gives what to raise."""
        alert = None if self._proven else self._tls_alert(fault)
        self.close()
        if alert is not None:
            return AuthenticationFailed(f"{asked}: {self} ended TLS: {alert}")
        return Unreachable(f"{asked}: connection to {self} broke: {fault.strerror or fault}")

    def _tls_alert(self, fault: OSError) -> str | None:
        """Why a broker ended TLS before it ever answered: a client's certificate, for one, is refused after the handshake
        (TLS 1.3). A write may break before the reason is read.
        """
        try:
            if isinstance(self._socket, ssl.SSLSocket) and not _is_alert(fault):
                self._socket.settimeout(0.5)
                self._socket.recv(1)
        except OSError as later:
            fault = later
        return str(fault.reason or fault) if isinstance(fault, ssl.SSLError) and _is_alert(fault) else None

    def _read_frame(self, asked: str, deadline: float) -> bytearray | None:
        head = self._read(asked, 4, deadline)
        if head is None:
            return None
        (size,) = struct.unpack(">i", head)
        if not 4 <= size <= RESPONSE_LIMIT_BYTES:
            self.close()
            hint = "; does it speak TLS?" if head[0] == TLS_ALERT and not self.security.uses_tls else ""
            raise Unreachable(
                f"{asked}: {self} announced an answer of {size} bytes, wanted 4 to {RESPONSE_LIMIT_BYTES}{hint}"
            )
        self._proven = True
        frame = self._read(asked, size, deadline)
        if frame is None:
            raise Unreachable(f"{asked}: {self} closed the connection in the middle of its answer")
        return frame

    def _read(self, asked: str, size: int, deadline: float) -> bytearray | None:
        if self._socket is None:
            raise Unreachable(f"{asked}: the connection to {self} is closed")
        found = bytearray(size)
        view = memoryview(found)
        at = 0
        try:
            while at < size:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                piece = self._socket.recv_into(view[at:], min(size - at, RECEIVE_BYTES))
                if not piece:
                    break
                at += piece
        except TimeoutError:
            self.close()
            raise TimedOut(f"{asked}: no answer of {self} in time") from None
        except ConnectionResetError:
            at = 0  # Kafka closes like this too when unread bytes are left
        except OSError as fault:
            raise self._broke(asked, fault) from None
        except BaseException:  # an interrupt: the answer would be taken for that of the next request
            self.close()
            raise
        if at == size:
            return found
        self.close()
        if at:
            raise Unreachable(f"{asked}: {self} closed the connection after {at} of {size} bytes")
        return None
