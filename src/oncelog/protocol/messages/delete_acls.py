"""DeleteAcls (key 31), versions 1-3. Generated from definitions/delete_acls.txt by oncelog.protocol.generate: do not edit."""

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
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_u_bB = Layout(">bB").unpack_from
_u_bb = Layout(">bb").unpack_from
_u_bbB = Layout(">bbB").unpack_from
_u_bh = Layout(">bh").unpack_from
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteAclsFilter(Struct):
    """Part of DeleteAclsRequest."""

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


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteAclsRequest(Message):
    """DeleteAclsRequest, versions 1-3."""

    filters: list[DeleteAclsFilter]

    def __init__(
        self,
        filters: list[DeleteAclsFilter] = ABSENT,
    ) -> None:
        self.filters = [] if filters is ABSENT else filters

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DeleteAclsRequest:
        if 2 <= version <= 3:
            return _read_delete_acls_request_2_3(data, version, at)
        if version == 1:
            return _read_delete_acls_request_1_1(data, version, at)
        raise MalformedMessage(unsupported('DeleteAclsRequest', '1-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 3:
                return _write_delete_acls_request_2_3(self, out, version)
            if version == 1:
                return _write_delete_acls_request_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DeleteAclsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DeleteAclsRequest', '1-3', version))


def _read_delete_acls_request_2_3(data: BytesLike, version: int, pos: int) -> DeleteAclsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteAclsRequest.__new__(DeleteAclsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DeleteAclsRequest.filters', version, pos)
        n -= 1
        if n * 8 > size - pos:
            raise too_many('DeleteAclsRequest.filters', version, pos, n, size)
        list1: list[DeleteAclsFilter] = []
        m.filters = list1
        count1 = n
        for _ in range(count1):
            e1 = DeleteAclsFilter.__new__(DeleteAclsFilter)
            e1.resource_type_filter, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.resource_name_filter = None
            else:
                end = pos + n - 1
                e1.resource_name_filter = buf[pos:end].decode()
                pos = end
            e1.pattern_type_filter, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.principal_filter = None
            else:
                end = pos + n - 1
                e1.principal_filter = buf[pos:end].decode()
                pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.host_filter = None
            else:
                end = pos + n - 1
                e1.host_filter = buf[pos:end].decode()
                pos = end
            e1.operation, e1.permission_type, n = _u_bbB(buf, pos)
            pos += 3
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DeleteAclsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteAclsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteAclsRequest', version, pos, size)
    return m


def _read_delete_acls_request_1_1(data: BytesLike, version: int, pos: int) -> DeleteAclsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteAclsRequest.__new__(DeleteAclsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DeleteAclsRequest.filters', version, pos)
        if n * 10 > size - pos:
            raise too_many('DeleteAclsRequest.filters', version, pos, n, size)
        list1: list[DeleteAclsFilter] = []
        m.filters = list1
        count1 = n
        for _ in range(count1):
            e1 = DeleteAclsFilter.__new__(DeleteAclsFilter)
            e1.resource_type_filter, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                e1.resource_name_filter = None
            else:
                end = pos + n
                e1.resource_name_filter = buf[pos:end].decode()
                pos = end
            e1.pattern_type_filter, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                e1.principal_filter = None
            else:
                end = pos + n
                e1.principal_filter = buf[pos:end].decode()
                pos = end
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                e1.host_filter = None
            else:
                end = pos + n
                e1.host_filter = buf[pos:end].decode()
                pos = end
            e1.operation, e1.permission_type = _u_bb(buf, pos)
            pos += 2
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DeleteAclsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteAclsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteAclsRequest', version, pos, size)
    return m


def _write_delete_acls_request_2_3(m: DeleteAclsRequest, out: bytearray, version: int) -> None:
    n = len(m.filters) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.filters:
        out += _p_b(e1.resource_type_filter)
        if e1.resource_name_filter is None:
            out.append(0)
        else:
            text = e1.resource_name_filter.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        out += _p_b(e1.pattern_type_filter)
        if e1.principal_filter is None:
            out.append(0)
        else:
            text = e1.principal_filter.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if e1.host_filter is None:
            out.append(0)
        else:
            text = e1.host_filter.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        out += _p_bbx(e1.operation, e1.permission_type)
    out.append(0)


def _write_delete_acls_request_1_1(m: DeleteAclsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.filters))
    for e1 in m.filters:
        out += _p_b(e1.resource_type_filter)
        if e1.resource_name_filter is None:
            out += b'\xff\xff'
        else:
            text = e1.resource_name_filter.encode()
            out += _p_h(len(text))
            out += text
        out += _p_b(e1.pattern_type_filter)
        if e1.principal_filter is None:
            out += b'\xff\xff'
        else:
            text = e1.principal_filter.encode()
            out += _p_h(len(text))
            out += text
        if e1.host_filter is None:
            out += b'\xff\xff'
        else:
            text = e1.host_filter.encode()
            out += _p_h(len(text))
            out += text
        out += _p_bb(e1.operation, e1.permission_type)


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteAclsMatchingAcl(Struct):
    """Part of DeleteAclsResponse."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteAclsFilterResult(Struct):
    """Part of DeleteAclsResponse."""

    error_code: int
    error_message: str | None
    matching_acls: list[DeleteAclsMatchingAcl]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = [] if matching_acls is ABSENT else matching_acls


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteAclsResponse(Message):
    """DeleteAclsResponse, versions 1-3."""

    throttle_time_ms: int
    filter_results: list[DeleteAclsFilterResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsFilterResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is ABSENT else filter_results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DeleteAclsResponse:
        if 2 <= version <= 3:
            return _read_delete_acls_response_2_3(data, version, at)
        if version == 1:
            return _read_delete_acls_response_1_1(data, version, at)
        raise MalformedMessage(unsupported('DeleteAclsResponse', '1-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 3:
                return _write_delete_acls_response_2_3(self, out, version)
            if version == 1:
                return _write_delete_acls_response_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DeleteAclsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DeleteAclsResponse', '1-3', version))


def _read_delete_acls_response_2_3(data: BytesLike, version: int, pos: int) -> DeleteAclsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteAclsResponse.__new__(DeleteAclsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DeleteAclsResponse.filter_results', version, pos)
        n -= 1
        if n * 5 > size - pos:
            raise too_many('DeleteAclsResponse.filter_results', version, pos, n, size)
        list1: list[DeleteAclsFilterResult] = []
        m.filter_results = list1
        count1 = n
        for _ in range(count1):
            e1 = DeleteAclsFilterResult.__new__(DeleteAclsFilterResult)
            e1.error_code, n = _u_hB(buf, pos)
            pos += 3
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.error_message = None
            else:
                end = pos + n - 1
                e1.error_message = buf[pos:end].decode()
                pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DeleteAclsResponse.filter_results.matching_acls', version, pos)
            n -= 1
            if n * 11 > size - pos:
                raise too_many('DeleteAclsResponse.filter_results.matching_acls', version, pos, n, size)
            list2: list[DeleteAclsMatchingAcl] = []
            e1.matching_acls = list2
            count2 = n
            for _ in range(count2):
                e2 = DeleteAclsMatchingAcl.__new__(DeleteAclsMatchingAcl)
                e2.error_code, n = _u_hB(buf, pos)
                pos += 3
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.error_message = None
                else:
                    end = pos + n - 1
                    e2.error_message = buf[pos:end].decode()
                    pos = end
                e2.resource_type, n = _u_bB(buf, pos)
                pos += 2
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DeleteAclsResponse.filter_results.matching_acls.resource_name', version, pos)
                end = pos + n - 1
                e2.resource_name = buf[pos:end].decode()
                pos = end
                e2.pattern_type, n = _u_bB(buf, pos)
                pos += 2
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DeleteAclsResponse.filter_results.matching_acls.principal', version, pos)
                end = pos + n - 1
                e2.principal = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DeleteAclsResponse.filter_results.matching_acls.host', version, pos)
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
        raise cut_short('DeleteAclsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteAclsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteAclsResponse', version, pos, size)
    return m


def _read_delete_acls_response_1_1(data: BytesLike, version: int, pos: int) -> DeleteAclsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteAclsResponse.__new__(DeleteAclsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('DeleteAclsResponse.filter_results', version, pos)
        if n * 8 > size - pos:
            raise too_many('DeleteAclsResponse.filter_results', version, pos, n, size)
        list1: list[DeleteAclsFilterResult] = []
        m.filter_results = list1
        count1 = n
        for _ in range(count1):
            e1 = DeleteAclsFilterResult.__new__(DeleteAclsFilterResult)
            e1.error_code, n = _u_hh(buf, pos)
            pos += 4
            if n < 0:
                e1.error_message = None
            else:
                end = pos + n
                e1.error_message = buf[pos:end].decode()
                pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('DeleteAclsResponse.filter_results.matching_acls', version, pos)
            if n * 14 > size - pos:
                raise too_many('DeleteAclsResponse.filter_results.matching_acls', version, pos, n, size)
            list2: list[DeleteAclsMatchingAcl] = []
            e1.matching_acls = list2
            count2 = n
            for _ in range(count2):
                e2 = DeleteAclsMatchingAcl.__new__(DeleteAclsMatchingAcl)
                e2.error_code, n = _u_hh(buf, pos)
                pos += 4
                if n < 0:
                    e2.error_message = None
                else:
                    end = pos + n
                    e2.error_message = buf[pos:end].decode()
                    pos = end
                e2.resource_type, n = _u_bh(buf, pos)
                pos += 3
                if n < 0:
                    raise null_found('DeleteAclsResponse.filter_results.matching_acls.resource_name', version, pos)
                end = pos + n
                e2.resource_name = buf[pos:end].decode()
                pos = end
                e2.pattern_type, n = _u_bh(buf, pos)
                pos += 3
                if n < 0:
                    raise null_found('DeleteAclsResponse.filter_results.matching_acls.principal', version, pos)
                end = pos + n
                e2.principal = buf[pos:end].decode()
                pos = end
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DeleteAclsResponse.filter_results.matching_acls.host', version, pos)
                end = pos + n
                e2.host = buf[pos:end].decode()
                pos = end
                e2.operation, e2.permission_type = _u_bb(buf, pos)
                pos += 2
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DeleteAclsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteAclsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteAclsResponse', version, pos, size)
    return m


def _write_delete_acls_response_2_3(m: DeleteAclsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.filter_results) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.filter_results:
        out += _p_h(e1.error_code)
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
        n = len(e1.matching_acls) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.matching_acls:
            out += _p_h(e2.error_code)
            if e2.error_message is None:
                out.append(0)
            else:
                text = e2.error_message.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            text = e2.resource_name.encode()
            out += _p_b(e2.resource_type)
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            text = e2.principal.encode()
            out += _p_b(e2.pattern_type)
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


def _write_delete_acls_response_1_1(m: DeleteAclsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.filter_results))
    for e1 in m.filter_results:
        out += _p_h(e1.error_code)
        if e1.error_message is None:
            out += b'\xff\xff'
        else:
            text = e1.error_message.encode()
            out += _p_h(len(text))
            out += text
        out += _p_i(len(e1.matching_acls))
        for e2 in e1.matching_acls:
            out += _p_h(e2.error_code)
            if e2.error_message is None:
                out += b'\xff\xff'
            else:
                text = e2.error_message.encode()
                out += _p_h(len(text))
                out += text
            text = e2.resource_name.encode()
            out += _p_bh(e2.resource_type, len(text))
            out += text
            text = e2.principal.encode()
            out += _p_bh(e2.pattern_type, len(text))
            out += text
            text = e2.host.encode()
            out += _p_h(len(text))
            out += text
            out += _p_bb(e2.operation, e2.permission_type)
