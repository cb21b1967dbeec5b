"""CreatePartitions (key 37), versions 0-3. Generated from definitions/create_partitions.txt by oncelog.protocol.generate: do not edit."""

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
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_io = Layout(">i?").pack
_p_iox = Layout(">i?x").pack
_u_h = Layout(">h").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hh = Layout(">hh").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_io = Layout(">i?").unpack_from
_u_ioB = Layout(">i?B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatePartitionsAssignment(Struct):
    """Part of CreatePartitionsRequest."""

    broker_ids: list[int]

    def __init__(
        self,
        broker_ids: list[int] = ABSENT,
    ) -> None:
        self.broker_ids = [] if broker_ids is ABSENT else broker_ids


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatePartitionsTopic(Struct):
    """Part of CreatePartitionsRequest."""

    name: str
    count: int
    assignments: list[CreatePartitionsAssignment] | None

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = ABSENT,
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is ABSENT else assignments


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatePartitionsRequest(Message):
    """CreatePartitionsRequest, versions 0-3."""

    topics: list[CreatePartitionsTopic]
    timeout_ms: int
    validate_only: bool

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] = ABSENT,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> CreatePartitionsRequest:
        if 2 <= version <= 3:
            return _read_create_partitions_request_2_3(data, version, at)
        if 0 <= version <= 1:
            return _read_create_partitions_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('CreatePartitionsRequest', '0-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 3:
                return _write_create_partitions_request_2_3(self, out, version)
            if 0 <= version <= 1:
                return _write_create_partitions_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('CreatePartitionsRequest', version, why) from why
        raise UnwritableMessage(unsupported('CreatePartitionsRequest', '0-3', version))


def _read_create_partitions_request_2_3(data: BytesLike, version: int, pos: int) -> CreatePartitionsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreatePartitionsRequest.__new__(CreatePartitionsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('CreatePartitionsRequest.topics', version, pos)
        n -= 1
        if n * 7 > size - pos:
            raise too_many('CreatePartitionsRequest.topics', version, pos, n, size)
        list1: list[CreatePartitionsTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = CreatePartitionsTopic.__new__(CreatePartitionsTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('CreatePartitionsRequest.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            e1.count, n = _u_iB(buf, pos)
            pos += 5
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                e1.assignments = None
            else:
                n -= 1
                if n * 2 > size - pos:
                    raise too_many('CreatePartitionsRequest.topics.assignments', version, pos, n, size)
                list2: list[CreatePartitionsAssignment] = []
                e1.assignments = list2
                count2 = n
                for _ in range(count2):
                    e2 = CreatePartitionsAssignment.__new__(CreatePartitionsAssignment)
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('CreatePartitionsRequest.topics.assignments.broker_ids', version, pos)
                    n -= 1
                    if n * 4 > size - pos:
                        raise too_many('CreatePartitionsRequest.topics.assignments.broker_ids', version, pos, n, size)
                    e2.broker_ids = list(unpack_from(f'>{n}i', buf, pos))
                    pos += 4 * n
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
        m.timeout_ms, m.validate_only, n = _u_ioB(buf, pos)
        pos += 6
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('CreatePartitionsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreatePartitionsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('CreatePartitionsRequest', version, pos, size)
    return m


def _read_create_partitions_request_0_1(data: BytesLike, version: int, pos: int) -> CreatePartitionsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreatePartitionsRequest.__new__(CreatePartitionsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('CreatePartitionsRequest.topics', version, pos)
        if n * 10 > size - pos:
            raise too_many('CreatePartitionsRequest.topics', version, pos, n, size)
        list1: list[CreatePartitionsTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = CreatePartitionsTopic.__new__(CreatePartitionsTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('CreatePartitionsRequest.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.count, n = _u_ii(buf, pos)
            pos += 8
            if n < 0:
                e1.assignments = None
            else:
                if n * 4 > size - pos:
                    raise too_many('CreatePartitionsRequest.topics.assignments', version, pos, n, size)
                list2: list[CreatePartitionsAssignment] = []
                e1.assignments = list2
                count2 = n
                for _ in range(count2):
                    e2 = CreatePartitionsAssignment.__new__(CreatePartitionsAssignment)
                    n, = _u_i(buf, pos)
                    pos += 4
                    if n < 0:
                        raise null_found('CreatePartitionsRequest.topics.assignments.broker_ids', version, pos)
                    if n * 4 > size - pos:
                        raise too_many('CreatePartitionsRequest.topics.assignments.broker_ids', version, pos, n, size)
                    e2.broker_ids = list(unpack_from(f'>{n}i', buf, pos))
                    pos += 4 * n
                    list2.append(e2)
            list1.append(e1)
        m.timeout_ms, m.validate_only = _u_io(buf, pos)
        pos += 5
    except (IndexError, LayoutError):
        raise cut_short('CreatePartitionsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreatePartitionsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('CreatePartitionsRequest', version, pos, size)
    return m


def _write_create_partitions_request_2_3(m: CreatePartitionsRequest, out: bytearray, version: int) -> None:
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_i(e1.count)
        if e1.assignments is None:
            out.append(0)
        else:
            n = len(e1.assignments) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e2 in e1.assignments:
                n = len(e2.broker_ids) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                out += pack(f'>{len(e2.broker_ids)}i', *e2.broker_ids)
                out.append(0)
        out.append(0)
    out += _p_iox(m.timeout_ms, m.validate_only)


def _write_create_partitions_request_0_1(m: CreatePartitionsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(e1.count)
        if e1.assignments is None:
            out += b'\xff\xff\xff\xff'
        else:
            out += _p_i(len(e1.assignments))
            for e2 in e1.assignments:
                out += _p_i(len(e2.broker_ids))
                out += pack(f'>{len(e2.broker_ids)}i', *e2.broker_ids)
    out += _p_io(m.timeout_ms, m.validate_only)


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatePartitionsTopicResult(Struct):
    """Part of CreatePartitionsResponse."""

    name: str
    error_code: int
    error_message: str | None

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message


@dataclass(slots=True, init=False, repr=False, eq=False)
class CreatePartitionsResponse(Message):
    """CreatePartitionsResponse, versions 0-3."""

    throttle_time_ms: int
    results: list[CreatePartitionsTopicResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsTopicResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is ABSENT else results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> CreatePartitionsResponse:
        if 2 <= version <= 3:
            return _read_create_partitions_response_2_3(data, version, at)
        if 0 <= version <= 1:
            return _read_create_partitions_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('CreatePartitionsResponse', '0-3', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 2 <= version <= 3:
                return _write_create_partitions_response_2_3(self, out, version)
            if 0 <= version <= 1:
                return _write_create_partitions_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('CreatePartitionsResponse', version, why) from why
        raise UnwritableMessage(unsupported('CreatePartitionsResponse', '0-3', version))


def _read_create_partitions_response_2_3(data: BytesLike, version: int, pos: int) -> CreatePartitionsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreatePartitionsResponse.__new__(CreatePartitionsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('CreatePartitionsResponse.results', version, pos)
        n -= 1
        if n * 5 > size - pos:
            raise too_many('CreatePartitionsResponse.results', version, pos, n, size)
        list1: list[CreatePartitionsTopicResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = CreatePartitionsTopicResult.__new__(CreatePartitionsTopicResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('CreatePartitionsResponse.results.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
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
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('CreatePartitionsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreatePartitionsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('CreatePartitionsResponse', version, pos, size)
    return m


def _read_create_partitions_response_0_1(data: BytesLike, version: int, pos: int) -> CreatePartitionsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = CreatePartitionsResponse.__new__(CreatePartitionsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('CreatePartitionsResponse.results', version, pos)
        if n * 6 > size - pos:
            raise too_many('CreatePartitionsResponse.results', version, pos, n, size)
        list1: list[CreatePartitionsTopicResult] = []
        m.results = list1
        count1 = n
        for _ in range(count1):
            e1 = CreatePartitionsTopicResult.__new__(CreatePartitionsTopicResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('CreatePartitionsResponse.results.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.error_code, n = _u_hh(buf, pos)
            pos += 4
            if n < 0:
                e1.error_message = None
            else:
                end = pos + n
                e1.error_message = buf[pos:end].decode()
                pos = end
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('CreatePartitionsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('CreatePartitionsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('CreatePartitionsResponse', version, pos, size)
    return m


def _write_create_partitions_response_2_3(m: CreatePartitionsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.results) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.results:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
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
        out.append(0)
    out.append(0)


def _write_create_partitions_response_0_1(m: CreatePartitionsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.results))
    for e1 in m.results:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_h(e1.error_code)
        if e1.error_message is None:
            out += b'\xff\xff'
        else:
            text = e1.error_message.encode()
            out += _p_h(len(text))
            out += text
