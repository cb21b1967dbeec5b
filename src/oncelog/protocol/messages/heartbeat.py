"""Heartbeat (key 12), versions 0-4. Generated from definitions/heartbeat.txt by oncelog.protocol.generate: do not edit."""

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
    not_text,
    null_found,
    skip_tags,
    string_length,
    unsupported,
    unwritable,
)

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_ihx = Layout(">ihx").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_ihB = Layout(">ihB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class HeartbeatRequest(Message):
    """HeartbeatRequest, versions 0-4."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> HeartbeatRequest:
        if version == 4:
            return _read_heartbeat_request_4_4(data, version, at)
        if 0 <= version <= 3:
            return _read_heartbeat_request_0_3(data, version, at)
        raise MalformedMessage(unsupported('HeartbeatRequest', '0-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 4:
                return _write_heartbeat_request_4_4(self, out, version)
            if 0 <= version <= 3:
                return _write_heartbeat_request_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('HeartbeatRequest', version, why) from why
        raise UnwritableMessage(unsupported('HeartbeatRequest', '0-4', version))


def _read_heartbeat_request_4_4(data: BytesLike, version: int, pos: int) -> HeartbeatRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = HeartbeatRequest.__new__(HeartbeatRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('HeartbeatRequest.group_id', version, pos)
        end = pos + n - 1
        m.group_id = buf[pos:end].decode()
        pos = end
        m.generation_id, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('HeartbeatRequest.member_id', version, pos)
        end = pos + n - 1
        m.member_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.group_instance_id = None
        else:
            end = pos + n - 1
            m.group_instance_id = buf[pos:end].decode()
            pos = end
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('HeartbeatRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('HeartbeatRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('HeartbeatRequest', version, pos, size)
    return m


def _read_heartbeat_request_0_3(data: BytesLike, version: int, pos: int) -> HeartbeatRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = HeartbeatRequest.__new__(HeartbeatRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('HeartbeatRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
        m.generation_id, n = _u_ih(buf, pos)
        pos += 6
        if n < 0:
            raise null_found('HeartbeatRequest.member_id', version, pos)
        end = pos + n
        m.member_id = buf[pos:end].decode()
        pos = end
        if version >= 3:
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                m.group_instance_id = None
            else:
                end = pos + n
                m.group_instance_id = buf[pos:end].decode()
                pos = end
        else:
            m.group_instance_id = None
    except (IndexError, LayoutError):
        raise cut_short('HeartbeatRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('HeartbeatRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('HeartbeatRequest', version, pos, size)
    return m


def _write_heartbeat_request_4_4(m: HeartbeatRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    text = m.member_id.encode()
    out += _p_i(m.generation_id)
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if m.group_instance_id is None:
        out.append(0)
    else:
        text = m.group_instance_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out.append(0)


def _write_heartbeat_request_0_3(m: HeartbeatRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    out += _p_h(len(text))
    out += text
    text = m.member_id.encode()
    out += _p_ih(m.generation_id, len(text))
    out += text
    if version >= 3:
        if m.group_instance_id is None:
            out += b'\xff\xff'
        else:
            text = m.group_instance_id.encode()
            out += _p_h(len(text))
            out += text


@dataclass(slots=True, init=False, repr=False, eq=False)
class HeartbeatResponse(Message):
    """HeartbeatResponse, versions 0-4."""

    throttle_time_ms: int
    error_code: int

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> HeartbeatResponse:
        if version == 4:
            return _read_heartbeat_response_4_4(data, version, at)
        if 0 <= version <= 3:
            return _read_heartbeat_response_0_3(data, version, at)
        raise MalformedMessage(unsupported('HeartbeatResponse', '0-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 4:
                return _write_heartbeat_response_4_4(self, out, version)
            if 0 <= version <= 3:
                return _write_heartbeat_response_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('HeartbeatResponse', version, why) from why
        raise UnwritableMessage(unsupported('HeartbeatResponse', '0-4', version))


def _read_heartbeat_response_4_4(data: BytesLike, version: int, pos: int) -> HeartbeatResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = HeartbeatResponse.__new__(HeartbeatResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('HeartbeatResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('HeartbeatResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('HeartbeatResponse', version, pos, size)
    return m


def _read_heartbeat_response_0_3(data: BytesLike, version: int, pos: int) -> HeartbeatResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = HeartbeatResponse.__new__(HeartbeatResponse)
        if version >= 1:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        m.error_code, = _u_h(buf, pos)
        pos += 2
    except (IndexError, LayoutError):
        raise cut_short('HeartbeatResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('HeartbeatResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('HeartbeatResponse', version, pos, size)
    return m


def _write_heartbeat_response_4_4(m: HeartbeatResponse, out: bytearray, version: int) -> None:
    out += _p_ihx(m.throttle_time_ms, m.error_code)


def _write_heartbeat_response_0_3(m: HeartbeatResponse, out: bytearray, version: int) -> None:
    if version >= 1:
        out += _p_i(m.throttle_time_ms)
    out += _p_h(m.error_code)
