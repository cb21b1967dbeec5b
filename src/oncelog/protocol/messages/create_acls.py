"""CreateAcls (key 30), versions 1-3. Generated from definitions/create_acls.txt by oncelog.protocol.generate: do not edit."""

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
class AclCreation(Struct):
    """Part of CreateAclsRequest."""

    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreateAclsRequest(Message):
    """CreateAclsRequest, versions 1-3."""

    creations: list[AclCreation]

    def __init__(
        self,
        creations: list[AclCreation] = ABSENT,
    ) -> None:
        self.creations = [] if creations is ABSENT else creations

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> CreateAclsRequest:
        if 2 <= version <= 3:
            return _read_create_acls_request_2_3(data, version, at)
        if version == 1:
            return _read_create_acls_request_1_1(data, version, at)
        raise MalformedMessage(unsupported('CreateAclsRequest', '1-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 3:
                return _write_create_acls_request_2_3(self, out, version)
            if version == 1:
                return _write_create_acls_request_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('CreateAclsRequest', version, why) from why
        raise UnwritableMessage(unsupported('CreateAclsRequest', '1-3', version))


def _read_create_acls_request_2_3(data: BytesLike, version: int, pos: int) -> CreateAclsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreateAclsRequest.__new__(CreateAclsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('CreateAclsRequest.creations', version, pos)
        n -= 1
        if n * 8 > size - pos:
            raise too_many('CreateAclsRequest.creations', version, pos, n, size)
        list1: list[AclCreation] = []
        m.creations = list1
        count1 = n
        for _ in range(count1):
            e1 = AclCreation.__new__(AclCreation)
            e1.resource_type, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('CreateAclsRequest.creations.resource_name', version, pos)
            end = pos + n - 1
            e1.resource_name = buf[pos:end].decode()
            pos = end
            e1.resource_pattern_type, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('CreateAclsRequest.creations.principal', version, pos)
            end = pos + n - 1
            e1.principal = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('CreateAclsRequest.creations.host', version, pos)
            end = pos + n - 1
            e1.host = buf[pos:end].decode()
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
        raise cut_short('CreateAclsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreateAclsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('CreateAclsRequest', version, pos, size)
    return m


def _read_create_acls_request_1_1(data: BytesLike, version: int, pos: int) -> CreateAclsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreateAclsRequest.__new__(CreateAclsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('CreateAclsRequest.creations', version, pos)
        if n * 10 > size - pos:
            raise too_many('CreateAclsRequest.creations', version, pos, n, size)
        list1: list[AclCreation] = []
        m.creations = list1
        count1 = n
        for _ in range(count1):
            e1 = AclCreation.__new__(AclCreation)
            e1.resource_type, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                raise null_found('CreateAclsRequest.creations.resource_name', version, pos)
            end = pos + n
            e1.resource_name = buf[pos:end].decode()
            pos = end
            e1.resource_pattern_type, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                raise null_found('CreateAclsRequest.creations.principal', version, pos)
            end = pos + n
            e1.principal = buf[pos:end].decode()
            pos = end
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('CreateAclsRequest.creations.host', version, pos)
            end = pos + n
            e1.host = buf[pos:end].decode()
            pos = end
            e1.operation, e1.permission_type = _u_bb(buf, pos)
            pos += 2
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('CreateAclsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreateAclsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('CreateAclsRequest', version, pos, size)
    return m


def _write_create_acls_request_2_3(m: CreateAclsRequest, out: bytearray, version: int) -> None:
    n = len(m.creations) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.creations:
        text = e1.resource_name.encode()
        out += _p_b(e1.resource_type)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.principal.encode()
        out += _p_b(e1.resource_pattern_type)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.host.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_bbx(e1.operation, e1.permission_type)
    out.append(0)


def _write_create_acls_request_1_1(m: CreateAclsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.creations))
    for e1 in m.creations:
        text = e1.resource_name.encode()
        out += _p_bh(e1.resource_type, len(text))
        out += text
        text = e1.principal.encode()
        out += _p_bh(e1.resource_pattern_type, len(text))
        out += text
        text = e1.host.encode()
        out += _p_h(len(text))
        out += text
        out += _p_bb(e1.operation, e1.permission_type)


@dataclass(slots=True, init=False, repr=False, eq=False)
class AclCreationResult(Struct):
    """Part of CreateAclsResponse."""

    error_code: int
    error_message: str | None

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreateAclsResponse(Message):
    """CreateAclsResponse, versions 1-3."""

    throttle_time_ms: int
    results: list[AclCreationResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AclCreationResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is ABSENT else results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> CreateAclsResponse:
        if 2 <= version <= 3:
            return _read_create_acls_response_2_3(data, version, at)
        if version == 1:
            return _read_create_acls_response_1_1(data, version, at)
        raise MalformedMessage(unsupported('CreateAclsResponse', '1-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 3:
                return _write_create_acls_response_2_3(self, out, version)
            if version == 1:
                return _write_create_acls_response_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('CreateAclsResponse', version, why) from why
        raise UnwritableMessage(unsupported('CreateAclsResponse', '1-3', version))


def _read_create_acls_response_2_3(data: BytesLike, version: int, pos: int) -> CreateAclsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreateAclsResponse.__new__(CreateAclsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('CreateAclsResponse.results', version, pos)
        n -= 1
        if n * 4 > size - pos:
            raise too_many('CreateAclsResponse.results', version, pos, n, size)
        list1: list[AclCreationResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = AclCreationResult.__new__(AclCreationResult)
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
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('CreateAclsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreateAclsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('CreateAclsResponse', version, pos, size)
    return m


def _read_create_acls_response_1_1(data: BytesLike, version: int, pos: int) -> CreateAclsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreateAclsResponse.__new__(CreateAclsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('CreateAclsResponse.results', version, pos)
        if n * 4 > size - pos:
            raise too_many('CreateAclsResponse.results', version, pos, n, size)
        list1: list[AclCreationResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = AclCreationResult.__new__(AclCreationResult)
            e1.error_code, n = _u_hh(buf, pos)
            pos += 4
            if n < 0:
                e1.error_message = None
            else:
                end = pos + n
                e1.error_message = buf[pos:end].decode()
                pos = end
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('CreateAclsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreateAclsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('CreateAclsResponse', version, pos, size)
    return m


def _write_create_acls_response_2_3(m: CreateAclsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.results) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.results:
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
        out.append(0)
    out.append(0)


def _write_create_acls_response_1_1(m: CreateAclsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.results))
    for e1 in m.results:
        out += _p_h(e1.error_code)
        if e1.error_message is None:
            out += b'\xff\xff'
        else:
            text = e1.error_message.encode()
            out += _p_h(len(text))
            out += text
