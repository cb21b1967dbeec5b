"""DescribeLogDirs (key 35), versions 1-5. Generated from definitions/describe_log_dirs.txt by oncelog.protocol.generate: do not edit."""

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
_p_hh = Layout(">hh").pack
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_iqqo = Layout(">iqq?").pack
_p_iqqox = Layout(">iqq?x").pack
_p_o = Layout(">?").pack
_p_q = Layout(">q").pack
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_iqqo = Layout(">iqq?").unpack_from
_u_iqqoB = Layout(">iqq?B").unpack_from
_u_o = Layout(">?").unpack_from
_u_q = Layout(">q").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribableLogDirTopic(Struct):
    """Part of DescribeLogDirsRequest."""

    topic: str
    partitions: list[int]

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = ABSENT,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeLogDirsRequest(Message):
    """DescribeLogDirsRequest, versions 1-5."""

    topics: list[DescribableLogDirTopic] | None

    def __init__(
        self,
        topics: list[DescribableLogDirTopic] | None = ABSENT,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeLogDirsRequest:
        if 2 <= version <= 5:
            return _read_describe_log_dirs_request_2_5(data, version, at)
        if version == 1:
            return _read_describe_log_dirs_request_1_1(data, version, at)
        raise MalformedMessage(unsupported('DescribeLogDirsRequest', '1-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 5:
                return _write_describe_log_dirs_request_2_5(self, out, version)
            if version == 1:
                return _write_describe_log_dirs_request_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeLogDirsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeLogDirsRequest', '1-5', version))


def _read_describe_log_dirs_request_2_5(data: BytesLike, version: int, pos: int) -> DescribeLogDirsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeLogDirsRequest.__new__(DescribeLogDirsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            m.topics = None
        else:
            n -= 1
            if n * 3 > size - pos:
                raise too_many('DescribeLogDirsRequest.topics', version, pos, n, size)
            list1: list[DescribableLogDirTopic] = []
            m.topics = list1
            count1 = n
            for _ in range(count1):
                e1 = DescribableLogDirTopic.__new__(DescribableLogDirTopic)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeLogDirsRequest.topics.topic', version, pos)
                end = pos + n - 1
                e1.topic = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeLogDirsRequest.topics.partitions', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('DescribeLogDirsRequest.topics.partitions', version, pos, n, size)
                e1.partitions = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
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
        raise cut_short('DescribeLogDirsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeLogDirsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeLogDirsRequest', version, pos, size)
    return m


def _read_describe_log_dirs_request_1_1(data: BytesLike, version: int, pos: int) -> DescribeLogDirsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeLogDirsRequest.__new__(DescribeLogDirsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            m.topics = None
        else:
            if n * 6 > size - pos:
                raise too_many('DescribeLogDirsRequest.topics', version, pos, n, size)
            list1: list[DescribableLogDirTopic] = []
            m.topics = list1
            count1 = n
            for _ in range(count1):
                e1 = DescribableLogDirTopic.__new__(DescribableLogDirTopic)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DescribeLogDirsRequest.topics.topic', version, pos)
                end = pos + n
                e1.topic = buf[pos:end].decode()
                pos = end
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('DescribeLogDirsRequest.topics.partitions', version, pos)
                if n * 4 > size - pos:
                    raise too_many('DescribeLogDirsRequest.topics.partitions', version, pos, n, size)
                e1.partitions = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DescribeLogDirsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeLogDirsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeLogDirsRequest', version, pos, size)
    return m


def _write_describe_log_dirs_request_2_5(m: DescribeLogDirsRequest, out: bytearray, version: int) -> None:
    if m.topics is None:
        out.append(0)
    else:
        n = len(m.topics) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.topics:
            text = e1.topic.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            n = len(e1.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e1.partitions)}i', *e1.partitions)
            out.append(0)
    out.append(0)


def _write_describe_log_dirs_request_1_1(m: DescribeLogDirsRequest, out: bytearray, version: int) -> None:
    if m.topics is None:
        out += b'\xff\xff\xff\xff'
    else:
        out += _p_i(len(m.topics))
        for e1 in m.topics:
            text = e1.topic.encode()
            out += _p_h(len(text))
            out += text
            out += _p_i(len(e1.partitions))
            out += pack(f'>{len(e1.partitions)}i', *e1.partitions)


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeLogDirsPartition(Struct):
    """Part of DescribeLogDirsResponse."""

    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeLogDirsTopic(Struct):
    """Part of DescribeLogDirsResponse."""

    name: str
    partitions: list[DescribeLogDirsPartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeLogDirsResult(Struct):
    """Part of DescribeLogDirsResponse."""

    error_code: int
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    total_bytes: int
    usable_bytes: int
    is_cordoned: bool

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = ABSENT,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is ABSENT else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeLogDirsResponse(Message):
    """DescribeLogDirsResponse, versions 1-5."""

    throttle_time_ms: int
    error_code: int
    results: list[DescribeLogDirsResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is ABSENT else results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeLogDirsResponse:
        if 2 <= version <= 5:
            return _read_describe_log_dirs_response_2_5(data, version, at)
        if version == 1:
            return _read_describe_log_dirs_response_1_1(data, version, at)
        raise MalformedMessage(unsupported('DescribeLogDirsResponse', '1-5', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 5:
                return _write_describe_log_dirs_response_2_5(self, out, version)
            if version == 1:
                return _write_describe_log_dirs_response_1_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeLogDirsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeLogDirsResponse', '1-5', version))


def _read_describe_log_dirs_response_2_5(data: BytesLike, version: int, pos: int) -> DescribeLogDirsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeLogDirsResponse.__new__(DescribeLogDirsResponse)
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
        if version >= 3:
            m.error_code, = _u_h(buf, pos)
            pos += 2
        else:
            m.error_code = 0
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeLogDirsResponse.results', version, pos)
        n -= 1
        if n * 5 > size - pos:
            raise too_many('DescribeLogDirsResponse.results', version, pos, n, size)
        list1: list[DescribeLogDirsResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeLogDirsResult.__new__(DescribeLogDirsResult)
            e1.error_code, n = _u_hB(buf, pos)
            pos += 3
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeLogDirsResponse.results.log_dir', version, pos)
            end = pos + n - 1
            e1.log_dir = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeLogDirsResponse.results.topics', version, pos)
            n -= 1
            if n * 3 > size - pos:
                raise too_many('DescribeLogDirsResponse.results.topics', version, pos, n, size)
            list2: list[DescribeLogDirsTopic] = []
            e1.topics = list2
            count2 = n
            for _ in range(count2):
                e2 = DescribeLogDirsTopic.__new__(DescribeLogDirsTopic)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('DescribeLogDirsResponse.results.topics.name', version, pos)
                end = pos + n - 1
                e2.name = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeLogDirsResponse.results.topics.partitions', version, pos)
                n -= 1
                if n * 22 > size - pos:
                    raise too_many('DescribeLogDirsResponse.results.topics.partitions', version, pos, n, size)
                list3: list[DescribeLogDirsPartition] = []
                e2.partitions = list3
                count3 = n
                for _ in range(count3):
                    e3 = DescribeLogDirsPartition.__new__(DescribeLogDirsPartition)
                    e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key, n = _u_iqqoB(buf, pos)
                    pos += 22
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            if version >= 4:
                e1.total_bytes, = _u_q(buf, pos)
                pos += 8
            else:
                e1.total_bytes = -1
            if version >= 4:
                e1.usable_bytes, = _u_q(buf, pos)
                pos += 8
            else:
                e1.usable_bytes = -1
            if version >= 5:
                e1.is_cordoned, = _u_o(buf, pos)
                pos += 1
            else:
                e1.is_cordoned = False
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
        raise cut_short('DescribeLogDirsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeLogDirsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeLogDirsResponse', version, pos, size)
    return m


def _read_describe_log_dirs_response_1_1(data: BytesLike, version: int, pos: int) -> DescribeLogDirsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeLogDirsResponse.__new__(DescribeLogDirsResponse)
        m.error_code = 0
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('DescribeLogDirsResponse.results', version, pos)
        if n * 8 > size - pos:
            raise too_many('DescribeLogDirsResponse.results', version, pos, n, size)
        list1: list[DescribeLogDirsResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeLogDirsResult.__new__(DescribeLogDirsResult)
            e1.error_code, n = _u_hh(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('DescribeLogDirsResponse.results.log_dir', version, pos)
            end = pos + n
            e1.log_dir = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('DescribeLogDirsResponse.results.topics', version, pos)
            if n * 6 > size - pos:
                raise too_many('DescribeLogDirsResponse.results.topics', version, pos, n, size)
            list2: list[DescribeLogDirsTopic] = []
            e1.topics = list2
            count2 = n
            for _ in range(count2):
                e2 = DescribeLogDirsTopic.__new__(DescribeLogDirsTopic)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('DescribeLogDirsResponse.results.topics.name', version, pos)
                end = pos + n
                e2.name = buf[pos:end].decode()
                pos = end
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('DescribeLogDirsResponse.results.topics.partitions', version, pos)
                if n * 21 > size - pos:
                    raise too_many('DescribeLogDirsResponse.results.topics.partitions', version, pos, n, size)
                list3: list[DescribeLogDirsPartition] = []
                e2.partitions = list3
                count3 = n
                for _ in range(count3):
                    e3 = DescribeLogDirsPartition.__new__(DescribeLogDirsPartition)
                    e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key = _u_iqqo(buf, pos)
                    pos += 21
                    list3.append(e3)
                list2.append(e2)
            e1.total_bytes = -1
            e1.usable_bytes = -1
            e1.is_cordoned = False
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DescribeLogDirsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeLogDirsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeLogDirsResponse', version, pos, size)
    return m


def _write_describe_log_dirs_response_2_5(m: DescribeLogDirsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    if version >= 3:
        out += _p_h(m.error_code)
    n = len(m.results) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.results:
        text = e1.log_dir.encode()
        out += _p_h(e1.error_code)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.topics) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.topics:
            text = e2.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
            n = len(e2.partitions) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e2.partitions:
                out += _p_iqqox(e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key)
            out.append(0)
        if version >= 4:
            out += _p_q(e1.total_bytes)
        if version >= 4:
            out += _p_q(e1.usable_bytes)
        if version >= 5:
            out += _p_o(e1.is_cordoned)
        out.append(0)
    out.append(0)


def _write_describe_log_dirs_response_1_1(m: DescribeLogDirsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.results))
    for e1 in m.results:
        text = e1.log_dir.encode()
        out += _p_hh(e1.error_code, len(text))
        out += text
        out += _p_i(len(e1.topics))
        for e2 in e1.topics:
            text = e2.name.encode()
            out += _p_h(len(text))
            out += text
            out += _p_i(len(e2.partitions))
            for e3 in e2.partitions:
                out += _p_iqqo(e3.partition_index, e3.partition_size, e3.offset_lag, e3.is_future_key)
