"""ListGroups (key 16), versions 0-5. Generated from definitions/list_groups.txt by oncelog.protocol.generate: do not edit."""

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
_u_ihB = Layout(">ihB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListGroupsRequest(Message):
    """ListGroupsRequest, versions 0-5."""

    states_filter: list[str]
    types_filter: list[str]

    def __init__(
        self,
        states_filter: list[str] = ABSENT,
        types_filter: list[str] = ABSENT,
    ) -> None:
        self.states_filter = [] if states_filter is ABSENT else states_filter
        self.types_filter = [] if types_filter is ABSENT else types_filter

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListGroupsRequest:
        if 3 <= version <= 5:
            return _read_list_groups_request_3_5(data, version, at)
        if 0 <= version <= 2:
            return _read_list_groups_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('ListGroupsRequest', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 5:
                return _write_list_groups_request_3_5(self, out, version)
            if 0 <= version <= 2:
                return _write_list_groups_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListGroupsRequest', version, why) from why
        raise UnwritableMessage(unsupported('ListGroupsRequest', '0-5', version))


def _read_list_groups_request_3_5(data: BytesLike, version: int, pos: int) -> ListGroupsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListGroupsRequest.__new__(ListGroupsRequest)
        if version >= 4:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ListGroupsRequest.states_filter', version, pos)
            n -= 1
            if n > size - pos:
                raise too_many('ListGroupsRequest.states_filter', version, pos, n, size)
            list1: list[str] = []
            m.states_filter = list1
            count1 = n
            for _ in range(count1):
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ListGroupsRequest.states_filter', version, pos)
                end = pos + n - 1
                e1 = buf[pos:end].decode()
                pos = end
                list1.append(e1)
        else:
            m.states_filter = []
        if version >= 5:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ListGroupsRequest.types_filter', version, pos)
            n -= 1
            if n > size - pos:
                raise too_many('ListGroupsRequest.types_filter', version, pos, n, size)
            list2: list[str] = []
            m.types_filter = list2
            count2 = n
            for _ in range(count2):
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ListGroupsRequest.types_filter', version, pos)
                end = pos + n - 1
                e2 = buf[pos:end].decode()
                pos = end
                list2.append(e2)
        else:
            m.types_filter = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ListGroupsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListGroupsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ListGroupsRequest', version, pos, size)
    return m


def _read_list_groups_request_0_2(data: BytesLike, version: int, pos: int) -> ListGroupsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListGroupsRequest.__new__(ListGroupsRequest)
        m.states_filter = []
        m.types_filter = []
    except (IndexError, LayoutError):
        raise cut_short('ListGroupsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListGroupsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ListGroupsRequest', version, pos, size)
    return m


def _write_list_groups_request_3_5(m: ListGroupsRequest, out: bytearray, version: int) -> None:
    if version >= 4:
        n = len(m.states_filter) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.states_filter:
            text = e1.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    if version >= 5:
        n = len(m.types_filter) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in m.types_filter:
            text = e2.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    out.append(0)


def _write_list_groups_request_0_2(m: ListGroupsRequest, out: bytearray, version: int) -> None:
    return


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListedGroup(Struct):
    """Part of ListGroupsResponse."""

    group_id: str
    protocol_type: str
    group_state: str
    group_type: str

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListGroupsResponse(Message):
    """ListGroupsResponse, versions 0-5."""

    throttle_time_ms: int
    error_code: int
    groups: list[ListedGroup]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is ABSENT else groups

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListGroupsResponse:
        if 3 <= version <= 5:
            return _read_list_groups_response_3_5(data, version, at)
        if 0 <= version <= 2:
            return _read_list_groups_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('ListGroupsResponse', '0-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 5:
                return _write_list_groups_response_3_5(self, out, version)
            if 0 <= version <= 2:
                return _write_list_groups_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListGroupsResponse', version, why) from why
        raise UnwritableMessage(unsupported('ListGroupsResponse', '0-5', version))


def _read_list_groups_response_3_5(data: BytesLike, version: int, pos: int) -> ListGroupsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListGroupsResponse.__new__(ListGroupsResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListGroupsResponse.groups', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('ListGroupsResponse.groups', version, pos, n, size)
        list1: list[ListedGroup] = []
        m.groups = list1
        count1 = n
        for _ in range(count1):
            e1 = ListedGroup.__new__(ListedGroup)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListGroupsResponse.groups.group_id', version, pos)
            end = pos + n - 1
            e1.group_id = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListGroupsResponse.groups.protocol_type', version, pos)
            end = pos + n - 1
            e1.protocol_type = buf[pos:end].decode()
            pos = end
            if version >= 4:
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ListGroupsResponse.groups.group_state', version, pos)
                end = pos + n - 1
                e1.group_state = buf[pos:end].decode()
                pos = end
            else:
                e1.group_state = ""
            if version >= 5:
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ListGroupsResponse.groups.group_type', version, pos)
                end = pos + n - 1
                e1.group_type = buf[pos:end].decode()
                pos = end
            else:
                e1.group_type = ""
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
        raise cut_short('ListGroupsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListGroupsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ListGroupsResponse', version, pos, size)
    return m


def _read_list_groups_response_0_2(data: BytesLike, version: int, pos: int) -> ListGroupsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListGroupsResponse.__new__(ListGroupsResponse)
        if version >= 1:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        m.error_code, n = _u_hi(buf, pos)
        pos += 6
        if n < 0:
            raise null_found('ListGroupsResponse.groups', version, pos)
        if n * 4 > size - pos:
            raise too_many('ListGroupsResponse.groups', version, pos, n, size)
        list1: list[ListedGroup] = []
        m.groups = list1
        count1 = n
        for _ in range(count1):
            e1 = ListedGroup.__new__(ListedGroup)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ListGroupsResponse.groups.group_id', version, pos)
            end = pos + n
            e1.group_id = buf[pos:end].decode()
            pos = end
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ListGroupsResponse.groups.protocol_type', version, pos)
            end = pos + n
            e1.protocol_type = buf[pos:end].decode()
            pos = end
            e1.group_state = ""
            e1.group_type = ""
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('ListGroupsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListGroupsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ListGroupsResponse', version, pos, size)
    return m


def _write_list_groups_response_3_5(m: ListGroupsResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    n = len(m.groups) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.groups:
        text = e1.group_id.encode()
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
        if version >= 4:
            text = e1.group_state.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if version >= 5:
            text = e1.group_type.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        out.append(0)
    out.append(0)


def _write_list_groups_response_0_2(m: ListGroupsResponse, out: bytearray, version: int) -> None:
    if version >= 1:
        out += _p_i(m.throttle_time_ms)
    out += _p_hi(m.error_code, len(m.groups))
    for e1 in m.groups:
        text = e1.group_id.encode()
        out += _p_h(len(text))
        out += text
        text = e1.protocol_type.encode()
        out += _p_h(len(text))
        out += text
