"""DescribeQuorum (key 55), versions 0-2. Generated from definitions/describe_quorum.txt by oncelog.protocol.generate: do not edit."""

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

_p_H = Layout(">H").pack
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_iiq = Layout(">iiq").pack
_p_ix = Layout(">ix").pack
_p_q = Layout(">q").pack
_p_u = Layout(">16s").pack
_u_H = Layout(">H").unpack_from
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_iiqB = Layout(">iiqB").unpack_from
_u_q = Layout(">q").unpack_from
_u_u = Layout(">16s").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class RequestPartitionData(Struct):
    """Part of DescribeQuorumRequest."""

    partition_index: int

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


@dataclass(slots=True, init=False, repr=False, eq=False)
class RequestTopicData(Struct):
    """Part of DescribeQuorumRequest."""

    topic_name: str
    partitions: list[RequestPartitionData]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[RequestPartitionData] = ABSENT,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeQuorumRequest(Message):
    """DescribeQuorumRequest, versions 0-2."""

    topics: list[RequestTopicData]

    def __init__(
        self,
        topics: list[RequestTopicData] = ABSENT,
    ) -> None:
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeQuorumRequest:
        if 0 <= version <= 2:
            return _read_describe_quorum_request_0_2(data, version, at)
        raise MalformedMessage(unsupported('DescribeQuorumRequest', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 2:
                return _write_describe_quorum_request_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeQuorumRequest', version, why) from why
        raise UnwritableMessage(unsupported('DescribeQuorumRequest', '0-2', version))


def _read_describe_quorum_request_0_2(data: BytesLike, version: int, pos: int) -> DescribeQuorumRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeQuorumRequest.__new__(DescribeQuorumRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeQuorumRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('DescribeQuorumRequest.topics', version, pos, n, size)
        list1: list[RequestTopicData] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = RequestTopicData.__new__(RequestTopicData)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeQuorumRequest.topics.topic_name', version, pos)
            end = pos + n - 1
            e1.topic_name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeQuorumRequest.topics.partitions', version, pos)
            n -= 1
            if n * 5 > size - pos:
                raise too_many('DescribeQuorumRequest.topics.partitions', version, pos, n, size)
            list2: list[RequestPartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = RequestPartitionData.__new__(RequestPartitionData)
                e2.partition_index, n = _u_iB(buf, pos)
                pos += 5
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
        raise cut_short('DescribeQuorumRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeQuorumRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeQuorumRequest', version, pos, size)
    return m


def _write_describe_quorum_request_0_2(m: DescribeQuorumRequest, out: bytearray, version: int) -> None:
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        text = e1.topic_name.encode()
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
            out += _p_ix(e2.partition_index)
        out.append(0)
    out.append(0)


@dataclass(slots=True, init=False, repr=False, eq=False)
class ReplicaState(Struct):
    """Part of DescribeQuorumResponse."""

    replica_id: int
    replica_directory_id: bytes
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp


@dataclass(slots=True, init=False, repr=False, eq=False)
class ResponsePartitionData(Struct):
    """Part of DescribeQuorumResponse."""

    partition_index: int
    error_code: int
    error_message: str | None
    leader_id: int
    leader_epoch: int
    high_watermark: int
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = ABSENT,
        observers: list[ReplicaState] = ABSENT,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is ABSENT else current_voters
        self.observers = [] if observers is ABSENT else observers


@dataclass(slots=True, init=False, repr=False, eq=False)
class ResponseTopicData(Struct):
    """Part of DescribeQuorumResponse."""

    topic_name: str
    partitions: list[ResponsePartitionData]

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[ResponsePartitionData] = ABSENT,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class Listener(Struct):
    """Part of DescribeQuorumResponse."""

    name: str
    host: str
    port: int

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


@dataclass(slots=True, init=False, repr=False, eq=False)
class Node(Struct):
    """Part of DescribeQuorumResponse."""

    node_id: int
    listeners: list[Listener]

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[Listener] = ABSENT,
    ) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is ABSENT else listeners


@dataclass(slots=True, init=False, repr=False, eq=False)
class DescribeQuorumResponse(Message):
    """DescribeQuorumResponse, versions 0-2."""

    error_code: int
    error_message: str | None
    topics: list[ResponseTopicData]
    nodes: list[Node]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[ResponseTopicData] = ABSENT,
        nodes: list[Node] = ABSENT,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is ABSENT else topics
        self.nodes = [] if nodes is ABSENT else nodes

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> DescribeQuorumResponse:
        if 0 <= version <= 2:
            return _read_describe_quorum_response_0_2(data, version, at)
        raise MalformedMessage(unsupported('DescribeQuorumResponse', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 0 <= version <= 2:
                return _write_describe_quorum_response_0_2(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('DescribeQuorumResponse', version, why) from why
        raise UnwritableMessage(unsupported('DescribeQuorumResponse', '0-2', version))


def _read_describe_quorum_response_0_2(data: BytesLike, version: int, pos: int) -> DescribeQuorumResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = DescribeQuorumResponse.__new__(DescribeQuorumResponse)
        m.error_code, = _u_h(buf, pos)
        pos += 2
        if version >= 2:
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
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('DescribeQuorumResponse.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('DescribeQuorumResponse.topics', version, pos, n, size)
        list1: list[ResponseTopicData] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = ResponseTopicData.__new__(ResponseTopicData)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('DescribeQuorumResponse.topics.topic_name', version, pos)
            end = pos + n - 1
            e1.topic_name = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeQuorumResponse.topics.partitions', version, pos)
            n -= 1
            if n * 25 > size - pos:
                raise too_many('DescribeQuorumResponse.topics.partitions', version, pos, n, size)
            list2: list[ResponsePartitionData] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = ResponsePartitionData.__new__(ResponsePartitionData)
                e2.partition_index, e2.error_code = _u_ih(buf, pos)
                pos += 6
                if version >= 2:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e2.error_message = None
                    else:
                        end = pos + n - 1
                        e2.error_message = buf[pos:end].decode()
                        pos = end
                else:
                    e2.error_message = ""
                e2.leader_id, e2.leader_epoch, e2.high_watermark, n = _u_iiqB(buf, pos)
                pos += 17
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeQuorumResponse.topics.partitions.current_voters', version, pos)
                n -= 1
                if n * 13 > size - pos:
                    raise too_many('DescribeQuorumResponse.topics.partitions.current_voters', version, pos, n, size)
                list3: list[ReplicaState] = []
                e2.current_voters = list3
                count3 = n
                for _ in range(count3):
                    e3 = ReplicaState.__new__(ReplicaState)
                    e3.replica_id, = _u_i(buf, pos)
                    pos += 4
                    if version >= 2:
                        e3.replica_directory_id, = _u_u(buf, pos)
                        pos += 16
                    else:
                        e3.replica_directory_id = ZERO_UUID
                    e3.log_end_offset, = _u_q(buf, pos)
                    pos += 8
                    if version >= 1:
                        e3.last_fetch_timestamp, = _u_q(buf, pos)
                        pos += 8
                    else:
                        e3.last_fetch_timestamp = -1
                    if version >= 1:
                        e3.last_caught_up_timestamp, = _u_q(buf, pos)
                        pos += 8
                    else:
                        e3.last_caught_up_timestamp = -1
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('DescribeQuorumResponse.topics.partitions.observers', version, pos)
                n -= 1
                if n * 13 > size - pos:
                    raise too_many('DescribeQuorumResponse.topics.partitions.observers', version, pos, n, size)
                list4: list[ReplicaState] = []
                e2.observers = list4
                count4 = n
                for _ in range(count4):
                    e4 = ReplicaState.__new__(ReplicaState)
                    e4.replica_id, = _u_i(buf, pos)
                    pos += 4
                    if version >= 2:
                        e4.replica_directory_id, = _u_u(buf, pos)
                        pos += 16
                    else:
                        e4.replica_directory_id = ZERO_UUID
                    e4.log_end_offset, = _u_q(buf, pos)
                    pos += 8
                    if version >= 1:
                        e4.last_fetch_timestamp, = _u_q(buf, pos)
                        pos += 8
                    else:
                        e4.last_fetch_timestamp = -1
                    if version >= 1:
                        e4.last_caught_up_timestamp, = _u_q(buf, pos)
                        pos += 8
                    else:
                        e4.last_caught_up_timestamp = -1
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list4.append(e4)
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
        if version >= 2:
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('DescribeQuorumResponse.nodes', version, pos)
            n -= 1
            if n * 6 > size - pos:
                raise too_many('DescribeQuorumResponse.nodes', version, pos, n, size)
            list5: list[Node] = []
            m.nodes = list5
            count5 = n
            for _ in range(count5):
                e5 = Node.__new__(Node)
                if version >= 2:
                    e5.node_id, = _u_i(buf, pos)
                    pos += 4
                else:
                    e5.node_id = 0
                if version >= 2:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('DescribeQuorumResponse.nodes.listeners', version, pos)
                    n -= 1
                    if n * 5 > size - pos:
                        raise too_many('DescribeQuorumResponse.nodes.listeners', version, pos, n, size)
                    list6: list[Listener] = []
                    e5.listeners = list6
                    count6 = n
                    for _ in range(count6):
                        e6 = Listener.__new__(Listener)
                        if version >= 2:
                            n = buf[pos]
                            pos += 1
                            if n > 127:
                                n, pos = more_string_length(buf, pos, n)
                            if not n:
                                raise null_found('DescribeQuorumResponse.nodes.listeners.name', version, pos)
                            end = pos + n - 1
                            e6.name = buf[pos:end].decode()
                            pos = end
                        else:
                            e6.name = ""
                        if version >= 2:
                            n = buf[pos]
                            pos += 1
                            if n > 127:
                                n, pos = more_string_length(buf, pos, n)
                            if not n:
                                raise null_found('DescribeQuorumResponse.nodes.listeners.host', version, pos)
                            end = pos + n - 1
                            e6.host = buf[pos:end].decode()
                            pos = end
                        else:
                            e6.host = ""
                        if version >= 2:
                            e6.port, = _u_H(buf, pos)
                            pos += 2
                        else:
                            e6.port = 0
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list6.append(e6)
                else:
                    e5.listeners = []
                n = buf[pos]
                pos += 1
                if n:
                    pos = skip_tags(buf, pos, size, n)
                list5.append(e5)
        else:
            m.nodes = []
        n = buf[pos]
        pos += 1
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('DescribeQuorumResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('DescribeQuorumResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('DescribeQuorumResponse', version, pos, size)
    return m


def _write_describe_quorum_response_0_2(m: DescribeQuorumResponse, out: bytearray, version: int) -> None:
    out += _p_h(m.error_code)
    if version >= 2:
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
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        text = e1.topic_name.encode()
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
            if version >= 2:
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
            out += _p_iiq(e2.leader_id, e2.leader_epoch, e2.high_watermark)
            n = len(e2.current_voters) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e2.current_voters:
                out += _p_i(e3.replica_id)
                if version >= 2:
                    if len(e3.replica_directory_id) != 16:
                        raise not_uuid('DescribeQuorumResponse.topics.partitions.current_voters.replica_directory_id', e3.replica_directory_id)
                    out += _p_u(e3.replica_directory_id)
                out += _p_q(e3.log_end_offset)
                if version >= 1:
                    out += _p_q(e3.last_fetch_timestamp)
                if version >= 1:
                    out += _p_q(e3.last_caught_up_timestamp)
                out.append(0)
            n = len(e2.observers) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e4 in e2.observers:
                out += _p_i(e4.replica_id)
                if version >= 2:
                    if len(e4.replica_directory_id) != 16:
                        raise not_uuid('DescribeQuorumResponse.topics.partitions.observers.replica_directory_id', e4.replica_directory_id)
                    out += _p_u(e4.replica_directory_id)
                out += _p_q(e4.log_end_offset)
                if version >= 1:
                    out += _p_q(e4.last_fetch_timestamp)
                if version >= 1:
                    out += _p_q(e4.last_caught_up_timestamp)
                out.append(0)
            out.append(0)
        out.append(0)
    if version >= 2:
        n = len(m.nodes) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e5 in m.nodes:
            if version >= 2:
                out += _p_i(e5.node_id)
            if version >= 2:
                n = len(e5.listeners) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                for e6 in e5.listeners:
                    if version >= 2:
                        text = e6.name.encode()
                        n = len(text) + 1
                        if n < 128:
                            out.append(n)
                        else:
                            out += string_length(n)
                        out += text
                    if version >= 2:
                        text = e6.host.encode()
                        n = len(text) + 1
                        if n < 128:
                            out.append(n)
                        else:
                            out += string_length(n)
                        out += text
                    if version >= 2:
                        out += _p_H(e6.port)
                    out.append(0)
            out.append(0)
    out.append(0)
