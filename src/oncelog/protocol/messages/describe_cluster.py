"""DescribeCluster (key 60), versions 0-2. Generated from definitions/describe_cluster.txt by oncelog.protocol.generate: do not edit."""

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
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_ix = Layout(">ix").pack
_p_o = Layout(">?").pack
_u_b = Layout(">b").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_o = Layout(">?").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeClusterRequest(Message):
    """DescribeClusterRequest, versions 0-2."""

    include_cluster_authorized_operations: bool
    endpoint_type: int
    include_fenced_brokers: bool

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeClusterRequest:
        if 0 <= version <= 2:
            return _read_describe_cluster_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('DescribeClusterRequest', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 2:
                return _write_describe_cluster_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeClusterRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeClusterRequest', '0-2', version))


def _read_describe_cluster_request_0_2(data: BytesLike, version: int, pos: int) -> DescribeClusterRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeClusterRequest.__new__(DescribeClusterRequest)
        m.include_cluster_authorized_operations, = _u_o(buf, pos)
        pos += 1
        if version >= 1:
            m.endpoint_type, = _u_b(buf, pos)
            pos += 1
        else:
            m.endpoint_type = 1
        if version >= 2:
            m.include_fenced_brokers, = _u_o(buf, pos)
            pos += 1
        else:
            m.include_fenced_brokers = False
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeClusterRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeClusterRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeClusterRequest', version, pos, size)
    return m


def _write_describe_cluster_request_0_2(m: DescribeClusterRequest, out: bytearray, version: int) -> None:
    out += _p_o(m.include_cluster_authorized_operations)
    if version >= 1:
        out += _p_b(m.endpoint_type)
    if version >= 2:
        out += _p_o(m.include_fenced_brokers)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeClusterBroker(Struct):
    """Part of DescribeClusterResponse."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeClusterResponse(Message):
    """DescribeClusterResponse, versions 0-2."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    endpoint_type: int
    cluster_id: str
    controller_id: int
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: int

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = ABSENT,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is ABSENT else brokers
        self.cluster_authorized_operations = cluster_authorized_operations

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeClusterResponse:
        if 0 <= version <= 2:
            return _read_describe_cluster_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('DescribeClusterResponse', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 2:
                return _write_describe_cluster_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeClusterResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeClusterResponse', '0-2', version))


def _read_describe_cluster_response_0_2(data: BytesLike, version: int, pos: int) -> DescribeClusterResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeClusterResponse.__new__(DescribeClusterResponse)
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
        if version >= 1:
            m.endpoint_type, = _u_b(buf, pos)
            pos += 1
        else:
            m.endpoint_type = 1
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('DescribeClusterResponse.cluster_id', version, pos)
        end = pos + n - 1
        m.cluster_id = buf[pos:end].decode()
        pos = end
        m.controller_id, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeClusterResponse.brokers', version, pos)
        n -= 1
        if n * 11 > size - pos:
            raise too_many('DescribeClusterResponse.brokers', version, pos, n, size)
        list1: list[DescribeClusterBroker] = []
        m.brokers = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeClusterBroker.__new__(DescribeClusterBroker)
            e1.broker_id, n = _u_iB(buf, pos)
            pos += 5
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeClusterResponse.brokers.host', version, pos)
            end = pos + n - 1
            e1.host = buf[pos:end].decode()
            pos = end
            e1.port, n = _u_iB(buf, pos)
            pos += 5
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.rack = None
            else:
                end = pos + n - 1
                e1.rack = buf[pos:end].decode()
                pos = end
            if version >= 2:
                e1.is_fenced, = _u_o(buf, pos)
                pos += 1
            else:
                e1.is_fenced = False
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.cluster_authorized_operations, n = _u_iB(buf, pos)
        pos += 5
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeClusterResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeClusterResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeClusterResponse', version, pos, size)
    return m


def _write_describe_cluster_response_0_2(m: DescribeClusterResponse, out: bytearray, version: int) -> None:
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
    if version >= 1:
        out += _p_b(m.endpoint_type)
    text = m.cluster_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    out += _p_i(m.controller_id)
    n = len(m.brokers) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.brokers:
        text = e1.host.encode()
        out += _p_i(e1.broker_id)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_i(e1.port)
        if e1.rack is None:
            out.append(0)
        else:
            text = e1.rack.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if version >= 2:
            out += _p_o(e1.is_fenced)
        out.append(0)
    out += _p_ix(m.cluster_authorized_operations)
