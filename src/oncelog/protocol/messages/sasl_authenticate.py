"""SaslAuthenticate (key 36), versions 0-2. Generated from definitions/sasl_authenticate.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError

from oncelog.errors import MalformedMessage
from oncelog.protocol.primitives import (
    BytesLike,
    Message,
    UnwritableMessage,
    WRITE_FAULTS,
    cut_short,
    more_string_length,
    more_varint,
    not_text,
    null_found,
    skip_tags,
    string_length,
    unsupported,
    unwritable,
    varint,
)

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_q = Layout(">q").pack
_p_qx = Layout(">qx").pack
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_q = Layout(">q").unpack_from
_u_qB = Layout(">qB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class SaslAuthenticateRequest(Message):
    """SaslAuthenticateRequest, versions 0-2."""

    auth_bytes: bytes

    def __init__(
        self,
        auth_bytes: bytes = b"",
    ) -> None:
        self.auth_bytes = auth_bytes

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> SaslAuthenticateRequest:
        if version == 2:
            return _read_sasl_authenticate_request_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_sasl_authenticate_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('SaslAuthenticateRequest', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_sasl_authenticate_request_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_sasl_authenticate_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('SaslAuthenticateRequest', version, why) from why
        raise UnwritableMessage(unsupported('SaslAuthenticateRequest', '0-2', version))


def _read_sasl_authenticate_request_2_2(data: BytesLike, version: int, pos: int) -> SaslAuthenticateRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SaslAuthenticateRequest.__new__(SaslAuthenticateRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('SaslAuthenticateRequest.auth_bytes', version, pos)
        end = pos + n - 1
        m.auth_bytes = buf[pos:end]
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('SaslAuthenticateRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SaslAuthenticateRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('SaslAuthenticateRequest', version, pos, size)
    return m


def _read_sasl_authenticate_request_0_1(data: BytesLike, version: int, pos: int) -> SaslAuthenticateRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SaslAuthenticateRequest.__new__(SaslAuthenticateRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('SaslAuthenticateRequest.auth_bytes', version, pos)
        end = pos + n
        m.auth_bytes = buf[pos:end]
        pos = end
    except (IndexError, LayoutError):
        raise cut_short('SaslAuthenticateRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SaslAuthenticateRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('SaslAuthenticateRequest', version, pos, size)
    return m


def _write_sasl_authenticate_request_2_2(m: SaslAuthenticateRequest, out: bytearray, version: int) -> None:
    n = len(m.auth_bytes) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    out += m.auth_bytes
    out.append(0)


def _write_sasl_authenticate_request_0_1(m: SaslAuthenticateRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.auth_bytes))
    out += m.auth_bytes


@dataclass(slots=True, init=False, repr=False, eq=False)
class SaslAuthenticateResponse(Message):
    """SaslAuthenticateResponse, versions 0-2."""

    error_code: int
    error_message: str | None
    auth_bytes: bytes
    session_lifetime_ms: int

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> SaslAuthenticateResponse:
        if version == 2:
            return _read_sasl_authenticate_response_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_sasl_authenticate_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('SaslAuthenticateResponse', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_sasl_authenticate_response_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_sasl_authenticate_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('SaslAuthenticateResponse', version, why) from why
        raise UnwritableMessage(unsupported('SaslAuthenticateResponse', '0-2', version))


def _read_sasl_authenticate_response_2_2(data: BytesLike, version: int, pos: int) -> SaslAuthenticateResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SaslAuthenticateResponse.__new__(SaslAuthenticateResponse)
        m.error_code, n = _u_hB(buf, pos)
        pos += 3
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.error_message = None
        else:
            end = pos + n - 1
            m.error_message = buf[pos:end].decode()
            pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('SaslAuthenticateResponse.auth_bytes', version, pos)
        end = pos + n - 1
        m.auth_bytes = buf[pos:end]
        pos = end
        m.session_lifetime_ms, n = _u_qB(buf, pos)
        pos += 9
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('SaslAuthenticateResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SaslAuthenticateResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('SaslAuthenticateResponse', version, pos, size)
    return m


def _read_sasl_authenticate_response_0_1(data: BytesLike, version: int, pos: int) -> SaslAuthenticateResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SaslAuthenticateResponse.__new__(SaslAuthenticateResponse)
        m.error_code, n = _u_hh(buf, pos)
        pos += 4
        if n < 0:
            m.error_message = None
        else:
            end = pos + n
            m.error_message = buf[pos:end].decode()
            pos = end
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('SaslAuthenticateResponse.auth_bytes', version, pos)
        end = pos + n
        m.auth_bytes = buf[pos:end]
        pos = end
        if version >= 1:
            m.session_lifetime_ms, = _u_q(buf, pos)
            pos += 8
        else:
            m.session_lifetime_ms = 0
    except (IndexError, LayoutError):
        raise cut_short('SaslAuthenticateResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SaslAuthenticateResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('SaslAuthenticateResponse', version, pos, size)
    return m


def _write_sasl_authenticate_response_2_2(m: SaslAuthenticateResponse, out: bytearray, version: int) -> None:
    out += _p_h(m.error_code)
    if m.error_message is None:
        out.append(0)
    else:
        text = m.error_message.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    n = len(m.auth_bytes) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    out += m.auth_bytes
    out += _p_qx(m.session_lifetime_ms)


def _write_sasl_authenticate_response_0_1(m: SaslAuthenticateResponse, out: bytearray, version: int) -> None:
    out += _p_h(m.error_code)
    if m.error_message is None:
        out += b'\xff\xff'
    else:
        text = m.error_message.encode()
        out += _p_h(len(text))
        out += text
    out += _p_i(len(m.auth_bytes))
    out += m.auth_bytes
    if version >= 1:
        out += _p_q(m.session_lifetime_ms)
