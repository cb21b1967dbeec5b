"""SyncGroup (key 14), versions 0-5. Generated from definitions/sync_group.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError

from oncelog.errors import MalformedMessage
from oncelog.protocol.primitives import (
    ABSENT,
    BytesLike,
    Message,
    Struct,
    UnwritableMessage,
    WRITE_FAULTS,
    cut_short,
    more_string_length,
    more_varint,
    not_text,
    null_found,
    skip_tags,
    string_length,
    too_many,
    unsupported,
    unwritable,
    varint,
)

_p_h = Layout(">h").pack
_p_hi = Layout(">hi").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_u_h = Layout(">h").unpack_from
_u_hi = Layout(">hi").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ih = Layout(">ih").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class SyncGroupRequestAssignment(Struct):
    """Part of SyncGroupRequest."""

    member_id: str
    assignment: bytes

    def __init__(
        self,
        member_id: str = "",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment


@dataclass(slots=True, init=False, repr=False, eq=False)
class SyncGroupRequest(Message):
    """SyncGroupRequest, versions 0-5."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: list[SyncGroupRequestAssignment]

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = ABSENT,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is ABSENT else assignments

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> SyncGroupRequest:
        if 4 <= version <= 5:
            return _read_sync_group_request_4_5(data, version, at)
        if 0 <= version <= 3:
            return _read_sync_group_request_0_3(data, version, at)
        raise MalformedMessage(unsupported('SyncGroupRequest', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 4 <= version <= 5:
                return _write_sync_group_request_4_5(self, out, version)
            if 0 <= version <= 3:
                return _write_sync_group_request_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('SyncGroupRequest', version, why) from why
        raise UnwritableMessage(unsupported('SyncGroupRequest', '0-5', version))


def _read_sync_group_request_4_5(data: BytesLike, version: int, pos: int) -> SyncGroupRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SyncGroupRequest.__new__(SyncGroupRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('SyncGroupRequest.group_id', version, pos)
        end = pos + n - 1
        m.group_id = buf[pos:end].decode()
        pos = end
        m.generation_id, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('SyncGroupRequest.member_id', version, pos)
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
        if version >= 5:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                m.protocol_type = None
            else:
                end = pos + n - 1
                m.protocol_type = buf[pos:end].decode()
                pos = end
        else:
            m.protocol_type = None
        if version >= 5:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                m.protocol_name = None
            else:
                end = pos + n - 1
                m.protocol_name = buf[pos:end].decode()
                pos = end
        else:
            m.protocol_name = None
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('SyncGroupRequest.assignments', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('SyncGroupRequest.assignments', version, pos, n, size)
        list1: list[SyncGroupRequestAssignment] = []
        m.assignments = list1
        count1 = n
        for _ in range(count1):
            e1 = SyncGroupRequestAssignment.__new__(SyncGroupRequestAssignment)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('SyncGroupRequest.assignments.member_id', version, pos)
            end = pos + n - 1
            e1.member_id = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('SyncGroupRequest.assignments.assignment', version, pos)
            end = pos + n - 1
            e1.assignment = buf[pos:end]
            pos = end
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('SyncGroupRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SyncGroupRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('SyncGroupRequest', version, pos, size)
    return m


def _read_sync_group_request_0_3(data: BytesLike, version: int, pos: int) -> SyncGroupRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SyncGroupRequest.__new__(SyncGroupRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('SyncGroupRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
        m.generation_id, n = _u_ih(buf, pos)
        pos += 6
        if n < 0:
            raise null_found('SyncGroupRequest.member_id', version, pos)
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
        m.protocol_type = None
        m.protocol_name = None
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('SyncGroupRequest.assignments', version, pos)
        if n * 6 > size - pos:
            raise too_many('SyncGroupRequest.assignments', version, pos, n, size)
        list1: list[SyncGroupRequestAssignment] = []
        m.assignments = list1
        count1 = n
        for _ in range(count1):
            e1 = SyncGroupRequestAssignment.__new__(SyncGroupRequestAssignment)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('SyncGroupRequest.assignments.member_id', version, pos)
            end = pos + n
            e1.member_id = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('SyncGroupRequest.assignments.assignment', version, pos)
            end = pos + n
            e1.assignment = buf[pos:end]
            pos = end
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('SyncGroupRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SyncGroupRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('SyncGroupRequest', version, pos, size)
    return m


def _write_sync_group_request_4_5(m: SyncGroupRequest, out: bytearray, version: int) -> None:
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
    if version >= 5:
        if m.protocol_type is None:
            out.append(0)
        else:
            text = m.protocol_type.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    if version >= 5:
        if m.protocol_name is None:
            out.append(0)
        else:
            text = m.protocol_name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    n = len(m.assignments) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.assignments:
        text = e1.member_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.assignment) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += e1.assignment
        out.append(0)
    out.append(0)


def _write_sync_group_request_0_3(m: SyncGroupRequest, out: bytearray, version: int) -> None:
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
    out += _p_i(len(m.assignments))
    for e1 in m.assignments:
        text = e1.member_id.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.assignment))
        out += e1.assignment


@dataclass(slots=True, init=False, repr=False, eq=False)
class SyncGroupResponse(Message):
    """SyncGroupResponse, versions 0-5."""

    throttle_time_ms: int
    error_code: int
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> SyncGroupResponse:
        if 4 <= version <= 5:
            return _read_sync_group_response_4_5(data, version, at)
        if 0 <= version <= 3:
            return _read_sync_group_response_0_3(data, version, at)
        raise MalformedMessage(unsupported('SyncGroupResponse', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 4 <= version <= 5:
                return _write_sync_group_response_4_5(self, out, version)
            if 0 <= version <= 3:
                return _write_sync_group_response_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('SyncGroupResponse', version, why) from why
        raise UnwritableMessage(unsupported('SyncGroupResponse', '0-5', version))


def _read_sync_group_response_4_5(data: BytesLike, version: int, pos: int) -> SyncGroupResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SyncGroupResponse.__new__(SyncGroupResponse)
        m.throttle_time_ms, m.error_code = _u_ih(buf, pos)
        pos += 6
        if version >= 5:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                m.protocol_type = None
            else:
                end = pos + n - 1
                m.protocol_type = buf[pos:end].decode()
                pos = end
        else:
            m.protocol_type = None
        if version >= 5:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                m.protocol_name = None
            else:
                end = pos + n - 1
                m.protocol_name = buf[pos:end].decode()
                pos = end
        else:
            m.protocol_name = None
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('SyncGroupResponse.assignment', version, pos)
        end = pos + n - 1
        m.assignment = buf[pos:end]
        pos = end
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('SyncGroupResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SyncGroupResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('SyncGroupResponse', version, pos, size)
    return m


def _read_sync_group_response_0_3(data: BytesLike, version: int, pos: int) -> SyncGroupResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = SyncGroupResponse.__new__(SyncGroupResponse)
        if version >= 1:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        m.protocol_type = None
        m.protocol_name = None
        m.error_code, n = _u_hi(buf, pos)
        pos += 6
        if n < 0:
            raise null_found('SyncGroupResponse.assignment', version, pos)
        end = pos + n
        m.assignment = buf[pos:end]
        pos = end
    except (IndexError, LayoutError):
        raise cut_short('SyncGroupResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('SyncGroupResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('SyncGroupResponse', version, pos, size)
    return m


def _write_sync_group_response_4_5(m: SyncGroupResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    if version >= 5:
        if m.protocol_type is None:
            out.append(0)
        else:
            text = m.protocol_type.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    if version >= 5:
        if m.protocol_name is None:
            out.append(0)
        else:
            text = m.protocol_name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    n = len(m.assignment) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    out += m.assignment
    out.append(0)


def _write_sync_group_response_0_3(m: SyncGroupResponse, out: bytearray, version: int) -> None:
    if version >= 1:
        out += _p_i(m.throttle_time_ms)
    out += _p_hi(m.error_code, len(m.assignment))
    out += m.assignment
