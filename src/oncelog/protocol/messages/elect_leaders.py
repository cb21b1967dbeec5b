"""ElectLeaders (key 43), versions 0-2. Generated from definitions/elect_leaders.txt by oncelog.protocol.generate: do not edit."""

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

_p_b = Layout(">b").pack
_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_ix = Layout(">ix").pack
_u_b = Layout(">b").unpack_from
_u_bB = Layout(">bB").unpack_from
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_ihh = Layout(">ihh").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicPartitions(Struct):
    """Part of ElectLeadersRequest."""

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
class ElectLeadersRequest(Message):
    """ElectLeadersRequest, versions 0-2."""

    election_type: int
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: int

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = ABSENT,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is ABSENT else topic_partitions
        self.timeout_ms = timeout_ms

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ElectLeadersRequest:
        if version == 2:
            return _read_elect_leaders_request_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_elect_leaders_request_0_1(data, version, at)
        raise MalformedMessage(unsupported('ElectLeadersRequest', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_elect_leaders_request_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_elect_leaders_request_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ElectLeadersRequest', version, why) from why
        raise UnwritableMessage(unsupported('ElectLeadersRequest', '0-2', version))


def _read_elect_leaders_request_2_2(data: BytesLike, version: int, pos: int) -> ElectLeadersRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ElectLeadersRequest.__new__(ElectLeadersRequest)
        m.election_type, n = _u_bB(buf, pos)
        pos += 2
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            m.topic_partitions = None
        else:
            n -= 1
            if n * 3 > size - pos:
                raise too_many('ElectLeadersRequest.topic_partitions', version, pos, n, size)
            list1: list[TopicPartitions] = []
            m.topic_partitions = list1
            count1 = n
            for _ in range(count1):
                e1 = TopicPartitions.__new__(TopicPartitions)
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('ElectLeadersRequest.topic_partitions.topic', version, pos)
                end = pos + n - 1
                e1.topic = buf[pos:end].decode()
                pos = end
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ElectLeadersRequest.topic_partitions.partitions', version, pos)
                n -= 1
                if n * 4 > size - pos:
                    raise too_many('ElectLeadersRequest.topic_partitions.partitions', version, pos, n, size)
                e1.partitions = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
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
        raise cut_short('ElectLeadersRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ElectLeadersRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ElectLeadersRequest', version, pos, size)
    return m


def _read_elect_leaders_request_0_1(data: BytesLike, version: int, pos: int) -> ElectLeadersRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ElectLeadersRequest.__new__(ElectLeadersRequest)
        if version >= 1:
            m.election_type, = _u_b(buf, pos)
            pos += 1
        else:
            m.election_type = 0
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            m.topic_partitions = None
        else:
            if n * 6 > size - pos:
                raise too_many('ElectLeadersRequest.topic_partitions', version, pos, n, size)
            list1: list[TopicPartitions] = []
            m.topic_partitions = list1
            count1 = n
            for _ in range(count1):
                e1 = TopicPartitions.__new__(TopicPartitions)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    raise null_found('ElectLeadersRequest.topic_partitions.topic', version, pos)
                end = pos + n
                e1.topic = buf[pos:end].decode()
                pos = end
                n, = _u_i(buf, pos)
                pos += 4
                if n < 0:
                    raise null_found('ElectLeadersRequest.topic_partitions.partitions', version, pos)
                if n * 4 > size - pos:
                    raise too_many('ElectLeadersRequest.topic_partitions.partitions', version, pos, n, size)
                e1.partitions = list(unpack_from(f'>{n}i', buf, pos))
                pos += 4 * n
                list1.append(e1)
        m.timeout_ms, = _u_i(buf, pos)
        pos += 4
    except (IndexError, LayoutError):
        raise cut_short('ElectLeadersRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ElectLeadersRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ElectLeadersRequest', version, pos, size)
    return m


def _write_elect_leaders_request_2_2(m: ElectLeadersRequest, out: bytearray, version: int) -> None:
    out += _p_b(m.election_type)
    if m.topic_partitions is None:
        out.append(0)
    else:
        n = len(m.topic_partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e1 in m.topic_partitions:
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
    out += _p_ix(m.timeout_ms)


def _write_elect_leaders_request_0_1(m: ElectLeadersRequest, out: bytearray, version: int) -> None:
    if version >= 1:
        out += _p_b(m.election_type)
    if m.topic_partitions is None:
        out += b'\xff\xff\xff\xff'
    else:
        out += _p_i(len(m.topic_partitions))
        for e1 in m.topic_partitions:
            text = e1.topic.encode()
            out += _p_h(len(text))
            out += text
            out += _p_i(len(e1.partitions))
            out += pack(f'>{len(e1.partitions)}i', *e1.partitions)
    out += _p_i(m.timeout_ms)


@dataclass(slots=True, init=False, repr=False, eq=False)
class PartitionResult(Struct):
    """Part of ElectLeadersResponse."""

    partition_id: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message


@dataclass(slots=True, init=False, repr=False, eq=False)
class ReplicaElectionResult(Struct):
    """Part of ElectLeadersResponse."""

    topic: str
    partition_result: list[PartitionResult]

    def __init__(
        self,
        topic: str = "",
        partition_result: list[PartitionResult] = ABSENT,
    ) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is ABSENT else partition_result


@dataclass(slots=True, init=False, repr=False, eq=False)
class ElectLeadersResponse(Message):
    """ElectLeadersResponse, versions 0-2."""

    throttle_time_ms: int
    error_code: int
    replica_election_results: list[ReplicaElectionResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is ABSENT else replica_election_results

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ElectLeadersResponse:
        if version == 2:
            return _read_elect_leaders_response_2_2(data, version, at)
        if 0 <= version <= 1:
            return _read_elect_leaders_response_0_1(data, version, at)
        raise MalformedMessage(unsupported('ElectLeadersResponse', '0-2', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 2:
                return _write_elect_leaders_response_2_2(self, out, version)
            if 0 <= version <= 1:
                return _write_elect_leaders_response_0_1(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ElectLeadersResponse', version, why) from why
        raise UnwritableMessage(unsupported('ElectLeadersResponse', '0-2', version))


def _read_elect_leaders_response_2_2(data: BytesLike, version: int, pos: int) -> ElectLeadersResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ElectLeadersResponse.__new__(ElectLeadersResponse)
        m.throttle_time_ms, m.error_code, n = _u_ihB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ElectLeadersResponse.replica_election_results', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('ElectLeadersResponse.replica_election_results', version, pos, n, size)
        list1: list[ReplicaElectionResult] = []
        m.replica_election_results = list1
        count1 = n
        for _ in range(count1):
            e1 = ReplicaElectionResult.__new__(ReplicaElectionResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ElectLeadersResponse.replica_election_results.topic', version, pos)
            end = pos + n - 1
            e1.topic = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ElectLeadersResponse.replica_election_results.partition_result', version, pos)
            n -= 1
            if n * 8 > size - pos:
                raise too_many('ElectLeadersResponse.replica_election_results.partition_result', version, pos, n, size)
            list2: list[PartitionResult] = []
            e1.partition_result = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionResult.__new__(PartitionResult)
                e2.partition_id, e2.error_code, n = _u_ihB(buf, pos)
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
        raise cut_short('ElectLeadersResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ElectLeadersResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ElectLeadersResponse', version, pos, size)
    return m


def _read_elect_leaders_response_0_1(data: BytesLike, version: int, pos: int) -> ElectLeadersResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ElectLeadersResponse.__new__(ElectLeadersResponse)
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
        if version >= 1:
            m.error_code, = _u_h(buf, pos)
            pos += 2
        else:
            m.error_code = 0
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('ElectLeadersResponse.replica_election_results', version, pos)
        if n * 6 > size - pos:
            raise too_many('ElectLeadersResponse.replica_election_results', version, pos, n, size)
        list1: list[ReplicaElectionResult] = []
        m.replica_election_results = list1
        count1 = n
        for _ in range(count1):
            e1 = ReplicaElectionResult.__new__(ReplicaElectionResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ElectLeadersResponse.replica_election_results.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ElectLeadersResponse.replica_election_results.partition_result', version, pos)
            if n * 8 > size - pos:
                raise too_many('ElectLeadersResponse.replica_election_results.partition_result', version, pos, n, size)
            list2: list[PartitionResult] = []
            e1.partition_result = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionResult.__new__(PartitionResult)
                e2.partition_id, e2.error_code, n = _u_ihh(buf, pos)
                pos += 8
                if n < 0:
                    e2.error_message = None
                else:
                    end = pos + n
                    e2.error_message = buf[pos:end].decode()
                    pos = end
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('ElectLeadersResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ElectLeadersResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ElectLeadersResponse', version, pos, size)
    return m


def _write_elect_leaders_response_2_2(m: ElectLeadersResponse, out: bytearray, version: int) -> None:
    out += _p_ih(m.throttle_time_ms, m.error_code)
    n = len(m.replica_election_results) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.replica_election_results:
        text = e1.topic.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.partition_result) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partition_result:
            out += _p_ih(e2.partition_id, e2.error_code)
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
            out.append(0)
        out.append(0)
    out.append(0)


def _write_elect_leaders_response_0_1(m: ElectLeadersResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    if version >= 1:
        out += _p_h(m.error_code)
    out += _p_i(len(m.replica_election_results))
    for e1 in m.replica_election_results:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partition_result))
        for e2 in e1.partition_result:
            out += _p_ih(e2.partition_id, e2.error_code)
            if e2.error_message is None:
                out += b'\xff\xff'
            else:
                text = e2.error_message.encode()
                out += _p_h(len(text))
                out += text
