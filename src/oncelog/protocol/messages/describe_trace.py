"""DescribeTrace (key 1001), versions 0-1. Generated from definitions/describe_trace.txt by oncelog.protocol.generate: do not edit."""

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

_p_i = Layout(">i").pack
_p_iho = Layout(">ih?").pack
_p_ix = Layout(">ix").pack
_p_qqq = Layout(">qqq").pack
_p_qx = Layout(">qx").pack
_u_iB = Layout(">iB").unpack_from
_u_ihoB = Layout(">ih?B").unpack_from
_u_qB = Layout(">qB").unpack_from
_u_qqqB = Layout(">qqqB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeTraceRequest(Message):
    """DescribeTraceRequest, versions 0-1."""

    transactional_id: str
    after: int

    def __init__(
        self,
        transactional_id: str = "",
        after: int = -1,
    ) -> None:
        self.transactional_id = transactional_id
        self.after = after

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeTraceRequest:
        if 0 <= version <= 1:
            return _read_describe_trace_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('DescribeTraceRequest', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_describe_trace_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeTraceRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeTraceRequest', '0-1', version))


def _read_describe_trace_request_0_1(data: BytesLike, version: int, pos: int) -> DescribeTraceRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeTraceRequest.__new__(DescribeTraceRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('DescribeTraceRequest.transactional_id', version, pos)
        end = pos + n - 1
        m.transactional_id = buf[pos:end].decode()
        pos = end
        m.after, n = _u_qB(buf, pos)
        pos += 9
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeTraceRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeTraceRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeTraceRequest', version, pos, size)
    return m


def _write_describe_trace_request_0_1(m: DescribeTraceRequest, out: bytearray, version: int) -> None:
    text = m.transactional_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    out += _p_qx(m.after)


@dataclass(slots=True, init=False, repr=False, eq=False)
class TracedRequest(Struct):
    """Part of DescribeTraceResponse."""

    number: int
    at_us: int
    took_us: int
    client_host: str
    client_port: int
    request: bytes
    request_bytes: int
    short_request: bytes | None
    response: bytes | None
    response_bytes: int

    def __init__(
        self,
        number: int = 0,
        at_us: int = 0,
        took_us: int = -1,
        client_host: str = "",
        client_port: int = 0,
        request: bytes = b"",
        request_bytes: int = 0,
        short_request: bytes | None = None,
        response: bytes | None = None,
        response_bytes: int = 0,
    ) -> None:
        self.number = number
        self.at_us = at_us
        self.took_us = took_us
        self.client_host = client_host
        self.client_port = client_port
        self.request = request
        self.request_bytes = request_bytes
        self.short_request = short_request
        self.response = response
        self.response_bytes = response_bytes


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeTraceResponse(Message):
    """DescribeTraceResponse, versions 0-1."""

    throttle_time_ms: int
    error_code: int
    enabled: bool
    requests: list[TracedRequest]
    transactional_ids: list[str]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        enabled: bool = False,
        requests: list[TracedRequest] = ABSENT,
        transactional_ids: list[str] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.enabled = enabled
        self.requests = [] if requests is ABSENT else requests
        self.transactional_ids = [] if transactional_ids is ABSENT else transactional_ids

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeTraceResponse:
        if 0 <= version <= 1:
            return _read_describe_trace_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('DescribeTraceResponse', '0-1', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 1:
                return _write_describe_trace_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeTraceResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeTraceResponse', '0-1', version))


def _read_describe_trace_response_0_1(data: BytesLike, version: int, pos: int) -> DescribeTraceResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeTraceResponse.__new__(DescribeTraceResponse)
        m.throttle_time_ms, m.error_code, m.enabled, n = _u_ihoB(buf, pos)
        pos += 8
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeTraceResponse.requests', version, pos)
        n -= 1
        if n * 41 > size - pos:
            raise too_many('DescribeTraceResponse.requests', version, pos, n, size)
        list1: list[TracedRequest] = []
        m.requests = list1
        count1 = n
        for _ in range(count1):
            e1 = TracedRequest.__new__(TracedRequest)
            e1.number, e1.at_us, e1.took_us, n = _u_qqqB(buf, pos)
            pos += 25
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeTraceResponse.requests.client_host', version, pos)
            end = pos + n - 1
            e1.client_host = buf[pos:end].decode()
            pos = end
            e1.client_port, n = _u_iB(buf, pos)
            pos += 5
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeTraceResponse.requests.request', version, pos)
            end = pos + n - 1
            e1.request = buf[pos:end]
            pos = end
            e1.request_bytes, n = _u_iB(buf, pos)
            pos += 5
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                e1.short_request = None
            else:
                end = pos + n - 1
                e1.short_request = buf[pos:end]
                pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                e1.response = None
            else:
                end = pos + n - 1
                e1.response = buf[pos:end]
                pos = end
            e1.response_bytes, n = _u_iB(buf, pos)
            pos += 5
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        if version >= 1:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeTraceResponse.transactional_ids', version, pos)
            n -= 1
            if n > size - pos:
                raise too_many('DescribeTraceResponse.transactional_ids', version, pos, n, size)
            list2: list[str] = []
            m.transactional_ids = list2
            count2 = n
            for _ in range(count2):
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeTraceResponse.transactional_ids', version, pos)
                end = pos + n - 1
                e2 = buf[pos:end].decode()
                pos = end
                list2.append(e2)
        else:
            m.transactional_ids = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeTraceResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeTraceResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeTraceResponse', version, pos, size)
    return m


def _write_describe_trace_response_0_1(m: DescribeTraceResponse, out: bytearray, version: int) -> None:
    out += _p_iho(m.throttle_time_ms, m.error_code, m.enabled)
    n = len(m.requests) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.requests:
        text = e1.client_host.encode()
        out += _p_qqq(e1.number, e1.at_us, e1.took_us)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_i(e1.client_port)
        n = len(e1.request) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += e1.request
        out += _p_i(e1.request_bytes)
        if e1.short_request is None:
            out.append(0)
        else:
            n = len(e1.short_request) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += e1.short_request
        if e1.response is None:
            out.append(0)
        else:
            n = len(e1.response) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += e1.response
        out += _p_ix(e1.response_bytes)
    if version >= 1:
        n = len(m.transactional_ids) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in m.transactional_ids:
            text = e2.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
    out.append(0)
