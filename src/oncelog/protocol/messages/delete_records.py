"""DeleteRecords (key 21), versions 0-2. Generated from definitions/delete_records.txt by oncelog.protocol.generate: do not edit."""

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

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_iq = Layout(">iq").pack
_p_iqh = Layout(">iqh").pack
_p_iqhx = Layout(">iqhx").pack
_p_iqx = Layout(">iqx").pack
_p_ix = Layout(">ix").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_iq = Layout(">iq").unpack_from
_u_iqB = Layout(">iqB").unpack_from
_u_iqh = Layout(">iqh").unpack_from
_u_iqhB = Layout(">iqhB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteRecordsPartition(Struct):
    """Part of DeleteRecordsRequest."""

    partition_index: int
    offset: int

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteRecordsTopic(Struct):
    """Part of DeleteRecordsRequest."""

    name: str
    partitions: list[DeleteRecordsPartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteRecordsRequest(Message):
    """DeleteRecordsRequest, versions 0-2."""

    topics: list[DeleteRecordsTopic]
    timeout_ms: int

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] = ABSENT,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics
        self.timeout_ms = timeout_ms

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DeleteRecordsRequest:
        if version == 2:
            return _read_delete_records_request_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_delete_records_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('DeleteRecordsRequest', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_delete_records_request_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_delete_records_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DeleteRecordsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DeleteRecordsRequest', '0-2', version))


def _read_delete_records_request_2_2(data: BytesLike, version: int, pos: int) -> DeleteRecordsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteRecordsRequest.__new__(DeleteRecordsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DeleteRecordsRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('DeleteRecordsRequest.topics', version, pos, n, size)
        list1: list[DeleteRecordsTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = DeleteRecordsTopic.__new__(DeleteRecordsTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DeleteRecordsRequest.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DeleteRecordsRequest.topics.partitions', version, pos)
            n -= 1
            if n * 13 > size - pos:
                raise too_many('DeleteRecordsRequest.topics.partitions', version, pos, n, size)
            list2: list[DeleteRecordsPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = DeleteRecordsPartition.__new__(DeleteRecordsPartition)
                e2.partition_index, e2.offset, n = _u_iqB(buf, pos)
                pos += 13
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.timeout_ms, n = _u_iB(buf, pos)
        pos += 5
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DeleteRecordsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteRecordsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteRecordsRequest', version, pos, size)
    return m


def _read_delete_records_request_0_1(data: BytesLike, version: int, pos: int) -> DeleteRecordsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteRecordsRequest.__new__(DeleteRecordsRequest)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('DeleteRecordsRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('DeleteRecordsRequest.topics', version, pos, n, size)
        list1: list[DeleteRecordsTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = DeleteRecordsTopic.__new__(DeleteRecordsTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DeleteRecordsRequest.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('DeleteRecordsRequest.topics.partitions', version, pos)
            if n * 12 > size - pos:
                raise too_many('DeleteRecordsRequest.topics.partitions', version, pos, n, size)
            list2: list[DeleteRecordsPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = DeleteRecordsPartition.__new__(DeleteRecordsPartition)
                e2.partition_index, e2.offset = _u_iq(buf, pos)
                pos += 12
                list2.append(e2)
            list1.append(e1)
        m.timeout_ms, = _u_i(buf, pos)
        pos += 4
    except (IndexError, LayoutError):
        raise cut_short('DeleteRecordsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteRecordsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteRecordsRequest', version, pos, size)
    return m


def _write_delete_records_request_2_2(m: DeleteRecordsRequest, out: bytearray, version: int) -> None:
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
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_iqx(e2.partition_index, e2.offset)
        out.append(0)
    out += _p_ix(m.timeout_ms)


def _write_delete_records_request_0_1(m: DeleteRecordsRequest, out: bytearray, version: int) -> None:
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iq(e2.partition_index, e2.offset)
    out += _p_i(m.timeout_ms)


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteRecordsPartitionResult(Struct):
    """Part of DeleteRecordsResponse."""

    partition_index: int
    low_watermark: int
    error_code: int

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteRecordsTopicResult(Struct):
    """Part of DeleteRecordsResponse."""

    name: str
    partitions: list[DeleteRecordsPartitionResult]

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class DeleteRecordsResponse(Message):
    """DeleteRecordsResponse, versions 0-2."""

    throttle_time_ms: int
    topics: list[DeleteRecordsTopicResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DeleteRecordsResponse:
        if version == 2:
            return _read_delete_records_response_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_delete_records_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('DeleteRecordsResponse', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_delete_records_response_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_delete_records_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DeleteRecordsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DeleteRecordsResponse', '0-2', version))


def _read_delete_records_response_2_2(data: BytesLike, version: int, pos: int) -> DeleteRecordsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteRecordsResponse.__new__(DeleteRecordsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DeleteRecordsResponse.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('DeleteRecordsResponse.topics', version, pos, n, size)
        list1: list[DeleteRecordsTopicResult] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = DeleteRecordsTopicResult.__new__(DeleteRecordsTopicResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DeleteRecordsResponse.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DeleteRecordsResponse.topics.partitions', version, pos)
            n -= 1
            if n * 15 > size - pos:
                raise too_many('DeleteRecordsResponse.topics.partitions', version, pos, n, size)
            list2: list[DeleteRecordsPartitionResult] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = DeleteRecordsPartitionResult.__new__(DeleteRecordsPartitionResult)
                e2.partition_index, e2.low_watermark, e2.error_code, n = _u_iqhB(buf, pos)
                pos += 15
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
        raise cut_short('DeleteRecordsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteRecordsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteRecordsResponse', version, pos, size)
    return m


def _read_delete_records_response_0_1(data: BytesLike, version: int, pos: int) -> DeleteRecordsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DeleteRecordsResponse.__new__(DeleteRecordsResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('DeleteRecordsResponse.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('DeleteRecordsResponse.topics', version, pos, n, size)
        list1: list[DeleteRecordsTopicResult] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = DeleteRecordsTopicResult.__new__(DeleteRecordsTopicResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('DeleteRecordsResponse.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('DeleteRecordsResponse.topics.partitions', version, pos)
            if n * 14 > size - pos:
                raise too_many('DeleteRecordsResponse.topics.partitions', version, pos, n, size)
            list2: list[DeleteRecordsPartitionResult] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = DeleteRecordsPartitionResult.__new__(DeleteRecordsPartitionResult)
                e2.partition_index, e2.low_watermark, e2.error_code = _u_iqh(buf, pos)
                pos += 14
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('DeleteRecordsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DeleteRecordsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DeleteRecordsResponse', version, pos, size)
    return m


def _write_delete_records_response_2_2(m: DeleteRecordsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
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
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_iqhx(e2.partition_index, e2.low_watermark, e2.error_code)
        out.append(0)
    out.append(0)


def _write_delete_records_response_0_1(m: DeleteRecordsResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iqh(e2.partition_index, e2.low_watermark, e2.error_code)
