"""Produce (key 0), versions 3-13. Generated from definitions/produce.txt by oncelog.protocol.generate: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Layout
from struct import error as LayoutError

from oncelog.errors import MalformedMessage
from oncelog.protocol.primitives import (
    ABSENT,
    APART_BYTES,
    BytesLike,
    Message,
    Struct,
    UnwritableMessage,
    WRITE_FAULTS,
    ZERO_UUID,
    count_tags,
    cut_short,
    more_string_length,
    more_varint,
    not_text,
    not_uuid,
    null_found,
    read_tag,
    skip_tags,
    string_length,
    tagged,
    too_many,
    unsupported,
    unwritable,
    varint,
    wrong_tag_size,
)

_p_h = Layout(">h").pack
_p_hi = Layout(">hi").pack
_p_hii = Layout(">hii").pack
_p_i = Layout(">i").pack
_p_ihqq = Layout(">ihqq").pack
_p_ihqqq = Layout(">ihqqq").pack
_p_ihqqqi = Layout(">ihqqqi").pack
_p_iix = Layout(">iix").pack
_p_ix = Layout(">ix").pack
_p_u = Layout(">16s").pack
_u_h = Layout(">h").unpack_from
_u_hiB = Layout(">hiB").unpack_from
_u_hii = Layout(">hii").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_ihqq = Layout(">ihqq").unpack_from
_u_ihqqq = Layout(">ihqqq").unpack_from
_u_ihqqqB = Layout(">ihqqqB").unpack_from
_u_ihqqqi = Layout(">ihqqqi").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_iiB = Layout(">iiB").unpack_from
_u_uB = Layout(">16sB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class PartitionProduceData(Struct):
    """Part of ProduceRequest."""

    index: int
    records: BytesLike | None

    def __init__(
        self,
        index: int = 0,
        records: BytesLike | None = None,
    ) -> None:
        self.index = index
        self.records = records


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicProduceData(Struct):
    """Part of ProduceRequest."""

    name: str
    topic_id: bytes
    partition_data: list[PartitionProduceData]

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_data: list[PartitionProduceData] = ABSENT,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is ABSENT else partition_data


@dataclass(slots=True, init=False, repr=False, eq=False)
class ProduceRequest(Message):
    """ProduceRequest, versions 3-13."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[TopicProduceData]

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = ABSENT,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is ABSENT else topic_data

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ProduceRequest:
        if version == 13:
            return _read_produce_request_13_13(data, version, at)
        if 9 <= version <= 12:
            return _read_produce_request_9_12(data, version, at)
        if 3 <= version <= 8:
            return _read_produce_request_3_8(data, version, at)
        raise MalformedMessage(unsupported('ProduceRequest', '3-13', version))

    def write(self, out: bytearray, version: int) -> None:
        self._write(out, version, None)

    def encode(self, version: int) -> bytes:
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[BytesLike]:
        parts: list[BytesLike] = []
        parts.append(self._write(bytearray(), version, parts))
        return parts

    def _write(self, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
        try:
            if version == 13:
                return _write_produce_request_13_13(self, out, version, parts)
            if 9 <= version <= 12:
                return _write_produce_request_9_12(self, out, version, parts)
            if 3 <= version <= 8:
                return _write_produce_request_3_8(self, out, version, parts)
        except WRITE_FAULTS as why:
            raise unwritable('ProduceRequest', version, why) from why
        raise UnwritableMessage(unsupported('ProduceRequest', '3-13', version))


def _read_produce_request_13_13(data: BytesLike, version: int, pos: int) -> ProduceRequest:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = ProduceRequest.__new__(ProduceRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.transactional_id = None
        else:
            end = pos + n - 1
            m.transactional_id = buf[pos:end].tobytes().decode()
            pos = end
        m.acks, m.timeout_ms, n = _u_hiB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ProduceRequest.topic_data', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('ProduceRequest.topic_data', version, pos, n, size)
        list1: list[TopicProduceData] = []
        m.topic_data = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceData.__new__(TopicProduceData)
            e1.name = ""
            e1.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ProduceRequest.topic_data.partition_data', version, pos)
            n -= 1
            if n * 6 > size - pos:
                raise too_many('ProduceRequest.topic_data.partition_data', version, pos, n, size)
            list2: list[PartitionProduceData] = []
            e1.partition_data = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceData.__new__(PartitionProduceData)
                e2.index, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.records = None
                else:
                    end = pos + n - 1
                    e2.records = buf[pos:end]
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
        raise cut_short('ProduceRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceRequest', version, pos, size)
    return m


def _read_produce_request_9_12(data: BytesLike, version: int, pos: int) -> ProduceRequest:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = ProduceRequest.__new__(ProduceRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.transactional_id = None
        else:
            end = pos + n - 1
            m.transactional_id = buf[pos:end].tobytes().decode()
            pos = end
        m.acks, m.timeout_ms, n = _u_hiB(buf, pos)
        pos += 7
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ProduceRequest.topic_data', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('ProduceRequest.topic_data', version, pos, n, size)
        list1: list[TopicProduceData] = []
        m.topic_data = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceData.__new__(TopicProduceData)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ProduceRequest.topic_data.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].tobytes().decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ProduceRequest.topic_data.partition_data', version, pos)
            n -= 1
            if n * 6 > size - pos:
                raise too_many('ProduceRequest.topic_data.partition_data', version, pos, n, size)
            list2: list[PartitionProduceData] = []
            e1.partition_data = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceData.__new__(PartitionProduceData)
                e2.index, n = _u_iB(buf, pos)
                pos += 5
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    e2.records = None
                else:
                    end = pos + n - 1
                    e2.records = buf[pos:end]
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
        raise cut_short('ProduceRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceRequest', version, pos, size)
    return m


def _read_produce_request_3_8(data: BytesLike, version: int, pos: int) -> ProduceRequest:
    buf = data if type(data) is memoryview else memoryview(data)
    size = len(buf)
    try:
        m = ProduceRequest.__new__(ProduceRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            m.transactional_id = None
        else:
            end = pos + n
            m.transactional_id = buf[pos:end].tobytes().decode()
            pos = end
        m.acks, m.timeout_ms, n = _u_hii(buf, pos)
        pos += 10
        if n < 0:
            raise null_found('ProduceRequest.topic_data', version, pos)
        if n * 6 > size - pos:
            raise too_many('ProduceRequest.topic_data', version, pos, n, size)
        list1: list[TopicProduceData] = []
        m.topic_data = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceData.__new__(TopicProduceData)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ProduceRequest.topic_data.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].tobytes().decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ProduceRequest.topic_data.partition_data', version, pos)
            if n * 8 > size - pos:
                raise too_many('ProduceRequest.topic_data.partition_data', version, pos, n, size)
            list2: list[PartitionProduceData] = []
            e1.partition_data = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceData.__new__(PartitionProduceData)
                e2.index, n = _u_ii(buf, pos)
                pos += 8
                if n < 0:
                    e2.records = None
                else:
                    end = pos + n
                    e2.records = buf[pos:end]
                    pos = end
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('ProduceRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceRequest', version, pos, size)
    return m


def _write_produce_request_13_13(m: ProduceRequest, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    if m.transactional_id is None:
        out.append(0)
    else:
        text = m.transactional_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_hi(m.acks, m.timeout_ms)
    n = len(m.topic_data) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topic_data:
        if len(e1.topic_id) != 16:
            raise not_uuid('ProduceRequest.topic_data.topic_id', e1.topic_id)
        out += _p_u(e1.topic_id)
        n = len(e1.partition_data) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partition_data:
            out += _p_i(e2.index)
            if e2.records is None:
                out.append(0)
            else:
                n = len(e2.records) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
            out.append(0)
        out.append(0)
    out.append(0)
    return out


def _write_produce_request_9_12(m: ProduceRequest, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    if m.transactional_id is None:
        out.append(0)
    else:
        text = m.transactional_id.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
    out += _p_hi(m.acks, m.timeout_ms)
    n = len(m.topic_data) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topic_data:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.partition_data) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partition_data:
            out += _p_i(e2.index)
            if e2.records is None:
                out.append(0)
            else:
                n = len(e2.records) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += varint(n)
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
            out.append(0)
        out.append(0)
    out.append(0)
    return out


def _write_produce_request_3_8(m: ProduceRequest, out: bytearray, version: int, parts: list[BytesLike] | None) -> bytearray:
    if m.transactional_id is None:
        out += b'\xff\xff'
    else:
        text = m.transactional_id.encode()
        out += _p_h(len(text))
        out += text
    out += _p_hii(m.acks, m.timeout_ms, len(m.topic_data))
    for e1 in m.topic_data:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partition_data))
        for e2 in e1.partition_data:
            out += _p_i(e2.index)
            if e2.records is None:
                out += b'\xff\xff\xff\xff'
            else:
                out += _p_i(len(e2.records))
                if parts is None or len(e2.records) < APART_BYTES:
                    out += e2.records
                else:
                    parts += (out, e2.records)
                    out = bytearray()
    return out


@dataclass(slots=True, init=False, repr=False, eq=False)
class BatchIndexAndErrorMessage(Struct):
    """Part of ProduceResponse."""

    batch_index: int
    batch_index_error_message: str | None

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


@dataclass(slots=True, init=False, repr=False, eq=False)
class LeaderIdAndEpoch(Struct):
    """Part of ProduceResponse."""

    leader_id: int
    leader_epoch: int

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


@dataclass(slots=True, init=False, repr=False, eq=False)
class PartitionProduceResponse(Struct):
    """Part of ProduceResponse."""

    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int
    record_errors: list[BatchIndexAndErrorMessage]
    error_message: str | None
    current_leader: LeaderIdAndEpoch | None

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = ABSENT,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is ABSENT else record_errors
        self.error_message = error_message
        self.current_leader = current_leader


@dataclass(slots=True, init=False, repr=False, eq=False)
class TopicProduceResponse(Struct):
    """Part of ProduceResponse."""

    name: str
    topic_id: bytes
    partition_responses: list[PartitionProduceResponse]

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = ABSENT,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is ABSENT else partition_responses


@dataclass(slots=True, init=False, repr=False, eq=False)
class NodeEndpoint(Struct):
    """Part of ProduceResponse."""

    node_id: int
    host: str
    port: int
    rack: str | None

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


@dataclass(slots=True, init=False, repr=False, eq=False)
class ProduceResponse(Message):
    """ProduceResponse, versions 3-13."""

    responses: list[TopicProduceResponse]
    throttle_time_ms: int
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        responses: list[TopicProduceResponse] = ABSENT,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = ABSENT,
    ) -> None:
        self.responses = [] if responses is ABSENT else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is ABSENT else node_endpoints

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> ProduceResponse:
        if version == 13:
            return _read_produce_response_13_13(data, version, at)
        if 10 <= version <= 12:
            return _read_produce_response_10_12(data, version, at)
        if version == 9:
            return _read_produce_response_9_9(data, version, at)
        if version == 8:
            return _read_produce_response_8_8(data, version, at)
        if 5 <= version <= 7:
            return _read_produce_response_5_7(data, version, at)
        if 3 <= version <= 4:
            return _read_produce_response_3_4(data, version, at)
        raise MalformedMessage(unsupported('ProduceResponse', '3-13', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 13:
                return _write_produce_response_13_13(self, out, version)
            if 10 <= version <= 12:
                return _write_produce_response_10_12(self, out, version)
            if version == 9:
                return _write_produce_response_9_9(self, out, version)
            if version == 8:
                return _write_produce_response_8_8(self, out, version)
            if 5 <= version <= 7:
                return _write_produce_response_5_7(self, out, version)
            if 3 <= version <= 4:
                return _write_produce_response_3_4(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('ProduceResponse', version, why) from why
        raise UnwritableMessage(unsupported('ProduceResponse', '3-13', version))


def _read_produce_response_13_13(data: BytesLike, version: int, pos: int) -> ProduceResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ProduceResponse.responses', version, pos)
        n -= 1
        if n * 18 > size - pos:
            raise too_many('ProduceResponse.responses', version, pos, n, size)
        list1: list[TopicProduceResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            e1.name = ""
            e1.topic_id, n = _u_uB(buf, pos)
            pos += 17
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ProduceResponse.responses.partition_responses', version, pos)
            n -= 1
            if n * 33 > size - pos:
                raise too_many('ProduceResponse.responses.partition_responses', version, pos, n, size)
            list2: list[PartitionProduceResponse] = []
            e1.partition_responses = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n = _u_ihqqqB(buf, pos)
                pos += 31
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ProduceResponse.responses.partition_responses.record_errors', version, pos)
                n -= 1
                if n * 6 > size - pos:
                    raise too_many('ProduceResponse.responses.partition_responses.record_errors', version, pos, n, size)
                list3: list[BatchIndexAndErrorMessage] = []
                e2.record_errors = list3
                count3 = n
                for _ in range(count3):
                    e3 = BatchIndexAndErrorMessage.__new__(BatchIndexAndErrorMessage)
                    e3.batch_index, n = _u_iB(buf, pos)
                    pos += 5
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e3.batch_index_error_message = None
                    else:
                        end = pos + n - 1
                        e3.batch_index_error_message = buf[pos:end].decode()
                        pos = end
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
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
                e2.current_leader = None
                n = buf[pos]
                pos += 1
                if n:
                    count4, pos = count_tags(buf, pos, size, n)
                    for _ in range(count4):
                        tag3, pos, stop3 = read_tag(buf, pos, size)
                        if tag3 == 0:
                            e4 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                            e4.leader_id, e4.leader_epoch, n = _u_iiB(buf, pos)
                            pos += 9
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.current_leader = e4
                        else:
                            pos = stop3
                        if pos != stop3:
                            raise wrong_tag_size('ProduceResponse.responses.partition_responses', version, pos, stop3)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.node_endpoints = []
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n:
            count5, pos = count_tags(buf, pos, size, n)
            for _ in range(count5):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('ProduceResponse.node_endpoints', version, pos)
                    n -= 1
                    if n * 11 > size - pos:
                        raise too_many('ProduceResponse.node_endpoints', version, pos, n, size)
                    list4: list[NodeEndpoint] = []
                    m.node_endpoints = list4
                    count6 = n
                    for _ in range(count6):
                        e5 = NodeEndpoint.__new__(NodeEndpoint)
                        e5.node_id, n = _u_iB(buf, pos)
                        pos += 5
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            raise null_found('ProduceResponse.node_endpoints.host', version, pos)
                        end = pos + n - 1
                        e5.host = buf[pos:end].decode()
                        pos = end
                        e5.port, n = _u_iB(buf, pos)
                        pos += 5
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            e5.rack = None
                        else:
                            end = pos + n - 1
                            e5.rack = buf[pos:end].decode()
                            pos = end
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list4.append(e5)
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('ProduceResponse', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('ProduceResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceResponse', version, pos, size)
    return m


def _read_produce_response_10_12(data: BytesLike, version: int, pos: int) -> ProduceResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ProduceResponse.responses', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('ProduceResponse.responses', version, pos, n, size)
        list1: list[TopicProduceResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ProduceResponse.responses.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ProduceResponse.responses.partition_responses', version, pos)
            n -= 1
            if n * 33 > size - pos:
                raise too_many('ProduceResponse.responses.partition_responses', version, pos, n, size)
            list2: list[PartitionProduceResponse] = []
            e1.partition_responses = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n = _u_ihqqqB(buf, pos)
                pos += 31
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ProduceResponse.responses.partition_responses.record_errors', version, pos)
                n -= 1
                if n * 6 > size - pos:
                    raise too_many('ProduceResponse.responses.partition_responses.record_errors', version, pos, n, size)
                list3: list[BatchIndexAndErrorMessage] = []
                e2.record_errors = list3
                count3 = n
                for _ in range(count3):
                    e3 = BatchIndexAndErrorMessage.__new__(BatchIndexAndErrorMessage)
                    e3.batch_index, n = _u_iB(buf, pos)
                    pos += 5
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e3.batch_index_error_message = None
                    else:
                        end = pos + n - 1
                        e3.batch_index_error_message = buf[pos:end].decode()
                        pos = end
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
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
                e2.current_leader = None
                n = buf[pos]
                pos += 1
                if n:
                    count4, pos = count_tags(buf, pos, size, n)
                    for _ in range(count4):
                        tag3, pos, stop3 = read_tag(buf, pos, size)
                        if tag3 == 0:
                            e4 = LeaderIdAndEpoch.__new__(LeaderIdAndEpoch)
                            e4.leader_id, e4.leader_epoch, n = _u_iiB(buf, pos)
                            pos += 9
                            if n:
                                pos = skip_tags(buf, pos, size, n)
                            e2.current_leader = e4
                        else:
                            pos = stop3
                        if pos != stop3:
                            raise wrong_tag_size('ProduceResponse.responses.partition_responses', version, pos, stop3)
                list2.append(e2)
            n = buf[pos]
            pos += 1
            if n:
                pos = skip_tags(buf, pos, size, n)
            list1.append(e1)
        m.node_endpoints = []
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n:
            count5, pos = count_tags(buf, pos, size, n)
            for _ in range(count5):
                tag1, pos, stop1 = read_tag(buf, pos, size)
                if tag1 == 0:
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = more_varint(buf, pos, n)
                    if not n:
                        raise null_found('ProduceResponse.node_endpoints', version, pos)
                    n -= 1
                    if n * 11 > size - pos:
                        raise too_many('ProduceResponse.node_endpoints', version, pos, n, size)
                    list4: list[NodeEndpoint] = []
                    m.node_endpoints = list4
                    count6 = n
                    for _ in range(count6):
                        e5 = NodeEndpoint.__new__(NodeEndpoint)
                        e5.node_id, n = _u_iB(buf, pos)
                        pos += 5
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            raise null_found('ProduceResponse.node_endpoints.host', version, pos)
                        end = pos + n - 1
                        e5.host = buf[pos:end].decode()
                        pos = end
                        e5.port, n = _u_iB(buf, pos)
                        pos += 5
                        if n > 127:
                            n, pos = more_string_length(buf, pos, n)
                        if not n:
                            e5.rack = None
                        else:
                            end = pos + n - 1
                            e5.rack = buf[pos:end].decode()
                            pos = end
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos = skip_tags(buf, pos, size, n)
                        list4.append(e5)
                else:
                    pos = stop1
                if pos != stop1:
                    raise wrong_tag_size('ProduceResponse', version, pos, stop1)
    except (IndexError, LayoutError):
        raise cut_short('ProduceResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceResponse', version, pos, size)
    return m


def _read_produce_response_9_9(data: BytesLike, version: int, pos: int) -> ProduceResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('ProduceResponse.responses', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('ProduceResponse.responses', version, pos, n, size)
        list1: list[TopicProduceResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('ProduceResponse.responses.name', version, pos)
            end = pos + n - 1
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('ProduceResponse.responses.partition_responses', version, pos)
            n -= 1
            if n * 33 > size - pos:
                raise too_many('ProduceResponse.responses.partition_responses', version, pos, n, size)
            list2: list[PartitionProduceResponse] = []
            e1.partition_responses = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n = _u_ihqqqB(buf, pos)
                pos += 31
                if n > 127:
                    n, pos = more_varint(buf, pos, n)
                if not n:
                    raise null_found('ProduceResponse.responses.partition_responses.record_errors', version, pos)
                n -= 1
                if n * 6 > size - pos:
                    raise too_many('ProduceResponse.responses.partition_responses.record_errors', version, pos, n, size)
                list3: list[BatchIndexAndErrorMessage] = []
                e2.record_errors = list3
                count3 = n
                for _ in range(count3):
                    e3 = BatchIndexAndErrorMessage.__new__(BatchIndexAndErrorMessage)
                    e3.batch_index, n = _u_iB(buf, pos)
                    pos += 5
                    if n > 127:
                        n, pos = more_string_length(buf, pos, n)
                    if not n:
                        e3.batch_index_error_message = None
                    else:
                        end = pos + n - 1
                        e3.batch_index_error_message = buf[pos:end].decode()
                        pos = end
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos = skip_tags(buf, pos, size, n)
                    list3.append(e3)
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
                e2.current_leader = None
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
        m.node_endpoints = []
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n:
            pos = skip_tags(buf, pos, size, n)
    except (IndexError, LayoutError):
        raise cut_short('ProduceResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceResponse', version, pos, size)
    return m


def _read_produce_response_8_8(data: BytesLike, version: int, pos: int) -> ProduceResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('ProduceResponse.responses', version, pos)
        if n * 6 > size - pos:
            raise too_many('ProduceResponse.responses', version, pos, n, size)
        list1: list[TopicProduceResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ProduceResponse.responses.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ProduceResponse.responses.partition_responses', version, pos)
            if n * 36 > size - pos:
                raise too_many('ProduceResponse.responses.partition_responses', version, pos, n, size)
            list2: list[PartitionProduceResponse] = []
            e1.partition_responses = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, n = _u_ihqqqi(buf, pos)
                pos += 34
                if n < 0:
                    raise null_found('ProduceResponse.responses.partition_responses.record_errors', version, pos)
                if n * 6 > size - pos:
                    raise too_many('ProduceResponse.responses.partition_responses.record_errors', version, pos, n, size)
                list3: list[BatchIndexAndErrorMessage] = []
                e2.record_errors = list3
                count3 = n
                for _ in range(count3):
                    e3 = BatchIndexAndErrorMessage.__new__(BatchIndexAndErrorMessage)
                    e3.batch_index, n = _u_ih(buf, pos)
                    pos += 6
                    if n < 0:
                        e3.batch_index_error_message = None
                    else:
                        end = pos + n
                        e3.batch_index_error_message = buf[pos:end].decode()
                        pos = end
                    list3.append(e3)
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    e2.error_message = None
                else:
                    end = pos + n
                    e2.error_message = buf[pos:end].decode()
                    pos = end
                e2.current_leader = None
                list2.append(e2)
            list1.append(e1)
        m.node_endpoints = []
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
    except (IndexError, LayoutError):
        raise cut_short('ProduceResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceResponse', version, pos, size)
    return m


def _read_produce_response_5_7(data: BytesLike, version: int, pos: int) -> ProduceResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('ProduceResponse.responses', version, pos)
        if n * 6 > size - pos:
            raise too_many('ProduceResponse.responses', version, pos, n, size)
        list1: list[TopicProduceResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ProduceResponse.responses.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ProduceResponse.responses.partition_responses', version, pos)
            if n * 30 > size - pos:
                raise too_many('ProduceResponse.responses.partition_responses', version, pos, n, size)
            list2: list[PartitionProduceResponse] = []
            e1.partition_responses = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                e2.record_errors = []
                e2.error_message = None
                e2.current_leader = None
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset = _u_ihqqq(buf, pos)
                pos += 30
                list2.append(e2)
            list1.append(e1)
        m.node_endpoints = []
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
    except (IndexError, LayoutError):
        raise cut_short('ProduceResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceResponse', version, pos, size)
    return m


def _read_produce_response_3_4(data: BytesLike, version: int, pos: int) -> ProduceResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = ProduceResponse.__new__(ProduceResponse)
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('ProduceResponse.responses', version, pos)
        if n * 6 > size - pos:
            raise too_many('ProduceResponse.responses', version, pos, n, size)
        list1: list[TopicProduceResponse] = []
        m.responses = list1
        count1 = n
        for _ in range(count1):
            e1 = TopicProduceResponse.__new__(TopicProduceResponse)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('ProduceResponse.responses.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('ProduceResponse.responses.partition_responses', version, pos)
            if n * 22 > size - pos:
                raise too_many('ProduceResponse.responses.partition_responses', version, pos, n, size)
            list2: list[PartitionProduceResponse] = []
            e1.partition_responses = list2
            count2 = n
            for _ in range(count2):
                e2 = PartitionProduceResponse.__new__(PartitionProduceResponse)
                e2.log_start_offset = -1
                e2.record_errors = []
                e2.error_message = None
                e2.current_leader = None
                e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms = _u_ihqq(buf, pos)
                pos += 22
                list2.append(e2)
            list1.append(e1)
        m.node_endpoints = []
        m.throttle_time_ms, = _u_i(buf, pos)
        pos += 4
    except (IndexError, LayoutError):
        raise cut_short('ProduceResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('ProduceResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('ProduceResponse', version, pos, size)
    return m


def _write_produce_response_13_13(m: ProduceResponse, out: bytearray, version: int) -> None:
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
        if len(e1.topic_id) != 16:
            raise not_uuid('ProduceResponse.responses.topic_id', e1.topic_id)
        out += _p_u(e1.topic_id)
        n = len(e1.partition_responses) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partition_responses:
            out += _p_ihqqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset)
            n = len(e2.record_errors) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e2.record_errors:
                out += _p_i(e3.batch_index)
                if e3.batch_index_error_message is None:
                    out.append(0)
                else:
                    text = e3.batch_index_error_message.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
                out.append(0)
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
            if e2.current_leader is None:
                out.append(0)
            else:
                tags3: list[bytes] = []
                if e2.current_leader != LeaderIdAndEpoch():
                    sub3 = bytearray()
                    sub3 += _p_iix(e2.current_leader.leader_id, e2.current_leader.leader_epoch)
                    tags3.append(tagged(0, sub3))
                out += varint(len(tags3))
                for tag in tags3:
                    out += tag
        out.append(0)
    out += _p_i(m.throttle_time_ms)
    if not m.node_endpoints:
        out.append(0)
    else:
        tags1: list[bytes] = []
        sub1 = bytearray()
        n = len(m.node_endpoints) + 1
        if n < 128:
            sub1.append(n)
        else:
            sub1 += varint(n)
        for e4 in m.node_endpoints:
            text = e4.host.encode()
            sub1 += _p_i(e4.node_id)
            n = len(text) + 1
            if n < 128:
                sub1.append(n)
            else:
                sub1 += string_length(n)
            sub1 += text
            sub1 += _p_i(e4.port)
            if e4.rack is None:
                sub1.append(0)
            else:
                text = e4.rack.encode()
                n = len(text) + 1
                if n < 128:
                    sub1.append(n)
                else:
                    sub1 += string_length(n)
                sub1 += text
            sub1.append(0)
        tags1.append(tagged(0, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag


def _write_produce_response_10_12(m: ProduceResponse, out: bytearray, version: int) -> None:
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.partition_responses) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partition_responses:
            out += _p_ihqqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset)
            n = len(e2.record_errors) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e2.record_errors:
                out += _p_i(e3.batch_index)
                if e3.batch_index_error_message is None:
                    out.append(0)
                else:
                    text = e3.batch_index_error_message.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
                out.append(0)
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
            if e2.current_leader is None:
                out.append(0)
            else:
                tags3: list[bytes] = []
                if e2.current_leader != LeaderIdAndEpoch():
                    sub3 = bytearray()
                    sub3 += _p_iix(e2.current_leader.leader_id, e2.current_leader.leader_epoch)
                    tags3.append(tagged(0, sub3))
                out += varint(len(tags3))
                for tag in tags3:
                    out += tag
        out.append(0)
    out += _p_i(m.throttle_time_ms)
    if not m.node_endpoints:
        out.append(0)
    else:
        tags1: list[bytes] = []
        sub1 = bytearray()
        n = len(m.node_endpoints) + 1
        if n < 128:
            sub1.append(n)
        else:
            sub1 += varint(n)
        for e4 in m.node_endpoints:
            text = e4.host.encode()
            sub1 += _p_i(e4.node_id)
            n = len(text) + 1
            if n < 128:
                sub1.append(n)
            else:
                sub1 += string_length(n)
            sub1 += text
            sub1 += _p_i(e4.port)
            if e4.rack is None:
                sub1.append(0)
            else:
                text = e4.rack.encode()
                n = len(text) + 1
                if n < 128:
                    sub1.append(n)
                else:
                    sub1 += string_length(n)
                sub1 += text
            sub1.append(0)
        tags1.append(tagged(0, sub1))
        out += varint(len(tags1))
        for tag in tags1:
            out += tag


def _write_produce_response_9_9(m: ProduceResponse, out: bytearray, version: int) -> None:
    n = len(m.responses) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.responses:
        text = e1.name.encode()
        n = len(text) + 1
        if n < 128:
            out.append(n)
        else:
            out += string_length(n)
        out += text
        n = len(e1.partition_responses) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partition_responses:
            out += _p_ihqqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset)
            n = len(e2.record_errors) + 1
            if n < 128:
                out.append(n)
            else:
                out += varint(n)
            for e3 in e2.record_errors:
                out += _p_i(e3.batch_index)
                if e3.batch_index_error_message is None:
                    out.append(0)
                else:
                    text = e3.batch_index_error_message.encode()
                    n = len(text) + 1
                    if n < 128:
                        out.append(n)
                    else:
                        out += string_length(n)
                    out += text
                out.append(0)
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
    out += _p_ix(m.throttle_time_ms)


def _write_produce_response_8_8(m: ProduceResponse, out: bytearray, version: int) -> None:
    out += _p_i(len(m.responses))
    for e1 in m.responses:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partition_responses))
        for e2 in e1.partition_responses:
            out += _p_ihqqqi(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset, len(e2.record_errors))
            for e3 in e2.record_errors:
                out += _p_i(e3.batch_index)
                if e3.batch_index_error_message is None:
                    out += b'\xff\xff'
                else:
                    text = e3.batch_index_error_message.encode()
                    out += _p_h(len(text))
                    out += text
            if e2.error_message is None:
                out += b'\xff\xff'
            else:
                text = e2.error_message.encode()
                out += _p_h(len(text))
                out += text
    out += _p_i(m.throttle_time_ms)


def _write_produce_response_5_7(m: ProduceResponse, out: bytearray, version: int) -> None:
    out += _p_i(len(m.responses))
    for e1 in m.responses:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partition_responses))
        for e2 in e1.partition_responses:
            out += _p_ihqqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms, e2.log_start_offset)
    out += _p_i(m.throttle_time_ms)


def _write_produce_response_3_4(m: ProduceResponse, out: bytearray, version: int) -> None:
    out += _p_i(len(m.responses))
    for e1 in m.responses:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partition_responses))
        for e2 in e1.partition_responses:
            out += _p_ihqq(e2.index, e2.error_code, e2.base_offset, e2.log_append_time_ms)
    out += _p_i(m.throttle_time_ms)
