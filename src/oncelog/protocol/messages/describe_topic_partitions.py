"""DescribeTopicPartitions (key 75), versions 0-0. Generated from definitions/describe_topic_partitions.txt by oncelog.protocol.generate: do not edit."""

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
    ZERO_UUID,
    cut_short,
    more_string_length,
    more_varint,
    not_text,
    not_uuid,
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
_p_hiii = Layout(">hiii").pack
_p_i = Layout(">i").pack
_p_ix = Layout(">ix").pack
_p_uo = Layout(">16s?").pack
_u_b = Layout(">b").unpack_from
_u_hB = Layout(">hB").unpack_from
_u_hiiiB = Layout(">hiiiB").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ib = Layout(">ib").unpack_from
_u_uoB = Layout(">16s?B").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicRequest(Struct):
    """Part of DescribeTopicPartitionsRequest."""

    name: str

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


@dataclass(slots=True, init=False, repr=False, eq=False)
class RequestCursor(Struct):
    """Part of DescribeTopicPartitionsRequest."""

    topic_name: str
    partition_index: int

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeTopicPartitionsRequest(Message):
    """DescribeTopicPartitionsRequest, versions 0-0."""

    topics: list[TopicRequest]
    response_partition_limit: int
    cursor: RequestCursor | None

    def __init__(
        self,
        topics: list[TopicRequest] = ABSENT,
        response_partition_limit: int = 2000,
        cursor: RequestCursor | None = None,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeTopicPartitionsRequest:
        if version == 0:
            return _read_describe_topic_partitions_request_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeTopicPartitionsRequest', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_describe_topic_partitions_request_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeTopicPartitionsRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeTopicPartitionsRequest', '0-0', version))


def _read_describe_topic_partitions_request_0_0(data: BytesLike, version: int, pos: int) -> DescribeTopicPartitionsRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeTopicPartitionsRequest.__new__(DescribeTopicPartitionsRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeTopicPartitionsRequest.topics', version, pos)
        n -= 1
        if n * 2 > size - pos:
            raise too_many('DescribeTopicPartitionsRequest.topics', version, pos, n, size)
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
                raise null_found('DescribeTopicPartitionsRequest.topics.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.response_partition_limit, n = _u_ib(buf, pos)
        pos += 5
        if n < 0:
            m.cursor = None
        else:
            e2 = RequestCursor.__new__(RequestCursor)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeTopicPartitionsRequest.cursor.topic_name', version, pos)
            end = pos + n - 1
            e2.topic_name = buf[pos:end].decode()
            pos = end
            e2.partition_index, n = _u_iB(buf, pos)
            pos += 5
            if n:
                pos = skip_tags(buf, pos, size, n)
            m.cursor = e2
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeTopicPartitionsRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeTopicPartitionsRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeTopicPartitionsRequest', version, pos, size)
    return m


def _write_describe_topic_partitions_request_0_0(m: DescribeTopicPartitionsRequest, out: bytearray, version: int) -> None:
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
        out.append(0)
    out += _p_i(m.response_partition_limit)
    if m.cursor is None:
        out.append(255)
    else:
        text = m.cursor.topic_name.encode()
        out += _p_b(1)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_ix(m.cursor.partition_index)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeTopicPartitionsResponsePartition(Struct):
    """Part of DescribeTopicPartitionsResponse."""

    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    offline_replicas: list[int]

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = ABSENT,
        isr_nodes: list[int] = ABSENT,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is ABSENT else replica_nodes
        self.isr_nodes = [] if isr_nodes is ABSENT else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is ABSENT else offline_replicas


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeTopicPartitionsResponseTopic(Struct):
    """Part of DescribeTopicPartitionsResponse."""

    error_code: int
    name: str | None
    topic_id: bytes
    is_internal: bool
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: int

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = ABSENT,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is ABSENT else partitions
        self.topic_authorized_operations = topic_authorized_operations


@dataclass(slots=True, init=False, repr=False, eq=False)
class ResponseCursor(Struct):
    """Part of DescribeTopicPartitionsResponse."""

    topic_name: str
    partition_index: int

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeTopicPartitionsResponse(Message):
    """DescribeTopicPartitionsResponse, versions 0-0."""

    throttle_time_ms: int
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: ResponseCursor | None

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = ABSENT,
        next_cursor: ResponseCursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics
        self.next_cursor = next_cursor

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeTopicPartitionsResponse:
        if version == 0:
            return _read_describe_topic_partitions_response_0_0(data, version, at)
        raise MalformedMessage(unsupported('DescribeTopicPartitionsResponse', '0-0', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 0:
                return _write_describe_topic_partitions_response_0_0(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeTopicPartitionsResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeTopicPartitionsResponse', '0-0', version))


def _read_describe_topic_partitions_response_0_0(data: BytesLike, version: int, pos: int) -> DescribeTopicPartitionsResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeTopicPartitionsResponse.__new__(DescribeTopicPartitionsResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeTopicPartitionsResponse.topics', version, pos)
        n -= 1
        if n * 26 > size - pos:
            raise too_many('DescribeTopicPartitionsResponse.topics', version, pos, n, size)
        list1: list[DescribeTopicPartitionsResponseTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = DescribeTopicPartitionsResponseTopic.__new__(DescribeTopicPartitionsResponseTopic)
            e1.error_code, n = _u_hB(buf, pos)
            pos += 3
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                e1.name = None
            else:
                end = pos + n - 1
                e1.name = buf[pos:end].decode()
                pos = end
            e1.topic_id, e1.is_internal, n = _u_uoB(buf, pos)
            pos += 18
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeTopicPartitionsResponse.topics.partitions', version, pos)
            n -= 1
            if n * 20 > size - pos:
                raise too_many('DescribeTopicPartitionsResponse.topics.partitions', version, pos, n, size)
            list2: list[DescribeTopicPartitionsResponsePartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = DescribeTopicPartitionsResponsePartition.__new__(DescribeTopicPartitionsResponsePartition)
                e2.error_code, e2.partition_index, e2.leader_id, e2.leader_epoch, n = _u_hiiiB(buf, pos)
                pos += 15
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeTopicPartitionsResponse.topics.partitions.replica_nodes', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('DescribeTopicPartitionsResponse.topics.partitions.replica_nodes', version, pos, n, size)
                e2.replica_nodes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeTopicPartitionsResponse.topics.partitions.isr_nodes', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('DescribeTopicPartitionsResponse.topics.partitions.isr_nodes', version, pos, n, size)
                e2.isr_nodes = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.eligible_leader_replicas = None
                else:
                    n -= 1
                    if n * 4 > size - pos:
                        raise too_many('DescribeTopicPartitionsResponse.topics.partitions.eligible_leader_replicas', version, pos, n, size)
                    e2.eligible_leader_replicas = list(unpack_from(f'>{n}i', buf, pos))
                    pos += 4 * n
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.last_known_elr = None
                else:
                    n -= 1
                    if n * 4 > size - pos:
                        raise too_many('DescribeTopicPartitionsResponse.topics.partitions.last_known_elr', version, pos, n, size)
                    e2.last_known_elr = list(unpack_from(f'>{n}i', buf, pos))
                    pos += 4 * n
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeTopicPartitionsResponse.topics.partitions.offline_replicas', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('DescribeTopicPartitionsResponse.topics.partitions.offline_replicas', version, pos, n, size)
                e2.offline_replicas = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list2.append(e2)
            e1.topic_authorized_operations, n = _u_iB(buf, pos)
            pos += 5
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        n, = _u_b(buf, pos)
        pos += 1
        if n < 0:
            m.next_cursor = None
        else:
            e3 = ResponseCursor.__new__(ResponseCursor)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeTopicPartitionsResponse.next_cursor.topic_name', version, pos)
            end = pos + n - 1
            e3.topic_name = buf[pos:end].decode()
            pos = end
            e3.partition_index, n = _u_iB(buf, pos)
            pos += 5
            if n:
                pos = skip_tags(buf, pos, size, n)
            m.next_cursor = e3
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeTopicPartitionsResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeTopicPartitionsResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeTopicPartitionsResponse', version, pos, size)
    return m


def _write_describe_topic_partitions_response_0_0(m: DescribeTopicPartitionsResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        out += _p_h(e1.error_code)
        if e1.name is None:
            out.append(0)
        else:
            text = e1.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if len(e1.topic_id) != 16:
            raise not_uuid('DescribeTopicPartitionsResponse.topics.topic_id', e1.topic_id)
        out += _p_uo(e1.topic_id, e1.is_internal)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_hiii(e2.error_code, e2.partition_index, e2.leader_id, e2.leader_epoch)
            n = len(e2.replica_nodes) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.replica_nodes)}i', *e2.replica_nodes)
            n = len(e2.isr_nodes) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.isr_nodes)}i', *e2.isr_nodes)
            if e2.eligible_leader_replicas is None:
                out.append(0)
            else:
                n = len(e2.eligible_leader_replicas) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                out += pack(f'>{len(e2.eligible_leader_replicas)}i', *e2.eligible_leader_replicas)
            if e2.last_known_elr is None:
                out.append(0)
            else:
                n = len(e2.last_known_elr) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                out += pack(f'>{len(e2.last_known_elr)}i', *e2.last_known_elr)
            n = len(e2.offline_replicas) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            out += pack(f'>{len(e2.offline_replicas)}i', *e2.offline_replicas)
            out.append(0)
        out += _p_ix(e1.topic_authorized_operations)
    if m.next_cursor is None:
        out.append(255)
    else:
        text = m.next_cursor.topic_name.encode()
        out += _p_b(1)
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        out += _p_ix(m.next_cursor.partition_index)
    out.append(0)
