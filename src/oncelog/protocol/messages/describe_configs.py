"""DescribeConfigs (key 32), versions 1-4. Generated from definitions/describe_configs.txt by oncelog.protocol.generate: do not edit."""

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
_p_bx = Layout(">bx").pack
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_o = Layout(">?").pack
_p_obo = Layout(">?b?").pack
_p_oboi = Layout(">?b?i").pack
_p_oox = Layout(">??x").pack
_u_b = Layout(">b").unpack_from
_u_bB = Layout(">bB").unpack_from
_u_bh = Layout(">bh").unpack_from
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_o = Layout(">?").unpack_from
_u_oboB = Layout(">?b?B").unpack_from
_u_oboi = Layout(">?b?i").unpack_from
_u_ooB = Layout(">??B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeConfigsResource(Struct):
    """Part of DescribeConfigsRequest."""

    resource_type: int
    resource_name: str
    configuration_keys: list[str] | None

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = ABSENT,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is ABSENT else configuration_keys


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeConfigsRequest(Message):
    """DescribeConfigsRequest, versions 1-4."""

    resources: list[DescribeConfigsResource]
    include_synonyms: bool
    include_documentation: bool

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = ABSENT,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = [] if resources is ABSENT else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeConfigsRequest:
        if version == 4:
            return _read_describe_configs_request_4_4(data, version, at)
        if 1 <= version <= 3:
            return _read_describe_configs_request_1_3(data, version, at)
        raise MalformedMessage(unsupported('DescribeConfigsRequest', '1-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 4:
                return _write_describe_configs_request_4_4(self, out, version)
            if 1 <= version <= 3:
                return _write_describe_configs_request_1_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeConfigsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeConfigsRequest', '1-4', version))


def _read_describe_configs_request_4_4(data: BytesLike, version: int, pos: int) -> DescribeConfigsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeConfigsRequest.__new__(DescribeConfigsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeConfigsRequest.resources', version, pos)
        n -= 1
        if n * 4 > size - pos:
            raise too_many('DescribeConfigsRequest.resources', version, pos, n, size)
        list1: list[DescribeConfigsResource] = []
        m.resources = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeConfigsResource.__new__(DescribeConfigsResource)
            e1.resource_type, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeConfigsRequest.resources.resource_name', version, pos)
            end = pos + n - 1
            e1.resource_name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                e1.configuration_keys = None
            else:
                n -= 1
                if n > size - pos:
                    raise too_many('DescribeConfigsRequest.resources.configuration_keys', version, pos, n, size)
                list2: list[str] = []
                e1.configuration_keys = list2
                count2 = n
                for _ in range(count2):
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeConfigsRequest.resources.configuration_keys', version, pos)
                    end = pos + n - 1
                    e2 = buf[pos:end].decode()
                    pos = end
                    list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.include_synonyms, m.include_documentation, n = _u_ooB(buf, pos)
        pos += 3
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeConfigsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeConfigsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeConfigsRequest', version, pos, size)
    return m


def _read_describe_configs_request_1_3(data: BytesLike, version: int, pos: int) -> DescribeConfigsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeConfigsRequest.__new__(DescribeConfigsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DescribeConfigsRequest.resources', version, pos)
        if n * 7 > size - pos:
            raise too_many('DescribeConfigsRequest.resources', version, pos, n, size)
        list1: list[DescribeConfigsResource] = []
        m.resources = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeConfigsResource.__new__(DescribeConfigsResource)
            e1.resource_type, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                raise null_found('DescribeConfigsRequest.resources.resource_name', version, pos)
            end = pos + n
            e1.resource_name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                e1.configuration_keys = None
            else:
                if n * 2 > size - pos:
                    raise too_many('DescribeConfigsRequest.resources.configuration_keys', version, pos, n, size)
                list2: list[str] = []
                e1.configuration_keys = list2
                count2 = n
                for _ in range(count2):
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        raise null_found('DescribeConfigsRequest.resources.configuration_keys', version, pos)
                    end = pos + n
                    e2 = buf[pos:end].decode()
                    pos = end
                    list2.append(e2)
            list1.append(e1)
        m.include_synonyms, = _u_o(buf, pos)
        pos += 1
        if version >= 3:
            m.include_documentation, = _u_o(buf, pos)
            pos += 1
        else:
            m.include_documentation = False
    except (IndexError, LayoutError):
        raise cut_short('DescribeConfigsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeConfigsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeConfigsRequest', version, pos, size)
    return m


def _write_describe_configs_request_4_4(m: DescribeConfigsRequest, out: bytearray, version: int) -> None:
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
        if e1.configuration_keys is None:
            out.append(0)
        else:
            n = len(e1.configuration_keys) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e2 in e1.configuration_keys:
                text = e2.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
        out.append(0)
    out += _p_oox(m.include_synonyms, m.include_documentation)


def _write_describe_configs_request_1_3(m: DescribeConfigsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.resources))
    for e1 in m.resources:
        text = e1.resource_name.encode()
        out += _p_bh(e1.resource_type, len(text))
        out += text
        if e1.configuration_keys is None:
            out += b'\xff\xff\xff\xff'
        else:
            out += _p_i(len(e1.configuration_keys))
            for e2 in e1.configuration_keys:
                text = e2.encode()
                out += _p_h(len(text))
                out += text
    out += _p_o(m.include_synonyms)
    if version >= 3:
        out += _p_o(m.include_documentation)


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeConfigsSynonym(Struct):
    """Part of DescribeConfigsResponse."""

    name: str
    value: str | None
    source: int

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeConfigsResourceResult(Struct):
    """Part of DescribeConfigsResponse."""

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: list[DescribeConfigsSynonym]
    config_type: int
    documentation: str | None

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = ABSENT,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is ABSENT else synonyms
        self.config_type = config_type
        self.documentation = documentation


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeConfigsResult(Struct):
    """Part of DescribeConfigsResponse."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: list[DescribeConfigsResourceResult]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is ABSENT else configs


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeConfigsResponse(Message):
    """DescribeConfigsResponse, versions 1-4."""

    throttle_time_ms: int
    results: list[DescribeConfigsResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is ABSENT else results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeConfigsResponse:
        if version == 4:
            return _read_describe_configs_response_4_4(data, version, at)
        if 1 <= version <= 3:
            return _read_describe_configs_response_1_3(data, version, at)
        raise MalformedMessage(unsupported('DescribeConfigsResponse', '1-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 4:
                return _write_describe_configs_response_4_4(self, out, version)
            if 1 <= version <= 3:
                return _write_describe_configs_response_1_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeConfigsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeConfigsResponse', '1-4', version))


def _read_describe_configs_response_4_4(data: BytesLike, version: int, pos: int) -> DescribeConfigsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeConfigsResponse.__new__(DescribeConfigsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeConfigsResponse.results', version, pos)
        n -= 1
        if n * 7 > size - pos:
            raise too_many('DescribeConfigsResponse.results', version, pos, n, size)
        list1: list[DescribeConfigsResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeConfigsResult.__new__(DescribeConfigsResult)
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
                raise null_found('DescribeConfigsResponse.results.resource_name', version, pos)
            end = pos + n - 1
            e1.resource_name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeConfigsResponse.results.configs', version, pos)
            n -= 1
            if n * 9 > size - pos:
                raise too_many('DescribeConfigsResponse.results.configs', version, pos, n, size)
            list2: list[DescribeConfigsResourceResult] = []
            e1.configs = list2
            count2 = n
            for _ in range(count2):
                e2 = DescribeConfigsResourceResult.__new__(DescribeConfigsResourceResult)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeConfigsResponse.results.configs.name', version, pos)
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
                e2.read_only, e2.config_source, e2.is_sensitive, n = _u_oboB(buf, pos)
                pos += 4
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeConfigsResponse.results.configs.synonyms', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('DescribeConfigsResponse.results.configs.synonyms', version, pos, n, size)
                list3: list[DescribeConfigsSynonym] = []
                e2.synonyms = list3
                count3 = n
                for _ in range(count3):
                    e3 = DescribeConfigsSynonym.__new__(DescribeConfigsSynonym)
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeConfigsResponse.results.configs.synonyms.name', version, pos)
                    end = pos + n - 1
                    e3.name = buf[pos:end].decode()
                    pos = end
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e3.value = None
                    else:
                        end = pos + n - 1
                        e3.value = buf[pos:end].decode()
                        pos = end
                    e3.source, n = _u_bB(buf, pos)
                    pos += 2
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
                e2.config_type, n = _u_bB(buf, pos)
                pos += 2
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.documentation = None
                else:
                    end = pos + n - 1
                    e2.documentation = buf[pos:end].decode()
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
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeConfigsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeConfigsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeConfigsResponse', version, pos, size)
    return m


def _read_describe_configs_response_1_3(data: BytesLike, version: int, pos: int) -> DescribeConfigsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeConfigsResponse.__new__(DescribeConfigsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('DescribeConfigsResponse.results', version, pos)
        if n * 11 > size - pos:
            raise too_many('DescribeConfigsResponse.results', version, pos, n, size)
        list1: list[DescribeConfigsResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeConfigsResult.__new__(DescribeConfigsResult)
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
                raise null_found('DescribeConfigsResponse.results.resource_name', version, pos)
            end = pos + n
            e1.resource_name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('DescribeConfigsResponse.results.configs', version, pos)
            if n * 11 > size - pos:
                raise too_many('DescribeConfigsResponse.results.configs', version, pos, n, size)
            list2: list[DescribeConfigsResourceResult] = []
            e1.configs = list2
            count2 = n
            for _ in range(count2):
                e2 = DescribeConfigsResourceResult.__new__(DescribeConfigsResourceResult)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DescribeConfigsResponse.results.configs.name', version, pos)
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
                e2.read_only, e2.config_source, e2.is_sensitive, n = _u_oboi(buf, pos)
                pos += 7
                if n < 0:
                    raise null_found('DescribeConfigsResponse.results.configs.synonyms', version, pos)
                if n * 5 > size - pos:
                    raise too_many('DescribeConfigsResponse.results.configs.synonyms', version, pos, n, size)
                list3: list[DescribeConfigsSynonym] = []
                e2.synonyms = list3
                count3 = n
                for _ in range(count3):
                    e3 = DescribeConfigsSynonym.__new__(DescribeConfigsSynonym)
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        raise null_found('DescribeConfigsResponse.results.configs.synonyms.name', version, pos)
                    end = pos + n
                    e3.name = buf[pos:end].decode()
                    pos = end
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        e3.value = None
                    else:
                        end = pos + n
                        e3.value = buf[pos:end].decode()
                        pos = end
                    e3.source, = _u_b(buf, pos)
                    pos += 1
                    list3.append(e3)
                if version >= 3:
                    e2.config_type, = _u_b(buf, pos)
                    pos += 1
                else:
                    e2.config_type = 0
                if version >= 3:
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        e2.documentation = None
                    else:
                        end = pos + n
                        e2.documentation = buf[pos:end].decode()
                        pos = end
                else:
                    e2.documentation = ""
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DescribeConfigsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeConfigsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeConfigsResponse', version, pos, size)
    return m


def _write_describe_configs_response_4_4(m: DescribeConfigsResponse, out: bytearray, version: int) -> None:
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
            out += _p_obo(e2.read_only, e2.config_source, e2.is_sensitive)
            n = len(e2.synonyms) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e2.synonyms:
                text = e3.name.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
                if e3.value is None:
                    out.append(0)
                else:
                    text = e3.value.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
                out += _p_bx(e3.source)
            out += _p_b(e2.config_type)
            if e2.documentation is None:
                out.append(0)
            else:
                text = e2.documentation.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
        out.append(0)
    out.append(0)


def _write_describe_configs_response_1_3(m: DescribeConfigsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.results))
    for e1 in m.results:
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
            out += _p_oboi(e2.read_only, e2.config_source, e2.is_sensitive, len(e2.synonyms))
            for e3 in e2.synonyms:
                text = e3.name.encode()
                out += _p_h(len(text))
                out += text
                if e3.value is None:
                    out += b'\xff\xff'
                else:
                    text = e3.value.encode()
                    out += _p_h(len(text))
                    out += text
                out += _p_b(e3.source)
            if version >= 3:
                out += _p_b(e2.config_type)
            if version >= 3:
                if e2.documentation is None:
                    out += b'\xff\xff'
                else:
                    text = e2.documentation.encode()
                    out += _p_h(len(text))
                    out += text
