"""SaslHandshake (key 17), versions 0-1. Generated from definitions/sasl_handshake.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError

from oncelog.errors import MalformedMessage
from oncelog.protocol.primitives import (
    ABSENT,
    BytesLike,
    Message,
    UnwritableMessage,
    WRITE_FAULTS,
    cut_short,
    not_text,
    null_found,
    too_many,
    unsupported,
    unwritable,
)

_p_h = Layout(">h").pack
_p_hi = Layout(">hi").pack
_u_h = Layout(">h").unpack_from
_u_hi = Layout(">hi").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class SaslHandshakeRequest(Message):
    """SaslHandshakeRequest, versions 0-1."""

    mechanism: str

    def __init__(
        self,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> SaslHandshakeRequest:
        if 0 <= version <= 1:
            return _read_sasl_handshake_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('SaslHandshakeRequest', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_sasl_handshake_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('SaslHandshakeRequest', version, why) from why
        raise UnwritableMessage(unsupported('SaslHandshakeRequest', '0-1', version))


def _read_sasl_handshake_request_0_1(data: BytesLike, version: int, pos: int) -> SaslHandshakeRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SaslHandshakeRequest.__new__(SaslHandshakeRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('SaslHandshakeRequest.mechanism', version, pos)
        end = pos + n
        m.mechanism = buf[pos:end].decode()
        pos = end
    except (IndexError, LayoutError):
        raise cut_short('SaslHandshakeRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SaslHandshakeRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('SaslHandshakeRequest', version, pos, size)
    return m


def _write_sasl_handshake_request_0_1(m: SaslHandshakeRequest, out: bytearray, version: int) -> None:
    text = m.mechanism.encode()
    out += _p_h(len(text))
    out += text


@dataclass(slots=True, init=False, repr=False, eq=False)
class SaslHandshakeResponse(Message):
    """SaslHandshakeResponse, versions 0-1."""

    error_code: int
    mechanisms: list[str]

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: list[str] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is ABSENT else mechanisms

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> SaslHandshakeResponse:
        if 0 <= version <= 1:
            return _read_sasl_handshake_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('SaslHandshakeResponse', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_sasl_handshake_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('SaslHandshakeResponse', version, why) from why
        raise UnwritableMessage(unsupported('SaslHandshakeResponse', '0-1', version))


def _read_sasl_handshake_response_0_1(data: BytesLike, version: int, pos: int) -> SaslHandshakeResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SaslHandshakeResponse.__new__(SaslHandshakeResponse)
        m.error_code, n = _u_hi(buf, pos)
        pos += 6
        if n < 0:
            raise null_found('SaslHandshakeResponse.mechanisms', version, pos)
        if n * 2 > size - pos:
            raise too_many('SaslHandshakeResponse.mechanisms', version, pos, n, size)
        list1: list[str] = []
        m.mechanisms = list1
        count1 = n
        for _ in range(count1):
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('SaslHandshakeResponse.mechanisms', version, pos)
            end = pos + n
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('SaslHandshakeResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SaslHandshakeResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('SaslHandshakeResponse', version, pos, size)
    return m


def _write_sasl_handshake_response_0_1(m: SaslHandshakeResponse, out: bytearray, version: int) -> None:
    out += _p_hi(m.error_code, len(m.mechanisms))
    for e1 in m.mechanisms:
        text = e1.encode()
        out += _p_h(len(text))
        out += text
