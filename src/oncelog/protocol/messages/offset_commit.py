"""OffsetCommit (key 8), versions 2-10. Generated from definitions/offset_commit.txt by oncelog.protocol.generate: do not edit."""

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

_p_h = Layout(">h").pack
_p_i = Layout(">i").pack
_p_ih = Layout(">ih").pack
_p_ihx = Layout(">ihx").pack
_p_iq = Layout(">iq").pack
_p_iqi = Layout(">iqi").pack
_p_q = Layout(">q").pack
_p_u = Layout(">16s").pack
_u_h = Layout(">h").unpack_from
_u_i = Layout(">i").unpack_from
_u_iB = Layout(">iB").unpack_from
_u_ih = Layout(">ih").unpack_from
_u_ihB = Layout(">ihB").unpack_from
_u_iq = Layout(">iq").unpack_from
_u_iqiB = Layout(">iqiB").unpack_from
_u_q = Layout(">q").unpack_from
_u_u = Layout(">16s").unpack_from


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetCommitRequestPartition(Struct):
    """Part of OffsetCommitRequest."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetCommitRequestTopic(Struct):
    """Part of OffsetCommitRequest."""

    name: str
    topic_id: bytes
    partitions: list[OffsetCommitRequestPartition]

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetCommitRequestPartition] = ABSENT,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetCommitRequest(Message):
    """OffsetCommitRequest, versions 2-10."""

    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[OffsetCommitRequestTopic]

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = ABSENT,
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> OffsetCommitRequest:
        if 8 <= version <= 10:
            return _read_offset_commit_request_8_10(data, version, at)
        if 2 <= version <= 7:
            return _read_offset_commit_request_2_7(data, version, at)
        raise MalformedMessage(unsupported('OffsetCommitRequest', '2-10', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 8 <= version <= 10:
                return _write_offset_commit_request_8_10(self, out, version)
            if 2 <= version <= 7:
                return _write_offset_commit_request_2_7(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('OffsetCommitRequest', version, why) from why
        raise UnwritableMessage(unsupported('OffsetCommitRequest', '2-10', version))


def _read_offset_commit_request_8_10(data: BytesLike, version: int, pos: int) -> OffsetCommitRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetCommitRequest.__new__(OffsetCommitRequest)
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('OffsetCommitRequest.group_id', version, pos)
        end = pos + n - 1
        m.group_id = buf[pos:end].decode()
        pos = end
        m.generation_id_or_member_epoch, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            raise null_found('OffsetCommitRequest.member_id', version, pos)
        end = pos + n - 1
        m.member_id = buf[pos:end].decode()
        pos = end
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_string_length(buf, pos, n)
        if not n:
            m.group_instance_id = None
        else:
            end = pos + n - 1
            m.group_instance_id = buf[pos:end].decode()
            pos = end
        m.retention_time_ms = -1
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('OffsetCommitRequest.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('OffsetCommitRequest.topics', version, pos, n, size)
        list1: list[OffsetCommitRequestTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetCommitRequestTopic.__new__(OffsetCommitRequestTopic)
            if version <= 9:
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('OffsetCommitRequest.topics.name', version, pos)
                end = pos + n - 1
                e1.name = buf[pos:end].decode()
                pos = end
            else:
                e1.name = ""
            if version >= 10:
                e1.topic_id, = _u_u(buf, pos)
                pos += 16
            else:
                e1.topic_id = ZERO_UUID
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('OffsetCommitRequest.topics.partitions', version, pos)
            n -= 1
            if n * 18 > size - pos:
                raise too_many('OffsetCommitRequest.topics.partitions', version, pos, n, size)
            list2: list[OffsetCommitRequestPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetCommitRequestPartition.__new__(OffsetCommitRequestPartition)
                e2.partition_index, e2.committed_offset, e2.committed_leader_epoch, n = _u_iqiB(buf, pos)
                pos += 17
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    e2.committed_metadata = None
                else:
                    end = pos + n - 1
                    e2.committed_metadata = buf[pos:end].decode()
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
        raise cut_short('OffsetCommitRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetCommitRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetCommitRequest', version, pos, size)
    return m


def _read_offset_commit_request_2_7(data: BytesLike, version: int, pos: int) -> OffsetCommitRequest:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetCommitRequest.__new__(OffsetCommitRequest)
        n, = _u_h(buf, pos)
        pos += 2
        if n < 0:
            raise null_found('OffsetCommitRequest.group_id', version, pos)
        end = pos + n
        m.group_id = buf[pos:end].decode()
        pos = end
        m.generation_id_or_member_epoch, n = _u_ih(buf, pos)
        pos += 6
        if n < 0:
            raise null_found('OffsetCommitRequest.member_id', version, pos)
        end = pos + n
        m.member_id = buf[pos:end].decode()
        pos = end
        if version >= 7:
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                m.group_instance_id = None
            else:
                end = pos + n
                m.group_instance_id = buf[pos:end].decode()
                pos = end
        else:
            m.group_instance_id = None
        if version <= 4:
            m.retention_time_ms, = _u_q(buf, pos)
            pos += 8
        else:
            m.retention_time_ms = -1
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('OffsetCommitRequest.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('OffsetCommitRequest.topics', version, pos, n, size)
        list1: list[OffsetCommitRequestTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetCommitRequestTopic.__new__(OffsetCommitRequestTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('OffsetCommitRequest.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('OffsetCommitRequest.topics.partitions', version, pos)
            if n * 14 > size - pos:
                raise too_many('OffsetCommitRequest.topics.partitions', version, pos, n, size)
            list2: list[OffsetCommitRequestPartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetCommitRequestPartition.__new__(OffsetCommitRequestPartition)
                e2.partition_index, e2.committed_offset = _u_iq(buf, pos)
                pos += 12
                if version >= 6:
                    e2.committed_leader_epoch, = _u_i(buf, pos)
                    pos += 4
                else:
                    e2.committed_leader_epoch = -1
                n, = _u_h(buf, pos)
                pos += 2
                if n < 0:
                    e2.committed_metadata = None
                else:
                    end = pos + n
                    e2.committed_metadata = buf[pos:end].decode()
                    pos = end
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('OffsetCommitRequest', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetCommitRequest', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetCommitRequest', version, pos, size)
    return m


def _write_offset_commit_request_8_10(m: OffsetCommitRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    text = m.member_id.encode()
    out += _p_i(m.generation_id_or_member_epoch)
    n = len(text) + 1
    if n < 128:
        out.append(n)
    else:
        out += string_length(n)
    out += text
    if m.group_instance_id is None:
        out.append(0)
    else:
        text = m.group_instance_id.encode()
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
        if version <= 9:
            text = e1.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if version >= 10:
            if len(e1.topic_id) != 16:
                raise not_uuid('OffsetCommitRequest.topics.topic_id', e1.topic_id)
            out += _p_u(e1.topic_id)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_iqi(e2.partition_index, e2.committed_offset, e2.committed_leader_epoch)
            if e2.committed_metadata is None:
                out.append(0)
            else:
                text = e2.committed_metadata.encode()
                n = len(text) + 1
                if n < 128:
                    out.append(n)
                else:
                    out += string_length(n)
                out += text
            out.append(0)
        out.append(0)
    out.append(0)


def _write_offset_commit_request_2_7(m: OffsetCommitRequest, out: bytearray, version: int) -> None:
    text = m.group_id.encode()
    out += _p_h(len(text))
    out += text
    text = m.member_id.encode()
    out += _p_ih(m.generation_id_or_member_epoch, len(text))
    out += text
    if version >= 7:
        if m.group_instance_id is None:
            out += b'\xff\xff'
        else:
            text = m.group_instance_id.encode()
            out += _p_h(len(text))
            out += text
    if version <= 4:
        out += _p_q(m.retention_time_ms)
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_iq(e2.partition_index, e2.committed_offset)
            if version >= 6:
                out += _p_i(e2.committed_leader_epoch)
            if e2.committed_metadata is None:
                out += b'\xff\xff'
            else:
                text = e2.committed_metadata.encode()
                out += _p_h(len(text))
                out += text


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetCommitResponsePartition(Struct):
    """Part of OffsetCommitResponse."""

    partition_index: int
    error_code: int

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetCommitResponseTopic(Struct):
    """Part of OffsetCommitResponse."""

    name: str
    topic_id: bytes
    partitions: list[OffsetCommitResponsePartition]

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = ABSENT,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is ABSENT else partitions


@dataclass(slots=True, init=False, repr=False, eq=False)
class OffsetCommitResponse(Message):
    """OffsetCommitResponse, versions 2-10."""

    throttle_time_ms: int
    topics: list[OffsetCommitResponseTopic]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = ABSENT,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is ABSENT else topics

    @staticmethod
    def decode(data: BytesLike, version: int, at: int = 0) -> OffsetCommitResponse:
        if 8 <= version <= 10:
            return _read_offset_commit_response_8_10(data, version, at)
        if 2 <= version <= 7:
            return _read_offset_commit_response_2_7(data, version, at)
        raise MalformedMessage(unsupported('OffsetCommitResponse', '2-10', version))

    def write(self, out: bytearray, version: int) -> None:
        try:
            if 8 <= version <= 10:
                return _write_offset_commit_response_8_10(self, out, version)
            if 2 <= version <= 7:
                return _write_offset_commit_response_2_7(self, out, version)
        except WRITE_FAULTS as why:
            raise unwritable('OffsetCommitResponse', version, why) from why
        raise UnwritableMessage(unsupported('OffsetCommitResponse', '2-10', version))


def _read_offset_commit_response_8_10(data: BytesLike, version: int, pos: int) -> OffsetCommitResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetCommitResponse.__new__(OffsetCommitResponse)
        m.throttle_time_ms, n = _u_iB(buf, pos)
        pos += 5
        if n > 127:
            n, pos = more_varint(buf, pos, n)
        if not n:
            raise null_found('OffsetCommitResponse.topics', version, pos)
        n -= 1
        if n * 3 > size - pos:
            raise too_many('OffsetCommitResponse.topics', version, pos, n, size)
        list1: list[OffsetCommitResponseTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetCommitResponseTopic.__new__(OffsetCommitResponseTopic)
            if version <= 9:
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = more_string_length(buf, pos, n)
                if not n:
                    raise null_found('OffsetCommitResponse.topics.name', version, pos)
                end = pos + n - 1
                e1.name = buf[pos:end].decode()
                pos = end
            else:
                e1.name = ""
            if version >= 10:
                e1.topic_id, = _u_u(buf, pos)
                pos += 16
            else:
                e1.topic_id = ZERO_UUID
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = more_varint(buf, pos, n)
            if not n:
                raise null_found('OffsetCommitResponse.topics.partitions', version, pos)
            n -= 1
            if n * 7 > size - pos:
                raise too_many('OffsetCommitResponse.topics.partitions', version, pos, n, size)
            list2: list[OffsetCommitResponsePartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetCommitResponsePartition.__new__(OffsetCommitResponsePartition)
                e2.partition_index, e2.error_code, n = _u_ihB(buf, pos)
                pos += 7
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
        raise cut_short('OffsetCommitResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetCommitResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetCommitResponse', version, pos, size)
    return m


def _read_offset_commit_response_2_7(data: BytesLike, version: int, pos: int) -> OffsetCommitResponse:
    buf = data if type(data) is bytes else bytes(data)
    size = len(buf)
    try:
        m = OffsetCommitResponse.__new__(OffsetCommitResponse)
        if version >= 3:
            m.throttle_time_ms, = _u_i(buf, pos)
            pos += 4
        else:
            m.throttle_time_ms = 0
        n, = _u_i(buf, pos)
        pos += 4
        if n < 0:
            raise null_found('OffsetCommitResponse.topics', version, pos)
        if n * 6 > size - pos:
            raise too_many('OffsetCommitResponse.topics', version, pos, n, size)
        list1: list[OffsetCommitResponseTopic] = []
        m.topics = list1
        count1 = n
        for _ in range(count1):
            e1 = OffsetCommitResponseTopic.__new__(OffsetCommitResponseTopic)
            n, = _u_h(buf, pos)
            pos += 2
            if n < 0:
                raise null_found('OffsetCommitResponse.topics.name', version, pos)
            end = pos + n
            e1.name = buf[pos:end].decode()
            pos = end
            e1.topic_id = ZERO_UUID
            n, = _u_i(buf, pos)
            pos += 4
            if n < 0:
                raise null_found('OffsetCommitResponse.topics.partitions', version, pos)
            if n * 6 > size - pos:
                raise too_many('OffsetCommitResponse.topics.partitions', version, pos, n, size)
            list2: list[OffsetCommitResponsePartition] = []
            e1.partitions = list2
            count2 = n
            for _ in range(count2):
                e2 = OffsetCommitResponsePartition.__new__(OffsetCommitResponsePartition)
                e2.partition_index, e2.error_code = _u_ih(buf, pos)
                pos += 6
                list2.append(e2)
            list1.append(e1)
    except (IndexError, LayoutError):
        raise cut_short('OffsetCommitResponse', version, pos, size) from None
    except UnicodeDecodeError as why:
        raise not_text('OffsetCommitResponse', version, pos, why) from None
    if pos > size:
        raise cut_short('OffsetCommitResponse', version, pos, size)
    return m


def _write_offset_commit_response_8_10(m: OffsetCommitResponse, out: bytearray, version: int) -> None:
    out += _p_i(m.throttle_time_ms)
    n = len(m.topics) + 1
    if n < 128:
        out.append(n)
    else:
        out += varint(n)
    for e1 in m.topics:
        if version <= 9:
            text = e1.name.encode()
            n = len(text) + 1
            if n < 128:
                out.append(n)
            else:
                out += string_length(n)
            out += text
        if version >= 10:
            if len(e1.topic_id) != 16:
                raise not_uuid('OffsetCommitResponse.topics.topic_id', e1.topic_id)
            out += _p_u(e1.topic_id)
        n = len(e1.partitions) + 1
        if n < 128:
            out.append(n)
        else:
            out += varint(n)
        for e2 in e1.partitions:
            out += _p_ihx(e2.partition_index, e2.error_code)
        out.append(0)
    out.append(0)


def _write_offset_commit_response_2_7(m: OffsetCommitResponse, out: bytearray, version: int) -> None:
    if version >= 3:
        out += _p_i(m.throttle_time_ms)
    out += _p_i(len(m.topics))
    for e1 in m.topics:
        text = e1.name.encode()
        out += _p_h(len(text))
        out += text
        out += _p_i(len(e1.partitions))
        for e2 in e1.partitions:
            out += _p_ih(e2.partition_index, e2.error_code)
