"""DescribeOncelog (key 1000), versions 0-3. Generated from definitions/describe_oncelog.txt by oncelog.protocol.generate: do not edit."""

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

_p_h = Layout(">h").pack
_p_ih = Layout(">ih").pack
_p_ix = Layout(">ix").pack
_p_q = Layout(">q").pack
_p_qx = Layout(">qx").pack
_u_hB = Layout(">hB").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_q = Layout(">q").unpack_from
_u_qB = Layout(">qB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeOncelogRequest(Message):
    """DescribeOncelogRequest, versions 0-3."""

    transactional_ids: list[str]

    def __init__(
        self,
        transactional_ids: list[str] = ABSENT,
    ) -> None:
        self.transactional_ids = [] if transactional_ids is ABSENT else transactional_ids

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeOncelogRequest:
        if 0 <= version <= 3:
            return _read_describe_oncelog_request_0_3(data, version, at)
        raise MalformedMessage(unsupported('DescribeOncelogRequest', '0-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 3:
                return _write_describe_oncelog_request_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeOncelogRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeOncelogRequest', '0-3', version))


def _read_describe_oncelog_request_0_3(data: BytesLike, version: int, pos: int) -> DescribeOncelogRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeOncelogRequest.__new__(DescribeOncelogRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeOncelogRequest.transactional_ids', version, pos)
        n -= 1
        if n > size - pos:
            raise too_many('DescribeOncelogRequest.transactional_ids', version, pos, n, size)
        list1: list[str] = []
        m.transactional_ids = list1
        count1 = n
        for _ in range(count1):
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeOncelogRequest.transactional_ids', version, pos)
            end = pos + n - 1
            e1 = buf[pos:end].decode()
            pos = end
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeOncelogRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeOncelogRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeOncelogRequest', version, pos, size)
    return m


def _write_describe_oncelog_request_0_3(m: DescribeOncelogRequest, out: bytearray, version: int) -> None:
    n = len(m.transactional_ids) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.transactional_ids:
        text = e1.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class EpochBump(Struct):
    """Part of DescribeOncelogResponse."""

    transactional_id: str
    producer_epoch: int
    cause: str
    at_ms: int
    client_id: str | None
    client_host: str | None
    client_port: int

    def __init__(
        self,
        transactional_id: str = "",
        producer_epoch: int = 0,
        cause: str = "",
        at_ms: int = 0,
        client_id: str | None = None,
        client_host: str | None = None,
        client_port: int = -1,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_epoch = producer_epoch
        self.cause = cause
        self.at_ms = at_ms
        self.client_id = client_id
        self.client_host = client_host
        self.client_port = client_port


@dataclass(slots=True, init=False, repr=False, eq=False)
class Counter(Struct):
    """Part of DescribeOncelogResponse."""

    name: str
    value: int

    def __init__(
        self,
        name: str = "",
        value: int = 0,
    ) -> None:
        self.name = name
        self.value = value


@dataclass(slots=True, init=False, repr=False, eq=False)
class Times(Struct):
    """Part of DescribeOncelogResponse."""

    name: str
    sum_ns: int
    max_ns: int
    counts: list[int]

    def __init__(
        self,
        name: str = "",
        sum_ns: int = 0,
        max_ns: int = 0,
        counts: list[int] = ABSENT,
    ) -> None:
        self.name = name
        self.sum_ns = sum_ns
        self.max_ns = max_ns
        self.counts = [] if counts is ABSENT else counts


@dataclass(slots=True, init=False, repr=False, eq=False)
class UncommittedReader(Struct):
    """Part of DescribeOncelogResponse."""

    client_id: str | None
    client_host: str

    def __init__(
        self,
        client_id: str | None = None,
        client_host: str = "",
    ) -> None:
        self.client_id = client_id
        self.client_host = client_host


@dataclass(slots=True, init=False, repr=False, eq=False)
class ClientSoftware(Struct):
    """Part of DescribeOncelogResponse."""

    client_id: str | None
    client_host: str
    software_name: str
    software_version: str

    def __init__(
        self,
        client_id: str | None = None,
        client_host: str = "",
        software_name: str = "",
        software_version: str = "",
    ) -> None:
        self.client_id = client_id
        self.client_host = client_host
        self.software_name = software_name
        self.software_version = software_version


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeOncelogResponse(Message):
    """DescribeOncelogResponse, versions 0-3."""

    throttle_time_ms: int
    error_code: int
    bumps: list[EpochBump]
    counters: list[Counter]
    times: list[Times]
    uncommitted_readers: list[UncommittedReader]
    clients: list[ClientSoftware]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        bumps: list[EpochBump] = ABSENT,
        counters: list[Counter] = ABSENT,
        times: list[Times] = ABSENT,
        uncommitted_readers: list[UncommittedReader] = ABSENT,
        clients: list[ClientSoftware] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.bumps = [] if bumps is ABSENT else bumps
        self.counters = [] if counters is ABSENT else counters
        self.times = [] if times is ABSENT else times
        self.uncommitted_readers = [] if uncommitted_readers is ABSENT else uncommitted_readers
        self.clients = [] if clients is ABSENT else clients

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeOncelogResponse:
        if 0 <= version <= 3:
            return _read_describe_oncelog_response_0_3(data, version, at)
        raise MalformedMessage(unsupported('DescribeOncelogResponse', '0-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 3:
                return _write_describe_oncelog_response_0_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeOncelogResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeOncelogResponse', '0-3', version))


def _read_describe_oncelog_response_0_3(data: BytesLike, version: int, pos: int) -> DescribeOncelogResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeOncelogResponse.__new__(DescribeOncelogResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeOncelogResponse.bumps', version, pos)
        n -= 1
        if n * 19 > size - pos:
            raise too_many('DescribeOncelogResponse.bumps', version, pos, n, size)
        list1: list[EpochBump] = []
        m.bumps = list1
        count1 = n
        for _ in range(count1):
            e1 = EpochBump.__new__(EpochBump)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeOncelogResponse.bumps.transactional_id', version, pos)
            end = pos + n - 1
            e1.transactional_id = buf[pos:end].decode()
            pos = end
            e1.producer_epoch, n = _u_hB(buf, pos)
            pos += 3
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeOncelogResponse.bumps.cause', version, pos)
            end = pos + n - 1
            e1.cause = buf[pos:end].decode()
            pos = end
            e1.at_ms, n = _u_qB(buf, pos)
            pos += 9
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.client_id = None
            else:
                end = pos + n - 1
                e1.client_id = buf[pos:end].decode()
                pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.client_host = None
            else:
                end = pos + n - 1
                e1.client_host = buf[pos:end].decode()
                pos = end
            e1.client_port, n = _u_iB(buf, pos)
            pos += 5
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeOncelogResponse.counters', version, pos)
        n -= 1
        if n * 10 > size - pos:
            raise too_many('DescribeOncelogResponse.counters', version, pos, n, size)
        list2: list[Counter] = []
        m.counters = list2
        count2 = n
        for _ in range(count2):
            e2 = Counter.__new__(Counter)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeOncelogResponse.counters.name', version, pos)
            end = pos + n - 1
            e2.name = buf[pos:end].decode()
            pos = end
            e2.value, n = _u_qB(buf, pos)
            pos += 9
            if n:
                pos = skip_tags(buf, pos, size, n)
            list2.append(e2)
        if version >= 1:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeOncelogResponse.times', version, pos)
            n -= 1
            if n * 19 > size - pos:
                raise too_many('DescribeOncelogResponse.times', version, pos, n, size)
            list3: list[Times] = []
            m.times = list3
            count3 = n
            for _ in range(count3):
                e3 = Times.__new__(Times)
                if version >= 1:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeOncelogResponse.times.name', version, pos)
                    end = pos + n - 1
                    e3.name = buf[pos:end].decode()
                    pos = end
                else:
                    e3.name = ""
                if version >= 1:
                    e3.sum_ns, = _u_q(buf, pos)
                    pos += 8
                else:
                    e3.sum_ns = 0
                if version >= 1:
                    e3.max_ns, = _u_q(buf, pos)
                    pos += 8
                else:
                    e3.max_ns = 0
                if version >= 1:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('DescribeOncelogResponse.times.counts', version, pos)
                    n -= 1
                    if n * 8 > size - pos:
                        raise too_many('DescribeOncelogResponse.times.counts', version, pos, n, size)
                    e3.counts = list(unpack_from(f'>{n}q', buf, pos))
                    pos += 8 * n
                else:
                    e3.counts = []
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list3.append(e3)
        else:
            m.times = []
        if version >= 2:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeOncelogResponse.uncommitted_readers', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('DescribeOncelogResponse.uncommitted_readers', version, pos, n, size)
            list4: list[UncommittedReader] = []
            m.uncommitted_readers = list4
            count4 = n
            for _ in range(count4):
                e4 = UncommittedReader.__new__(UncommittedReader)
                if version >= 2:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e4.client_id = None
                    else:
                        end = pos + n - 1
                        e4.client_id = buf[pos:end].decode()
                        pos = end
                else:
                    e4.client_id = None
                if version >= 2:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeOncelogResponse.uncommitted_readers.client_host', version, pos)
                    end = pos + n - 1
                    e4.client_host = buf[pos:end].decode()
                    pos = end
                else:
                    e4.client_host = ""
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list4.append(e4)
        else:
            m.uncommitted_readers = []
        if version >= 3:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeOncelogResponse.clients', version, pos)
            n -= 1
            if n * 5 > size - pos:
                raise too_many('DescribeOncelogResponse.clients', version, pos, n, size)
            list5: list[ClientSoftware] = []
            m.clients = list5
            count5 = n
            for _ in range(count5):
                e5 = ClientSoftware.__new__(ClientSoftware)
                if version >= 3:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e5.client_id = None
                    else:
                        end = pos + n - 1
                        e5.client_id = buf[pos:end].decode()
                        pos = end
                else:
                    e5.client_id = None
                if version >= 3:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeOncelogResponse.clients.client_host', version, pos)
                    end = pos + n - 1
                    e5.client_host = buf[pos:end].decode()
                    pos = end
                else:
                    e5.client_host = ""
                if version >= 3:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeOncelogResponse.clients.software_name', version, pos)
                    end = pos + n - 1
                    e5.software_name = buf[pos:end].decode()
                    pos = end
                else:
                    e5.software_name = ""
                if version >= 3:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        raise null_found('DescribeOncelogResponse.clients.software_version', version, pos)
                    end = pos + n - 1
                    e5.software_version = buf[pos:end].decode()
                    pos = end
                else:
                    e5.software_version = ""
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list5.append(e5)
        else:
            m.clients = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeOncelogResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeOncelogResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeOncelogResponse', version, pos, size)
    return m


def _write_describe_oncelog_response_0_3(m: DescribeOncelogResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    n = len(m.bumps) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.bumps:
        text = e1.transactional_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        text = e1.cause.encode()
        out += _p_h(e1.producer_epoch)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_q(e1.at_ms)
        if e1.client_id is None:
            out.append(0)
        else:
            text = e1.client_id.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if e1.client_host is None:
            out.append(0)
        else:
            text = e1.client_host.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        out += _p_ix(e1.client_port)
    n = len(m.counters) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e2 in m.counters:
        text = e2.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_qx(e2.value)
    if version >= 1:
        n = len(m.times) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e3 in m.times:
            if version >= 1:
                text = e3.name.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 1:
                out += _p_q(e3.sum_ns)
            if version >= 1:
                out += _p_q(e3.max_ns)
            if version >= 1:
                n = len(e3.counts) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                out += pack(f'>{len(e3.counts)}q', *e3.counts)
            out.append(0)
    if version >= 2:
        n = len(m.uncommitted_readers) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e4 in m.uncommitted_readers:
            if version >= 2:
                if e4.client_id is None:
                    out.append(0)
                else:
                    text = e4.client_id.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
            if version >= 2:
                text = e4.client_host.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
    if version >= 3:
        n = len(m.clients) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e5 in m.clients:
            if version >= 3:
                if e5.client_id is None:
                    out.append(0)
                else:
                    text = e5.client_id.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
            if version >= 3:
                text = e5.client_host.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 3:
                text = e5.software_name.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            if version >= 3:
                text = e5.software_version.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
    out.append(0)
