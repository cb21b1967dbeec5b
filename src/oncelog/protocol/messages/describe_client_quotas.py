"""DescribeClientQuotas (key 48), versions 0-1. Generated from definitions/describe_client_quotas.txt by oncelog.protocol.generate: do not edit."""

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
_p_d = Layout(">d").pack
_p_dx = Layout(">dx").pack
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_o = Layout(">?").pack
_p_ox = Layout(">?x").pack
_u_bB = Layout(">bB").unpack_from
_u_bh = Layout(">bh").unpack_from
_u_d = Layout(">d").unpack_from
_u_dB = Layout(">dB").unpack_from
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_ihh = Layout(">ihh").unpack_from
_u_o = Layout(">?").unpack_from
_u_oB = Layout(">?B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ComponentData(Struct):
    """Part of DescribeClientQuotasRequest."""

    entity_type: str
    match_type: int
    match: str | None

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeClientQuotasRequest(Message):
    """DescribeClientQuotasRequest, versions 0-1."""

    components: list[ComponentData]
    strict: bool

    def __init__(
        self,
        components: list[ComponentData] = ABSENT,
        strict: bool = False,
    ) -> None:
        self.components = [] if components is ABSENT else components
        self.strict = strict

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeClientQuotasRequest:
        if version == 1:
            return _read_describe_client_quotas_request_1_1(data, version, at)
        if version == 0:
            return _read_describe_client_quotas_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeClientQuotasRequest', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 1:
                return _write_describe_client_quotas_request_1_1(self, out, version)
            if version == 0:
                return _write_describe_client_quotas_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeClientQuotasRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeClientQuotasRequest', '0-1', version))


def _read_describe_client_quotas_request_1_1(data: BytesLike, version: int, pos: int) -> DescribeClientQuotasRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeClientQuotasRequest.__new__(DescribeClientQuotasRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeClientQuotasRequest.components', version, pos)
        n -= 1
        if n * 4 > size - pos:
            raise too_many('DescribeClientQuotasRequest.components', version, pos, n, size)
        list1: list[ComponentData] = []
        m.components = list1
        count1 = n
        for _ in range(count1):
            e1 = ComponentData.__new__(ComponentData)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeClientQuotasRequest.components.entity_type', version, pos)
            end = pos + n - 1
            e1.entity_type = buf[pos:end].decode()
            pos = end
            e1.match_type, n = _u_bB(buf, pos)
            pos += 2
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.match = None
            else:
                end = pos + n - 1
                e1.match = buf[pos:end].decode()
                pos = end
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.strict, n = _u_oB(buf, pos)
        pos += 2
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeClientQuotasRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeClientQuotasRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeClientQuotasRequest', version, pos, size)
    return m


def _read_describe_client_quotas_request_0_0(data: BytesLike, version: int, pos: int) -> DescribeClientQuotasRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeClientQuotasRequest.__new__(DescribeClientQuotasRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DescribeClientQuotasRequest.components', version, pos)
        if n * 5 > size - pos:
            raise too_many('DescribeClientQuotasRequest.components', version, pos, n, size)
        list1: list[ComponentData] = []
        m.components = list1
        count1 = n
        for _ in range(count1):
            e1 = ComponentData.__new__(ComponentData)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DescribeClientQuotasRequest.components.entity_type', version, pos)
            end = pos + n
            e1.entity_type = buf[pos:end].decode()
            pos = end
            e1.match_type, n = _u_bh(buf, pos)
            pos += 3
            if n < 0:
                e1.match = None
            else:
                end = pos + n
                e1.match = buf[pos:end].decode()
                pos = end
            list1.append(e1)
        m.strict, = _u_o(buf, pos)
        pos += 1
    except (IndexError, LayoutError):
        raise cut_short('DescribeClientQuotasRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeClientQuotasRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeClientQuotasRequest', version, pos, size)
    return m


def _write_describe_client_quotas_request_1_1(m: DescribeClientQuotasRequest, out: bytearray, version: int) -> None:
    n = len(m.components) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.components:
        text = e1.entity_type.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_b(e1.match_type)
        if e1.match is None:
            out.append(0)
        else:
            text = e1.match.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        out.append(0)
    out += _p_ox(m.strict)


def _write_describe_client_quotas_request_0_0(m: DescribeClientQuotasRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.components))
    for e1 in m.components:
        text = e1.entity_type.encode()
        out += _p_h(len(text))
        out += text
        out += _p_b(e1.match_type)
        if e1.match is None:
            out += b'\xff\xff'
        else:
            text = e1.match.encode()
            out += _p_h(len(text))
            out += text
    out += _p_o(m.strict)


@dataclass(slots=True, init=False, repr=False, eq=False)
class EntityData(Struct):
    """Part of DescribeClientQuotasResponse."""

    entity_type: str
    entity_name: str | None

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


@dataclass(slots=True, init=False, repr=False, eq=False)
class ValueData(Struct):
    """Part of DescribeClientQuotasResponse."""

    key: str
    value: float

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
    ) -> None:
        self.key = key
        self.value = value


@dataclass(slots=True, init=False, repr=False, eq=False)
class EntryData(Struct):
    """Part of DescribeClientQuotasResponse."""

    entity: list[EntityData]
    values: list[ValueData]

    def __init__(
        self,
        entity: list[EntityData] = ABSENT,
        values: list[ValueData] = ABSENT,
    ) -> None:
        self.entity = [] if entity is ABSENT else entity
        self.values = [] if values is ABSENT else values


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeClientQuotasResponse(Message):
    """DescribeClientQuotasResponse, versions 0-1."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: list[EntryData] | None

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is ABSENT else entries

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeClientQuotasResponse:
        if version == 1:
            return _read_describe_client_quotas_response_1_1(data, version, at)
        if version == 0:
            return _read_describe_client_quotas_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeClientQuotasResponse', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 1:
                return _write_describe_client_quotas_response_1_1(self, out, version)
            if version == 0:
                return _write_describe_client_quotas_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeClientQuotasResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeClientQuotasResponse', '0-1', version))


def _read_describe_client_quotas_response_1_1(data: BytesLike, version: int, pos: int) -> DescribeClientQuotasResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeClientQuotasResponse.__new__(DescribeClientQuotasResponse)
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
            m.entries = None
        else:
            n -= 1
            if n * 3 > size - pos:
                raise too_many('DescribeClientQuotasResponse.entries', version, pos, n, size)
            list1: list[EntryData] = []
            m.entries = list1
            count1 = n
            for _ in range(count1):
                e1 = EntryData.__new__(EntryData)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeClientQuotasResponse.entries.entity', version, pos)
                n -= 1
                if n * 3 > size - pos:
                    raise too_many('DescribeClientQuotasResponse.entries.entity', version, pos, n, size)
                list2: list[EntityData] = []
                e1.entity = list2
                count2 = n
                for _ in range(count2):
                    e2 = EntityData.__new__(EntityData)
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeClientQuotasResponse.entries.entity.entity_type', version, pos)
                    end = pos + n - 1
                    e2.entity_type = buf[pos:end].decode()
                    pos = end
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e2.entity_name = None
                    else:
                        end = pos + n - 1
                        e2.entity_name = buf[pos:end].decode()
                        pos = end
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list2.append(e2)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeClientQuotasResponse.entries.values', version, pos)
                n -= 1
                if n * 10 > size - pos:
                    raise too_many('DescribeClientQuotasResponse.entries.values', version, pos, n, size)
                list3: list[ValueData] = []
                e1.values = list3
                count3 = n
                for _ in range(count3):
                    e3 = ValueData.__new__(ValueData)
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeClientQuotasResponse.entries.values.key', version, pos)
                    end = pos + n - 1
                    e3.key = buf[pos:end].decode()
                    pos = end
                    e3.value, n = _u_dB(buf, pos)
                    pos += 9
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
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
        raise cut_short('DescribeClientQuotasResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeClientQuotasResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeClientQuotasResponse', version, pos, size)
    return m


def _read_describe_client_quotas_response_0_0(data: BytesLike, version: int, pos: int) -> DescribeClientQuotasResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeClientQuotasResponse.__new__(DescribeClientQuotasResponse)
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
            m.entries = None
        else:
            if n * 8 > size - pos:
                raise too_many('DescribeClientQuotasResponse.entries', version, pos, n, size)
            list1: list[EntryData] = []
            m.entries = list1
            count1 = n
            for _ in range(count1):
                e1 = EntryData.__new__(EntryData)
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('DescribeClientQuotasResponse.entries.entity', version, pos)
                if n * 4 > size - pos:
                    raise too_many('DescribeClientQuotasResponse.entries.entity', version, pos, n, size)
                list2: list[EntityData] = []
                e1.entity = list2
                count2 = n
                for _ in range(count2):
                    e2 = EntityData.__new__(EntityData)
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        raise null_found('DescribeClientQuotasResponse.entries.entity.entity_type', version, pos)
                    end = pos + n
                    e2.entity_type = buf[pos:end].decode()
                    pos = end
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        e2.entity_name = None
                    else:
                        end = pos + n
                        e2.entity_name = buf[pos:end].decode()
                        pos = end
                    list2.append(e2)
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('DescribeClientQuotasResponse.entries.values', version, pos)
                if n * 10 > size - pos:
                    raise too_many('DescribeClientQuotasResponse.entries.values', version, pos, n, size)
                list3: list[ValueData] = []
                e1.values = list3
                count3 = n
                for _ in range(count3):
                    e3 = ValueData.__new__(ValueData)
                    n, = _u_h(buf, pos)
                    pos += 2
                    if n < 0:
                        raise null_found('DescribeClientQuotasResponse.entries.values.key', version, pos)
                    end = pos + n
                    e3.key = buf[pos:end].decode()
                    pos = end
                    e3.value, = _u_d(buf, pos)
                    pos += 8
                    list3.append(e3)
                list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DescribeClientQuotasResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeClientQuotasResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeClientQuotasResponse', version, pos, size)
    return m


def _write_describe_client_quotas_response_1_1(m: DescribeClientQuotasResponse, out: bytearray, version: int) -> None:
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
    if m.entries is None:
        out.append(0)
    else:
        n = len(m.entries) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.entries:
            n = len(e1.entity) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e2 in e1.entity:
                text = e2.entity_type.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
                if e2.entity_name is None:
                    out.append(0)
                else:
                    text = e2.entity_name.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
                out.append(0)
            n = len(e1.values) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e1.values:
                text = e3.key.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
                out += _p_dx(e3.value)
            out.append(0)
    out.append(0)


def _write_describe_client_quotas_response_0_0(m: DescribeClientQuotasResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    if m.error_message is None:
        out += b'\xff\xff'
    else:
        text = m.error_message.encode()
        out += _p_h(len(text))
        out += text
    if m.entries is None:
        out += b'\xff\xff\xff\xff'
    else:
        out += _p_i(len(m.entries))
        for e1 in m.entries:
            out += _p_i(len(e1.entity))
            for e2 in e1.entity:
                text = e2.entity_type.encode()
                out += _p_h(len(text))
                out += text
                if e2.entity_name is None:
                    out += b'\xff\xff'
                else:
                    text = e2.entity_name.encode()
                    out += _p_h(len(text))
                    out += text
            out += _p_i(len(e1.values))
            for e3 in e1.values:
                text = e3.key.encode()
                out += _p_h(len(text))
                out += text
                out += _p_d(e3.value)
