"""DescribeProducers (key 61), versions 0-0. Generated from definitions/describe_producers.txt by oncelog.protocol.generate: do not edit."""

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

_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_qiiqiqx = Layout(">qiiqiqx").pack
_u_iB = Layout(">iB").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_qiiqiqB = Layout(">qiiqiqB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicRequest(Struct):
    """Part of DescribeProducersRequest."""

    name: str
    partition_indexes: list[int]

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = ABSENT,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is ABSENT else partition_indexes


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeProducersRequest(Message):
    """DescribeProducersRequest, versions 0-0."""

    topics: list[TopicRequest]

    def __init__(
        self,
        topics: list[TopicRequest] = ABSENT,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeProducersRequest:
        if version == 0:
            return _read_describe_producers_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeProducersRequest', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_describe_producers_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeProducersRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeProducersRequest', '0-0', version))


def _read_describe_producers_request_0_0(data: BytesLike, version: int, pos: int) -> DescribeProducersRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeProducersRequest.__new__(DescribeProducersRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeProducersRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('DescribeProducersRequest.topics', version, pos, n, size)
        list1: list[TopicRequest] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicRequest.__new__(TopicRequest)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeProducersRequest.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeProducersRequest.topics.partition_indexes', version, pos)
            n -= 1
            if n * 4 > size - pos:
                raise too_many('DescribeProducersRequest.topics.partition_indexes', version, pos, n, size)
            e1.partition_indexes = list(unpack_from(f'>{n}i', buf, pos))
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
        raise cut_short('DescribeProducersRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeProducersRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeProducersRequest', version, pos, size)
    return m


def _write_describe_producers_request_0_0(m: DescribeProducersRequest, out: bytearray, version: int) -> None:
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
        n = len(e1.partition_indexes) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        out += pack(f'>{len(e1.partition_indexes)}i', *e1.partition_indexes)
        out.append(0)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class ProducerState(Struct):
    """Part of DescribeProducersResponse."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset


@dataclass(slots=True, init=False, repr=False, eq=False)
class PartitionResponse(Struct):
    """Part of DescribeProducersResponse."""

    partition_index: int
    error_code: int
    error_message: str | None
    active_producers: list[ProducerState]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = ABSENT,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = [] if active_producers is ABSENT else active_producers


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicResponse(Struct):
    """Part of DescribeProducersResponse."""

    name: str
    partitions: list[PartitionResponse]

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionResponse] = ABSENT,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeProducersResponse(Message):
    """DescribeProducersResponse, versions 0-0."""

    throttle_time_ms: int
    topics: list[TopicResponse]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TopicResponse] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeProducersResponse:
        if version == 0:
            return _read_describe_producers_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeProducersResponse', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_describe_producers_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeProducersResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeProducersResponse', '0-0', version))


def _read_describe_producers_response_0_0(data: BytesLike, version: int, pos: int) -> DescribeProducersResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeProducersResponse.__new__(DescribeProducersResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeProducersResponse.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('DescribeProducersResponse.topics', version, pos, n, size)
        list1: list[TopicResponse] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicResponse.__new__(TopicResponse)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeProducersResponse.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeProducersResponse.topics.partitions', version, pos)
            n -= 1
            if n * 9 > size - pos:
                raise too_many('DescribeProducersResponse.topics.partitions', version, pos, n, size)
            list2: list[PartitionResponse] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionResponse.__new__(PartitionResponse)
                e2.partition_index, e2.error_code, n = _u_ihB(buf, pos)
                pos += 7
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.error_message = None
                else:
                    end = pos + n - 1
                    e2.error_message = buf[pos:end].decode()
                    pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeProducersResponse.topics.partitions.active_producers', version, pos)
                n -= 1
                if n * 37 > size - pos:
                    raise too_many('DescribeProducersResponse.topics.partitions.active_producers', version, pos, n, size)
                list3: list[ProducerState] = []
                e2.active_producers = list3
                count3 = n
                for _ in range(count3):
                    e3 = ProducerState.__new__(ProducerState)
                    e3.producer_id, e3.producer_epoch, e3.last_sequence, e3.last_timestamp, e3.coordinator_epoch, e3.current_txn_start_offset, n = _u_qiiqiqB(buf, pos)
                    pos += 37
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
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
        raise cut_short('DescribeProducersResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeProducersResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeProducersResponse', version, pos, size)
    return m


def _write_describe_producers_response_0_0(m: DescribeProducersResponse, out: bytearray, version: int) -> None:
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
            out += _p_ih(e2.partition_index, e2.error_code)
            if e2.error_message is None:
                out.append(0)
            else:
                text = e2.error_message.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            n = len(e2.active_producers) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e2.active_producers:
                out += _p_qiiqiqx(e3.producer_id, e3.producer_epoch, e3.last_sequence, e3.last_timestamp, e3.coordinator_epoch, e3.current_txn_start_offset)
            out.append(0)
        out.append(0)
    out.append(0)
