"""Request and response headers, and whole frames for both sides of a connection.

request header v1     0  int16  api key        2  int16  api version     4  int32  correlation id
                      8  int16  length of the client id (-1 = null), then the client id
request header v2     as v1, then tagged fields (the length of the client id stays an int16)
response header v0    0  int32  correlation id
response header v1    as v0, then tagged fields

The flexible versions of an API use the newer headers. ApiVersions differs: a client sends it before it knows what the
other side can read, so its responses always have header v0 (TRAP-38), and a request of a version nobody knows is read
with header v2 (API-4).
"""

import struct
from dataclasses import dataclass
from typing import Final

from oncelog.errors import MalformedMessage
from oncelog.protocol.apis import API_VERSIONS_KEY, APIS
from oncelog.protocol.primitives import BytesLike, Message, skip_tags

REQUEST: Final = struct.Struct(">hhih")
assert REQUEST.size == 10
LENGTH: Final = struct.Struct(">i")
CORRELATION: Final = struct.Struct(">i")
LENGTH_AND_CORRELATION: Final = struct.Struct(">ii")
NEVER: Final = 2**15  # above every version
FIRST_FLEXIBLE: Final = {
    api.key: NEVER if api.first_flexible is None else api.first_flexible for api in APIS.values()
}


@dataclass(slots=True)
class RequestHeader:
    """What stands before the body of a request; the body begins at byte `body_at` of the frame."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body_at: int

    def supported(self) -> bool:
        """Whether the body can be read. When not: close the connection (API-1), ApiVersions excepted (API-4)."""
        api = APIS.get(self.api_key)
        return api is not None and api.supports(self.version)


def read_request_header(frame: BytesLike) -> RequestHeader:
    """Reads the header of any request; for an API nobody knows there is no body to find, `body_at` is then a guess."""
    try:
        api_key, version, correlation_id, length = REQUEST.unpack_from(frame, 0)
    except struct.error:
        raise MalformedMessage(f"request of {len(frame)} bytes, a header needs {REQUEST.size}") from None
    at = REQUEST.size
    client_id = None
    if length >= 0:
        end = at + length
        if end > len(frame):
            raise MalformedMessage(f"client id of {length} bytes, the request has {len(frame) - at} left")
        try:
            client_id = str(frame[at:end], "utf-8")
        except UnicodeDecodeError as why:
            raise MalformedMessage(f"the client id is not UTF-8: {why.reason}") from None
        at = end
    if _request_flexible(api_key, version):
        at = _skip_header_tags(frame, at)
    return RequestHeader(api_key, version, correlation_id, client_id, at)


def _request_flexible(api_key: int, version: int) -> bool:
    if version >= FIRST_FLEXIBLE.get(api_key, NEVER):
        return True
    return api_key == API_VERSIONS_KEY and not APIS[api_key].supports(version)


def _response_flexible(api_key: int, version: int) -> bool:
    return version >= FIRST_FLEXIBLE.get(api_key, NEVER) and api_key != API_VERSIONS_KEY


def _skip_header_tags(frame: BytesLike, at: int) -> int:
    if at >= len(frame):
        raise MalformedMessage(f"header without its tagged fields: it ends at byte {len(frame)}")
    count = frame[at]
    if not count:
        return at + 1
    try:
        return skip_tags(memoryview(frame), at + 1, len(frame), count)
    except IndexError:
        raise MalformedMessage(f"the tagged fields of the header run past byte {len(frame)}") from None


# --------------------------------------------------------------------------------------------------------- the broker


def write_response_header(out: bytearray, api_key: int, version: int, correlation_id: int) -> None:
    """Appends the header that a response to this request version has."""
    out += CORRELATION.pack(correlation_id)
    if _response_flexible(api_key, version):
        out.append(0)


def response_frame(api_key: int, version: int, correlation_id: int, response: Message) -> bytearray:
    """Length, header and body of a response."""
    out = bytearray(4)
    write_response_header(out, api_key, version, correlation_id)
    response.write(out, version)
    LENGTH.pack_into(out, 0, len(out) - 4)
    return out


def response_frame_parts(
    api_key: int, version: int, correlation_id: int, response: Message
) -> list[BytesLike]:
    """As `response_frame`, in pieces: large record bytes are those of the message, not a copy."""
    if type(response).encode_parts is Message.encode_parts:  # it has no such bytes
        out = bytearray(9 if _response_flexible(api_key, version) else 8)
        response.write(out, version)
        LENGTH_AND_CORRELATION.pack_into(out, 0, len(out) - 4, correlation_id)
        return [out]
    head = bytearray(4)
    write_response_header(head, api_key, version, correlation_id)
    parts = response.encode_parts(version)
    LENGTH.pack_into(head, 0, len(head) - 4 + sum(map(len, parts)))
    parts[0] = head + parts[0]
    return parts


# --------------------------------------------------------------------------------------------------------- the client


def write_request_header(
    out: bytearray, api_key: int, version: int, correlation_id: int, client_id: str | None
) -> None:
    """Appends the header that a request of this version has."""
    name = b"" if client_id is None else client_id.encode()
    out += REQUEST.pack(api_key, version, correlation_id, -1 if client_id is None else len(name))
    out += name
    if _request_flexible(api_key, version):
        out.append(0)


def request_frame(
    api_key: int, version: int, correlation_id: int, client_id: str | None, request: Message
) -> bytearray:
    """Length, header and body of a request."""
    out = bytearray(4)
    write_request_header(out, api_key, version, correlation_id, client_id)
    request.write(out, version)
    LENGTH.pack_into(out, 0, len(out) - 4)
    return out


def read_response_header(frame: BytesLike, api_key: int, version: int) -> tuple[int, int]:
    """The correlation id and the position of the body in the response to a request of this version."""
    try:
        (correlation_id,) = CORRELATION.unpack_from(frame, 0)
    except struct.error:
        raise MalformedMessage(f"response of {len(frame)} bytes, a header needs {CORRELATION.size}") from None
    if _response_flexible(api_key, version):
        return correlation_id, _skip_header_tags(frame, 4)
    return correlation_id, 4
