"""ListConfigResources (key 74), versions 0-1. Generated from definitions/list_config_resources.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError
from struct import pack
from struct import unpack_from

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
_p_ih = Layout(">ih").pack
_u_b = Layout(">b").unpack_from
_u_ihB = Layout(">ihB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListConfigResourcesRequest(Message):
    """ListConfigResourcesRequest, versions 0-1."""

    resource_types: list[int]

    def __init__(
        self,
        resource_types: list[int] = ABSENT,
    ) -> None:
        self.resource_types = [] if resource_types is ABSENT else resource_types

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListConfigResourcesRequest:
        if 0 <= version <= 1:
            return _read_list_config_resources_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('ListConfigResourcesRequest', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_list_config_resources_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListConfigResourcesRequest', version, why) from why
        raise UnwritableMessage(unsupported('ListConfigResourcesRequest', '0-1', version))


def _read_list_config_resources_request_0_1(data: BytesLike, version: int, pos: int) -> ListConfigResourcesRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListConfigResourcesRequest.__new__(ListConfigResourcesRequest)
        if version >= 1:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ListConfigResourcesRequest.resource_types', version, pos)
            n -= 1
            if n > size - pos:
                raise too_many('ListConfigResourcesRequest.resource_types', version, pos, n, size)
            m.resource_types = list(unpack_from(f'>{n}b', buf, pos))
            pos += n
        else:
            m.resource_types = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ListConfigResourcesRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListConfigResourcesRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ListConfigResourcesRequest', version, pos, size)
    return m


def _write_list_config_resources_request_0_1(m: ListConfigResourcesRequest, out: bytearray, version: int) -> None:
    if version >= 1:
        n = len(m.resource_types) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += pack(f'>{len(m.resource_types)}b', *m.resource_types)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class ConfigResource(Struct):
    """Part of ListConfigResourcesResponse."""

    resource_name: str
    resource_type: int

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListConfigResourcesResponse(Message):
    """ListConfigResourcesResponse, versions 0-1."""

    throttle_time_ms: int
    error_code: int
    config_resources: list[ConfigResource]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is ABSENT else config_resources

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListConfigResourcesResponse:
        if 0 <= version <= 1:
            return _read_list_config_resources_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('ListConfigResourcesResponse', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_list_config_resources_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListConfigResourcesResponse', version, why) from why
        raise UnwritableMessage(unsupported('ListConfigResourcesResponse', '0-1', version))


def _read_list_config_resources_response_0_1(data: BytesLike, version: int, pos: int) -> ListConfigResourcesResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListConfigResourcesResponse.__new__(ListConfigResourcesResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListConfigResourcesResponse.config_resources', version, pos)
        n -= 1
        if n * 2 > size - pos:
            raise too_many('ListConfigResourcesResponse.config_resources', version, pos, n, size)
        list1: list[ConfigResource] = []
        m.config_resources = list1
        count1 = n
        for _ in range(count1):
            e1 = ConfigResource.__new__(ConfigResource)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListConfigResourcesResponse.config_resources.resource_name', version, pos)
            end = pos + n - 1
            e1.resource_name = buf[pos:end].decode()
            pos = end
            if version >= 1:
                e1.resource_type, = _u_b(buf, pos)
                pos += 1
            else:
                e1.resource_type = 16
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
        raise cut_short('ListConfigResourcesResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListConfigResourcesResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ListConfigResourcesResponse', version, pos, size)
    return m


def _write_list_config_resources_response_0_1(m: ListConfigResourcesResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    n = len(m.config_resources) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.config_resources:
        text = e1.resource_name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        if version >= 1:
            out += _p_b(e1.resource_type)
        out.append(0)
    out.append(0)
