"""DeleteGroups (key 42), versions 0-2. Generated from definitions/delete_groups.txt by oncelog.protocol.generate: do not edit."""

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
_p_ii = Layout(">ii").pack
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteGroupsRequest(Message):
    """DeleteGroupsRequest, versions 0-2."""

    groups_names: list[str]

    def __init__(
        self,
        groups_names: list[str] = ABSENT,
    ) -> None:
        self.groups_names = [] if groups_names is ABSENT else groups_names

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DeleteGroupsRequest:
        if version == 2:
            return _read_delete_groups_request_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_delete_groups_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('DeleteGroupsRequest', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_delete_groups_request_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_delete_groups_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DeleteGroupsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DeleteGroupsRequest', '0-2', version))


def _read_delete_groups_request_2_2(data: BytesLike, version: int, pos: int) -> DeleteGroupsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteGroupsRequest.__new__(DeleteGroupsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DeleteGroupsRequest.groups_names', version, pos)
        n -= 1
        if n > size - pos:
            raise too_many('DeleteGroupsRequest.groups_names', version, pos, n, size)
        list1: list[str] = []
        m.groups_names = list1
        count1 = n
        for _ in range(count1):
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DeleteGroupsRequest.groups_names', version, pos)
            end = pos + n - 1
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DeleteGroupsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteGroupsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteGroupsRequest', version, pos, size)
    return m


def _read_delete_groups_request_0_1(data: BytesLike, version: int, pos: int) -> DeleteGroupsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteGroupsRequest.__new__(DeleteGroupsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DeleteGroupsRequest.groups_names', version, pos)
        if n * 2 > size - pos:
            raise too_many('DeleteGroupsRequest.groups_names', version, pos, n, size)
        list1: list[str] = []
        m.groups_names = list1
        count1 = n
        for _ in range(count1):
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DeleteGroupsRequest.groups_names', version, pos)
            end = pos + n
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DeleteGroupsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteGroupsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteGroupsRequest', version, pos, size)
    return m


def _write_delete_groups_request_2_2(m: DeleteGroupsRequest, out: bytearray, version: int) -> None:
    n = len(m.groups_names) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.groups_names:
        text = e1.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out.append(0)


def _write_delete_groups_request_0_1(m: DeleteGroupsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.groups_names))
    for e1 in m.groups_names:
        text = e1.encode()
        out += _p_h(len(text))
        out += text


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeletableGroupResult(Struct):
    """Part of DeleteGroupsResponse."""

    group_id: str
    error_code: int

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteGroupsResponse(Message):
    """DeleteGroupsResponse, versions 0-2."""

    throttle_time_ms: int
    results: list[DeletableGroupResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is ABSENT else results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DeleteGroupsResponse:
        if version == 2:
            return _read_delete_groups_response_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_delete_groups_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('DeleteGroupsResponse', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_delete_groups_response_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_delete_groups_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DeleteGroupsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DeleteGroupsResponse', '0-2', version))


def _read_delete_groups_response_2_2(data: BytesLike, version: int, pos: int) -> DeleteGroupsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteGroupsResponse.__new__(DeleteGroupsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DeleteGroupsResponse.results', version, pos)
        n -= 1
        if n * 4 > size - pos:
            raise too_many('DeleteGroupsResponse.results', version, pos, n, size)
        list1: list[DeletableGroupResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = DeletableGroupResult.__new__(DeletableGroupResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DeleteGroupsResponse.results.group_id', version, pos)
            end = pos + n - 1
            e1.group_id = buf[pos:end].decode()
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
        raise cut_short('DeleteGroupsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteGroupsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteGroupsResponse', version, pos, size)
    return m


def _read_delete_groups_response_0_1(data: BytesLike, version: int, pos: int) -> DeleteGroupsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteGroupsResponse.__new__(DeleteGroupsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('DeleteGroupsResponse.results', version, pos)
        if n * 4 > size - pos:
            raise too_many('DeleteGroupsResponse.results', version, pos, n, size)
        list1: list[DeletableGroupResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = DeletableGroupResult.__new__(DeletableGroupResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DeleteGroupsResponse.results.group_id', version, pos)
            end = pos + n
            e1.group_id = buf[pos:end].decode()
            pos = end
            e1.error_code, = _u_h(buf, pos)
            pos += 2
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DeleteGroupsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteGroupsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteGroupsResponse', version, pos, size)
    return m


def _write_delete_groups_response_2_2(m: DeleteGroupsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.results) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.results:
        text = e1.group_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_hx(e1.error_code)
    out.append(0)


def _write_delete_groups_response_0_1(m: DeleteGroupsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.results))
    for e1 in m.results:
        text = e1.group_id.encode()
        out += _p_h(len(text))
        out += text
        out += _p_h(e1.error_code)
