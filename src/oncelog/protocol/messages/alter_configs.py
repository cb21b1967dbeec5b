"""AlterConfigs (key 33), versions 0-2. Generated from definitions/alter_configs.txt by oncelog.protocol.generate: do not edit."""

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
_p_bh = Layout(">bh").pack
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_o = Layout(">?").pack
_p_ox = Layout(">?x").pack
_u_bB = Layout(">bB").unpack_from
_u_bh = Layout(">bh").unpack_from
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_o = Layout(">?").unpack_from
_u_oB = Layout(">?B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterableConfig(Struct):
    """Part of AlterConfigsRequest."""

    name: str
    value: str | None

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterConfigsResource(Struct):
    """Part of AlterConfigsRequest."""

    resource_type: int
    resource_name: str
    configs: list[AlterableConfig]

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = ABSENT,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is ABSENT else configs


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterConfigsRequest(Message):
    """AlterConfigsRequest, versions 0-2."""

    resources: list[AlterConfigsResource]
    validate_only: bool

    def __init__(
        self,
        resources: list[AlterConfigsResource] = ABSENT,
        validate_only: bool = False,
    ) -> None:
        self.resources = [] if resources is ABSENT else resources
        self.validate_only = validate_only

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterConfigsRequest:
        if version == 2:
            return _read_alter_configs_request_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_alter_configs_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('AlterConfigsRequest', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_alter_configs_request_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_alter_configs_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterConfigsRequest', version, why) from why
        raise UnwritableMessage(unsupported('AlterConfigsRequest', '0-2', version))


def _read_alter_configs_request_2_2(data: BytesLike, version: int, pos: int) -> AlterConfigsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterConfigsRequest.__new__(AlterConfigsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterConfigsRequest.resources', version, pos)
        n -= 1
        if n * 4 > size - pos:
            raise too_many('AlterConfigsRequest.resources', version, pos, n, size)
        list1: list[AlterConfigsResource] = []
        m.resources = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterConfigsResource.__new__(AlterConfigsResource)
            e1.resource_type, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterConfigsRequest.resources.resource_name', version, pos)
            end = pos + n - 1
            e1.resource_name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AlterConfigsRequest.resources.configs', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('AlterConfigsRequest.resources.configs', version, pos, n, size)
            list2: list[AlterableConfig] = []
            e1.configs = list2
            count2 = n
            for _ in range(count2):
                e2 = AlterableConfig.__new__(AlterableConfig)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('AlterConfigsRequest.resources.configs.name', version, pos)
                end = pos + n - 1
                e2.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.value = None
                else:
                    end = pos + n - 1
                    e2.value = buf[pos:end].decode()
                    pos = end
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.validate_only, n = _u_oB(buf, pos)
        pos += 2
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('AlterConfigsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterConfigsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterConfigsRequest', version, pos, size)
    return m


def _read_alter_configs_request_0_1(data: BytesLike, version: int, pos: int) -> AlterConfigsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterConfigsRequest.__new__(AlterConfigsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('AlterConfigsRequest.resources', version, pos)
        if n * 7 > size - pos:
            raise too_many('AlterConfigsRequest.resources', version, pos, n, size)
        list1: list[AlterConfigsResource] = []
        m.resources = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterConfigsResource.__new__(AlterConfigsResource)
            e1.resource_type, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                raise null_found('AlterConfigsRequest.resources.resource_name', version, pos)
            end = pos + n
            e1.resource_name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('AlterConfigsRequest.resources.configs', version, pos)
            if n * 4 > size - pos:
                raise too_many('AlterConfigsRequest.resources.configs', version, pos, n, size)
            list2: list[AlterableConfig] = []
            e1.configs = list2
            count2 = n
            for _ in range(count2):
                e2 = AlterableConfig.__new__(AlterableConfig)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('AlterConfigsRequest.resources.configs.name', version, pos)
                end = pos + n
                e2.name = buf[pos:end].decode()
                pos = end
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    e2.value = None
                else:
                    end = pos + n
                    e2.value = buf[pos:end].decode()
                    pos = end
                list2.append(e2)
            list1.append(e1)
        m.validate_only, = _u_o(buf, pos)
        pos += 1
    except (IndexError, LayoutError):
        raise cut_short('AlterConfigsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterConfigsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterConfigsRequest', version, pos, size)
    return m


def _write_alter_configs_request_2_2(m: AlterConfigsRequest, out: bytearray, version: int) -> None:
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
        n = len(e1.configs) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.configs:
            text = e2.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            if e2.value is None:
                out.append(0)
            else:
                text = e2.value.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
        out.append(0)
    out += _p_ox(m.validate_only)


def _write_alter_configs_request_0_1(m: AlterConfigsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.resources))
    for e1 in m.resources:
        text = e1.resource_name.encode()
        out += _p_bh(e1.resource_type, len(text))
        out += text
        out += _p_i(len(e1.configs))
        for e2 in e1.configs:
            text = e2.name.encode()
            out += _p_h(len(text))
            out += text
            if e2.value is None:
                out += b'\xff\xff'
            else:
                text = e2.value.encode()
                out += _p_h(len(text))
                out += text
    out += _p_o(m.validate_only)


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterConfigsResourceResponse(Struct):
    """Part of AlterConfigsResponse."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterConfigsResponse(Message):
    """AlterConfigsResponse, versions 0-2."""

    throttle_time_ms: int
    responses: list[AlterConfigsResourceResponse]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is ABSENT else responses

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterConfigsResponse:
        if version == 2:
            return _read_alter_configs_response_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_alter_configs_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('AlterConfigsResponse', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_alter_configs_response_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_alter_configs_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterConfigsResponse', version, why) from why
        raise UnwritableMessage(unsupported('AlterConfigsResponse', '0-2', version))


def _read_alter_configs_response_2_2(data: BytesLike, version: int, pos: int) -> AlterConfigsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterConfigsResponse.__new__(AlterConfigsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterConfigsResponse.responses', version, pos)
        n -= 1
        if n * 6 > size - pos:
            raise too_many('AlterConfigsResponse.responses', version, pos, n, size)
        list1: list[AlterConfigsResourceResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterConfigsResourceResponse.__new__(AlterConfigsResourceResponse)
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
            e1.resource_type, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('AlterConfigsResponse.responses.resource_name', version, pos)
            end = pos + n - 1
            e1.resource_name = buf[pos:end].decode()
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
        raise cut_short('AlterConfigsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterConfigsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterConfigsResponse', version, pos, size)
    return m


def _read_alter_configs_response_0_1(data: BytesLike, version: int, pos: int) -> AlterConfigsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterConfigsResponse.__new__(AlterConfigsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('AlterConfigsResponse.responses', version, pos)
        if n * 7 > size - pos:
            raise too_many('AlterConfigsResponse.responses', version, pos, n, size)
        list1: list[AlterConfigsResourceResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = AlterConfigsResourceResponse.__new__(AlterConfigsResourceResponse)
            e1.error_code, n = _u_hh(buf, pos)
            pos += 4
            if n < 0:
                e1.error_message = None
            else:
                end = pos + n
                e1.error_message = buf[pos:end].decode()
                pos = end
            e1.resource_type, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                raise null_found('AlterConfigsResponse.responses.resource_name', version, pos)
            end = pos + n
            e1.resource_name = buf[pos:end].decode()
            pos = end
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('AlterConfigsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterConfigsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterConfigsResponse', version, pos, size)
    return m


def _write_alter_configs_response_2_2(m: AlterConfigsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
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
        text = e1.resource_name.encode()
        out += _p_b(e1.resource_type)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out.append(0)
    out.append(0)


def _write_alter_configs_response_0_1(m: AlterConfigsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.responses))
    for e1 in m.responses:
        out += _p_h(e1.error_code)
        if e1.error_message is None:
            out += b'\xff\xff'
        else:
            text = e1.error_message.encode()
            out += _p_h(len(text))
            out += text
        text = e1.resource_name.encode()
        out += _p_bh(e1.resource_type, len(text))
        out += text
