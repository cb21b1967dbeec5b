"""DescribeAcls (key 29), versions 1-3. Generated from definitions/describe_acls.txt by oncelog.protocol.generate: do not edit."""

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

_p_b = Layout(">b").pack
_p_bb = Layout(">bb").pack
_p_bbx = Layout(">bbx").pack
_p_bh = Layout(">bh").pack
_p_bi = Layout(">bi").pack
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_u_bB = Layout(">bB").unpack_from
_u_bb = Layout(">bb").unpack_from
_u_bbB = Layout(">bbB").unpack_from
_u_bh = Layout(">bh").unpack_from
_u_bi = Layout(">bi").unpack_from
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_ihh = Layout(">ihh").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeAclsRequest(Message):
    """DescribeAclsRequest, versions 1-3."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeAclsRequest:
        if 2 <= version <= 3:
            return _read_describe_acls_request_2_3(data, version, at)
        if version == 1:
            return _read_describe_acls_request_1_1(data, version, at)
        raise MalformedMessage(unsupported('DescribeAclsRequest', '1-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 3:
                return _write_describe_acls_request_2_3(self, out, version)
            if version == 1:
                return _write_describe_acls_request_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeAclsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeAclsRequest', '1-3', version))


def _read_describe_acls_request_2_3(data: BytesLike, version: int, pos: int) -> DescribeAclsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeAclsRequest.__new__(DescribeAclsRequest)
        m.resource_type_filter, n = _u_bB(buf, pos)
        pos += 2
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.resource_name_filter = None
        else:
            end = pos + n - 1
            m.resource_name_filter = buf[pos:end].decode()
            pos = end
        m.pattern_type_filter, n = _u_bB(buf, pos)
        pos += 2
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.principal_filter = None
        else:
            end = pos + n - 1
            m.principal_filter = buf[pos:end].decode()
            pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.host_filter = None
        else:
            end = pos + n - 1
            m.host_filter = buf[pos:end].decode()
            pos = end
        m.operation, m.permission_type, n = _u_bbB(buf, pos)
        pos += 3
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeAclsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeAclsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeAclsRequest', version, pos, size)
    return m


def _read_describe_acls_request_1_1(data: BytesLike, version: int, pos: int) -> DescribeAclsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeAclsRequest.__new__(DescribeAclsRequest)
        m.resource_type_filter, n = _u_bh(buf, pos)
        pos += 3
        if n < 0:
            m.resource_name_filter = None
        else:
            end = pos + n
            m.resource_name_filter = buf[pos:end].decode()
            pos = end
        m.pattern_type_filter, n = _u_bh(buf, pos)
        pos += 3
        if n < 0:
            m.principal_filter = None
        else:
            end = pos + n
            m.principal_filter = buf[pos:end].decode()
            pos = end
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            m.host_filter = None
        else:
            end = pos + n
            m.host_filter = buf[pos:end].decode()
            pos = end
        m.operation, m.permission_type = _u_bb(buf, pos)
        pos += 2
    except (IndexError, LayoutError):
        raise cut_short('DescribeAclsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeAclsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeAclsRequest', version, pos, size)
    return m


def _write_describe_acls_request_2_3(m: DescribeAclsRequest, out: bytearray, version: int) -> None:
    out += _p_b(m.resource_type_filter)
    if m.resource_name_filter is None:
        out.append(0)
    else:
        text = m.resource_name_filter.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_b(m.pattern_type_filter)
    if m.principal_filter is None:
        out.append(0)
    else:
        text = m.principal_filter.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    if m.host_filter is None:
        out.append(0)
    else:
        text = m.host_filter.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_bbx(m.operation, m.permission_type)


def _write_describe_acls_request_1_1(m: DescribeAclsRequest, out: bytearray, version: int) -> None:
    out += _p_b(m.resource_type_filter)
    if m.resource_name_filter is None:
        out += b'\xff\xff'
    else:
        text = m.resource_name_filter.encode()
        out += _p_h(len(text))
        out += text
    out += _p_b(m.pattern_type_filter)
    if m.principal_filter is None:
        out += b'\xff\xff'
    else:
        text = m.principal_filter.encode()
        out += _p_h(len(text))
        out += text
    if m.host_filter is None:
        out += b'\xff\xff'
    else:
        text = m.host_filter.encode()
        out += _p_h(len(text))
        out += text
    out += _p_bb(m.operation, m.permission_type)


@dataclass(slots=True, init=False, repr=False, eq=False)
class AclDescription(Struct):
    """Part of DescribeAclsResponse."""

    principal: str
    host: str
    operation: int
    permission_type: int

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeAclsResource(Struct):
    """Part of DescribeAclsResponse."""

    resource_type: int
    resource_name: str
    pattern_type: int
    acls: list[AclDescription]

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] = ABSENT,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = [] if acls is ABSENT else acls


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeAclsResponse(Message):
    """DescribeAclsResponse, versions 1-3."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    resources: list[DescribeAclsResource]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is ABSENT else resources

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeAclsResponse:
        if 2 <= version <= 3:
            return _read_describe_acls_response_2_3(data, version, at)
        if version == 1:
            return _read_describe_acls_response_1_1(data, version, at)
        raise MalformedMessage(unsupported('DescribeAclsResponse', '1-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 3:
                return _write_describe_acls_response_2_3(self, out, version)
            if version == 1:
                return _write_describe_acls_response_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeAclsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeAclsResponse', '1-3', version))


def _read_describe_acls_response_2_3(data: BytesLike, version: int, pos: int) -> DescribeAclsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeAclsResponse.__new__(DescribeAclsResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
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
            raise null_found('DescribeAclsResponse.resources', version, pos)
        n -= 1
        if n * 5 > size - pos:
            raise too_many('DescribeAclsResponse.resources', version, pos, n, size)
        list1: list[DescribeAclsResource] = []
        m.resources = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeAclsResource.__new__(DescribeAclsResource)
            e1.resource_type, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeAclsResponse.resources.resource_name', version, pos)
            end = pos + n - 1
            e1.resource_name = buf[pos:end].decode()
            pos = end
            e1.pattern_type, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeAclsResponse.resources.acls', version, pos)
            n -= 1
            if n * 5 > size - pos:
                raise too_many('DescribeAclsResponse.resources.acls', version, pos, n, size)
            list2: list[AclDescription] = []
            e1.acls = list2
            count2 = n
            for _ in range(count2):
                e2 = AclDescription.__new__(AclDescription)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeAclsResponse.resources.acls.principal', version, pos)
                end = pos + n - 1
                e2.principal = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeAclsResponse.resources.acls.host', version, pos)
                end = pos + n - 1
                e2.host = buf[pos:end].decode()
                pos = end
                e2.operation, e2.permission_type, n = _u_bbB(buf, pos)
                pos += 3
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
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
        raise cut_short('DescribeAclsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeAclsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeAclsResponse', version, pos, size)
    return m


def _read_describe_acls_response_1_1(data: BytesLike, version: int, pos: int) -> DescribeAclsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeAclsResponse.__new__(DescribeAclsResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihh(buf, pos)
        pos += 8
        if n < 0:
            m.error_message = None
        else:
            end = pos + n
            m.error_message = buf[pos:end].decode()
            pos = end
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DescribeAclsResponse.resources', version, pos)
        if n * 8 > size - pos:
            raise too_many('DescribeAclsResponse.resources', version, pos, n, size)
        list1: list[DescribeAclsResource] = []
        m.resources = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeAclsResource.__new__(DescribeAclsResource)
            e1.resource_type, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                raise null_found('DescribeAclsResponse.resources.resource_name', version, pos)
            end = pos + n
            e1.resource_name = buf[pos:end].decode()
            pos = end
            e1.pattern_type, n = _u_bi(buf, pos)
            pos += 5
            if n < 0:
                raise null_found('DescribeAclsResponse.resources.acls', version, pos)
            if n * 6 > size - pos:
                raise too_many('DescribeAclsResponse.resources.acls', version, pos, n, size)
            list2: list[AclDescription] = []
            e1.acls = list2
            count2 = n
            for _ in range(count2):
                e2 = AclDescription.__new__(AclDescription)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DescribeAclsResponse.resources.acls.principal', version, pos)
                end = pos + n
                e2.principal = buf[pos:end].decode()
                pos = end
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DescribeAclsResponse.resources.acls.host', version, pos)
                end = pos + n
                e2.host = buf[pos:end].decode()
                pos = end
                e2.operation, e2.permission_type = _u_bb(buf, pos)
                pos += 2
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DescribeAclsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeAclsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeAclsResponse', version, pos, size)
    return m


def _write_describe_acls_response_2_3(m: DescribeAclsResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
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
    n = len(m.resources) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.resources:
        text = e1.resource_name.encode()
        out += _p_b(e1.resource_type)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_b(e1.pattern_type)
        n = len(e1.acls) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.acls:
            text = e2.principal.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            text = e2.host.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            out += _p_bbx(e2.operation, e2.permission_type)
        out.append(0)
    out.append(0)


def _write_describe_acls_response_1_1(m: DescribeAclsResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    if m.error_message is None:
        out += b'\xff\xff'
    else:
        text = m.error_message.encode()
        out += _p_h(len(text))
        out += text
    out += _p_i(len(m.resources))
    for e1 in m.resources:
        text = e1.resource_name.encode()
        out += _p_bh(e1.resource_type, len(text))
        out += text
        out += _p_bi(e1.pattern_type, len(e1.acls))
        for e2 in e1.acls:
            text = e2.principal.encode()
            out += _p_h(len(text))
            out += text
            text = e2.host.encode()
            out += _p_h(len(text))
            out += text
            out += _p_bb(e2.operation, e2.permission_type)
