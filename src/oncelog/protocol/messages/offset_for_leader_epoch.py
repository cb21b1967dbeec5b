"""OffsetForLeaderEpoch (key 23), versions 2-4. Generated from definitions/offset_for_leader_epoch.txt by oncelog.protocol.generate: do not edit."""

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
_p_hiiq = Layout(">hiiq").pack
_p_hiiqx = Layout(">hiiqx").pack
_p_i = Layout(">i").pack
_p_ii = Layout(">ii").pack
_p_iii = Layout(">iii").pack
_p_iiix = Layout(">iiix").pack
_u_h = Layout(">h").unpack_from
_u_hiiq = Layout(">hiiq").unpack_from
_u_hiiqB = Layout(">hiiqB").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ii = Layout(">ii").unpack_from
_u_iii = Layout(">iii").unpack_from
_u_iiiB = Layout(">iiiB").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetForLeaderPartition(Struct):
    """Part of OffsetForLeaderEpochRequest."""

    partition: int
    current_leader_epoch: int
    leader_epoch: int

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetForLeaderTopic(Struct):
    """Part of OffsetForLeaderEpochRequest."""

    topic: str
    partitions: list[OffsetForLeaderPartition]

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = ABSENT,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetForLeaderEpochRequest(Message):
    """OffsetForLeaderEpochRequest, versions 2-4."""

    replica_id: int
    topics: list[OffsetForLeaderTopic]

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = ABSENT,
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> OffsetForLeaderEpochRequest:
        if version == 4:
            return _read_offset_for_leader_epoch_request_4_4(data, version, at)
        if 2 <= version <= 3:
            return _read_offset_for_leader_epoch_request_2_3(data, version, at)
        raise MalformedMessage(unsupported('OffsetForLeaderEpochRequest', '2-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 4:
                return _write_offset_for_leader_epoch_request_4_4(self, out, version)
            if 2 <= version <= 3:
                return _write_offset_for_leader_epoch_request_2_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('OffsetForLeaderEpochRequest', version, why) from why
        raise UnwritableMessage(unsupported('OffsetForLeaderEpochRequest', '2-4', version))


def _read_offset_for_leader_epoch_request_4_4(data: BytesLike, version: int, pos: int) -> OffsetForLeaderEpochRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetForLeaderEpochRequest.__new__(OffsetForLeaderEpochRequest)
        m.replica_id, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('OffsetForLeaderEpochRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('OffsetForLeaderEpochRequest.topics', version, pos, n, size)
        list1: list[OffsetForLeaderTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetForLeaderTopic.__new__(OffsetForLeaderTopic)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('OffsetForLeaderEpochRequest.topics.topic', version, pos)
            end = pos + n - 1
            e1.topic = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('OffsetForLeaderEpochRequest.topics.partitions', version, pos)
            n -= 1
            if n * 13 > size - pos:
                raise too_many('OffsetForLeaderEpochRequest.topics.partitions', version, pos, n, size)
            list2: list[OffsetForLeaderPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetForLeaderPartition.__new__(OffsetForLeaderPartition)
                e2.partition, e2.current_leader_epoch, e2.leader_epoch, n = _u_iiiB(buf, pos)
                pos += 13
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
        raise cut_short('OffsetForLeaderEpochRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetForLeaderEpochRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetForLeaderEpochRequest', version, pos, size)
    return m


def _read_offset_for_leader_epoch_request_2_3(data: BytesLike, version: int, pos: int) -> OffsetForLeaderEpochRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetForLeaderEpochRequest.__new__(OffsetForLeaderEpochRequest)
        if version >= 3:
            m.replica_id, = _u_i(buf, pos)
            pos += 4
        else:
            m.replica_id = -2
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('OffsetForLeaderEpochRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('OffsetForLeaderEpochRequest.topics', version, pos, n, size)
        list1: list[OffsetForLeaderTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetForLeaderTopic.__new__(OffsetForLeaderTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('OffsetForLeaderEpochRequest.topics.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('OffsetForLeaderEpochRequest.topics.partitions', version, pos)
            if n * 12 > size - pos:
                raise too_many('OffsetForLeaderEpochRequest.topics.partitions', version, pos, n, size)
            list2: list[OffsetForLeaderPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetForLeaderPartition.__new__(OffsetForLeaderPartition)
                e2.partition, e2.current_leader_epoch, e2.leader_epoch = _u_iii(buf, pos)
                pos += 12
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('OffsetForLeaderEpochRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetForLeaderEpochRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetForLeaderEpochRequest', version, pos, size)
    return m


def _write_offset_for_leader_epoch_request_4_4(m: OffsetForLeaderEpochRequest, out: bytearray, version: int) -> None:
    out += _p_i(m.replica_id)
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
        for e2 in e1.partitions:
            out += _p_iiix(e2.partition, e2.current_leader_epoch, e2.leader_epoch)
        out.append(0)
    out.append(0)


def _write_offset_for_leader_epoch_request_2_3(m: OffsetForLeaderEpochRequest, out: bytearray, version: int) -> None:
    if version >= 3:
        out += _p_i(m.replica_id)
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iii(e2.partition, e2.current_leader_epoch, e2.leader_epoch)


@dataclass(slots=True, init=False, repr=False, eq=False)
class EpochEndOffset(Struct):
    """Part of OffsetForLeaderEpochResponse."""

    error_code: int
    partition: int
    leader_epoch: int
    end_offset: int

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetForLeaderTopicResult(Struct):
    """Part of OffsetForLeaderEpochResponse."""

    topic: str
    partitions: list[EpochEndOffset]

    def __init__(
        self,
        topic: str = "",
        partitions: list[EpochEndOffset] = ABSENT,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetForLeaderEpochResponse(Message):
    """OffsetForLeaderEpochResponse, versions 2-4."""

    throttle_time_ms: int
    topics: list[OffsetForLeaderTopicResult]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> OffsetForLeaderEpochResponse:
        if version == 4:
            return _read_offset_for_leader_epoch_response_4_4(data, version, at)
        if 2 <= version <= 3:
            return _read_offset_for_leader_epoch_response_2_3(data, version, at)
        raise MalformedMessage(unsupported('OffsetForLeaderEpochResponse', '2-4', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if version == 4:
                return _write_offset_for_leader_epoch_response_4_4(self, out, version)
            if 2 <= version <= 3:
                return _write_offset_for_leader_epoch_response_2_3(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('OffsetForLeaderEpochResponse', version, why) from why
        raise UnwritableMessage(unsupported('OffsetForLeaderEpochResponse', '2-4', version))


def _read_offset_for_leader_epoch_response_4_4(data: BytesLike, version: int, pos: int) -> OffsetForLeaderEpochResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetForLeaderEpochResponse.__new__(OffsetForLeaderEpochResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('OffsetForLeaderEpochResponse.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('OffsetForLeaderEpochResponse.topics', version, pos, n, size)
        list1: list[OffsetForLeaderTopicResult] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetForLeaderTopicResult.__new__(OffsetForLeaderTopicResult)
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_string_length(buf, pos, n)
            if not n:
                raise null_found('OffsetForLeaderEpochResponse.topics.topic', version, pos)
            end = pos + n - 1
            e1.topic = buf[pos:end].decode()
            pos = end
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('OffsetForLeaderEpochResponse.topics.partitions', version, pos)
            n -= 1
            if n * 19 > size - pos:
                raise too_many('OffsetForLeaderEpochResponse.topics.partitions', version, pos, n, size)
            list2: list[EpochEndOffset] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = EpochEndOffset.__new__(EpochEndOffset)
                e2.error_code, e2.partition, e2.leader_epoch, e2.end_offset, n = _u_hiiqB(buf, pos)
                pos += 19
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
        raise cut_short('OffsetForLeaderEpochResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetForLeaderEpochResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetForLeaderEpochResponse', version, pos, size)
    return m


def _read_offset_for_leader_epoch_response_2_3(data: BytesLike, version: int, pos: int) -> OffsetForLeaderEpochResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetForLeaderEpochResponse.__new__(OffsetForLeaderEpochResponse)
        m.throttle_time_ms, n = _u_ii(buf, pos)
        pos += 8
        if n < 0:
            raise null_found('OffsetForLeaderEpochResponse.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('OffsetForLeaderEpochResponse.topics', version, pos, n, size)
        list1: list[OffsetForLeaderTopicResult] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetForLeaderTopicResult.__new__(OffsetForLeaderTopicResult)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('OffsetForLeaderEpochResponse.topics.topic', version, pos)
            end = pos + n
            e1.topic = buf[pos:end].decode()
            pos = end
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('OffsetForLeaderEpochResponse.topics.partitions', version, pos)
            if n * 18 > size - pos:
                raise too_many('OffsetForLeaderEpochResponse.topics.partitions', version, pos, n, size)
            list2: list[EpochEndOffset] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = EpochEndOffset.__new__(EpochEndOffset)
                e2.error_code, e2.partition, e2.leader_epoch, e2.end_offset = _u_hiiq(buf, pos)
                pos += 18
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('OffsetForLeaderEpochResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetForLeaderEpochResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetForLeaderEpochResponse', version, pos, size)
    return m


def _write_offset_for_leader_epoch_response_4_4(m: OffsetForLeaderEpochResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
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
        for e2 in e1.partitions:
            out += _p_hiiqx(e2.error_code, e2.partition, e2.leader_epoch, e2.end_offset)
        out.append(0)
    out.append(0)


def _write_offset_for_leader_epoch_response_2_3(m: OffsetForLeaderEpochResponse, out: bytearray, version: int) -> None:
    out += _p_ii(m.throttle_time_ms, len(m.topics))
    for e1 in m.topics:
        text = e1.topic.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_hiiq(e2.error_code, e2.partition, e2.leader_epoch, e2.end_offset)
