"""DescribeGroups (key 15), versions 0-6. Generated from definitions/describe_groups.txt by oncelog.protocol.generate: do not edit."""

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
_p_hh = Layout(">hh").pack
_p_i = Layout(">i").pack
_p_ix = Layout(">ix").pack
_p_o = Layout(">?").pack
_p_ox = Layout(">?x").pack
_u_h = Layout(">h").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_o = Layout(">?").unpack_from
_u_oB = Layout(">?B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeGroupsRequest(Message):
    """DescribeGroupsRequest, versions 0-6."""

    groups: list[str]
    include_authorized_operations: bool

    def __init__(
        self,
        groups: list[str] = ABSENT,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups = [] if groups is ABSENT else groups
        self.include_authorized_operations = include_authorized_operations

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeGroupsRequest:
        if 5 <= version <= 6:
            return _read_describe_groups_request_5_6(data, version, at)
        if 0 <= version <= 4:
            return _read_describe_groups_request_0_4(data, version, at)
        raise MalformedMessage(unsupported('DescribeGroupsRequest', '0-6', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 5 <= version <= 6:
                return _write_describe_groups_request_5_6(self, out, version)
            if 0 <= version <= 4:
                return _write_describe_groups_request_0_4(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeGroupsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeGroupsRequest', '0-6', version))


def _read_describe_groups_request_5_6(data: BytesLike, version: int, pos: int) -> DescribeGroupsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeGroupsRequest.__new__(DescribeGroupsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeGroupsRequest.groups', version, pos)
        n -= 1
        if n > size - pos:
            raise too_many('DescribeGroupsRequest.groups', version, pos, n, size)
        list1: list[str] = []
        m.groups = list1
        count1 = n
        for _ in range(count1):
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeGroupsRequest.groups', version, pos)
            end = pos + n - 1
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        m.include_authorized_operations, n = _u_oB(buf, pos)
        pos += 2
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeGroupsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeGroupsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeGroupsRequest', version, pos, size)
    return m


def _read_describe_groups_request_0_4(data: BytesLike, version: int, pos: int) -> DescribeGroupsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeGroupsRequest.__new__(DescribeGroupsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DescribeGroupsRequest.groups', version, pos)
        if n * 2 > size - pos:
            raise too_many('DescribeGroupsRequest.groups', version, pos, n, size)
        list1: list[str] = []
        m.groups = list1
        count1 = n
        for _ in range(count1):
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DescribeGroupsRequest.groups', version, pos)
            end = pos + n
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        if version >= 3:
            m.include_authorized_operations, = _u_o(buf, pos)
            pos += 1
        else:
            m.include_authorized_operations = False
    except (IndexError, LayoutError):
        raise cut_short('DescribeGroupsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeGroupsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeGroupsRequest', version, pos, size)
    return m


def _write_describe_groups_request_5_6(m: DescribeGroupsRequest, out: bytearray, version: int) -> None:
    n = len(m.groups) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.groups:
        text = e1.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_ox(m.include_authorized_operations)


def _write_describe_groups_request_0_4(m: DescribeGroupsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.groups))
    for e1 in m.groups:
        text = e1.encode()
        out += _p_h(len(text))
        out += text
    if version >= 3:
        out += _p_o(m.include_authorized_operations)


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribedGroupMember(Struct):
    """Part of DescribeGroupsResponse."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribedGroup(Struct):
    """Part of DescribeGroupsResponse."""

    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribedGroupMember]
    authorized_operations: int

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = ABSENT,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is ABSENT else members
        self.authorized_operations = authorized_operations


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeGroupsResponse(Message):
    """DescribeGroupsResponse, versions 0-6."""

    throttle_time_ms: int
    groups: list[DescribedGroup]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is ABSENT else groups

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeGroupsResponse:
        if 5 <= version <= 6:
            return _read_describe_groups_response_5_6(data, version, at)
        if 0 <= version <= 4:
            return _read_describe_groups_response_0_4(data, version, at)
        raise MalformedMessage(unsupported('DescribeGroupsResponse', '0-6', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 5 <= version <= 6:
                return _write_describe_groups_response_5_6(self, out, version)
            if 0 <= version <= 4:
                return _write_describe_groups_response_0_4(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeGroupsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeGroupsResponse', '0-6', version))


def _read_describe_groups_response_5_6(data: BytesLike, version: int, pos: int) -> DescribeGroupsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeGroupsResponse.__new__(DescribeGroupsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeGroupsResponse.groups', version, pos)
        n -= 1
        if n * 12 > size - pos:
            raise too_many('DescribeGroupsResponse.groups', version, pos, n, size)
        list1: list[DescribedGroup] = []
        m.groups = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribedGroup.__new__(DescribedGroup)
            e1.error_code, = _u_h(buf, pos)
            pos += 2
            if version >= 6:
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e1.error_message = None
                else:
                    end = pos + n - 1
                    e1.error_message = buf[pos:end].decode()
                    pos = end
            else:
                e1.error_message = None
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeGroupsResponse.groups.group_id', version, pos)
            end = pos + n - 1
            e1.group_id = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeGroupsResponse.groups.group_state', version, pos)
            end = pos + n - 1
            e1.group_state = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeGroupsResponse.groups.protocol_type', version, pos)
            end = pos + n - 1
            e1.protocol_type = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeGroupsResponse.groups.protocol_data', version, pos)
            end = pos + n - 1
            e1.protocol_data = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeGroupsResponse.groups.members', version, pos)
            n -= 1
            if n * 7 > size - pos:
                raise too_many('DescribeGroupsResponse.groups.members', version, pos, n, size)
            list2: list[DescribedGroupMember] = []
            e1.members = list2
            count2 = n
            for _ in range(count2):
                e2 = DescribedGroupMember.__new__(DescribedGroupMember)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeGroupsResponse.groups.members.member_id', version, pos)
                end = pos + n - 1
                e2.member_id = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.group_instance_id = None
                else:
                    end = pos + n - 1
                    e2.group_instance_id = buf[pos:end].decode()
                    pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeGroupsResponse.groups.members.client_id', version, pos)
                end = pos + n - 1
                e2.client_id = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeGroupsResponse.groups.members.client_host', version, pos)
                end = pos + n - 1
                e2.client_host = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeGroupsResponse.groups.members.member_metadata', version, pos)
                end = pos + n - 1
                e2.member_metadata = buf[pos:end]
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeGroupsResponse.groups.members.member_assignment', version, pos)
                end = pos + n - 1
                e2.member_assignment = buf[pos:end]
                pos = end
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            e1.authorized_operations, n = _u_iB(buf, pos)
            pos += 5
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeGroupsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeGroupsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeGroupsResponse', version, pos, size)
    return m


def _read_describe_groups_response_0_4(data: BytesLike, version: int, pos: int) -> DescribeGroupsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeGroupsResponse.__new__(DescribeGroupsResponse)
        if version >= 1:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DescribeGroupsResponse.groups', version, pos)
        if n * 14 > size - pos:
            raise too_many('DescribeGroupsResponse.groups', version, pos, n, size)
        list1: list[DescribedGroup] = []
        m.groups = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribedGroup.__new__(DescribedGroup)
            e1.error_message = None
            e1.error_code, n = _u_hh(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('DescribeGroupsResponse.groups.group_id', version, pos)
            end = pos + n
            e1.group_id = buf[pos:end].decode()
            pos = end
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DescribeGroupsResponse.groups.group_state', version, pos)
            end = pos + n
            e1.group_state = buf[pos:end].decode()
            pos = end
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DescribeGroupsResponse.groups.protocol_type', version, pos)
            end = pos + n
            e1.protocol_type = buf[pos:end].decode()
            pos = end
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DescribeGroupsResponse.groups.protocol_data', version, pos)
            end = pos + n
            e1.protocol_data = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('DescribeGroupsResponse.groups.members', version, pos)
            if n * 14 > size - pos:
                raise too_many('DescribeGroupsResponse.groups.members', version, pos, n, size)
            list2: list[DescribedGroupMember] = []
            e1.members = list2
            count2 = n
            for _ in range(count2):
                e2 = DescribedGroupMember.__new__(DescribedGroupMember)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DescribeGroupsResponse.groups.members.member_id', version, pos)
                end = pos + n
                e2.member_id = buf[pos:end].decode()
                pos = end
                if version >= 4:
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        e2.group_instance_id = None
                    else:
                        end = pos + n
                        e2.group_instance_id = buf[pos:end].decode()
                        pos = end
                else:
                    e2.group_instance_id = None
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DescribeGroupsResponse.groups.members.client_id', version, pos)
                end = pos + n
                e2.client_id = buf[pos:end].decode()
                pos = end
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DescribeGroupsResponse.groups.members.client_host', version, pos)
                end = pos + n
                e2.client_host = buf[pos:end].decode()
                pos = end
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('DescribeGroupsResponse.groups.members.member_metadata', version, pos)
                end = pos + n
                e2.member_metadata = buf[pos:end]
                pos = end
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('DescribeGroupsResponse.groups.members.member_assignment', version, pos)
                end = pos + n
                e2.member_assignment = buf[pos:end]
                pos = end
                list2.append(e2)
            if version >= 3:
                e1.authorized_operations, = _u_i(buf, pos)
                pos += 4
            else:
                e1.authorized_operations = -2147483648
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DescribeGroupsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeGroupsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeGroupsResponse', version, pos, size)
    return m


def _write_describe_groups_response_5_6(m: DescribeGroupsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.groups) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.groups:
        out += _p_h(e1.error_code)
        if version >= 6:
            if e1.error_message is None:
                out.append(0)
            else:
                text = e1.error_message.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
        text = e1.group_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.group_state.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.protocol_type.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.protocol_data.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.members) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.members:
            text = e2.member_id.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            if e2.group_instance_id is None:
                out.append(0)
            else:
                text = e2.group_instance_id.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            text = e2.client_id.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            text = e2.client_host.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            n = len(e2.member_metadata) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += e2.member_metadata
            n = len(e2.member_assignment) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += e2.member_assignment
            out.append(0)
        out += _p_ix(e1.authorized_operations)
    out.append(0)


def _write_describe_groups_response_0_4(m: DescribeGroupsResponse, out: bytearray, version: int) -> None:
    if version >= 1:
        out += _p_i(m.throttle_time_ms)
    out += _p_i(len(m.groups))
    for e1 in m.groups:
        text = e1.group_id.encode()
        out += _p_hh(e1.error_code, len(text))
        out += text
        text = e1.group_state.encode()
        out += _p_h(len(text))
        out += text
        text = e1.protocol_type.encode()
        out += _p_h(len(text))
        out += text
        text = e1.protocol_data.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.members))
        for e2 in e1.members:
            text = e2.member_id.encode()
            out += _p_h(len(text))
            out += text
            if version >= 4:
                if e2.group_instance_id is None:
                    out += b'\xff\xff'
                else:
                    text = e2.group_instance_id.encode()
                    out += _p_h(len(text))
                    out += text
            text = e2.client_id.encode()
            out += _p_h(len(text))
            out += text
            text = e2.client_host.encode()
            out += _p_h(len(text))
            out += text
            out += _p_i(len(e2.member_metadata))
            out += e2.member_metadata
            out += _p_i(len(e2.member_assignment))
            out += e2.member_assignment
        if version >= 3:
            out += _p_i(e1.authorized_operations)
