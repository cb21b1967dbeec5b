"""LeaveGroup (key 13), versions 0-5. Generated from definitions/leave_group.txt by oncelog.protocol.generate: do not edit."""

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
_p_hx = Layout(">hx").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_i = Layout(">i").unpack_from
_u_ihB = Layout(">ihB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class MemberIdentity(Struct):
    """Part of LeaveGroupRequest."""

    member_id: str
    group_instance_id: str | None
    reason: str | None

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason


@dataclass(slots=True, init=False, repr=False, eq=False)
class LeaveGroupRequest(Message):
    """LeaveGroupRequest, versions 0-5."""

    group_id: str
    member_id: str
    members: list[MemberIdentity]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = ABSENT,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is ABSENT else members

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> LeaveGroupRequest:
        if 4 <= version <= 5:
            return _read_leave_group_request_4_5(data, version, at)
        if 0 <= version <= 3:
            return _read_leave_group_request_0_3(data, version, at)
        raise MalformedMessage(unsupported('LeaveGroupRequest', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 4 <= version <= 5:
                return _write_leave_group_request_4_5(self, out, version)
            if 0 <= version <= 3:
                return _write_leave_group_request_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('LeaveGroupRequest', version, why) from why
        raise UnwritableMessage(unsupported('LeaveGroupRequest', '0-5', version))


def _read_leave_group_request_4_5(data: BytesLike, version: int, pos: int) -> LeaveGroupRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = LeaveGroupRequest.__new__(LeaveGroupRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('LeaveGroupRequest.group_id', version, pos)
        end = pos + n - 1
        m.group_id = buf[pos:end].decode()
        pos = end
        m.member_id = ""
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('LeaveGroupRequest.members', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('LeaveGroupRequest.members', version, pos, n, size)
        list1: list[MemberIdentity] = []
        m.members = list1
        count1 = n
        for _ in range(count1):
            e1 = MemberIdentity.__new__(MemberIdentity)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('LeaveGroupRequest.members.member_id', version, pos)
            end = pos + n - 1
            e1.member_id = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.group_instance_id = None
            else:
                end = pos + n - 1
                e1.group_instance_id = buf[pos:end].decode()
                pos = end
            if version >= 5:
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e1.reason = None
                else:
                    end = pos + n - 1
                    e1.reason = buf[pos:end].decode()
                    pos = end
            else:
                e1.reason = None
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
        raise cut_short('LeaveGroupRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('LeaveGroupRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('LeaveGroupRequest', version, pos, size)
    return m


def _read_leave_group_request_0_3(data: BytesLike, version: int, pos: int) -> LeaveGroupRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = LeaveGroupRequest.__new__(LeaveGroupRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('LeaveGroupRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
        if version <= 2:
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('LeaveGroupRequest.member_id', version, pos)
            end = pos + n
            m.member_id = buf[pos:end].decode()
            pos = end
        else:
            m.member_id = ""
        if version >= 3:
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('LeaveGroupRequest.members', version, pos)
            if n * 4 > size - pos:
                raise too_many('LeaveGroupRequest.members', version, pos, n, size)
            list1: list[MemberIdentity] = []
            m.members = list1
            count1 = n
            for _ in range(count1):
                e1 = MemberIdentity.__new__(MemberIdentity)
                if version >= 3:
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        raise null_found('LeaveGroupRequest.members.member_id', version, pos)
                    end = pos + n
                    e1.member_id = buf[pos:end].decode()
                    pos = end
                else:
                    e1.member_id = ""
                if version >= 3:
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        e1.group_instance_id = None
                    else:
                        end = pos + n
                        e1.group_instance_id = buf[pos:end].decode()
                        pos = end
                else:
                    e1.group_instance_id = None
                e1.reason = None
                list1.append(e1)
        else:
            m.members = []
    except (IndexError, LayoutError):
        raise cut_short('LeaveGroupRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('LeaveGroupRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('LeaveGroupRequest', version, pos, size)
    return m


def _write_leave_group_request_4_5(m: LeaveGroupRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    n = len(m.members) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.members:
        text = e1.member_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        if e1.group_instance_id is None:
            out.append(0)
        else:
            text = e1.group_instance_id.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if version >= 5:
            if e1.reason is None:
                out.append(0)
            else:
                text = e1.reason.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
        out.append(0)
    out.append(0)


def _write_leave_group_request_0_3(m: LeaveGroupRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    out += _p_h(len(text))
    out += text
    if version <= 2:
        text = m.member_id.encode()
        out += _p_h(len(text))
        out += text
    if version >= 3:
        out += _p_i(len(m.members))
        for e1 in m.members:
            if version >= 3:
                text = e1.member_id.encode()
                out += _p_h(len(text))
                out += text
            if version >= 3:
                if e1.group_instance_id is None:
                    out += b'\xff\xff'
                else:
                    text = e1.group_instance_id.encode()
                    out += _p_h(len(text))
                    out += text


@dataclass(slots=True, init=False, repr=False, eq=False)
class MemberResponse(Struct):
    """Part of LeaveGroupResponse."""

    member_id: str
    group_instance_id: str | None
    error_code: int

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class LeaveGroupResponse(Message):
    """LeaveGroupResponse, versions 0-5."""

    throttle_time_ms: int
    error_code: int
    members: list[MemberResponse]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is ABSENT else members

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> LeaveGroupResponse:
        if 4 <= version <= 5:
            return _read_leave_group_response_4_5(data, version, at)
        if 0 <= version <= 3:
            return _read_leave_group_response_0_3(data, version, at)
        raise MalformedMessage(unsupported('LeaveGroupResponse', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 4 <= version <= 5:
                return _write_leave_group_response_4_5(self, out, version)
            if 0 <= version <= 3:
                return _write_leave_group_response_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('LeaveGroupResponse', version, why) from why
        raise UnwritableMessage(unsupported('LeaveGroupResponse', '0-5', version))


def _read_leave_group_response_4_5(data: BytesLike, version: int, pos: int) -> LeaveGroupResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = LeaveGroupResponse.__new__(LeaveGroupResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('LeaveGroupResponse.members', version, pos)
        n -= 1
        if n * 5 > size - pos:
            raise too_many('LeaveGroupResponse.members', version, pos, n, size)
        list1: list[MemberResponse] = []
        m.members = list1
        count1 = n
        for _ in range(count1):
            e1 = MemberResponse.__new__(MemberResponse)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('LeaveGroupResponse.members.member_id', version, pos)
            end = pos + n - 1
            e1.member_id = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.group_instance_id = None
            else:
                end = pos + n - 1
                e1.group_instance_id = buf[pos:end].decode()
                pos = end
            e1.error_code, n = _u_hB(buf, pos)
            pos += 3
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('LeaveGroupResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('LeaveGroupResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('LeaveGroupResponse', version, pos, size)
    return m


def _read_leave_group_response_0_3(data: BytesLike, version: int, pos: int) -> LeaveGroupResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = LeaveGroupResponse.__new__(LeaveGroupResponse)
        if version >= 1:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        m.error_code, = _u_h(buf, pos)
        pos += 2
        if version >= 3:
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('LeaveGroupResponse.members', version, pos)
            if n * 6 > size - pos:
                raise too_many('LeaveGroupResponse.members', version, pos, n, size)
            list1: list[MemberResponse] = []
            m.members = list1
            count1 = n
            for _ in range(count1):
                e1 = MemberResponse.__new__(MemberResponse)
                if version >= 3:
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        raise null_found('LeaveGroupResponse.members.member_id', version, pos)
                    end = pos + n
                    e1.member_id = buf[pos:end].decode()
                    pos = end
                else:
                    e1.member_id = ""
                if version >= 3:
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        e1.group_instance_id = None
                    else:
                        end = pos + n
                        e1.group_instance_id = buf[pos:end].decode()
                        pos = end
                else:
                    e1.group_instance_id = ""
                if version >= 3:
                    e1.error_code, = _u_h(buf, pos)
                    pos += 2
                else:
                    e1.error_code = 0
                list1.append(e1)
        else:
            m.members = []
    except (IndexError, LayoutError):
        raise cut_short('LeaveGroupResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('LeaveGroupResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('LeaveGroupResponse', version, pos, size)
    return m


def _write_leave_group_response_4_5(m: LeaveGroupResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    n = len(m.members) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.members:
        text = e1.member_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        if e1.group_instance_id is None:
            out.append(0)
        else:
            text = e1.group_instance_id.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        out += _p_hx(e1.error_code)
    out.append(0)


def _write_leave_group_response_0_3(m: LeaveGroupResponse, out: bytearray, version: int) -> None:
    if version >= 1:
        out += _p_i(m.throttle_time_ms)
    out += _p_h(m.error_code)
    if version >= 3:
        out += _p_i(len(m.members))
        for e1 in m.members:
            if version >= 3:
                text = e1.member_id.encode()
                out += _p_h(len(text))
                out += text
            if version >= 3:
                if e1.group_instance_id is None:
                    out += b'\xff\xff'
                else:
                    text = e1.group_instance_id.encode()
                    out += _p_h(len(text))
                    out += text
            if version >= 3:
                out += _p_h(e1.error_code)
