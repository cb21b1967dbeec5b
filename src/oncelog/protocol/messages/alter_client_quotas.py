"""AlterClientQuotas (key 49), versions 0-1. Generated from definitions/alter_client_quotas.txt by oncelog.protocol.generate: do not edit."""

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

_p_do = Layout(">d?").pack
_p_dox = Layout(">d?x").pack
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_o = Layout(">?").pack
_p_ox = Layout(">?x").pack
_u_do = Layout(">d?").unpack_from
_u_doB = Layout(">d?B").unpack_from
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_o = Layout(">?").unpack_from
_u_oB = Layout(">?B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class RequestEntityData(Struct):
    """Part of AlterClientQuotasRequest."""

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
class OpData(Struct):
    """Part of AlterClientQuotasRequest."""

    key: str
    value: float
    remove: bool

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove


@dataclass(slots=True, init=False, repr=False, eq=False)
class RequestEntryData(Struct):
    """Part of AlterClientQuotasRequest."""

    entity: list[RequestEntityData]
    ops: list[OpData]

    def __init__(
        self,
        entity: list[RequestEntityData] = ABSENT,
        ops: list[OpData] = ABSENT,
    ) -> None:
        self.entity = [] if entity is ABSENT else entity
        self.ops = [] if ops is ABSENT else ops


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterClientQuotasRequest(Message):
    """AlterClientQuotasRequest, versions 0-1."""

    entries: list[RequestEntryData]
    validate_only: bool

    def __init__(
        self,
        entries: list[RequestEntryData] = ABSENT,
        validate_only: bool = False,
    ) -> None:
        self.entries = [] if entries is ABSENT else entries
        self.validate_only = validate_only

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterClientQuotasRequest:
        if version == 1:
            return _read_alter_client_quotas_request_1_1(data, version, at)
        if version == 0:
            return _read_alter_client_quotas_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('AlterClientQuotasRequest', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 1:
                return _write_alter_client_quotas_request_1_1(self, out, version)
            if version == 0:
                return _write_alter_client_quotas_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterClientQuotasRequest', version, why) from why
        raise UnwritableMessage(unsupported('AlterClientQuotasRequest', '0-1', version))


def _read_alter_client_quotas_request_1_1(data: BytesLike, version: int, pos: int) -> AlterClientQuotasRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterClientQuotasRequest.__new__(AlterClientQuotasRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterClientQuotasRequest.entries', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('AlterClientQuotasRequest.entries', version, pos, n, size)
        list1: list[RequestEntryData] = []
        m.entries = list1
        count1 = n
        for _ in range(count1):
            e1 = RequestEntryData.__new__(RequestEntryData)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('AlterClientQuotasRequest.entries.entity', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('AlterClientQuotasRequest.entries.entity', version, pos, n, size)
            list2: list[RequestEntityData] = []
            e1.entity = list2
            count2 = n
            for _ in range(count2):
                e2 = RequestEntityData.__new__(RequestEntityData)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('AlterClientQuotasRequest.entries.entity.entity_type', version, pos)
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
                raise null_found('AlterClientQuotasRequest.entries.ops', version, pos)
            n -= 1
            if n * 11 > size - pos:
                raise too_many('AlterClientQuotasRequest.entries.ops', version, pos, n, size)
            list3: list[OpData] = []
            e1.ops = list3
            count3 = n
            for _ in range(count3):
                e3 = OpData.__new__(OpData)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('AlterClientQuotasRequest.entries.ops.key', version, pos)
                end = pos + n - 1
                e3.key = buf[pos:end].decode()
                pos = end
                e3.value, e3.remove, n = _u_doB(buf, pos)
                pos += 10
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list3.append(e3)
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
        raise cut_short('AlterClientQuotasRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterClientQuotasRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterClientQuotasRequest', version, pos, size)
    return m


def _read_alter_client_quotas_request_0_0(data: BytesLike, version: int, pos: int) -> AlterClientQuotasRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterClientQuotasRequest.__new__(AlterClientQuotasRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('AlterClientQuotasRequest.entries', version, pos)
        if n * 8 > size - pos:
            raise too_many('AlterClientQuotasRequest.entries', version, pos, n, size)
        list1: list[RequestEntryData] = []
        m.entries = list1
        count1 = n
        for _ in range(count1):
            e1 = RequestEntryData.__new__(RequestEntryData)
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('AlterClientQuotasRequest.entries.entity', version, pos)
            if n * 4 > size - pos:
                raise too_many('AlterClientQuotasRequest.entries.entity', version, pos, n, size)
            list2: list[RequestEntityData] = []
            e1.entity = list2
            count2 = n
            for _ in range(count2):
                e2 = RequestEntityData.__new__(RequestEntityData)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('AlterClientQuotasRequest.entries.entity.entity_type', version, pos)
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
                raise null_found('AlterClientQuotasRequest.entries.ops', version, pos)
            if n * 11 > size - pos:
                raise too_many('AlterClientQuotasRequest.entries.ops', version, pos, n, size)
            list3: list[OpData] = []
            e1.ops = list3
            count3 = n
            for _ in range(count3):
                e3 = OpData.__new__(OpData)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('AlterClientQuotasRequest.entries.ops.key', version, pos)
                end = pos + n
                e3.key = buf[pos:end].decode()
                pos = end
                e3.value, e3.remove = _u_do(buf, pos)
                pos += 9
                list3.append(e3)
            list1.append(e1)
        m.validate_only, = _u_o(buf, pos)
        pos += 1
    except (IndexError, LayoutError):
        raise cut_short('AlterClientQuotasRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterClientQuotasRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterClientQuotasRequest', version, pos, size)
    return m


def _write_alter_client_quotas_request_1_1(m: AlterClientQuotasRequest, out: bytearray, version: int) -> None:
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
        n = len(e1.ops) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e3 in e1.ops:
            text = e3.key.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            out += _p_dox(e3.value, e3.remove)
        out.append(0)
    out += _p_ox(m.validate_only)


def _write_alter_client_quotas_request_0_0(m: AlterClientQuotasRequest, out: bytearray, version: int) -> None:
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
        out += _p_i(len(e1.ops))
        for e3 in e1.ops:
            text = e3.key.encode()
            out += _p_h(len(text))
            out += text
            out += _p_do(e3.value, e3.remove)
    out += _p_o(m.validate_only)


@dataclass(slots=True, init=False, repr=False, eq=False)
class ResponseEntityData(Struct):
    """Part of AlterClientQuotasResponse."""

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
class ResponseEntryData(Struct):
    """Part of AlterClientQuotasResponse."""

    error_code: int
    error_message: str | None
    entity: list[ResponseEntityData]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[ResponseEntityData] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = [] if entity is ABSENT else entity


@dataclass(slots=True, init=False, repr=False, eq=False)
class AlterClientQuotasResponse(Message):
    """AlterClientQuotasResponse, versions 0-1."""

    throttle_time_ms: int
    entries: list[ResponseEntryData]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[ResponseEntryData] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = [] if entries is ABSENT else entries

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> AlterClientQuotasResponse:
        if version == 1:
            return _read_alter_client_quotas_response_1_1(data, version, at)
        if version == 0:
            return _read_alter_client_quotas_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('AlterClientQuotasResponse', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 1:
                return _write_alter_client_quotas_response_1_1(self, out, version)
            if version == 0:
                return _write_alter_client_quotas_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('AlterClientQuotasResponse', version, why) from why
        raise UnwritableMessage(unsupported('AlterClientQuotasResponse', '0-1', version))


def _read_alter_client_quotas_response_1_1(data: BytesLike, version: int, pos: int) -> AlterClientQuotasResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterClientQuotasResponse.__new__(AlterClientQuotasResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('AlterClientQuotasResponse.entries', version, pos)
        n -= 1
        if n * 5 > size - pos:
            raise too_many('AlterClientQuotasResponse.entries', version, pos, n, size)
        list1: list[ResponseEntryData] = []
        m.entries = list1
        count1 = n
        for _ in range(count1):
            e1 = ResponseEntryData.__new__(ResponseEntryData)
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
                raise null_found('AlterClientQuotasResponse.entries.entity', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('AlterClientQuotasResponse.entries.entity', version, pos, n, size)
            list2: list[ResponseEntityData] = []
            e1.entity = list2
            count2 = n
            for _ in range(count2):
                e2 = ResponseEntityData.__new__(ResponseEntityData)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('AlterClientQuotasResponse.entries.entity.entity_type', version, pos)
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
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('AlterClientQuotasResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterClientQuotasResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterClientQuotasResponse', version, pos, size)
    return m


def _read_alter_client_quotas_response_0_0(data: BytesLike, version: int, pos: int) -> AlterClientQuotasResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = AlterClientQuotasResponse.__new__(AlterClientQuotasResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('AlterClientQuotasResponse.entries', version, pos)
        if n * 8 > size - pos:
            raise too_many('AlterClientQuotasResponse.entries', version, pos, n, size)
        list1: list[ResponseEntryData] = []
        m.entries = list1
        count1 = n
        for _ in range(count1):
            e1 = ResponseEntryData.__new__(ResponseEntryData)
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
                raise null_found('AlterClientQuotasResponse.entries.entity', version, pos)
            if n * 4 > size - pos:
                raise too_many('AlterClientQuotasResponse.entries.entity', version, pos, n, size)
            list2: list[ResponseEntityData] = []
            e1.entity = list2
            count2 = n
            for _ in range(count2):
                e2 = ResponseEntityData.__new__(ResponseEntityData)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('AlterClientQuotasResponse.entries.entity.entity_type', version, pos)
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
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('AlterClientQuotasResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('AlterClientQuotasResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('AlterClientQuotasResponse', version, pos, size)
    return m


def _write_alter_client_quotas_response_1_1(m: AlterClientQuotasResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.entries) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.entries:
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
        out.append(0)
    out.append(0)


def _write_alter_client_quotas_response_0_0(m: AlterClientQuotasResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.entries))
    for e1 in m.entries:
        out += _p_h(e1.error_code)
        if e1.error_message is None:
            out += b'\xff\xff'
        else:
            text = e1.error_message.encode()
            out += _p_h(len(text))
            out += text
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
