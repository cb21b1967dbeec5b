"""JoinGroup (key 11), versions 0-9. Generated from definitions/join_group.txt by oncelog.protocol.generate: do not edit."""

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
    null_given,
    skip_tags,
    string_length,
    too_many,
    unsupported,
    unwritable,
    varint,
)

_p_h = Layout(">h").pack
_p_hih = Layout(">hih").pack
_p_i = Layout(">i").pack
_p_ihi = Layout(">ihi").pack
_p_ii = Layout(">ii").pack
_p_o = Layout(">?").pack
_u_h = Layout(">h").unpack_from
_u_hih = Layout(">hih").unpack_from
_u_i = Layout(">i").unpack_from
_u_ihi = Layout(">ihi").unpack_from
_u_iiB = Layout(">iiB").unpack_from
_u_o = Layout(">?").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class JoinGroupRequestProtocol(Struct):
    """Part of JoinGroupRequest."""

    name: str
    metadata: bytes

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata


@dataclass(slots=True, init=False, repr=False, eq=False)
class JoinGroupRequest(Message):
    """JoinGroupRequest, versions 0-9."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    reason: str | None

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = ABSENT,
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is ABSENT else protocols
        self.reason = reason

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> JoinGroupRequest:
        if 6 <= version <= 9:
            return _read_join_group_request_6_9(data, version, at)
        if 0 <= version <= 5:
            return _read_join_group_request_0_5(data, version, at)
        raise MalformedMessage(unsupported('JoinGroupRequest', '0-9', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 6 <= version <= 9:
                return _write_join_group_request_6_9(self, out, version)
            if 0 <= version <= 5:
                return _write_join_group_request_0_5(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('JoinGroupRequest', version, why) from why
        raise UnwritableMessage(unsupported('JoinGroupRequest', '0-9', version))


def _read_join_group_request_6_9(data: BytesLike, version: int, pos: int) -> JoinGroupRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = JoinGroupRequest.__new__(JoinGroupRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('JoinGroupRequest.group_id', version, pos)
        end = pos + n - 1
        m.group_id = buf[pos:end].decode()
        pos = end
        m.session_timeout_ms, m.rebalance_timeout_ms, n = _u_iiB(buf, pos)
        pos += 9
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('JoinGroupRequest.member_id', version, pos)
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
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('JoinGroupRequest.protocol_type', version, pos)
        end = pos + n - 1
        m.protocol_type = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('JoinGroupRequest.protocols', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('JoinGroupRequest.protocols', version, pos, n, size)
        list1: list[JoinGroupRequestProtocol] = []
        m.protocols = list1
        count1 = n
        for _ in range(count1):
            e1 = JoinGroupRequestProtocol.__new__(JoinGroupRequestProtocol)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('JoinGroupRequest.protocols.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('JoinGroupRequest.protocols.metadata', version, pos)
            end = pos + n - 1
            e1.metadata = buf[pos:end]
            pos = end
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        if version >= 8:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                m.reason = None
            else:
                end = pos + n - 1
                m.reason = buf[pos:end].decode()
                pos = end
        else:
            m.reason = None
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('JoinGroupRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('JoinGroupRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('JoinGroupRequest', version, pos, size)
    return m


def _read_join_group_request_0_5(data: BytesLike, version: int, pos: int) -> JoinGroupRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = JoinGroupRequest.__new__(JoinGroupRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('JoinGroupRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
        m.session_timeout_ms, = _u_i(buf, pos)
        pos += 4
        if version >= 1:
            m.rebalance_timeout_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.rebalance_timeout_ms = -1
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('JoinGroupRequest.member_id', version, pos)
        end = pos + n
        m.member_id = buf[pos:end].decode()
        pos = end
        if version >= 5:
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
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('JoinGroupRequest.protocol_type', version, pos)
        end = pos + n
        m.protocol_type = buf[pos:end].decode()
        pos = end
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('JoinGroupRequest.protocols', version, pos)
        if n * 6 > size - pos:
            raise too_many('JoinGroupRequest.protocols', version, pos, n, size)
        list1: list[JoinGroupRequestProtocol] = []
        m.protocols = list1
        count1 = n
        for _ in range(count1):
            e1 = JoinGroupRequestProtocol.__new__(JoinGroupRequestProtocol)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('JoinGroupRequest.protocols.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('JoinGroupRequest.protocols.metadata', version, pos)
            end = pos + n
            e1.metadata = buf[pos:end]
            pos = end
            list1.append(e1)
        m.reason = None
    except (IndexError, LayoutError):
        raise cut_short('JoinGroupRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('JoinGroupRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('JoinGroupRequest', version, pos, size)
    return m


def _write_join_group_request_6_9(m: JoinGroupRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    text = m.member_id.encode()
    out += _p_ii(m.session_timeout_ms, m.rebalance_timeout_ms)
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
    text = m.protocol_type.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    n = len(m.protocols) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.protocols:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.metadata) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += e1.metadata
        out.append(0)
    if version >= 8:
        if m.reason is None:
            out.append(0)
        else:
            text = m.reason.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    out.append(0)


def _write_join_group_request_0_5(m: JoinGroupRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    out += _p_h(len(text))
    out += text
    out += _p_i(m.session_timeout_ms)
    if version >= 1:
        out += _p_i(m.rebalance_timeout_ms)
    text = m.member_id.encode()
    out += _p_h(len(text))
    out += text
    if version >= 5:
        if m.group_instance_id is None:
            out += b'\xff\xff'
        else:
            text = m.group_instance_id.encode()
            out += _p_h(len(text))
            out += text
    text = m.protocol_type.encode()
    out += _p_h(len(text))
    out += text
    out += _p_i(len(m.protocols))
    for e1 in m.protocols:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.metadata))
        out += e1.metadata


@dataclass(slots=True, init=False, repr=False, eq=False)
class JoinGroupResponseMember(Struct):
    """Part of JoinGroupResponse."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


@dataclass(slots=True, init=False, repr=False, eq=False)
class JoinGroupResponse(Message):
    """JoinGroupResponse, versions 0-9."""

    throttle_time_ms: int
    error_code: int
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: str
    members: list[JoinGroupResponseMember]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is ABSENT else members

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> JoinGroupResponse:
        if 6 <= version <= 9:
            return _read_join_group_response_6_9(data, version, at)
        if 0 <= version <= 5:
            return _read_join_group_response_0_5(data, version, at)
        raise MalformedMessage(unsupported('JoinGroupResponse', '0-9', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 6 <= version <= 9:
                return _write_join_group_response_6_9(self, out, version)
            if 0 <= version <= 5:
                return _write_join_group_response_0_5(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('JoinGroupResponse', version, why) from why
        raise UnwritableMessage(unsupported('JoinGroupResponse', '0-9', version))


def _read_join_group_response_6_9(data: BytesLike, version: int, pos: int) -> JoinGroupResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = JoinGroupResponse.__new__(JoinGroupResponse)
        m.throttle_time_ms, m.error_code, m.generation_id = _u_ihi(buf, pos)
        pos += 10
        if version >= 7:
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
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            if version < 7:
                raise null_found('JoinGroupResponse.protocol_name', version, pos)
            m.protocol_name = None
        else:
            end = pos + n - 1
            m.protocol_name = buf[pos:end].decode()
            pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('JoinGroupResponse.leader', version, pos)
        end = pos + n - 1
        m.leader = buf[pos:end].decode()
        pos = end
        if version >= 9:
            m.skip_assignment, = _u_o(buf, pos)
            pos += 1
        else:
            m.skip_assignment = False
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('JoinGroupResponse.member_id', version, pos)
        end = pos + n - 1
        m.member_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('JoinGroupResponse.members', version, pos)
        n -= 1
        if n * 4 > size - pos:
            raise too_many('JoinGroupResponse.members', version, pos, n, size)
        list1: list[JoinGroupResponseMember] = []
        m.members = list1
        count1 = n
        for _ in range(count1):
            e1 = JoinGroupResponseMember.__new__(JoinGroupResponseMember)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('JoinGroupResponse.members.member_id', version, pos)
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
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('JoinGroupResponse.members.metadata', version, pos)
            end = pos + n - 1
            e1.metadata = buf[pos:end]
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
        raise cut_short('JoinGroupResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('JoinGroupResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('JoinGroupResponse', version, pos, size)
    return m


def _read_join_group_response_0_5(data: BytesLike, version: int, pos: int) -> JoinGroupResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = JoinGroupResponse.__new__(JoinGroupResponse)
        if version >= 2:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        m.protocol_type = None
        m.error_code, m.generation_id, n = _u_hih(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('JoinGroupResponse.protocol_name', version, pos)
        end = pos + n
        m.protocol_name = buf[pos:end].decode()
        pos = end
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('JoinGroupResponse.leader', version, pos)
        end = pos + n
        m.leader = buf[pos:end].decode()
        pos = end
        m.skip_assignment = False
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('JoinGroupResponse.member_id', version, pos)
        end = pos + n
        m.member_id = buf[pos:end].decode()
        pos = end
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('JoinGroupResponse.members', version, pos)
        if n * 6 > size - pos:
            raise too_many('JoinGroupResponse.members', version, pos, n, size)
        list1: list[JoinGroupResponseMember] = []
        m.members = list1
        count1 = n
        for _ in range(count1):
            e1 = JoinGroupResponseMember.__new__(JoinGroupResponseMember)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('JoinGroupResponse.members.member_id', version, pos)
            end = pos + n
            e1.member_id = buf[pos:end].decode()
            pos = end
            if version >= 5:
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
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('JoinGroupResponse.members.metadata', version, pos)
            end = pos + n
            e1.metadata = buf[pos:end]
            pos = end
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('JoinGroupResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('JoinGroupResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('JoinGroupResponse', version, pos, size)
    return m


def _write_join_group_response_6_9(m: JoinGroupResponse, out: bytearray, version: int) -> None:
    out += _p_ihi(m.throttle_time_ms, m.error_code, m.generation_id)
    if version >= 7:
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
    if m.protocol_name is None:
        if version < 7:
            raise null_given('JoinGroupResponse.protocol_name', version)
        out.append(0)
    else:
        text = m.protocol_name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    text = m.leader.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if version >= 9:
        out += _p_o(m.skip_assignment)
    text = m.member_id.encode()
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
        n = len(e1.metadata) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += e1.metadata
        out.append(0)
    out.append(0)


def _write_join_group_response_0_5(m: JoinGroupResponse, out: bytearray, version: int) -> None:
    if version >= 2:
        out += _p_i(m.throttle_time_ms)
    if m.protocol_name is None:
        raise null_given('JoinGroupResponse.protocol_name', version)
    text = m.protocol_name.encode()
    out += _p_hih(m.error_code, m.generation_id, len(text))
    out += text
    text = m.leader.encode()
    out += _p_h(len(text))
    out += text
    text = m.member_id.encode()
    out += _p_h(len(text))
    out += text
    out += _p_i(len(m.members))
    for e1 in m.members:
        text = e1.member_id.encode()
        out += _p_h(len(text))
        out += text
        if version >= 5:
            if e1.group_instance_id is None:
                out += b'\xff\xff'
            else:
                text = e1.group_instance_id.encode()
                out += _p_h(len(text))
                out += text
        out += _p_i(len(e1.metadata))
        out += e1.metadata
