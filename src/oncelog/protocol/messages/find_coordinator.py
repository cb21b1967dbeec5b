"""FindCoordinator (key 10), versions 0-6. Generated from definitions/find_coordinator.txt by oncelog.protocol.generate: do not edit."""

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
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_u_b = Layout(">b").unpack_from
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_ih = Layout(">ih").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class FindCoordinatorRequest(Message):
    """FindCoordinatorRequest, versions 0-6."""

    key: str
    key_type: int
    coordinator_keys: list[str]

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = ABSENT,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is ABSENT else coordinator_keys

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> FindCoordinatorRequest:
        if 3 <= version <= 6:
            return _read_find_coordinator_request_3_6(data, version, at)
        if 0 <= version <= 2:
            return _read_find_coordinator_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('FindCoordinatorRequest', '0-6', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 6:
                return _write_find_coordinator_request_3_6(self, out, version)
            if 0 <= version <= 2:
                return _write_find_coordinator_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('FindCoordinatorRequest', version, why) from why
        raise UnwritableMessage(unsupported('FindCoordinatorRequest', '0-6', version))


def _read_find_coordinator_request_3_6(data: BytesLike, version: int, pos: int) -> FindCoordinatorRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FindCoordinatorRequest.__new__(FindCoordinatorRequest)
        if version <= 3:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('FindCoordinatorRequest.key', version, pos)
            end = pos + n - 1
            m.key = buf[pos:end].decode()
            pos = end
        else:
            m.key = ""
        m.key_type, = _u_b(buf, pos)
        pos += 1
        if version >= 4:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FindCoordinatorRequest.coordinator_keys', version, pos)
            n -= 1
            if n > size - pos:
                raise too_many('FindCoordinatorRequest.coordinator_keys', version, pos, n, size)
            list1: list[str] = []
            m.coordinator_keys = list1
            count1 = n
            for _ in range(count1):
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('FindCoordinatorRequest.coordinator_keys', version, pos)
                end = pos + n - 1
                e1 = buf[pos:end].decode()
                pos = end
                list1.append(e1)
        else:
            m.coordinator_keys = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('FindCoordinatorRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FindCoordinatorRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FindCoordinatorRequest', version, pos, size)
    return m


def _read_find_coordinator_request_0_2(data: BytesLike, version: int, pos: int) -> FindCoordinatorRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FindCoordinatorRequest.__new__(FindCoordinatorRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('FindCoordinatorRequest.key', version, pos)
        end = pos + n
        m.key = buf[pos:end].decode()
        pos = end
        if version >= 1:
            m.key_type, = _u_b(buf, pos)
            pos += 1
        else:
            m.key_type = 0
        m.coordinator_keys = []
    except (IndexError, LayoutError):
        raise cut_short('FindCoordinatorRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FindCoordinatorRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('FindCoordinatorRequest', version, pos, size)
    return m


def _write_find_coordinator_request_3_6(m: FindCoordinatorRequest, out: bytearray, version: int) -> None:
    if version <= 3:
        text = m.key.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_b(m.key_type)
    if version >= 4:
        n = len(m.coordinator_keys) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.coordinator_keys:
            text = e1.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    out.append(0)


def _write_find_coordinator_request_0_2(m: FindCoordinatorRequest, out: bytearray, version: int) -> None:
    text = m.key.encode()
    out += _p_h(len(text))
    out += text
    if version >= 1:
        out += _p_b(m.key_type)


@dataclass(slots=True, init=False, repr=False, eq=False)
class Coordinator(Struct):
    """Part of FindCoordinatorResponse."""

    key: str
    node_id: int
    host: str
    port: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message


@dataclass(slots=True, init=False, repr=False, eq=False)
class FindCoordinatorResponse(Message):
    """FindCoordinatorResponse, versions 0-6."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    node_id: int
    host: str
    port: int
    coordinators: list[Coordinator]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is ABSENT else coordinators

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> FindCoordinatorResponse:
        if 3 <= version <= 6:
            return _read_find_coordinator_response_3_6(data, version, at)
        if 0 <= version <= 2:
            return _read_find_coordinator_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('FindCoordinatorResponse', '0-6', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 3 <= version <= 6:
                return _write_find_coordinator_response_3_6(self, out, version)
            if 0 <= version <= 2:
                return _write_find_coordinator_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('FindCoordinatorResponse', version, why) from why
        raise UnwritableMessage(unsupported('FindCoordinatorResponse', '0-6', version))


def _read_find_coordinator_response_3_6(data: BytesLike, version: int, pos: int) -> FindCoordinatorResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FindCoordinatorResponse.__new__(FindCoordinatorResponse)
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
        if version <= 3:
            m.error_code, = _u_h(buf, pos)
            pos += 2
        else:
            m.error_code = 0
        if version <= 3:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                m.error_message = None
            else:
                end = pos + n - 1
                m.error_message = buf[pos:end].decode()
                pos = end
        else:
            m.error_message = ""
        if version <= 3:
            m.node_id, = _u_i(buf, pos)
            pos += 4
        else:
            m.node_id = 0
        if version <= 3:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('FindCoordinatorResponse.host', version, pos)
            end = pos + n - 1
            m.host = buf[pos:end].decode()
            pos = end
        else:
            m.host = ""
        if version <= 3:
            m.port, = _u_i(buf, pos)
            pos += 4
        else:
            m.port = 0
        if version >= 4:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('FindCoordinatorResponse.coordinators', version, pos)
            n -= 1
            if n * 14 > size - pos:
                raise too_many('FindCoordinatorResponse.coordinators', version, pos, n, size)
            list1: list[Coordinator] = []
            m.coordinators = list1
            count1 = n
            for _ in range(count1):
                e1 = Coordinator.__new__(Coordinator)
                if version >= 4:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('FindCoordinatorResponse.coordinators.key', version, pos)
                    end = pos + n - 1
                    e1.key = buf[pos:end].decode()
                    pos = end
                else:
                    e1.key = ""
                if version >= 4:
                    e1.node_id, = _u_i(buf, pos)
                    pos += 4
                else:
                    e1.node_id = 0
                if version >= 4:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('FindCoordinatorResponse.coordinators.host', version, pos)
                    end = pos + n - 1
                    e1.host = buf[pos:end].decode()
                    pos = end
                else:
                    e1.host = ""
                if version >= 4:
                    e1.port, = _u_i(buf, pos)
                    pos += 4
                else:
                    e1.port = 0
                if version >= 4:
                    e1.error_code, = _u_h(buf, pos)
                    pos += 2
                else:
                    e1.error_code = 0
                if version >= 4:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e1.error_message = None
                    else:
                        end = pos + n - 1
                        e1.error_message = buf[pos:end].decode()
                        pos = end
                else:
                    e1.error_message = ""
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list1.append(e1)
        else:
            m.coordinators = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('FindCoordinatorResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FindCoordinatorResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FindCoordinatorResponse', version, pos, size)
    return m


def _read_find_coordinator_response_0_2(data: BytesLike, version: int, pos: int) -> FindCoordinatorResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = FindCoordinatorResponse.__new__(FindCoordinatorResponse)
        if version >= 1:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        m.error_code, = _u_h(buf, pos)
        pos += 2
        if version >= 1:
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                m.error_message = None
            else:
                end = pos + n
                m.error_message = buf[pos:end].decode()
                pos = end
        else:
            m.error_message = ""
        m.node_id, n = _u_ih(buf, pos)
        pos += 6
        if n < 0:
            raise null_found('FindCoordinatorResponse.host', version, pos)
        end = pos + n
        m.host = buf[pos:end].decode()
        pos = end
        m.coordinators = []
        m.port, = _u_i(buf, pos)
        pos += 4
    except (IndexError, LayoutError):
        raise cut_short('FindCoordinatorResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('FindCoordinatorResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('FindCoordinatorResponse', version, pos, size)
    return m


def _write_find_coordinator_response_3_6(m: FindCoordinatorResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    if version <= 3:
        out += _p_h(m.error_code)
    if version <= 3:
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
    if version <= 3:
        out += _p_i(m.node_id)
    if version <= 3:
        text = m.host.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    if version <= 3:
        out += _p_i(m.port)
    if version >= 4:
        n = len(m.coordinators) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.coordinators:
            if version >= 4:
                text = e1.key.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 4:
                out += _p_i(e1.node_id)
            if version >= 4:
                text = e1.host.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 4:
                out += _p_i(e1.port)
            if version >= 4:
                out += _p_h(e1.error_code)
            if version >= 4:
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


def _write_find_coordinator_response_0_2(m: FindCoordinatorResponse, out: bytearray, version: int) -> None:
    if version >= 1:
        out += _p_i(m.throttle_time_ms)
    out += _p_h(m.error_code)
    if version >= 1:
        if m.error_message is None:
            out += b'\xff\xff'
        else:
            text = m.error_message.encode()
            out += _p_h(len(text))
            out += text
    text = m.host.encode()
    out += _p_ih(m.node_id, len(text))
    out += text
    out += _p_i(m.port)
