"""ListOffsets (key 2), versions 1-11. Generated from definitions/list_offsets.txt by oncelog.protocol.generate: do not edit."""

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
_p_ib = Layout(">ib").pack
_p_ihqq = Layout(">ihqq").pack
_p_ihqqix = Layout(">ihqqix").pack
_p_iiqx = Layout(">iiqx").pack
_p_q = Layout(">q").pack
_u_b = Layout(">b").unpack_from
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ibB = Layout(">ibB").unpack_from
_u_ihqq = Layout(">ihqq").unpack_from
_u_ihqqiB = Layout(">ihqqiB").unpack_from
_u_iiqB = Layout(">iiqB").unpack_from
_u_q = Layout(">q").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListOffsetsPartition(Struct):
    """Part of ListOffsetsRequest."""

    partition_index: int
    current_leader_epoch: int
    timestamp: int

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListOffsetsTopic(Struct):
    """Part of ListOffsetsRequest."""

    name: str
    partitions: list[ListOffsetsPartition]

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartition] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListOffsetsRequest(Message):
    """ListOffsetsRequest, versions 1-11."""

    replica_id: int
    isolation_level: int
    topics: list[ListOffsetsTopic]
    timeout_ms: int

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = ABSENT,
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is ABSENT else topics
        self.timeout_ms = timeout_ms

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListOffsetsRequest:
        if 6 <= version <= 11:
            return _read_list_offsets_request_6_11(data, version, at)
        if 1 <= version <= 5:
            return _read_list_offsets_request_1_5(data, version, at)
        raise MalformedMessage(unsupported('ListOffsetsRequest', '1-11', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 6 <= version <= 11:
                return _write_list_offsets_request_6_11(self, out, version)
            if 1 <= version <= 5:
                return _write_list_offsets_request_1_5(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListOffsetsRequest', version, why) from why
        raise UnwritableMessage(unsupported('ListOffsetsRequest', '1-11', version))


def _read_list_offsets_request_6_11(data: BytesLike, version: int, pos: int) -> ListOffsetsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListOffsetsRequest.__new__(ListOffsetsRequest)
        m.replica_id, m.isolation_level, n = _u_ibB(buf, pos)
        pos += 6
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListOffsetsRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('ListOffsetsRequest.topics', version, pos, n, size)
        list1: list[ListOffsetsTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = ListOffsetsTopic.__new__(ListOffsetsTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListOffsetsRequest.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ListOffsetsRequest.topics.partitions', version, pos)
            n -= 1
            if n * 17 > size - pos:
                raise too_many('ListOffsetsRequest.topics.partitions', version, pos, n, size)
            list2: list[ListOffsetsPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = ListOffsetsPartition.__new__(ListOffsetsPartition)
                e2.partition_index, e2.current_leader_epoch, e2.timestamp, n = _u_iiqB(buf, pos)
                pos += 17
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        if version >= 10:
            m.timeout_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.timeout_ms = 0
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ListOffsetsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListOffsetsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ListOffsetsRequest', version, pos, size)
    return m


def _read_list_offsets_request_1_5(data: BytesLike, version: int, pos: int) -> ListOffsetsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListOffsetsRequest.__new__(ListOffsetsRequest)
        m.replica_id, = _u_i(buf, pos)
        pos += 4
        if version >= 2:
            m.isolation_level, = _u_b(buf, pos)
            pos += 1
        else:
            m.isolation_level = 0
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('ListOffsetsRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('ListOffsetsRequest.topics', version, pos, n, size)
        list1: list[ListOffsetsTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = ListOffsetsTopic.__new__(ListOffsetsTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ListOffsetsRequest.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ListOffsetsRequest.topics.partitions', version, pos)
            if n * 12 > size - pos:
                raise too_many('ListOffsetsRequest.topics.partitions', version, pos, n, size)
            list2: list[ListOffsetsPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = ListOffsetsPartition.__new__(ListOffsetsPartition)
                e2.partition_index, = _u_i(buf, pos)
                pos += 4
                if version >= 4:
                    e2.current_leader_epoch, = _u_i(buf, pos)
                    pos += 4
                else:
                    e2.current_leader_epoch = -1
                e2.timestamp, = _u_q(buf, pos)
                pos += 8
                list2.append(e2)
            list1.append(e1)
        m.timeout_ms = 0
    except (IndexError, LayoutError):
        raise cut_short('ListOffsetsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListOffsetsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ListOffsetsRequest', version, pos, size)
    return m


def _write_list_offsets_request_6_11(m: ListOffsetsRequest, out: bytearray, version: int) -> None:
    out += _p_ib(m.replica_id, m.isolation_level)
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
            out += _p_iiqx(e2.partition_index, e2.current_leader_epoch, e2.timestamp)
        out.append(0)
    if version >= 10:
        out += _p_i(m.timeout_ms)
    out.append(0)


def _write_list_offsets_request_1_5(m: ListOffsetsRequest, out: bytearray, version: int) -> None:
    out += _p_i(m.replica_id)
    if version >= 2:
        out += _p_b(m.isolation_level)
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_i(e2.partition_index)
            if version >= 4:
                out += _p_i(e2.current_leader_epoch)
            out += _p_q(e2.timestamp)


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListOffsetsPartitionResponse(Struct):
    """Part of ListOffsetsResponse."""

    partition_index: int
    error_code: int
    timestamp: int
    offset: int
    leader_epoch: int

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListOffsetsTopicResponse(Struct):
    """Part of ListOffsetsResponse."""

    name: str
    partitions: list[ListOffsetsPartitionResponse]

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class ListOffsetsResponse(Message):
    """ListOffsetsResponse, versions 1-11."""

    throttle_time_ms: int
    topics: list[ListOffsetsTopicResponse]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ListOffsetsResponse:
        if 6 <= version <= 11:
            return _read_list_offsets_response_6_11(data, version, at)
        if 1 <= version <= 5:
            return _read_list_offsets_response_1_5(data, version, at)
        raise MalformedMessage(unsupported('ListOffsetsResponse', '1-11', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 6 <= version <= 11:
                return _write_list_offsets_response_6_11(self, out, version)
            if 1 <= version <= 5:
                return _write_list_offsets_response_1_5(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ListOffsetsResponse', version, why) from why
        raise UnwritableMessage(unsupported('ListOffsetsResponse', '1-11', version))


def _read_list_offsets_response_6_11(data: BytesLike, version: int, pos: int) -> ListOffsetsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListOffsetsResponse.__new__(ListOffsetsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ListOffsetsResponse.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('ListOffsetsResponse.topics', version, pos, n, size)
        list1: list[ListOffsetsTopicResponse] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = ListOffsetsTopicResponse.__new__(ListOffsetsTopicResponse)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ListOffsetsResponse.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ListOffsetsResponse.topics.partitions', version, pos)
            n -= 1
            if n * 27 > size - pos:
                raise too_many('ListOffsetsResponse.topics.partitions', version, pos, n, size)
            list2: list[ListOffsetsPartitionResponse] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = ListOffsetsPartitionResponse.__new__(ListOffsetsPartitionResponse)
                e2.partition_index, e2.error_code, e2.timestamp, e2.offset, e2.leader_epoch, n = _u_ihqqiB(buf, pos)
                pos += 27
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
        raise cut_short('ListOffsetsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListOffsetsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ListOffsetsResponse', version, pos, size)
    return m


def _read_list_offsets_response_1_5(data: BytesLike, version: int, pos: int) -> ListOffsetsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ListOffsetsResponse.__new__(ListOffsetsResponse)
        if version >= 2:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('ListOffsetsResponse.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('ListOffsetsResponse.topics', version, pos, n, size)
        list1: list[ListOffsetsTopicResponse] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = ListOffsetsTopicResponse.__new__(ListOffsetsTopicResponse)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ListOffsetsResponse.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ListOffsetsResponse.topics.partitions', version, pos)
            if n * 22 > size - pos:
                raise too_many('ListOffsetsResponse.topics.partitions', version, pos, n, size)
            list2: list[ListOffsetsPartitionResponse] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = ListOffsetsPartitionResponse.__new__(ListOffsetsPartitionResponse)
                e2.partition_index, e2.error_code, e2.timestamp, e2.offset = _u_ihqq(buf, pos)
                pos += 22
                if version >= 4:
                    e2.leader_epoch, = _u_i(buf, pos)
                    pos += 4
                else:
                    e2.leader_epoch = -1
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('ListOffsetsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ListOffsetsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ListOffsetsResponse', version, pos, size)
    return m


def _write_list_offsets_response_6_11(m: ListOffsetsResponse, out: bytearray, version: int) -> None:
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
            out += _p_ihqqix(e2.partition_index, e2.error_code, e2.timestamp, e2.offset, e2.leader_epoch)
        out.append(0)
    out.append(0)


def _write_list_offsets_response_1_5(m: ListOffsetsResponse, out: bytearray, version: int) -> None:
    if version >= 2:
        out += _p_i(m.throttle_time_ms)
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ihqq(e2.partition_index, e2.error_code, e2.timestamp, e2.offset)
            if version >= 4:
                out += _p_i(e2.leader_epoch)
